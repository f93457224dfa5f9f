// The book of waits for volumes: pods that have their places and are not bound yet, since claims that they mount are not (WaitForFirstConsumer).
// Pure: it writes nothing, and the time is given. The carrier tells it what each pod needs (ClaimStep), and does what follows
// (carrier_volumes.cc). Lives on the decision thread.
//
//   place ──► add() ──► set_steps() ──► a claim needs a node, or a volume: take_asks(), and answered()
//                            │          a claim needs time: nothing
//                            │ no pod of the workload needs anything
//                            ▼
//                        ready() ──► take(): all of them are bound together
//
// The wait of a workload ends early, and all of its places go back (take_backs()), where
//   - the node was written on a claim, and is no longer there: its provisioner cannot make the volume for this node. The node is refused for
//     the claim for a time, which doubles with each refusal
//   - the claim was written on an existing volume, and is no longer there: the same
//   - no volume of the node is left for the claim: the same
//   - the volumes are not there within `within`. The nodes of the claims that were waited for are refused in the same way
//   - a claim cannot be used on the node (ClaimNeed::kPlace), or a pod of the workload is gone
// Only in memory. After a restart a claim with a node keeps its pods to that node, and the wait begins anew; refusals are forgotten.
//
// Cost: O(log n) per claim of a pod and call; O(pods of the workload) for why() and what ends a wait.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/time.h"
#include "dialect/volumes/claim_step.h"

namespace berth::scheduler {

struct VolumeWaitOptions {
  DurationMs within = 10 * kMinute;  // as bindTimeoutSeconds of the default scheduler
  DurationMs first_rest = 100;       // after a write failed, doubled up to most_rest
  DurationMs most_rest = 10 * kSecond;
  DurationMs first_refusal = 10 * kSecond;  // of a node for a claim, doubled up to most_refusal
  DurationMs most_refusal = 10 * kMinute;
};

class VolumeWait {
 public:
  explicit VolumeWait(VolumeWaitOptions options = {}) : options_(options) {}

  // The pod has a place, and waits from now on; see take_looks().
  void add(const std::string& workload, const std::string& pod, TimeMs now);
  // The pod waits no longer, for a reason of its own. Here, and below: nothing for a pod that does not wait.
  void leave(const std::string& pod);
  // The pod is gone: the others of its workload get their places back.
  void gone(const std::string& pod);
  bool holds(const std::string& workload) const { return works_.contains(workload); }
  bool empty() const { return works_.empty(); }

  // These claims (namespace/name) are others than before.
  void changed(const std::set<std::string>& claims);
  // Pods whose needs are to be told with set_steps(), since the last call.
  std::set<std::string> take_looks() { return std::exchange(looks_, {}); }
  // Whether existing volumes may be chosen for the pod's claims now. Not while one is being made for one of them.
  bool may_choose(const std::string& pod) const;
  void set_steps(const std::string& pod, const std::string& node, std::vector<dialect::ClaimStep> steps,
                 TimeMs now);

  // The node is to be written on this claim, or the claim on its volume (ClaimNeed); the answer comes with answered().
  struct Ask {
    std::string claim;  // namespace/name
    dialect::ClaimStep step;
    std::string node;
  };
  std::vector<Ask> take_asks(TimeMs now);
  // `version`: of the object as it is written. `error`: why it is not, "": it is.
  void answered(const std::string& claim, std::string_view version, std::string error, TimeMs now);

  // Workloads no pod of which needs anything.
  const std::set<std::string>& ready() const { return ready_; }
  // They wait no longer.
  std::vector<std::string> take(const std::string& workload);
  // Waits that have ended early, since the last call.
  struct Back {
    std::string workload;
    std::vector<std::string> pods;
    std::string why;
  };
  std::vector<Back> take_backs(TimeMs now);
  // Claims whose refused nodes are others than at the last call, with these nodes.
  std::map<std::string, std::set<std::string>> take_refusals(TimeMs now);

  // Claims that no pod waits for any longer, since the last call: volumes that were chosen for them need not be kept.
  std::set<std::string> take_left() { return std::exchange(left_, {}); }

  // "waits for its volumes: claim data is being provisioned for node n1"; "": it does not wait.
  std::string why(const std::string& workload) const;
  // Takes it into the next take_looks(), too.
  void look_again(const std::string& pod) { looks_.insert(pod); }
  // When take_asks(), take_backs() or take_refusals() have something by time; kEndOfTime: never.
  TimeMs next_due() const;

 private:
  struct Pod {
    std::string workload;
    std::string node;
    std::map<std::string, dialect::ClaimStep> open;  // by claim
    bool looked_at = false;
  };
  struct Work {
    std::set<std::string> pods;
    std::size_t open = 0;  // pods that need something, or were not looked at
    TimeMs deadline = 0;
  };
  struct Claim {
    std::set<std::string> pods;  // that need it; none: only the answer to its write is waited for
    dialect::ClaimStep step;     // as it was last told
    std::string node;            // that is written on it, or is to be; or that of its volume
    std::string volume;          // on which it is written, or is to be; "": the node is written
    bool flying = false;
    bool written = false;
    std::uint64_t version = 0;  // of what is written
    int failures = 0;
    TimeMs next_try = 0;
    std::string error;
  };
  struct Refusal {
    std::map<std::string, TimeMs> nodes;  // until when
    int times = 0;
    TimeMs counted = 0;    // the last of `times`
    TimeMs forgotten = 0;  // when `times` is
  };

  void drop(const std::string& pod);
  bool needs_no_more(const std::string& key, const std::string& pod);
  void count(Work& work, const std::string& workload, int delta);
  void open(const std::string& key, const std::string& pod, dialect::ClaimStep step, TimeMs now);
  void ask(const std::string& key, Claim& claim, const Pod& pod, TimeMs now);
  void give_back(const std::string& workload, std::string why);
  void give_back_users(const Claim& claim, const std::string& why);
  // `searches`: several nodes may be tried in a row, and their refusals count once.
  void refuse(const std::string& key, const std::string& node, TimeMs now, bool searches = false);

  const VolumeWaitOptions options_;
  std::unordered_map<std::string, Work> works_;
  std::unordered_map<std::string, Pod> pods_;
  std::map<std::string, Claim> claims_;  // by namespace/name
  std::map<std::string, Refusal> refusals_;
  std::set<std::string> looks_;
  std::set<std::string> ready_;
  std::map<std::string, std::string> backs_;  // by workload: why
  std::set<std::string> refused_;             // claims whose nodes have changed
  std::set<std::string> left_;                // claims
  std::multimap<TimeMs, std::string> asks_;   // claims
  std::multimap<TimeMs, std::string> deadlines_;
  std::multimap<TimeMs, std::string> refusal_ends_;  // claims
};

}  // namespace berth::scheduler
