// A plain HTTP server between a client (Berth) and the API server that harms what passes: requests come late, answers are lost or end
// in the middle, connections and watches break, writes are refused with what a busy API server says.
//
//   FaultProxy proxy(endpoint_of_berths_identity, seed);
//   start_berth({.kubeconfig = proxy.write_kubeconfig(folder)});
//   proxy.set({.delay_ms = 100});            // and back: proxy.set({});
//
// Upstream it has the identity of `endpoint`; the client needs none. Odds are in thousandths of the requests, and the same seed makes
// the same throws (which request gets which depends on their order). Thread-safe.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <mutex>
#include <random>
#include <set>
#include <string>
#include <thread>

#include "base/result.h"
#include "e2e/api_client.h"

namespace berth::kube::testing {
class HttpServer;
class HttpConnection;
struct HttpRequest;
struct HttpResponse;
}  // namespace berth::kube::testing

namespace berth::e2e {

struct FaultPlan {
  int delay_ms = 0;     // before each request is passed on
  int jitter_ms = 0;    // and up to so much more
  int cut = 0;          // the connection ends, the request is not passed on
  int lost_answer = 0;  // it is passed on and done, and the connection ends without an answer
  int truncated = 0;    // the same, in the middle of the answer
  int refused = 0;  // answered by 409, 429 or 500 without being passed on (writes); reads: 500, watches: 410
  int broken_watch = 0;  // of the lines of a watch: it ends there, in the middle of the line
};

class FaultProxy {
 public:
  FaultProxy(Endpoint endpoint, std::uint64_t seed);
  ~FaultProxy();
  FaultProxy(const FaultProxy&) = delete;
  FaultProxy& operator=(const FaultProxy&) = delete;

  // A kubeconfig file that leads here.
  Result<std::string> write_kubeconfig(const std::filesystem::path& folder) const;
  void set(FaultPlan plan);
  // Ends every connection that is open now.
  void cut_all();

  std::uint64_t passed() const { return passed_; }
  std::uint64_t harmed() const { return harmed_; }
  // Writes that have been passed on and are not answered yet, delay included; and the most at once since the last call.
  int writes_in_flight() const { return writes_; }
  int take_most_writes() { return most_writes_.exchange(writes_); }

 private:
  using Request = kube::testing::HttpRequest;
  using Response = kube::testing::HttpResponse;
  using Connection = kube::testing::HttpConnection;

  bool handle(const Request& request, Response& response, Connection& connection);
  bool pass_on(const Request& request, Response& response, Connection& connection, const FaultPlan& plan);
  void pass_on_watch(const Request& request, Connection& connection, const FaultPlan& plan);
  void look_after_watches();
  FaultPlan plan() const;
  bool happens(int thousandths);
  int up_to(int most);

  struct Watch {
    Connection* connection = nullptr;
    std::atomic<bool> stop{false};
  };

  const Endpoint endpoint_;
  mutable std::mutex mutex_;
  FaultPlan plan_;
  std::mt19937_64 random_;
  std::set<Watch*> watches_;
  std::atomic<std::uint64_t> passed_{0}, harmed_{0};
  std::atomic<int> writes_{0}, most_writes_{0};
  std::atomic<bool> stopping_{false};
  std::unique_ptr<kube::testing::HttpServer> server_;
  std::thread watcher_;
};

}  // namespace berth::e2e
