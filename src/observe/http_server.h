// A small HTTP/1.1 server for health, metrics, questions, and the reviews of the admission webhook. GET and HEAD of a few paths,
// POST if a path takes it, TLS with a certificate.
//
// Bounds, all of them: connections (one more takes the place of one that has its answer, else of the oldest), bytes of a request's head
// and body, bytes of all requests that are being read, and the time from the connection (handshake included), or from the first byte of a
// further request, to the last byte of its answer. A request sent before the answer to the former one (pipelining) is dropped, and
// the connection ends with that answer. Requests are read by Boost.Beast's parser (http_message.h).
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
#include "observe/tls.h"

namespace berth::observe {

struct HttpOptions {
  std::string address = "127.0.0.1";  // an IPv4 or IPv6 address; "0.0.0.0" or "::" = every interface
  std::uint16_t port = 0;             // 0 = any free one
  std::size_t most_connections = 256;
  std::size_t most_head_bytes = 8192;
  std::size_t most_body_bytes = 0;  // of a POST; 0 = none is read
  std::size_t most_held_bytes = std::size_t{64} << 20;
  std::chrono::milliseconds time_out{5000};
  // How long a connection is kept for another request; 0 = it ends with the answer.
  std::chrono::milliseconds idle_time_out{0};
  std::shared_ptr<const ServerTls> tls;  // nullptr = plain HTTP
};

// IPv4 or IPv6, without a port.
bool is_ip_address(const std::string& text);
// 127.0.0.0/8 and ::1, also where IPv6 wraps the former.
bool is_loopback(const std::string& address);

class HttpServer {
 public:
  // Listens and serves until it is destroyed. Other paths than those of `routes` are answered with 404.
  static Result<HttpServer> start(const HttpOptions& options, HttpRoutes routes);
  HttpServer(HttpServer&&) noexcept;
  HttpServer& operator=(HttpServer&&) noexcept;
  ~HttpServer();

  std::uint16_t port() const;
  // From now on every answer is the last of its connection, so that clients go elsewhere before the server is destroyed.
  void end_connections();

 private:
  struct Impl;
  explicit HttpServer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// The answer of Berth. An empty function leaves its path out.
struct Observation {
  // An error's message is the answer (503); "ok" otherwise.
  std::function<Status()> healthy;
  std::function<Status()> ready;
  std::function<std::string()> notes;    // lines below the answer of `ready`, whatever that is
  std::function<std::string()> metrics;  // Prometheus text
  std::function<Result<std::string>(const std::string&)> explain;  // uid or name of a workload -> JSON
  std::function<Result<std::string>(std::size_t most_items)>
      state;  // JSON; at most so many items of each kind
};
std::map<std::string, HttpHandler> serve_observation(Observation observation);

}  // namespace berth::observe
