#include "e2e/fault_proxy.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <fstream>

#include "kube/fake_http_support.h"

namespace berth::e2e {
namespace {

std::string status_json(int code, const char* reason, const char* message) {
  return fmt::format(
      R"({{"kind":"Status","apiVersion":"v1","metadata":{{}},"status":"Failure","message":"{}","reason":"{}","code":{}}})",
      message, reason, code);
}

}  // namespace

FaultProxy::FaultProxy(Endpoint endpoint, std::uint64_t seed)
    : endpoint_(std::move(endpoint)), random_(seed) {
  server_ = std::make_unique<kube::testing::HttpServer>(
      [this](const Request& request, Response& response, Connection& connection) {
        return handle(request, response, connection);
      },
      nullptr);
  watcher_ = std::thread([this] { look_after_watches(); });
}

FaultProxy::~FaultProxy() {
  stopping_ = true;
  watcher_.join();
  server_.reset();
}

Result<std::string> FaultProxy::write_kubeconfig(const std::filesystem::path& folder) const {
  const std::string path = (folder / fmt::format("proxy-{}.kubeconfig", server_->port())).string();
  std::ofstream file(path);
  file << fmt::format(R"(apiVersion: v1
kind: Config
current-context: proxy
clusters: [{{name: proxy, cluster: {{server: "http://127.0.0.1:{}"}}}}]
contexts: [{{name: proxy, context: {{cluster: proxy}}}}]
)",
                      server_->port());
  file.close();
  if (!file) return fail(ErrorCode::kUnavailable, "{} cannot be written", path);
  return path;
}

void FaultProxy::set(FaultPlan plan) {
  const std::lock_guard lock(mutex_);
  plan_ = plan;
}

void FaultProxy::cut_all() {
  server_->drop_connections();
}

FaultPlan FaultProxy::plan() const {
  const std::lock_guard lock(mutex_);
  return plan_;
}

bool FaultProxy::happens(int thousandths) {
  if (thousandths == 0) return false;
  const std::lock_guard lock(mutex_);
  return static_cast<int>(random_() % 1000) < thousandths;
}

int FaultProxy::up_to(int most) {
  if (most == 0) return 0;
  const std::lock_guard lock(mutex_);
  return static_cast<int>(random_() % static_cast<unsigned>(most + 1));
}

bool FaultProxy::handle(const Request& request, Response& response, Connection& connection) {
  const FaultPlan now = plan();
  const bool write = request.method != "GET";
  if (write) {
    const int writes = ++writes_;
    int most = most_writes_;
    while (writes > most && !most_writes_.compare_exchange_weak(most, writes)) {
    }
  }
  const bool answered = pass_on(request, response, connection, now);
  if (write) --writes_;
  return answered;
}

bool FaultProxy::pass_on(const Request& request, Response& response, Connection& connection,
                         const FaultPlan& now) {
  const bool write = request.method != "GET";
  const auto watch = request.query.find("watch");
  const bool is_watch = watch != request.query.end() && watch->second != "false" && watch->second != "0";
  std::this_thread::sleep_for(std::chrono::milliseconds(now.delay_ms + up_to(now.jitter_ms)));
  ++passed_;
  if (happens(now.cut)) {
    ++harmed_;
    return false;
  }
  if (happens(now.refused)) {
    ++harmed_;
    const int kind = write ? up_to(2) : (is_watch ? 3 : 2);
    response.status = kind == 0 ? 409 : kind == 1 ? 429 : kind == 2 ? 500 : 410;
    if (kind == 1) response.headers["Retry-After"] = "1";
    response.body = kind == 0   ? status_json(409, "Conflict", "made by the fault proxy")
                    : kind == 1 ? status_json(429, "TooManyRequests", "made by the fault proxy")
                    : kind == 2 ? status_json(500, "InternalError", "made by the fault proxy")
                                : status_json(410, "Expired", "made by the fault proxy");
    return true;
  }
  if (is_watch) {
    pass_on_watch(request, connection, now);
    return false;
  }
  thread_local std::unique_ptr<ApiClient> api;  // a connection is a thread
  if (api == nullptr || api->endpoint().server != endpoint_.server ||
      api->endpoint().cert_file != endpoint_.cert_file)
    api = std::make_unique<ApiClient>(endpoint_);
  const auto type = request.headers.find("content-type");
  const Reply reply = api->send(request.method, request.target, request.body,
                                type == request.headers.end() ? kJson : std::string_view(type->second));
  if (reply.status == 0 || happens(now.lost_answer)) {
    ++harmed_;
    return false;
  }
  response.status = reply.status;
  response.body = reply.body;
  if (happens(now.truncated)) {
    ++harmed_;
    (void)connection.send(
        fmt::format("HTTP/1.1 {} x\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{}",
                    reply.status, reply.body.size() + 1, reply.body.substr(0, reply.body.size() / 2)));
    return false;
  }
  return true;
}

void FaultProxy::pass_on_watch(const Request& request, Connection& connection, const FaultPlan&) {
  Watch watch;
  watch.connection = &connection;
  {
    const std::lock_guard lock(mutex_);
    watches_.insert(&watch);
  }
  ApiClient api(endpoint_);
  bool begun = false;
  const auto begin = [&] {
    if (std::exchange(begun, true)) return true;
    return connection.send(
        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n");
  };
  const auto chunk = [&](std::string_view text) {
    return connection.send(fmt::format("{:x}\r\n{}\r\n", text.size(), text));
  };
  // The client waits for the head, and an idle watch has no first line for long.
  bool good = begin();
  Reply end;
  if (good) {
    end = api.stream(
        request.target,
        [&](std::string_view line) {
          const FaultPlan now = plan();
          if (happens(now.broken_watch)) {
            ++harmed_;
            (void)chunk(line.substr(0, line.size() / 2));
            return good = false;
          }
          std::string text(line);
          text.push_back('\n');
          return good = chunk(text);
        },
        watch.stop);
  }
  if (good && end.status != 0 && end.status != 200) {  // said as a watch says it
    (void)chunk(fmt::format("{{\"type\":\"ERROR\",\"object\":{}}}\n", end.body));
  }
  if (good && !watch.stop) (void)connection.send("0\r\n\r\n");
  const std::lock_guard lock(mutex_);
  watches_.erase(&watch);
}

// A watch without news does not notice that its reader has gone.
void FaultProxy::look_after_watches() {
  while (!stopping_) {
    {
      const std::lock_guard lock(mutex_);
      for (Watch* watch : watches_) {
        if (watch->connection->peer_gone()) watch->stop = true;
      }
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
  }
  const std::lock_guard lock(mutex_);
  for (Watch* watch : watches_) watch->stop = true;
}

}  // namespace berth::e2e
