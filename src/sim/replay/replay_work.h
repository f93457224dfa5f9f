// The work of a replay: what each job and service is, and for those that wait or have room, where. Internal to the room.
//
// An index below the number of jobs is a job, from there on a service. Cost: O(1) per call, O(slots) where it says so.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/time.h"
#include "model/decision.h"
#include "model/workload.h"
#include "sim/course/course.h"
#include "sim/course/start_costs.h"
#include "sim/replay/replay.h"

namespace berth::sim {

class ReplayWork {
 public:
  // A slot with a place.
  struct PlacedSlot {
    SlotPlacement placement;
    std::uint32_t node = 0;
    const PodTemplate* pod = nullptr;
    std::int64_t gpu_milli = 0;
    TimeMs since = 0;
    TimeMs ready = 0;          // it works from here on
    TimeMs free = kEndOfTime;  // of one that ends: when its room is free
    bool reported = false;     // the engine was told that it runs
  };

  // Work that waits or has room.
  struct Live {
    Course course;
    TimeMs since = 0;                // of its state
    std::uint32_t run = 0;           // its finish event bears this number
    std::uint64_t starts = 0;        // of slots, so far
    std::vector<PlacedSlot> active;  // in the order of pod set and index
    std::vector<PlacedSlot> ending;
    std::int64_t gpu_milli = 0;  // of active slots
    TimeMs barrier = 0;          // a run begins to work here
    ReasonCode held_by = ReasonCode::kNone;
    std::uint32_t index = 0;  // of the job or service
  };

  struct ServiceRun {
    Group root;  // with the present target
    std::vector<const PodSet*> sets;
    std::size_t next_load = 0;
    std::size_t next_step = 0;
    std::int64_t load_milli = 0;
    std::int64_t target = 0;
    TimeMs accounted = 0;  // up to here
    bool gone = false;
  };

  // `input` must outlive it.
  explicit ReplayWork(const Input& input);

  bool is_service(std::uint32_t index) const { return index >= input_.trace.jobs.size(); }
  std::uint32_t service_of(std::uint32_t index) const {
    return index - static_cast<std::uint32_t>(input_.trace.jobs.size());
  }
  std::uint32_t index_of(std::uint32_t service) const {
    return service + static_cast<std::uint32_t>(input_.trace.jobs.size());
  }
  std::uint32_t count() const {
    return static_cast<std::uint32_t>(input_.trace.jobs.size() + input_.services.size());
  }
  ServiceRun& service(std::uint32_t service) { return services_[service]; }
  const Job& job(std::uint32_t index) const { return input_.trace.jobs[index]; }
  const JobShape& shape(std::uint32_t index) const { return input_.trace.shapes[job(index).shape]; }
  const std::string& name(std::uint32_t index) const;
  // "job train"
  std::string text_of(std::uint32_t index) const;
  const Group& root(std::uint32_t index) const;
  const std::vector<const PodSet*>& sets(std::uint32_t index) const;
  const Restart& restart(std::uint32_t index) const;
  const StartCosts& costs(std::uint32_t index) const;
  std::int64_t asked_gpu_milli(std::uint32_t index) const;

  // It waits from now on; close(): it is over.
  void open(std::uint32_t index);
  void close(std::uint32_t index);
  bool is_live(std::uint32_t index) const { return live_of_[index] != kNone; }
  // It is live.
  Live& live(std::uint32_t index) { return pool_[live_of_[index]]; }
  const Live& live(std::uint32_t index) const { return pool_[live_of_[index]]; }
  // O(slots). Per pod set; of those that work at `now`, or of all.
  std::vector<std::int64_t> slots_by_set(std::uint32_t index) const;
  std::vector<std::int64_t> working_by_set(std::uint32_t index, TimeMs now) const;
  // The speed of a job with the slots that work now.
  std::int64_t speed_of(std::uint32_t index, TimeMs now) const;
  // Replicas that serve.
  std::int64_t ready_replicas(std::uint32_t service, TimeMs now) const;

  // A slot of it is on the node, or no longer.
  void arrive(std::uint32_t node, std::uint32_t index) { on_node_[node].push_back(live_of_[index]); }
  void depart(std::uint32_t node, std::uint32_t index);
  // Work with slots there, each once, in a stable order.
  std::vector<std::uint32_t> on_node(std::uint32_t node) const;

 private:
  static constexpr std::uint32_t kNone = 0xffffffffu;

  const Input& input_;
  std::vector<std::vector<const PodSet*>> pod_sets_;  // per shape
  std::vector<ServiceRun> services_;
  std::vector<std::uint32_t> live_of_;  // per job and service: its place in pool_, or kNone
  std::vector<Live> pool_;
  std::vector<std::uint32_t> free_live_;
  // per node: places in pool_, one for each slot there, in any order
  std::vector<std::vector<std::uint32_t>> on_node_;
};

}  // namespace berth::sim
