// A small HTTP client of the tests: one kept connection, one request at a time, waits for the answer. It
// shares nothing with Berth's own client (src/kube), so that what observes Berth cannot have Berth's faults.
//
// An ApiClient is used by one thread at a time. TLS is verified against the test cluster's own authority.
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"

namespace berth::e2e {

struct Endpoint {
  std::string server;   // https://127.0.0.1:port
  std::string ca_file;  // PEM files
  std::string cert_file;
  std::string key_file;
};

struct Reply {
  int status = 0;  // 0: no answer, see `error`
  std::string body;
  std::string error;
  bool ok() const { return status >= 200 && status < 300; }
  // "HTTP 404: <start of the body>" or the error of the connection.
  std::string describe() const;
};

inline constexpr std::string_view kJson = "application/json";
inline constexpr std::string_view kMergePatch = "application/merge-patch+json";
inline constexpr std::string_view kStrategicMergePatch = "application/strategic-merge-patch+json";
inline constexpr std::string_view kApplyPatch = "application/apply-patch+yaml";

class ApiClient {
 public:
  explicit ApiClient(Endpoint endpoint);
  ApiClient(ApiClient&&) noexcept;
  ApiClient& operator=(ApiClient&&) noexcept;
  ~ApiClient();

  Reply send(std::string_view method, const std::string& path, std::string_view body = {},
             std::string_view content_type = kJson, long timeout_ms = 60'000);
  Reply get(const std::string& path) { return send("GET", path); }
  Reply post(const std::string& path, std::string_view body) { return send("POST", path, body); }
  Reply put(const std::string& path, std::string_view body) { return send("PUT", path, body); }
  Reply patch(const std::string& path, std::string_view body, std::string_view type = kMergePatch) {
    return send("PATCH", path, body, type);
  }
  Reply del(const std::string& path, std::string_view body = {}) { return send("DELETE", path, body); }

  // Reads a stream (a watch) line by line until the server closes it, `line` returns false, or `stop` is set.
  // The lines do not hold their line end; a last line without one is dropped.
  Reply stream(const std::string& path, const std::function<bool(std::string_view line)>& line,
               const std::atomic<bool>& stop);

  const Endpoint& endpoint() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// Calls work(client, i) for every i below `count`, by `concurrency` threads with a connection each. Ends at
// the first error that `work` returns and returns it.
Status for_each_parallel(const Endpoint& endpoint, std::size_t count, unsigned concurrency,
                         const std::function<Status(ApiClient& client, std::size_t i)>& work);

// An unexpected answer as an error that names what was tried.
Status expect_ok(const Reply& reply, std::string_view what);

}  // namespace berth::e2e
