// The dashboard over HTTP: what it serves to which client, its stream, and its rights.
#include "scheduler/board/board.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <filesystem>
#include <set>
#include <thread>

#include "kube/wait_support.h"
#include "scheduler/board/board_world_support.h"
#include "scheduler/board/visitors.h"
#include "scheduler/tls_client_support.h"

namespace berth::scheduler::testing {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

// Answers TokenReviews and SubjectAccessReviews at once: token "red" is of a user that may list pods in red, "all" of one that may list
// everything.
class ReviewTransport : public kube::Transport {
 public:
  void submit(kube::Request request, kube::ResponseHandler done) override {
    ++requests;
    kube::Response response;
    response.status = down ? 503 : 201;
    const json body = json::parse(request.body);
    if (request.path.ends_with("/tokenreviews")) {
      const std::string token = body["spec"]["token"];
      const bool known = token == "red" || token == "all";
      response.body = json{{"status",
                            {{"authenticated", known},
                             {"user",
                              {{"username", token + "-user"},
                               {"uid", "u"},
                               {"groups", json::array({"g1", "g2"})},
                               {"extra", {{"k", json::array({"v"})}}}}}}}}
                          .dump();
    } else {
      const json& spec = body["spec"];
      EXPECT_EQ(spec["groups"], json::array({"g1", "g2"}));
      EXPECT_EQ(spec["extra"]["k"], json::array({"v"}));
      const json& asked = spec["resourceAttributes"];
      EXPECT_EQ(asked["verb"], "list");
      const bool allowed = spec["user"] == "all-user" || asked.value("namespace", "") == "red";
      response.body = json{{"status", {{"allowed", allowed}}}}.dump();
    }
    done(std::move(response));
  }
  kube::StreamId open_stream(kube::Request, std::shared_ptr<kube::StreamHandler>) override { return 0; }
  void close_stream(kube::StreamId) override {}
  kube::IoLoop& loop() override { throw std::logic_error("no loop"); }
  const kube::TransportStats& stats() const override { return stats_; }
  const kube::ClusterConfig& config() const override { return config_; }

  std::atomic<int> requests{0};
  std::atomic<bool> down{false};

 private:
  kube::TransportStats stats_;
  kube::ClusterConfig config_;
};

int connect_to_board(std::uint16_t port) {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const timeval patience{.tv_sec = 20, .tv_usec = 0};
  ::setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  EXPECT_EQ(::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
  return fd;
}
// Until `words` have come, or the end.
std::string read_until(int fd, const std::string& words) {
  std::string out;
  char block[4096];
  while (words.empty() || out.find(words) == std::string::npos) {
    const auto got = ::recv(fd, block, sizeof(block), 0);
    if (got <= 0) break;
    out.append(block, static_cast<std::size_t>(got));
  }
  return out;
}

class BoardTest : public ::testing::Test {
 protected:
  BoardTest() : folder_(std::filesystem::temp_directory_path() / fmt::format("berth-board-{}", ::getpid())) {
    std::signal(SIGPIPE, SIG_IGN);
    std::filesystem::create_directories(folder_);
    world.tell(WorkloadUpsert{gang("red/a", 4, 1000)});
    world.tell(WorkloadUpsert{gang("blue/b", 8, 1500)});
    world.decide(2000);
  }
  ~BoardTest() override {
    board.reset();
    std::filesystem::remove_all(folder_);
  }
  void start(bool with_tls, BoardOptions options = {}) {
    options.version = "berth 1";
    if (with_tls) {
      const auto pair = authority_.issue("berth", "IP:127.0.0.1");
      write_file((folder_ / "tls.crt").string(), pair.cert_pem);
      write_file((folder_ / "tls.key").string(), pair.key_pem);
      options.tls = observe::TlsFiles{(folder_ / "tls.crt").string(), (folder_ / "tls.key").string()};
    }
    auto started = Board::start(transport, world.follower, world.chronicle, options,
                                [this](const std::string& uid) { return world.follower.explain(uid); });
    ASSERT_TRUE(started) << started.error().str();
    board = std::move(*started);
  }
  std::string get(const std::string& target, const std::string& host = "localhost:1") {
    const int fd = connect_to_board(board->port());
    const std::string text = "GET " + target + " HTTP/1.1\r\nHost: " + host + "\r\nConnection: close\r\n\r\n";
    (void)!::send(fd, text.data(), text.size(), MSG_NOSIGNAL);
    const std::string out = read_until(fd, "");
    ::close(fd);
    return out;
  }
  std::string get_as(const std::string& token, const std::string& target) {
    TlsClient client(board->port(), authority_.ca_pem());
    return client.ask("GET " + target + " HTTP/1.1\r\nHost: x\r\nConnection: close\r\n" +
                      (token.empty() ? "" : "Authorization: Bearer " + token + "\r\n") + "\r\n");
  }

  const std::filesystem::path folder_;
  kube::testing::TestAuthority authority_;
  ReviewTransport transport;
  BoardWorld world;
  std::unique_ptr<Board> board;
};

TEST_F(BoardTest, ServesItsPageWithAStrictPolicy) {
  start(false);
  const std::string page = get("/");
  EXPECT_THAT(page, StartsWith("HTTP/1.1 200 OK\r\n"));
  EXPECT_THAT(page,
              HasSubstr("Content-Security-Policy: default-src 'none'; script-src 'self'; style-src 'self';"));
  EXPECT_THAT(page, HasSubstr("frame-ancestors 'none'"));
  EXPECT_THAT(page, HasSubstr("X-Content-Type-Options: nosniff"));
  EXPECT_THAT(page, HasSubstr("<title>Berth</title>"));
  EXPECT_THAT(page, Not(HasSubstr("://")));
  EXPECT_THAT(get("/../etc/passwd"), StartsWith("HTTP/1.1 404"));
}

TEST_F(BoardTest, AtLoopbackAllIsSeenByLoopbackNamesAlone) {
  start(false);
  for (const auto* host : {"localhost:8080", "127.0.0.1", "127.0.0.1:1", "[::1]:1", "[::1]"})
    EXPECT_THAT(get("/api/v1/workloads", host), AllOf(HasSubstr("red/a"), HasSubstr("blue/b"))) << host;
  for (const auto* host : {"evil.example", "evil.example:10265", "localhost.evil.example", "10.0.0.1",
                           "[::2]", "127.0.0.1.evil.example"})
    EXPECT_THAT(get("/api/v1/workloads", host), AllOf(StartsWith("HTTP/1.1 403"), Not(HasSubstr("red/a"))))
        << host;
  EXPECT_EQ(transport.requests, 0);
}

TEST_F(BoardTest, AnswersEveryPageOfItsApi) {
  start(false);
  EXPECT_THAT(get("/api/v1/about"), HasSubstr(R"({"api":1,"version":"berth 1","sign_in":false})"));
  EXPECT_THAT(get("/api/v1/summary"), HasSubstr(R"("running":1)"));
  EXPECT_THAT(get("/api/v1/queues"), HasSubstr(R"("name":"team","parent":"all")"));
  EXPECT_THAT(get("/api/v1/nodes?limit=1"), HasSubstr(R"("total":2)"));
  EXPECT_THAT(get("/api/v1/decisions"), HasSubstr(R"("kind":"start")"));
  EXPECT_THAT(get("/api/v1/timeline"), HasSubstr(R"("step":60000)"));
  EXPECT_THAT(get("/api/v1/workloads/uid-b"), HasSubstr(R"("kind":"blocked")"));
  EXPECT_THAT(get("/api/v1/workloads/red%2Fa"),
              AllOf(HasSubstr(R"("uid":"uid-a")"), HasSubstr(R"("node":"n)")));
  EXPECT_THAT(get("/api/v1/workloads/none"), StartsWith("HTTP/1.1 404"));
  EXPECT_THAT(get("/api/v1/workloads?limit=x"), StartsWith("HTTP/1.1 400"));
  EXPECT_THAT(get("/api/v1/"), StartsWith("HTTP/1.1 404"));
  EXPECT_THAT(get("/api/v2/summary"), StartsWith("HTTP/1.1 404"));
}

TEST_F(BoardTest, TheFirstQuestionAfterAPauseIsAnsweredAnew) {
  BoardOptions options;
  options.asked_for = std::chrono::milliseconds(50);
  start(false, options);
  EXPECT_THAT(get("/api/v1/summary"), HasSubstr(R"("pending":1)"));
  std::this_thread::sleep_for(std::chrono::milliseconds(1200));  // it rests
  world.tell(WorkloadUpsert{gang("red/late", 8, 3000)});
  world.decide(4000);
  EXPECT_THAT(get("/api/v1/summary"), HasSubstr(R"("pending":2)"));
}

TEST_F(BoardTest, TheStreamTellsOfEachNewState) {
  start(false);
  const int fd = connect_to_board(board->port());
  const std::string text = "GET /api/v1/changes HTTP/1.1\r\nHost: localhost\r\n\r\n";
  (void)!::send(fd, text.data(), text.size(), MSG_NOSIGNAL);
  const std::string head = read_until(fd, "\n\n");
  EXPECT_THAT(head, AllOf(HasSubstr("Content-Type: text/event-stream"), Not(HasSubstr("Content-Length")),
                          HasSubstr(R"("pending":1)")));
  world.tell(WorkloadUpsert{gang("red/new", 8, 3000)});
  world.decide(4000);
  EXPECT_THAT(read_until(fd, R"("pending":2)"), HasSubstr("data: {"));
  ::close(fd);
}

// A look that waits for the follower, or for a core, does no work meanwhile. The next one comes soon all the same.
TEST_F(BoardTest, ALookThatHadToWaitIsFollowedByTheNext) {
  start(false);
  const int fd = connect_to_board(board->port());
  const std::string text = "GET /api/v1/changes HTTP/1.1\r\nHost: localhost\r\n\r\n";
  (void)!::send(fd, text.data(), text.size(), MSG_NOSIGNAL);
  ASSERT_THAT(read_until(fd, "\n\n"), HasSubstr(R"("pending":1)"));
  EXPECT_TRUE(world.follower
                  .ask([](const engine::Engine&) {
                    std::this_thread::sleep_for(3 * Board::kEvery);
                    return true;
                  })
                  .has_value());
  world.tell(WorkloadUpsert{gang("red/new", 8, 3000)});
  world.decide(4000);
  // Before a sign of life, which comes after fifteen seconds without news.
  EXPECT_THAT(read_until(fd, R"("pending":2)"), Not(HasSubstr(": alive")));
  ::close(fd);
}

TEST_F(BoardTest, StreamsAreBoundedAndEndWithTheirClients) {
  start(false);
  EXPECT_THAT(get("/api/v1/summary"), HasSubstr("revision"));
  std::vector<int> open;
  const std::string text = "GET /api/v1/changes HTTP/1.1\r\nHost: localhost\r\n\r\n";
  for (int i = 0; i < Board::kMostStreams; ++i) {
    open.push_back(connect_to_board(board->port()));
    (void)!::send(open.back(), text.data(), text.size(), MSG_NOSIGNAL);
    ASSERT_THAT(read_until(open.back(), "\n\n"), HasSubstr("data: "));
  }
  EXPECT_THAT(get("/api/v1/changes"), StartsWith("HTTP/1.1 503"));
  EXPECT_THAT(get("/api/v1/summary"), StartsWith("HTTP/1.1 200")) << "questions are answered all the same";
  for (const int fd : open) ::close(fd);
  // A refused one is not kept open, so that the next try comes at once.
  const std::string once = "GET /api/v1/changes HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
  const auto opens = [&] {
    const int fd = connect_to_board(board->port());
    (void)!::send(fd, once.data(), once.size(), MSG_NOSIGNAL);
    const bool good = read_until(fd, "\n\n").find("data: ") != std::string::npos;
    ::close(fd);
    return good;
  };
  EXPECT_TRUE(kube::testing::wait_for(opens));
}

TEST_F(BoardTest, WithACertificateUsersSeeWhatTheyMayList) {
  start(true);
  EXPECT_THAT(get_as("", "/"), StartsWith("HTTP/1.1 200")) << "the page itself names nothing";
  EXPECT_THAT(get_as("", "/api/v1/about"), HasSubstr(R"("sign_in":true)"));
  for (const auto* page :
       {"summary", "queues", "workloads", "nodes", "decisions", "timeline", "workloads/uid-a", "changes"}) {
    EXPECT_THAT(get_as("", std::string("/api/v1/") + page),
                AllOf(StartsWith("HTTP/1.1 401"), HasSubstr("WWW-Authenticate: Bearer")))
        << page;
    EXPECT_THAT(get_as("forged", std::string("/api/v1/") + page), StartsWith("HTTP/1.1 401")) << page;
  }
  EXPECT_THAT(get_as("all", "/api/v1/workloads"), AllOf(HasSubstr("red/a"), HasSubstr("blue/b")));
  EXPECT_THAT(get_as("red", "/api/v1/workloads"), AllOf(HasSubstr("red/a"), Not(HasSubstr("blue"))));
  EXPECT_THAT(get_as("red", "/api/v1/nodes"), Not(HasSubstr("\"n1\"")));
  EXPECT_THAT(get_as("red", "/api/v1/workloads/uid-b"), StartsWith("HTTP/1.1 404"));
}

TEST_F(BoardTest, ListensOnLoopbackOnlyWithoutACertificate) {
  BoardOptions options;
  options.listen.address = "0.0.0.0";
  const auto started = Board::start(transport, world.follower, world.chronicle, options, {});
  ASSERT_FALSE(started);
  EXPECT_THAT(started.error().message, HasSubstr("--dashboard-cert"));
}

TEST(BoardVisitors, AskTheApiServerOnceAMinute) {
  ReviewTransport transport;
  TimeMs now = 1000;
  Visitors visitors(transport, [&] { return now; });
  const std::set<std::string> namespaces{"red", "blue"};
  const auto sight = visitors.sight_of("Bearer red", namespaces);
  ASSERT_TRUE(sight) << sight.error().str();
  EXPECT_TRUE(sight->sees_name("red/x"));
  EXPECT_FALSE(sight->sees_name("blue/x"));
  EXPECT_FALSE(sight->sees_name("no namespace"));
  EXPECT_FALSE(sight->all || sight->nodes || sight->queues);
  const int once = transport.requests;
  ASSERT_TRUE(visitors.sight_of("Bearer red", namespaces));
  EXPECT_EQ(transport.requests, once);
  now += Visitors::kBelieved;
  ASSERT_TRUE(visitors.sight_of("Bearer red", namespaces));
  EXPECT_EQ(transport.requests, 2 * once);
}

TEST(BoardVisitors, AreRefusedWithoutATokenOfTheCluster) {
  ReviewTransport transport;
  TimeMs now = 1000;
  Visitors visitors(transport, [&] { return now; });
  for (const auto* line : {"", "Bearer ", "Basic cmVkOng=", "red", "bearer red", "Bearer forged"}) {
    const auto sight = visitors.sight_of(line, {});
    ASSERT_FALSE(sight) << line;
    EXPECT_EQ(sight.error().code, ErrorCode::kUnauthorized) << line;
  }
  transport.down = true;
  now += Visitors::kBelieved;
  const auto sight = visitors.sight_of("Bearer all", {});
  ASSERT_FALSE(sight);
  EXPECT_EQ(sight.error().code, ErrorCode::kUnavailable);
}

TEST(BoardVisitors, ANumberOfNewTokensInASecondIsBounded) {
  ReviewTransport transport;
  TimeMs now = 1000;
  Visitors visitors(transport, [&] { return now; });
  for (int i = 0; i < 100; ++i) EXPECT_FALSE(visitors.sight_of("Bearer t" + std::to_string(i), {}));
  EXPECT_EQ(transport.requests, Visitors::kMostReviews);
  EXPECT_EQ(visitors.sight_of("Bearer all", {}).error().code, ErrorCode::kUnavailable);
  now += kSecond;
  EXPECT_TRUE(visitors.sight_of("Bearer all", {}));
}

}  // namespace
}  // namespace berth::scheduler::testing
