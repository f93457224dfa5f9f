// Who must yield: victims and places together, for a workload that fits nowhere as things are.
//
// Who may be a victim (the policy of the preemptor's queue, model/queue.h, and nothing else):
//   within     workloads of the same queue of lower priority (or equal and newer, or that stand behind in line:
//              order/standing.h, where the policy says so)
//   reclaim    workloads of other queues of the same tree that run on borrowed quota: every queue from the victim's up to
//              below the common ancestor uses more than its subtree's quota of a pair that both need, and the preemptor's
//              side stays within its own subtree's quota with the request. Protected work (not borrowing) is never taken.
//   minimum    nobody yields before it has run its minimum runtime, unless the preemptor's queue says otherwise
// Work that only holds room (it waits for its own victims to end) yields first: nothing is lost.
//
// Units are whole workloads. Order among candidates: holds, lower priority, lower cost, later start, uid of arrival.
//
// Algorithm. Two sequences of candidates are tried: (A) the order above; (B) node by node, cheapest node first, where a
// node's price is the cost of the candidates that must go before one more slot fits there. From a sequence victims are
// taken until everything fits, quota and places; then, from the last to the first, each one whose return still leaves a
// fit is given back, so no victim of the result can be dropped. The cheaper result wins: lower highest priority, then lower
// total cost, then fewer. With a required topology the sequences are also tried domain by domain.
//
// Cost: O(candidates log candidates + slots of candidates + taken victims x attempt), bounded by `steps`.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "engine/core/state.h"
#include "engine/place/placer.h"

namespace berth::engine {

struct VictimPlan {
  struct Victim {
    WorkloadId workload;
    bool reclaim = false;  // of another queue
    bool holder = false;   // only its hold ends
    std::int64_t cost = 0;
    ReasonCode why = ReasonCode::kPreempted;
  };
  std::vector<Victim> victims;     // in the order in which they were taken
  std::vector<PlacedSlot> placed;  // the preemptor's places, once they are gone
};

class VictimSearch {
 public:
  VictimSearch(State& state, WorkloadId preemptor, std::int64_t& steps);

  // Found: the trial holds the freed room of the victims and the charges of the places, all on the after plane.
  // Otherwise rolled back; why_not() says why.
  std::optional<VictimPlan> run();
  const Reason& why_not() const { return why_not_; }
  // After run() found nothing: the first time at which more work may yield, because it has run its minimum or stands
  // behind in line by then;
  // kEndOfTime: time alone changes nothing.
  TimeMs more_at() const { return more_at_; }

 private:
  struct Candidate {
    WorkloadId workload;
    bool reclaim = false;
    bool holder = false;
    std::int64_t priority = 0;
    std::int64_t cost = 0;
    TimeMs started = 0;
    std::uint64_t arrival = 0;
    std::int64_t standing = 0;  // in line (order/standing.h), where that decides
  };
  using Sequence = std::vector<std::uint32_t>;  // of candidates

  bool could_help() const;
  std::optional<VictimPlan> run_rank(int rank);
  void collect();
  QueueId side_towards(QueueId other) const;
  bool reclaim_allowed(QueueId victim_queue) const;
  bool own_quota_suffices(VictimPlan& plan);
  void keep_only_needed(VictimPlan& plan, const Sequence& victims);
  bool fits_beside(const VictimPlan& plan, const WorkloadState& victim) const;
  bool still_borrows(QueueId victim_queue, const WorkloadState& victim) const;
  void free(const Candidate& c, int sign);
  bool fits(std::vector<PlacedSlot>* placed);
  std::optional<Sequence> take(const Sequence& sequence, std::size_t most);
  Sequence by_node(const Sequence& among);
  Sequence within_domain(DomainId domain) const;
  bool better(const Sequence& a, const Sequence& b) const;
  void consider(std::optional<Sequence> found);

  State& state_;
  WorkloadId id_;
  const WorkloadState& w_;
  std::int64_t& steps_;
  int rank_ = 0;  // which charge of each pod set is meant: the flavors are tried in their order
  std::vector<QuotaItem> needs_;  // what a start charges at least, per pair
  std::vector<ShapeId> shapes_;
  std::vector<Candidate> candidates_;
  std::optional<Sequence> best_;
  Reason why_not_;
  TimeMs more_at_ = kEndOfTime;
};

}  // namespace berth::engine
