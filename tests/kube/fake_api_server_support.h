// A Kubernetes API server made for tests: in this process, on loopback, strict about what clients get wrong.
//
//   FakeApiServer api;
//   api.create("/api/v1/nodes", R"({"metadata":{"name":"n1"}})");
//   auto transport = *Transport::create(api.config());
//
// Any group, version and resource is served (CRDs too), but for those in `unserved`. It keeps to: resourceVersions that
// count up over all objects, optimistic locking (409), uid preconditions, the rules of pods/binding, status as a
// subresource, lists in pages over one snapshot, watches with bookmarks and selectors, streaming lists, 410 for what was
// compacted, 504 ResourceVersionTooLarge, deletion with grace and finalizers. Faults are injected per request.
//
// A pod that is bound and deleted with a grace period stays, with a deletionTimestamp, until finish_deletes() plays the
// kubelet. All members may be called from any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "kube/config.h"
#include "kube/fake_http_support.h"

namespace berth::kube::testing {

using Json = nlohmann::json;

struct FakeKind {
  std::string group;
  std::string version;
  std::string resource;
  std::string kind;
  bool namespaced = false;
};

struct FakeOptions {
  bool tls = false;
  bool streaming_lists = true;        // otherwise 422, as servers without the WatchList gate
  bool knows_streaming_lists = true;  // false: the parameter is ignored, as very old servers do
  bool aggregated_discovery = true;
  bool binary = false;               // pods and nodes in protobuf, where a client asks for it
  bool broken_binary = false;        // each text of it has a fault at its end
  bool graceful_deletes = false;     // bound pods wait for finish_deletes()
  bool workloads = false;            // Kueue's are among the kinds that are told
  std::vector<FakeKind> more_kinds;  // told beside those that every server tells
  // The answers of SubjectAccessReviews, by their spec. Empty: they are answered as any other kind, and allow nothing.
  std::function<bool(const Json&)> allows;
  int bookmark_ms = 100;
  std::string token;               // bearer token that is asked for; empty: none
  std::set<std::string> unserved;  // collections without namespace, like "/apis/x.io/v1/things"
};

enum class FaultKind : std::uint8_t {
  kStatus,       // answer with `status` and do nothing
  kCloseBefore,  // close the connection and do nothing
  kCloseAfter,   // do it, then close the connection without an answer
  kDelay,        // do it after `delay_ms`
  kDelayAnswer,  // do it at once, answer after `delay_ms`
  kStatusAfter,  // do it, then answer with `status`
};

struct Fault {
  FaultKind kind = FaultKind::kStatus;
  std::string method;    // empty: any; "WATCH" for watches
  std::string contains;  // part of the path and query; empty: any
  int times = 1;         // -1: always
  int status = 500;
  int retry_after_s = 0;
  int delay_ms = 0;
  std::string cause;                 // reason of the cause in the Status
  std::string message = "injected";  // of the Status
};

struct Seen {
  std::string method;  // "WATCH" for watches
  std::string target;
  std::string body;
  std::string content_type;
  std::string accept;
  std::string authorization;
  std::string client_name;
};

class FakeApiServer {
 public:
  explicit FakeApiServer(FakeOptions options = {});
  ~FakeApiServer();

  std::string url() const;
  // Plain: no identity. TLS: trusts the server's authority.
  ClusterConfig config() const;
  const TestAuthority& authority() const { return authority_; }

  // Straight into the store. Paths are collections ("/api/v1/namespaces/a/pods") or objects below them.
  Json create(const std::string& collection, const char* object);
  Json create(const std::string& collection, Json object);
  // Replaces an object (or changes it in place), whatever its version.
  void change(const std::string& object_path, const std::function<void(Json&)>& edit);
  void remove(const std::string& object_path);  // at once, no grace
  std::optional<Json> get(const std::string& object_path) const;
  std::vector<Json> list(const std::string& collection) const;
  std::int64_t resource_version() const;
  // Removes what has a deletionTimestamp and no finalizers; returns how many.
  int finish_deletes();

  void add_fault(Fault fault);
  void clear_faults();
  void set_token(std::string token);
  // Forgets history: watches and continue tokens from before are answered 410.
  void compact();
  void expire_continue_tokens();
  void drop_connections() { server_->drop_connections(); }
  // Ends every watch: in good order, or after half of the next line.
  void end_watches();
  void cut_watches_mid_line();
  // The next event of each watch is this ERROR instead (410: the watch is expired).
  void send_watch_error(int code);
  // Sends watch lines in pieces of this many bytes; 0: whole.
  void set_watch_chunk(std::size_t bytes);
  void set_streaming_lists(bool served);

  std::vector<Seen> seen() const;
  // How many requests had this method and this part in their target.
  int count(const std::string& method, const std::string& contains = {}) const;
  void forget_seen();
  // Called for each request before it is done, outside all locks.
  void on_request(std::function<void(const Seen&)> hook);
  std::uint64_t connections() const { return server_->connections(); }
  int watches() const;  // open now

 private:
  struct Store;
  struct Route;
  bool handle(const HttpRequest& request, HttpResponse& response, HttpConnection& connection);
  void serve(const HttpRequest& request, const Route& route, HttpResponse& response);
  bool watch(const HttpRequest& request, const Route& route, HttpResponse& response,
             HttpConnection& connection);
  bool discovery(const HttpRequest& request, HttpResponse& response);
  // "Pod" where the answer is to be in binary form; otherwise "".
  std::string binary_kind(const HttpRequest& request, const Route& route) const;
  void to_binary(const HttpRequest& request, HttpResponse& response) const;

  FakeOptions options_;
  TestAuthority authority_;
  std::unique_ptr<Store> store_;
  std::unique_ptr<HttpServer> server_;
};

}  // namespace berth::kube::testing
