// What Berth is compared with: a stack of a queue manager and a scheduler, each deciding for itself. The first admits, and
// chooses victims, by quota alone; the second looks for nodes for who is admitted. Nobody takes a victim for a place:
//
//   - who is admitted keeps its quota while it finds no nodes, and others wait for it although nodes may be free;
//   - victims are ended although what they leave may not fit together.
//
// Both are the engine itself: one that knows queues and no nodes (flavors are opaque), and one that knows nodes and has no
// quota. The order within a queue is the same in both; sharing, preemption and strictness are the first one's.
//
// Restrictions (the scenario refuses them): leaf queues with quota only, no elastic jobs, no services. An eviction of who has
// no place yet costs nothing and is not shown.
//
// Published results of simulators that work so: HeliosArtifact's shortest-remaining-time-first (Hu et al., SC 2021), which
// preempts by counting GPUs.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "sim/decider.h"

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
  };

  Status workload(const WorkloadUpsert& event);
  Status remove(const WorkloadRemove& event);
  Status slot(const SlotUpdate& event);
  Status admit(const Decision& decision, TimeMs now);
  // True: its quota is free at once.
  Result<bool> take_back(const Decision& decision, std::vector<Decision>& out);
  Status place(const Decision& decision, TimeMs now);
  // Tells the first pass that who stands without a place does not get on.
  Status stand(Work& work, TimeMs now);
  Status show(const Work& work, bool active);

  engine::Engine quota_;
  engine::Engine nodes_;
  std::map<std::string, Work, std::less<>> works_;
  std::map<std::string, Work*, std::less<>> standing_;  // admitted, without a place
};

}  // namespace berth::sim
