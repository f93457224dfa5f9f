// HTTP to one API server: many requests in flight and long streams, all on one I/O thread (libcurl multi over epoll).
//
//   BERTH_ASSIGN(auto transport, Transport::create(config));
//   transport->submit({.method = Method::kGet, .path = "/version"}, [](Response&& r) { ... });
//
// submit(), open_stream(), close_stream() may be called from any thread. Callbacks run on the I/O thread and must be
// cheap (no blocking, no parsing of large bodies). Each submitted request gets exactly one callback, also at shutdown.
// TLS is verified (see config.h); connections are kept and reused; handles are pooled. Redirects are not followed.
// A 401 refreshes the identity and sends the request once more.
// Bounds: response bodies (Request::max_response), requests on the wire (TransportOptions::max_in_flight; more wait).
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/time.h"
#include "kube/config.h"
#include "kube/identity.h"
#include "kube/io_loop.h"

namespace berth::kube {

enum class Method : std::uint8_t { kGet, kPost, kPut, kPatch, kDelete };

enum class BodyType : std::uint8_t {
  kJson,
  kStrategicMergePatch,
  kMergePatch,
  kJsonPatch,
  kApplyPatch,
  kProtobuf,  // protobuf.h
};

enum class Accept : std::uint8_t {
  kJson,
  kAggregatedDiscovery,
  kBinary,  // protobuf_json.h, or JSON where the server prefers it: Response::form says which
};

// The form of an answer's body.
enum class Form : std::uint8_t { kJson, kBinary };

struct Request {
  Method method = Method::kGet;
  std::string path;  // "/api/v1/pods?limit=500": path and query, escaped (kube/paths.h)
  std::string body;
  BodyType body_type = BodyType::kJson;
  Accept accept = Accept::kJson;
  DurationMs timeout = 30 * kSecond;  // from the moment it leaves our queue to the last byte of the answer
  std::size_t max_response = std::size_t{64} << 20;
  // Asked on the I/O thread when a connection stands and the next thing to happen is sending; false: nothing is
  // sent and Response::fenced is set.
  std::function<bool()> before_send;
};

struct Response {
  int status = 0;  // HTTP status; 0: no complete answer, see `error`
  std::string body;
  Form form = Form::kJson;     // by the Content-Type
  DurationMs retry_after = 0;  // from Retry-After
  bool fenced = false;         // before_send said no; the server has not seen it
  // Whether the server may have seen the request. False with status 0: it certainly has not.
  bool sent = false;
  // Whether it may have been sent twice (a kept connection was dead after the request had been written).
  bool resent = false;
  bool timed_out = false;
  bool too_large = false;  // longer than Request::max_response
  Nanos latency = 0;       // from sending to the end of the answer
  std::string error;       // for status 0; holds no secret

  bool ok() const { return status >= 200 && status < 300; }
};

using ResponseHandler = std::function<void(Response&&)>;

// The next wish of a stream's reader.
enum class Flow : std::uint8_t {
  kMore,
  kPause,  // hold this very chunk back and offer it again some milliseconds later (TCP pushes back meanwhile)
  kStop,   // close the stream; on_end() follows
};

class StreamHandler {
 public:
  virtual ~StreamHandler() = default;
  // Before the first bytes of a 2xx answer: its status and form.
  virtual void on_begin(const Response& /*begun*/) {}
  // Bytes of a 2xx answer as they arrive; the view is valid during the call.
  virtual Flow on_data(std::string_view bytes) = 0;
  // The end, always called exactly once: status 200 and an empty error for a stream that the server closed in good
  // order; another status with the (bounded) body; 0 or 200 with an error text for a broken one.
  virtual void on_end(const Response& end) = 0;
};

using StreamId = std::uint64_t;

struct TransportOptions {
  bool http2 = false;  // offer HTTP/2 in TLS (measured slower than HTTP/1.1 for small writes, docs)
  std::uint32_t max_in_flight = 300;  // requests on the wire, streams not counted
  // Many requests on the wire: their answers and the streams are served at most once in this time. 0: as they come.
  DurationMs gather = 0;
  DurationMs connect_timeout = 10 * kSecond;
  std::string user_agent = "berth";
  // Told of each answer with an HTTP status, of a stream when it begins and when it ends. On the I/O thread.
  std::function<void(const Request&, const Response&)> answered;
  IdentityOptions identity;
};

// Counters since the start; read from any thread.
struct TransportStats {
  std::atomic<std::uint64_t> requests{0};      // answered or failed
  std::atomic<std::uint64_t> failed{0};        // without an HTTP status
  std::atomic<std::uint64_t> unauthorized{0};  // 401 answers
  std::atomic<std::uint64_t> connections{0};   // opened
  std::atomic<std::uint64_t> bytes_in{0};
  std::atomic<std::uint64_t> in_flight{0};
  std::atomic<std::uint64_t> queued{0};
};

class Transport {
 public:
  static Result<std::unique_ptr<Transport>> create(const ClusterConfig& config,
                                                   const TransportOptions& options = {});
  virtual ~Transport() =
      default;  // ends all requests (callbacks get "shutting down") and joins the I/O thread

  virtual void submit(Request request, ResponseHandler done) = 0;
  // timeout of the request bounds the whole stream (0: none); max_response bounds only the body of an error.
  virtual StreamId open_stream(Request request, std::shared_ptr<StreamHandler> handler) = 0;
  virtual void close_stream(StreamId id) = 0;
  // Sends and waits; for start-up and tests, never on the I/O thread.
  Response call(Request request);

  // Timers and posted work on the I/O thread.
  virtual IoLoop& loop() = 0;
  virtual const TransportStats& stats() const = 0;
  virtual const ClusterConfig& config() const = 0;
};

}  // namespace berth::kube
