#include "observe/http_server.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <thread>
#include <vector>

namespace berth::observe {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

int connect_to(std::uint16_t port) {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  EXPECT_EQ(::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
  return fd;
}
void send_text(int fd, const std::string& text) {
  (void)!::send(fd, text.data(), text.size(), MSG_NOSIGNAL);
}
std::string receive_all(int fd) {
  std::string out;
  char block[4096];
  for (ssize_t got = 0; (got = ::recv(fd, block, sizeof(block), 0)) > 0;)
    out.append(block, static_cast<std::size_t>(got));
  ::close(fd);
  return out;
}
std::string talk(std::uint16_t port, const std::string& request) {
  const int fd = connect_to(port);
  send_text(fd, request);
  return receive_all(fd);
}
std::string get(std::uint16_t port, const std::string& target) {
  return talk(port, "GET " + target + " HTTP/1.1\r\nHost: localhost\r\n\r\n");
}

HttpServer start(std::map<std::string, HttpHandler> handlers, HttpOptions options = {}) {
  auto server = HttpServer::start(options, std::move(handlers));
  EXPECT_TRUE(server) << server.error().str();
  return std::move(*server);
}

Observation all_is_well() {
  Observation observation;
  observation.healthy = [] { return Status(); };
  observation.ready = [] { return Status(fail(ErrorCode::kUnavailable, "still reading nodes")); };
  observation.metrics = [] { return std::string("berth_leader 1\n"); };
  observation.explain = [](const std::string& uid) -> Result<std::string> {
    if (uid != "team a/job+1") return fail(ErrorCode::kNotFound, "no workload {}", uid);
    return std::string("{\"kind\":\"placed\"}");
  };
  observation.state = [](std::size_t items) -> Result<std::string> {
    return fmt::format("{{\"shown\":{}}}", items);
  };
  return observation;
}

TEST(HttpServer, ServesWhatIsObserved) {
  const auto server = start(serve_observation(all_is_well()));
  const auto port = server.port();
  EXPECT_THAT(get(port, "/healthz"), StartsWith("HTTP/1.1 200 OK\r\n"));
  EXPECT_THAT(get(port, "/healthz"), HasSubstr("\r\n\r\nok\n"));
  EXPECT_THAT(get(port, "/readyz"), StartsWith("HTTP/1.1 503 Service Unavailable"));
  EXPECT_THAT(get(port, "/readyz"), HasSubstr("still reading nodes"));
  EXPECT_THAT(get(port, "/metrics"), HasSubstr("Content-Type: text/plain; version=0.0.4"));
  EXPECT_THAT(get(port, "/metrics"), HasSubstr("berth_leader 1"));
  EXPECT_THAT(get(port, "/explain?x=1&workload=team+a%2Fjob%2b1"), HasSubstr("{\"kind\":\"placed\"}"));
  EXPECT_THAT(get(port, "/explain?workload=x"), StartsWith("HTTP/1.1 404"));
  EXPECT_THAT(get(port, "/explain"), HasSubstr("/explain?workload=UID"));
  EXPECT_THAT(get(port, "/debug/state"), HasSubstr("{\"shown\":100}"));
  EXPECT_THAT(get(port, "/debug/state?limit=5"), HasSubstr("{\"shown\":5}"));
  for (const auto* limit : {"-1", "x", "", "10001", "99999999999999999999"}) {
    EXPECT_THAT(get(port, std::string("/debug/state?limit=") + limit), StartsWith("HTTP/1.1 400")) << limit;
  }
}

TEST(HttpServer, LeavesOutWhatIsNotGiven) {
  Observation only;
  only.healthy = [] { return Status(); };
  const auto server = start(serve_observation(std::move(only)));
  EXPECT_THAT(get(server.port(), "/metrics"), StartsWith("HTTP/1.1 404"));
  EXPECT_THAT(get(server.port(), "/metrics"), HasSubstr("there are:\n/healthz\n"));
}

TEST(HttpServer, RefusesWhatItDoesNotServe) {
  const auto server = start(serve_observation(all_is_well()));
  const auto port = server.port();
  EXPECT_THAT(talk(port, "POST /healthz HTTP/1.1\r\nContent-Length: 3\r\n\r\nabc"),
              StartsWith("HTTP/1.1 405"));
  EXPECT_THAT(talk(port, "GET healthz HTTP/1.1\r\n\r\n"), StartsWith("HTTP/1.1 400"));
  EXPECT_THAT(talk(port, "GET /health%z HTTP/1.1\r\n\r\n"), StartsWith("HTTP/1.1 400"));
  EXPECT_THAT(talk(port, "nonsense\r\n\r\n"), StartsWith("HTTP/1.1 400"));
  EXPECT_THAT(talk(port, "\r\n\r\n"), StartsWith("HTTP/1.1 400"));
  const auto head = talk(port, "HEAD /healthz HTTP/1.1\r\n\r\n");
  EXPECT_THAT(head, HasSubstr("Content-Length: 3\r\n"));
  EXPECT_THAT(head, ::testing::EndsWith("\r\n\r\n"));
}

TEST(HttpServer, TheHeadIsBounded) {
  const auto server = start(serve_observation(all_is_well()));
  EXPECT_THAT(get(server.port(), "/" + std::string(9000, 'a')), StartsWith("HTTP/1.1 431"));
  std::string many = "GET /healthz HTTP/1.1\r\n";
  for (int i = 0; i < 2000; ++i) many += "X: y\r\n";
  EXPECT_THAT(talk(server.port(), many + "\r\n"), StartsWith("HTTP/1.1 431"));
  // A head that never ends is answered as soon as it is too long.
  EXPECT_THAT(talk(server.port(), std::string(20'000, 'x')), StartsWith("HTTP/1.1 431"));
}

TEST(HttpServer, ASilentConnectionEndsAndOthersAreServedMeanwhile) {
  HttpOptions options;
  options.time_out = std::chrono::milliseconds(300);
  options.most_connections = 4;
  const auto server = start(serve_observation(all_is_well()), options);
  std::vector<int> silent;
  for (int i = 0; i < 8; ++i) {
    silent.push_back(connect_to(server.port()));
    send_text(silent.back(), "GET /healthz");
  }
  // More connections than there is room for: this one waits until the silent ones are dropped.
  EXPECT_THAT(get(server.port(), "/healthz"), StartsWith("HTTP/1.1 200"));
  for (const int fd : silent) EXPECT_EQ(receive_all(fd), "");
}

TEST(HttpServer, ALargeAnswerArrivesWhole) {
  const std::string large(8 << 20, 'x');
  const auto server = start({{"/large", [&](const HttpRequest&) {
                                return HttpResponse{200, "text/plain", large};
                              }}});
  const auto answer = get(server.port(), "/large");
  EXPECT_EQ(answer.substr(answer.find("\r\n\r\n") + 4), large);
}

TEST(HttpServer, ManyAtOnce) {
  std::atomic<int> asked = 0;
  const auto server = start({{"/", [&](const HttpRequest&) {
                                ++asked;
                                return HttpResponse{200, "text/plain", "hello"};
                              }}});
  std::atomic<int> answered = 0;
  std::vector<std::thread> clients;
  for (int t = 0; t < 8; ++t) {
    clients.emplace_back([&] {
      for (int i = 0; i < 25; ++i) answered += get(server.port(), "/").ends_with("hello") ? 1 : 0;
    });
  }
  for (auto& client : clients) client.join();
  EXPECT_EQ(answered, 200);
  EXPECT_EQ(asked, 200);
}

TEST(HttpServer, APortInUseAndAWrongAddressAreErrors) {
  const auto server = start({});
  HttpOptions options;
  options.port = server.port();
  const auto second = HttpServer::start(options, {});
  ASSERT_FALSE(second);
  EXPECT_THAT(second.error().str(), HasSubstr("Address already in use"));
  options.address = "localhost";
  const auto wrong = HttpServer::start(options, {});
  ASSERT_FALSE(wrong);
  EXPECT_THAT(wrong.error().str(), HasSubstr("is no IP address to listen on"));
}

}  // namespace
}  // namespace berth::observe
