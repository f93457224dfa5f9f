#include "observe/http_server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <list>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "observe/http_connection.h"

namespace berth::observe {
namespace {

constexpr int kBacklog = 1024;
// Between two looks at the connections that are there, as a part of the most that there may be.
constexpr std::size_t kAcceptedPart = 4;

tl::unexpected<Error> socket_error(std::string_view doing, const HttpOptions& options) {
  return fail(ErrorCode::kUnavailable, "cannot {} {} port {}: {}", doing, options.address, options.port,
              std::strerror(errno));
}

Result<Socket> listen_on(const HttpOptions& options, std::uint16_t& port) {
  sockaddr_storage address{};
  socklen_t length = 0;
  auto* four = reinterpret_cast<sockaddr_in*>(&address);
  auto* six = reinterpret_cast<sockaddr_in6*>(&address);
  if (inet_pton(AF_INET, options.address.c_str(), &four->sin_addr) == 1) {
    four->sin_family = AF_INET;
    four->sin_port = htons(options.port);
    length = sizeof(sockaddr_in);
  } else if (inet_pton(AF_INET6, options.address.c_str(), &six->sin6_addr) == 1) {
    six->sin6_family = AF_INET6;
    six->sin6_port = htons(options.port);
    length = sizeof(sockaddr_in6);
  } else {
    return fail(ErrorCode::kInvalid, "\"{}\" is no IP address to listen on, such as 127.0.0.1 or ::1",
                options.address);
  }
  Socket socket(::socket(address.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (socket.fd() < 0) return socket_error("open a socket for", options);
  const int yes = 1;
  (void)::setsockopt(socket.fd(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
  if (::bind(socket.fd(), reinterpret_cast<const sockaddr*>(&address), length) != 0 ||
      ::listen(socket.fd(), kBacklog) != 0) {
    return socket_error("listen on", options);
  }
  if (::getsockname(socket.fd(), reinterpret_cast<sockaddr*>(&address), &length) != 0) {
    return socket_error("look at", options);
  }
  port = ntohs(address.ss_family == AF_INET ? four->sin_port : six->sin6_port);
  return socket;
}

}  // namespace

struct HttpServer::Impl {
  ~Impl() {
    const std::uint64_t one = 1;
    if (thread.joinable()) {
      while (::write(wake.fd(), &one, sizeof(one)) < 0 && errno == EINTR) {
      }
      thread.join();
    }
  }

  void run() {
    // OpenSSL may write to a socket whose other end is gone.
    sigset_t pipe;
    sigemptyset(&pipe);
    sigaddset(&pipe, SIGPIPE);
    (void)pthread_sigmask(SIG_BLOCK, &pipe, nullptr);
    std::vector<pollfd> polls;
    for (;;) {
      polls.clear();
      polls.push_back({wake.fd(), POLLIN, 0});
      polls.push_back({listener.fd(), POLLIN, 0});
      for (const auto& c : connections) polls.push_back({c.fd(), c.wants(), 0});
      if (::poll(polls.data(), polls.size(), wait_ms()) < 0 && errno != EINTR) return;
      if (polls[0].revents != 0) return;
      auto at = polls.begin() + 2;
      for (auto it = connections.begin(); it != connections.end(); ++at) {
        const auto now = HttpConnection::Clock::now();
        const bool done = at->revents != 0 || now >= it->due() ? !it->serve() : now >= it->deadline();
        it = done ? connections.erase(it) : std::next(it);
      }
      if (polls[1].revents == 0) continue;
      for (std::size_t i = 0; i <= shared.options.most_connections / kAcceptedPart && accept_one(); ++i) {
      }
    }
  }

  // Until the nearest deadline, or the next question to a stream.
  int wait_ms() const {
    if (connections.empty()) return -1;
    auto nearest = HttpConnection::Clock::now() + std::chrono::minutes(1);
    for (const auto& one : connections) nearest = std::min({nearest, one.deadline(), one.due()});
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(nearest - HttpConnection::Clock::now()).count();
    return static_cast<int>(std::clamp<std::int64_t>(left, 0, 60'000));
  }

  // The one that a new connection takes the place of: of those that have their answer the oldest, else the oldest of all. So
  // connections that send nothing, or slowly, keep no other out.
  std::list<HttpConnection>::iterator least_needed() {
    return std::min_element(connections.begin(), connections.end(), [](const auto& a, const auto& b) {
      return a.is_answered() != b.is_answered() ? a.is_answered() : earlier(a, b);
    });
  }

  // Takes one that waits in the kernel's backlog; false where none does.
  bool accept_one() {
    Socket socket(::accept4(listener.fd(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (socket.fd() < 0) return false;
    // Answers are written whole: waiting for more of them would only delay their last part.
    const int yes = 1;
    (void)::setsockopt(socket.fd(), IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
    std::unique_ptr<TlsSession> tls;
    if (shared.options.tls != nullptr) {
      tls = shared.options.tls->session(socket.fd());
      if (tls == nullptr) return true;
    }
    if (connections.size() >= shared.options.most_connections) connections.erase(least_needed());
    connections.emplace_back(std::move(socket), std::move(tls), shared);
    // A request that came along with its connection is answered before a later connection takes its place.
    if (!connections.back().serve()) connections.pop_back();
    return true;
  }

  static bool earlier(const HttpConnection& a, const HttpConnection& b) {
    return a.deadline() < b.deadline();
  }

  HttpShared shared;
  Socket listener;
  Socket wake;
  std::uint16_t port = 0;
  std::list<HttpConnection> connections;
  std::thread thread;
};

HttpServer::HttpServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
HttpServer::HttpServer(HttpServer&&) noexcept = default;
HttpServer& HttpServer::operator=(HttpServer&&) noexcept = default;
HttpServer::~HttpServer() = default;

Result<HttpServer> HttpServer::start(const HttpOptions& options, HttpRoutes routes) {
  auto impl = std::make_unique<Impl>();
  impl->shared.options = options;
  impl->shared.routes = std::move(routes);
  BERTH_ASSIGN(impl->listener, listen_on(options, impl->port));
  impl->wake = Socket(::eventfd(0, EFD_CLOEXEC));
  if (impl->wake.fd() < 0) return socket_error("wake the server of", options);
  impl->thread = std::thread([server = impl.get()] { server->run(); });
  return HttpServer(std::move(impl));
}

bool is_ip_address(const std::string& text) {
  in6_addr any{};
  return inet_pton(AF_INET, text.c_str(), &any) == 1 || inet_pton(AF_INET6, text.c_str(), &any) == 1;
}

bool is_loopback(const std::string& address) {
  in_addr four{};
  if (inet_pton(AF_INET, address.c_str(), &four) == 1) return ntohl(four.s_addr) >> 24 == 127;
  in6_addr six{};
  if (inet_pton(AF_INET6, address.c_str(), &six) != 1) return false;
  return IN6_IS_ADDR_LOOPBACK(&six) || (IN6_IS_ADDR_V4MAPPED(&six) && six.s6_addr[12] == 127);
}

std::uint16_t HttpServer::port() const {
  return impl_->port;
}

void HttpServer::end_connections() {
  impl_->shared.is_ending = true;
}

namespace {

HttpHandler health(std::function<Status()> check) {
  return [check = std::move(check)](const HttpRequest&) {
    const auto status = check();
    HttpResponse response;
    response.status = status ? 200 : 503;
    response.body = status ? "ok\n" : status.error().str() + "\n";
    return response;
  };
}

HttpResponse json_or_error(Result<std::string> result) {
  if (result) return {200, "application/json", std::move(*result) + "\n"};
  const auto code = result.error().code;
  const int status = code == ErrorCode::kNotFound ? 404 : code == ErrorCode::kInvalid ? 400 : 503;
  return {status, "text/plain; charset=utf-8", result.error().str() + "\n"};
}

HttpHandler explain_handler(std::function<Result<std::string>(const std::string&)> explain) {
  return [explain = std::move(explain)](const HttpRequest& request) {
    const auto workload = request.query.find("workload");
    if (workload == request.query.end() || workload->second.empty()) {
      return HttpResponse{400, "text/plain; charset=utf-8",
                          "which workload? ask for /explain?workload=UID\n"};
    }
    return json_or_error(explain(workload->second));
  };
}

HttpHandler state_handler(std::function<Result<std::string>(std::size_t)> state) {
  return [state = std::move(state)](const HttpRequest& request) {
    constexpr std::size_t kDefault = 100;
    constexpr std::size_t kMost = 10'000;
    std::size_t items = kDefault;
    if (const auto limit = request.query.find("limit"); limit != request.query.end()) {
      items = 0;
      const auto& text = limit->second;
      const bool digits = !text.empty() && text.size() <= 9 &&
                          std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
      for (const char c : text) items = digits ? items * 10 + static_cast<std::size_t>(c - '0') : 0;
      if (!digits || items > kMost) {
        return HttpResponse{400, "text/plain; charset=utf-8",
                            fmt::format("limit must be a number from 0 to {}\n", kMost)};
      }
    }
    return json_or_error(state(items));
  };
}

}  // namespace

std::map<std::string, HttpHandler> serve_observation(Observation observation) {
  std::map<std::string, HttpHandler> handlers;
  if (observation.healthy) handlers["/healthz"] = health(std::move(observation.healthy));
  if (observation.ready) {
    handlers["/readyz"] = [answer = health(std::move(observation.ready)),
                           notes = std::move(observation.notes)](const HttpRequest& request) {
      HttpResponse out = answer(request);
      if (notes) out.body += notes();
      return out;
    };
  }
  if (observation.metrics) {
    handlers["/metrics"] = [metrics = std::move(observation.metrics)](const HttpRequest&) {
      return HttpResponse{200, "text/plain; version=0.0.4; charset=utf-8", metrics()};
    };
  }
  if (observation.explain) handlers["/explain"] = explain_handler(std::move(observation.explain));
  if (observation.state) handlers["/debug/state"] = state_handler(std::move(observation.state));
  return handlers;
}

}  // namespace berth::observe
