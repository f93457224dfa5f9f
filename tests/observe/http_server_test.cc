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

using ::testing::AllOf;
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
  auto server = HttpServer::start(options, {.get = std::move(handlers)});
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

TEST(HttpServer, AHandlerMayServeAllPathsThatBeginAlike) {
  HttpRoutes routes;
  routes.get["/apis/own"] = [](const HttpRequest&) { return HttpResponse{200, "text/plain", "own"}; };
  routes.under["/apis/"] = [](const HttpRequest& request) {
    return HttpResponse{200, "text/plain", request.path};
  };
  const auto server = HttpServer::start({}, std::move(routes));
  ASSERT_TRUE(server);
  EXPECT_THAT(get(server->port(), "/apis/own"), ::testing::EndsWith("\r\n\r\nown"));
  EXPECT_THAT(get(server->port(), "/apis/own/more"), ::testing::EndsWith("\r\n\r\n/apis/own/more"));
  EXPECT_THAT(get(server->port(), "/api"), AllOf(StartsWith("HTTP/1.1 404"), HasSubstr("/apis/...")));
  EXPECT_THAT(talk(server->port(), "POST /apis/x HTTP/1.1\r\nHost: x\r\n\r\n"), StartsWith("HTTP/1.1 405"));
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
  EXPECT_THAT(talk(port, "POST /healthz HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc"),
              StartsWith("HTTP/1.1 405"));
  EXPECT_THAT(talk(port, "GET healthz HTTP/1.1\r\nHost: x\r\n\r\n"), StartsWith("HTTP/1.1 400"));
  EXPECT_THAT(talk(port, "GET /health%z HTTP/1.1\r\nHost: x\r\n\r\n"), StartsWith("HTTP/1.1 400"));
  EXPECT_THAT(talk(port, "nonsense\r\n\r\n"), StartsWith("HTTP/1.1 400"));
  EXPECT_THAT(talk(port, "\r\n\r\n"), StartsWith("HTTP/1.1 400"));
  const auto head = talk(port, "HEAD /healthz HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_THAT(head, HasSubstr("Content-Length: 3\r\n"));
  EXPECT_THAT(head, ::testing::EndsWith("\r\n\r\n"));
}

TEST(HttpServer, ARequestHasOneHostAndALengthThatIsANumber) {
  const auto server = start(serve_observation(all_is_well()));
  const auto port = server.port();
  EXPECT_THAT(talk(port, "GET /healthz HTTP/1.1\r\n\r\n"),
              AllOf(StartsWith("HTTP/1.1 400"), HasSubstr("one Host")));
  EXPECT_THAT(talk(port, "GET /healthz HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n"), StartsWith("HTTP/1.1 400"));
  EXPECT_THAT(talk(port, "GET /healthz HTTP/1.0\r\n\r\n"), StartsWith("HTTP/1.1 200"));
  for (const char* length : {"-1", "+1", "1x", "", "0x1"}) {
    const std::string head = std::string("Host: x\r\nContent-Length: ") + length + "\r\n\r\n";
    EXPECT_THAT(talk(port, "GET /healthz HTTP/1.1\r\n" + head), StartsWith("HTTP/1.1 400")) << length;
    EXPECT_THAT(talk(port, "POST /healthz HTTP/1.1\r\n" + head), StartsWith("HTTP/1.1 400")) << length;
  }
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

TEST(HttpServer, ASilentConnectionEnds) {
  HttpOptions options;
  options.time_out = std::chrono::milliseconds(300);
  const auto server = start(serve_observation(all_is_well()), options);
  const int fd = connect_to(server.port());
  send_text(fd, "GET /healthz");
  EXPECT_EQ(receive_all(fd), "");
}

// Idle, slow and broken clients, many more than the bound: each probe takes the place of one of them at once.
TEST(HttpServer, OtherConnectionsKeepNoProbeOut) {
  HttpOptions options;
  options.time_out = std::chrono::hours(1);  // nothing ends by itself
  options.most_connections = 16;
  const auto server = start(serve_observation(all_is_well()), options);
  std::vector<int> others;
  for (int i = 0; i < 300; ++i) {
    others.push_back(connect_to(server.port()));
    if (i % 3 == 1) send_text(others.back(), "GET /healthz HTTP/1.1\r\nX: ");
    if (i % 3 == 2) send_text(others.back(), "\x16\x03\x01 no HTTP at all");
  }
  for (int i = 0; i < 100; ++i) {
    for (int j = i * 3; j < i * 3 + 3; ++j) send_text(others[static_cast<std::size_t>(j)], "y");
    const auto before = std::chrono::steady_clock::now();
    ASSERT_THAT(get(server.port(), "/healthz"), StartsWith("HTTP/1.1 200"));
    ASSERT_LT(std::chrono::steady_clock::now() - before, std::chrono::minutes(1)) << "waited for a time-out";
    others.push_back(connect_to(server.port()));
  }
  for (const int fd : others) ::close(fd);
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

// A path that takes bodies, and connections that are kept.
HttpServer start_echo(HttpOptions options = {}) {
  options.most_body_bytes = 1000;
  if (options.idle_time_out.count() == 0) options.idle_time_out = std::chrono::seconds(30);
  HttpRoutes routes;
  routes.get["/healthz"] = [](const HttpRequest&) { return HttpResponse{200, "text/plain", "ok"}; };
  routes.post["/echo"] = [](const HttpRequest& request) {
    return HttpResponse{200, "text/plain", "<" + std::string(request.body) + ">"};
  };
  auto server = HttpServer::start(options, std::move(routes));
  EXPECT_TRUE(server) << server.error().str();
  return std::move(*server);
}
std::string post(const std::string& path, const std::string& body, const std::string& more = "") {
  return fmt::format("POST {} HTTP/1.1\r\nHost: x\r\n{}content-length: {}\r\n\r\n{}", path, more, body.size(),
                     body);
}
// Reads until what was read ends with `end`, or the connection is closed.
std::string receive_until(int fd, const std::string& end) {
  std::string out;
  char block[4096];
  while (!out.ends_with(end)) {
    const auto got = ::recv(fd, block, sizeof(block), 0);
    if (got <= 0) break;
    out.append(block, static_cast<std::size_t>(got));
  }
  return out;
}

TEST(HttpServer, TakesABodyInPieces) {
  const auto server = start_echo();
  const int fd = connect_to(server.port());
  for (const char* piece :
       {"POST /ec", "ho HTTP/1.1\r\nHost: x\r\nContent-", "Length: 6\r\n\r", "\nab", "cd"}) {
    send_text(fd, piece);
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  send_text(fd, "ef");
  EXPECT_THAT(receive_until(fd, ">"), AllOf(StartsWith("HTTP/1.1 200 OK"), HasSubstr("<abcdef>")));
  ::close(fd);
  EXPECT_THAT(talk(server.port(), post("/echo", "", "Connection: close\r\n")), HasSubstr("<>"));
}

TEST(HttpServer, AConnectionIsKeptForFurtherRequests) {
  const auto server = start_echo();
  const int fd = connect_to(server.port());
  for (const char* body : {"one", "two", "three"}) {
    send_text(fd, post("/echo", body));
    EXPECT_THAT(receive_until(fd, ">"), AllOf(HasSubstr("Connection: keep-alive"), HasSubstr(body)));
  }
  send_text(fd, "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_THAT(receive_until(fd, "ok"), HasSubstr("Connection: keep-alive"));
  send_text(fd, "GET /healthz HTTP/1.1\r\nHost: x\r\nconnection: Close\r\n\r\n");
  EXPECT_THAT(receive_all(fd), AllOf(HasSubstr("Connection: close"), HasSubstr("ok")));
  EXPECT_THAT(talk(server.port(), "GET /healthz HTTP/1.0\r\n\r\n"), HasSubstr("Connection: close"));
  // A request sent ahead of an answer is dropped with its connection.
  const auto ahead = talk(server.port(), post("/echo", "first") + post("/echo", "second"));
  EXPECT_THAT(ahead, AllOf(HasSubstr("<first>"), HasSubstr("Connection: close"), Not(HasSubstr("second"))));
}

TEST(HttpServer, IdleConnectionsEndInTimeAndGiveTheirPlaceToOthers) {
  HttpOptions options;
  options.idle_time_out = std::chrono::milliseconds(200);
  options.most_connections = 2;
  const auto server = start_echo(options);
  std::vector<int> kept;
  for (int i = 0; i < 4; ++i) {
    kept.push_back(connect_to(server.port()));
    send_text(kept.back(), post("/echo", "x"));
    EXPECT_THAT(receive_until(kept.back(), ">"), HasSubstr("<x>")) << i << ": an idle connection made room";
  }
  for (const int fd : kept) EXPECT_EQ(receive_all(fd), "");
}

TEST(HttpServer, ConnectionsEndWhenTheServerIsAboutTo) {
  auto server = start_echo();
  const int fd = connect_to(server.port());
  send_text(fd, post("/echo", "x"));
  EXPECT_THAT(receive_until(fd, ">"), HasSubstr("keep-alive"));
  server.end_connections();
  send_text(fd, post("/echo", "y"));
  EXPECT_THAT(receive_all(fd), AllOf(HasSubstr("<y>"), HasSubstr("Connection: close")));
}

TEST(HttpServer, BodiesAreBounded) {
  HttpOptions options;
  options.time_out = std::chrono::milliseconds(300);
  options.idle_time_out = std::chrono::milliseconds(100);
  const auto server = start_echo(options);
  const auto port = server.port();
  const auto head = [](const std::string& more) {
    return "POST /echo HTTP/1.1\r\nHost: x\r\n" + more + "\r\n\r\n";
  };
  EXPECT_THAT(talk(port, post("/echo", std::string(1000, 'x'), "Connection: close\r\n")), HasSubstr("xxx>"));
  EXPECT_THAT(talk(port, head("Content-Length: 1001")),
              AllOf(StartsWith("HTTP/1.1 413"), HasSubstr("at most 1000 bytes")));
  EXPECT_THAT(talk(port, head("Content-Length: 18446744073709551615")), StartsWith("HTTP/1.1 413"));
  for (const auto* length : {"", "x", "-1", "+1", "1 1", "0x1", "99999999999999999999999"}) {
    EXPECT_THAT(talk(port, head(std::string("Content-Length: ") + length)), StartsWith("HTTP/1.1 400"))
        << length;
  }
  EXPECT_THAT(talk(port, head("Content-Length: 1\r\nContent-Length: 2")), StartsWith("HTTP/1.1 400"));
  EXPECT_THAT(talk(port, head("Transfer-Encoding: chunked")), StartsWith("HTTP/1.1 411"));
  EXPECT_THAT(talk(port, head("Transfer-Encoding: chunked\r\nContent-Length: 1")),
              StartsWith("HTTP/1.1 400"));
  EXPECT_THAT(talk(port, head("X: y")), StartsWith("HTTP/1.1 411"));
  EXPECT_THAT(talk(port, head("Expect: 100-continue\r\nContent-Length: 1")), StartsWith("HTTP/1.1 417"));
  EXPECT_THAT(talk(port, post("/healthz", "x")), StartsWith("HTTP/1.1 405"));
  EXPECT_THAT(talk(port, post("/other", "x", "Connection: close\r\n")),
              AllOf(StartsWith("HTTP/1.1 404"), HasSubstr("/echo (POST)")));
  EXPECT_THAT(get(port, "/echo"), AllOf(StartsWith("HTTP/1.1 405"), HasSubstr("this page is for POST")));
  EXPECT_THAT(talk(port, "PUT /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\r\nx"),
              StartsWith("HTTP/1.1 405"));
  // A body that does not come ends in time; so does a request on a connection that was kept.
  EXPECT_EQ(talk(port, head("Content-Length: 5") + "ab"), "");
}

TEST(HttpServer, TheBytesOfAllRequestsTogetherAreBounded) {
  HttpOptions options;
  options.most_held_bytes = 1500;
  const auto server = start_echo(options);
  std::vector<int> slow;
  for (int i = 0; i < 2; ++i) {
    slow.push_back(connect_to(server.port()));
    send_text(slow.back(), post("/echo", std::string(700, 'x')).substr(0, 700));
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  const int third = connect_to(server.port());
  send_text(third, post("/echo", std::string(700, 'y')).substr(0, 700));
  EXPECT_THAT(receive_all(third), StartsWith("HTTP/1.1 503"));
  for (const int fd : slow) ::close(fd);
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_THAT(talk(server.port(), post("/echo", std::string(900, 'z'), "Connection: close\r\n")),
              HasSubstr("zzz>"))
      << "what they held was given back";
}

TEST(HttpServer, KnowsLoopback) {
  for (const char* inside : {"127.0.0.1", "127.8.9.10", "::1", "::ffff:127.0.0.1"}) {
    EXPECT_TRUE(is_loopback(inside)) << inside;
  }
  for (const char* outside :
       {"0.0.0.0", "::", "10.0.0.1", "128.0.0.1", "::2", "::ffff:10.0.0.1", "localhost"}) {
    EXPECT_FALSE(is_loopback(outside)) << outside;
  }
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
