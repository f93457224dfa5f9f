// A small HTTP/1.1 server for health, metrics and questions: GET and HEAD of a few paths, one answer per
// connection.
//
// Bounds, all of them: connections (more wait in the kernel's backlog), bytes of a request's head, and the
// time from the connection to its last byte. (The library that Debian ships, cpp-httplib 0.11, bounds neither
// the number of header lines nor the whole time of a request, which is why this is written out here.)
//
// Paths that Berth serves (see serve_observation): /healthz, /readyz, /metrics, /explain?workload=UID,
// /debug/state
//
// One thread serves all connections and runs the handlers, one at a time: a handler must not wait for long.
// Handlers must be safe to run beside the rest of the program. By default it listens on loopback only.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "base/result.h"
#include "observe/http_message.h"

namespace berth::observe {

struct HttpOptions {
  std::string address = "127.0.0.1";  // an IPv4 or IPv6 address; "0.0.0.0" or "::" = every interface
  std::uint16_t port = 0;             // 0 = any free one
  std::size_t most_connections = 64;
  std::size_t most_head_bytes = 8192;
  std::chrono::milliseconds time_out{5000};
};

class HttpServer {
 public:
  // Listens and serves until it is destroyed. `handlers` by path; other paths are answered with 404.
  static Result<HttpServer> start(const HttpOptions& options, std::map<std::string, HttpHandler> handlers);
  HttpServer(HttpServer&&) noexcept;
  HttpServer& operator=(HttpServer&&) noexcept;
  ~HttpServer();

  std::uint16_t port() const;

 private:
  struct Impl;
  explicit HttpServer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// What Berth answers with. An empty function leaves its path out.
struct Observation {
  // An error's message is the answer (503); "ok" otherwise.
  std::function<Status()> healthy;
  std::function<Status()> ready;
  std::function<std::string()> metrics;                            // Prometheus text
  std::function<Result<std::string>(const std::string&)> explain;  // uid or name of a workload -> JSON
  std::function<Result<std::string>(std::size_t most_items)>
      state;  // JSON; at most so many items of each kind
};
std::map<std::string, HttpHandler> serve_observation(Observation observation);

}  // namespace berth::observe
