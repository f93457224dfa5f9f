// A stack to compare Berth with: a queue manager and a scheduler, each deciding for itself. The first admits, and chooses victims,
// by quota alone; the second looks for nodes for admitted work. No victim is chosen for its place:
//
//   - admitted work keeps its quota while it finds no nodes, and others wait for it although nodes may be free;
//   - victims are ended although what they leave may not fit together.
//
// The nodes of victims are first offered to their preemptor: until the first pass admits it, the second pass does not learn that
// they have ended. Then it looks for places for that workload alone, and after it for all others.
//
// Both are the engine itself: one that knows queues and no nodes (flavors are opaque), and one that knows nodes and has no
// quota. The order within a queue is the same in both; sharing, preemption and strictness are the first one's.
//
// Restrictions (the scenario refuses them): leaf queues with quota only, no elastic jobs, no services. An eviction of work without
// a place costs nothing and is not shown.
//
// Published results of simulators that work so: HeliosArtifact's shortest-remaining-time-first (Hu et al., SC 2021), which
// preempts by counting GPUs.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "sim/replay/decider.h"

namespace berth::sim {

class TwoPassDecider final : public Decider {
 public:
  explicit TwoPassDecider(const engine::EngineConfig& config);
  Status apply(const Event& event) override;
  Result<std::vector<Decision>> decide(TimeMs now) override;
  // The second pass: where everybody is.
  const engine::Engine& engine() const override { return nodes_; }
  TimeMs next_time() const override;
  Result<Verdict> verdict(std::string_view uid) const override;
  Result<Verdict> explain(std::string_view uid) const override;
  Status audit() const override;

 private:
  struct Work {
    Workload spec;  // as submitted
    // While it is admitted: what the first pass charged, where its slots are, and since when it has had no place.
    std::vector<SlotPlacement> quota;
    std::vector<SlotPlacement> places;
    TimeMs admitted = 0;
    // Admitted without a place, this time and before. The first pass takes it for work, so it is told of as much more work.
    DurationMs stood = 0;
    DurationMs stood_before = 0;
    // While it is a victim whose end the second pass has not learnt: the workload that it ended for.
    std::string ended_for;
  };

  Status workload(const WorkloadUpsert& event);
  Status remove(const WorkloadRemove& event);
  Status slot(const SlotUpdate& event);
  Status admit(const Decision& decision, TimeMs now);
  // True: its quota is free at once.
  Result<bool> take_back(const Decision& decision, std::vector<Decision>& out);
  Status place(const Decision& decision, TimeMs now);
  // Tells the second pass of the ends of those that ended for this workload; true: there were some.
  Result<bool> pass_on(const std::string& beneficiary);
  // The second pass, first for these alone.
  Status look_for_places(const std::vector<std::string>& first, TimeMs now, std::vector<Decision>& out);
  // Tells the first pass that work without a place makes no progress.
  Status stand(Work& work, TimeMs now);
  Status show(const Work& work, bool active);

  engine::Engine quota_;
  engine::Engine nodes_;
  std::map<std::string, Work, std::less<>> works_;
  std::map<std::string, Work*, std::less<>> standing_;  // admitted, without a place
  // Ends of victims that the second pass does not know yet, by their preemptor.
  std::map<std::string, std::vector<SlotUpdate>, std::less<>> ended_;
};

}  // namespace berth::sim
