// Records what a cluster has, and lets Kubernetes' own plugins (tools/kube-oracle) judge every bind of Berth afterwards.
//
//   BindTape tape(cluster->endpoint());
//   ASSERT_OK(tape.start());                       // before Berth
//   ... the test, with `berth scheduler --decision-log FILE` ...
//   BERTH_ASSIGN(auto verdict, tape.judge("FILE", folder, *built_oracle(folder)));
//
// Berth writes its binds in parallel, so neither a watch nor the API server knows their order. The decision log does: each line is a
// change that Berth learned of, or what it decided then. So a bind is judged against the nodes that Berth knew. It is judged against
// the pods that had not ended, and were bound or had their nodes by an earlier decision. The tape adds what the log has not: the objects as
// the API server showed them. Claims and volumes are taken as they were last seen, since a bind follows when they are bound.
//
// A decision that led to no bind takes room in the same way, and is not judged. A bind without a decision is `untold`.
// Memory: one object for each pod, node, claim and volume that was ever there.
#pragma once

#include <atomic>
#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "base/result.h"
#include "e2e/api_client.h"

namespace berth::e2e {

struct TapeVerdict {
  std::size_t binds = 0;    // of the schedulers that the log is of
  std::size_t states = 0;   // that the oracle was asked about
  std::size_t judged = 0;   // binds that it was asked about
  std::size_t no_bind = 0;  // decided places to which no pod was bound
  std::vector<std::string> wrong;
  std::vector<std::string> untold;
  std::vector<std::string> errors;  // of the oracle, and of the log

  bool clean() const { return wrong.empty() && untold.empty() && errors.empty() && judged == binds; }
  std::string str() const;
};

class BindTape {
 public:
  explicit BindTape(Endpoint endpoint) : endpoint_(std::move(endpoint)) {}
  ~BindTape() { stop(); }
  BindTape(const BindTape&) = delete;
  BindTape& operator=(const BindTape&) = delete;

  Status start();
  void stop();
  // Stops. The states that the oracle is asked about, and its answers, are written to `folder`. Pods that name `scheduler` are those
  // whose binds are judged.
  Result<TapeVerdict> judge(const std::string& decision_log, const std::string& folder,
                            const std::string& oracle, const std::string& scheduler = "default-scheduler");

 private:
  struct Stream {
    std::string path;
    std::string version;  // of the API
    std::string kind;
    std::map<std::string, nlohmann::json> seen;  // by uid, as last seen
    std::string from;                            // resource version that the watch goes on from
    std::thread thread;
  };

  Status list(Stream& stream);
  void follow(Stream& stream);
  void take(Stream& stream, nlohmann::json object);
  void give_up(std::string problem);

  Endpoint endpoint_;
  std::atomic<bool> stop_{false};
  std::mutex mutex_;
  std::vector<std::unique_ptr<Stream>> streams_;
  std::string problem_;  // a watch that lost events
};

// The path of the oracle, which is built first where it is not: half a minute after the control plane. Logs go to `folder`.
Result<std::string> built_oracle(const std::string& folder);

}  // namespace berth::e2e
