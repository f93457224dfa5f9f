// Strangers hold a thousand connections to every port of Berth, idle, slow and broken, and the kubelet's probes are answered all the
// same, and work is bound.
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <vector>

#include "e2e/berth_fixture.h"

namespace berth::e2e {
namespace {

// A connection to a port of loopback that does what its kind does whenever it is asked to go on.
class Stranger {
 public:
  enum class Kind { kIdle, kSlow, kBroken, kNoise };
  Stranger(Kind kind, int port) : kind_(kind), port_(port) { open(); }
  Stranger(Stranger&& other) noexcept
      : kind_(other.kind_), port_(other.port_), fd_(std::exchange(other.fd_, -1)) {}
  Stranger& operator=(Stranger&&) = delete;
  ~Stranger() { shut(); }

  // Closed by Berth, it comes back.
  void go_on() {
    if (is_closed()) {
      shut();
      open();
    }
    static constexpr std::string_view kRequest =
        "GET /healthz HTTP/1.1\r\nHost: x\r\nX-Long: aaaaaaaaaaaaaaaaaaaaaaaa";
    if (kind_ == Kind::kSlow) write(std::string_view(&kRequest[at_++ % kRequest.size()], 1));
    if (kind_ == Kind::kNoise) write("\x16\x03\x01\x02\x00\x01\xff\xff\r\n\r\n");
    if (kind_ == Kind::kBroken) {  // half a request, and a reset
      write(kRequest.substr(0, 20));
      const linger hard{1, 0};
      setsockopt(fd_, SOL_SOCKET, SO_LINGER, &hard, sizeof hard);
      shut();
      open();
    }
  }

 private:
  void open() {
    fd_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(static_cast<std::uint16_t>(port_));
    (void)connect(fd_, reinterpret_cast<sockaddr*>(&address), sizeof address);
  }
  void shut() {
    if (fd_ >= 0) close(fd_);
    fd_ = -1;
  }
  bool is_closed() const {
    char byte = 0;
    return fd_ < 0 || recv(fd_, &byte, 1, MSG_PEEK) == 0;
  }
  void write(std::string_view text) { (void)!send(fd_, text.data(), text.size(), MSG_NOSIGNAL); }

  Kind kind_;
  int port_;
  int fd_ = -1;
  std::size_t at_ = 0;
};

class BerthConnections : public BerthTest {};

TEST_F(BerthConnections, AThousandOfStrangersDoNotStarveTheProbes) {
  constexpr int kConnections = 1000;  // to each port
  rlimit files{};
  getrlimit(RLIMIT_NOFILE, &files);
  files.rlim_cur = files.rlim_max;
  setrlimit(RLIMIT_NOFILE, &files);
  ASSERT_GE(files.rlim_cur, 4U * kConnections) << "open files (ulimit -n)";
  start();
  ASSERT_OK(cluster_->create_nodes(4));
  const auto health = free_port();
  ASSERT_OK(health);
  const auto metrics = free_port();
  ASSERT_OK(metrics);
  auto* berth = start_berth({.args = {fmt::format("--health-address=127.0.0.1:{}", *health),
                                      fmt::format("--metrics-address=127.0.0.1:{}", *metrics)}});
  ASSERT_NE(berth, nullptr);
  ASSERT_TRUE(eventually([&] { return log_has(*berth, "leading as"); }));

  std::vector<Stranger> strangers;
  for (int i = 0; i < kConnections; ++i) {
    for (const int port : {*health, *metrics, berth->port})
      strangers.emplace_back(static_cast<Stranger::Kind>(i % 4), port);
  }
  std::atomic<bool> stop{false};
  std::thread busy([&] {
    while (!stop) {
      for (Stranger& stranger : strangers) stranger.go_on();
      std::this_thread::sleep_for(milliseconds(20));
    }
  });
  std::vector<double> took;
  std::size_t answered = 0;
  for (int i = 0; i < 100; ++i) {
    // The kubelet opens a connection for each probe.
    ApiClient probe(Endpoint{.server = fmt::format("http://127.0.0.1:{}", *health),
                             .ca_file = {},
                             .cert_file = {},
                             .key_file = {}});
    const auto begin = std::chrono::steady_clock::now();
    const Reply reply = probe.send("GET", "/healthz", {}, kJson, 5000);
    const std::chrono::duration<double> time = std::chrono::steady_clock::now() - begin;
    took.push_back(time.count());
    answered += reply.status == 200 && time.count() < 1 ? 1 : 0;
    if (reply.status != 200) std::printf("probe %d: %s\n", i, reply.describe().c_str());
    if (i == 10) {
      EXPECT_TRUE(cluster_->create_pods(8, {.name = "w", .labels = gang("w", 8)}).has_value());
    }
  }
  EXPECT_TRUE(wait_bound(8)) << reasons_of_waiting();
  stop = true;
  busy.join();
  std::sort(took.begin(), took.end());
  std::printf("3,000 connections: %zu of 100 probes within 1 s; median %.1f ms, longest %.1f ms\n", answered,
              took[50] * 1e3, took.back() * 1e3);
  EXPECT_EQ(answered, 100U);
  expect_clean();
}

}  // namespace
}  // namespace berth::e2e
