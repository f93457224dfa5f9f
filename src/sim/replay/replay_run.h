// One replay under way (replay.h says what it does). Internal to the room. replay.cc runs the clock and dispatches decisions.
// replay_jobs.cc moves work in and out of its room. replay_faults.cc takes nodes out and brings them back. replay_services.cc
// follows load and targets.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/course/course.h"
#include "sim/course/event_queue.h"
#include "sim/course/faults.h"
#include "sim/course/start_costs.h"
#include "sim/replay/replay.h"
#include "sim/trace/books.h"

namespace berth::sim {

class ReplayRun {
 public:
  ReplayRun(const Input& input, Decider& decider, const ReplayOptions& options);
  Result<Outcome> run();

 private:
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
    bool used = false;
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

  // ---- replay.cc
  Status prepare();
  void choose_gantt_nodes();
  TimeMs engine_wakes_at() const;
  Status moment(TimeMs at);
  Status take(const SimEvent& event);
  Status carry_out(const Decision& decision);
  Status apply(const Event& event);
  void report_progress() const;
  void note_reasons();
  void note_idle(TimeMs at);
  void finish();
  std::string text_of(std::uint32_t index) const;

  // ---- look-ups. An index below the number of jobs is a job, from there on a service.
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
  const Job& job(std::uint32_t index) const { return input_.trace.jobs[index]; }
  const JobShape& shape(std::uint32_t index) const { return input_.trace.shapes[job(index).shape]; }
  const std::string& name(std::uint32_t index) const;
  const Group& root(std::uint32_t index) const;
  const std::vector<const PodSet*>& sets(std::uint32_t index) const;
  const Restart& restart(std::uint32_t index) const;
  const StartCosts& costs(std::uint32_t index) const;
  std::int64_t asked_gpu_milli(std::uint32_t index) const;
  std::size_t leaf(std::uint32_t index) const;
  JobOutcome& outcome(std::uint32_t index);
  Live& live(std::uint32_t index) { return pool_[live_of_[index]]; }
  TimeMs engine_time(TimeMs at) const { return at - out_.begin + kSecond; }
  TimeMs next_submit() const;

  // ---- replay_jobs.cc
  void queue_submission();
  Status submit(std::uint32_t index);
  void open(std::uint32_t index);
  void close(std::uint32_t index);
  void set_waiting(std::uint32_t index);
  void end_waiting(std::uint32_t index);
  void end_ending(std::uint32_t index);
  void change_allocated(std::uint32_t index, std::int64_t gpu_milli);
  // The series over time of its queue; for waiting, `gpu_milli` asked for by so many workloads.
  void count(std::uint32_t index, QueueTrack track, std::int64_t change);
  void count_waiting(std::uint32_t index, std::int64_t workloads, std::int64_t gpu_milli);
  void lose(std::uint32_t index, Int128 gpu_milli_ms);
  Status start(std::uint32_t index, const Decision& decision);
  Status take_room(std::uint32_t index, const Decision& decision);
  Status report_running();
  Status evict(std::uint32_t index, const Decision& decision);
  Status room_free(std::uint32_t index);
  Status finish_job(std::uint32_t index);
  // The job's speed with the slots that work now, and its finish event.
  void set_pace(std::uint32_t index);
  void set_finish(std::uint32_t index);
  std::int64_t speed_of(std::uint32_t index);
  std::vector<std::int64_t> slots_by_set(std::uint32_t index, bool ready_only);
  // All its room is lost at once, or only from now on: what is kept is what the last checkpoint kept.
  void stop(std::uint32_t index, bool by_failure);
  // The slot's room is free.
  void leave(std::uint32_t index, const PlacedSlot& slot, bool lost);
  Status wait_again(std::uint32_t index, const std::vector<PlacedSlot>& slots);
  void occupy(std::uint32_t index, const PlacedSlot& slot, bool evicted, bool running);
  void settle_account(std::uint32_t index);

  // ---- replay_faults.cc
  Status prepare_faults();
  Status strike(std::uint32_t rule);
  Status repair(std::uint32_t fault);
  Status take_out(std::uint32_t node, std::int64_t device);
  Status bring_back(std::uint32_t node, std::int64_t device);
  Status lose_slots(std::uint32_t index, std::uint32_t node, std::int64_t device);
  Node node_now(std::uint32_t node) const;
  std::int64_t out_gpu_milli(std::uint32_t node) const;

  // ---- replay_services.cc
  void prepare_services();
  Status service_event(std::uint32_t service);
  Status set_target(std::uint32_t service, std::int64_t target);
  Status end_service(std::uint32_t service);
  void queue_service(std::uint32_t service);
  // Takes in the time since the last change of load, target or replicas that serve.
  void account_service(std::uint32_t service);
  void show_ready(std::uint32_t service);
  std::int64_t ready_replicas(std::uint32_t service);
  Workload service_workload(std::uint32_t service) const;

  static constexpr std::uint32_t kNone = 0xffffffffu;

  const Input& input_;
  Decider& decider_;
  const ReplayOptions& options_;
  Books books_;
  EventQueue events_;
  Outcome out_;
  std::vector<std::uint32_t> live_of_;  // per job and service: its place in pool_, or kNone
  std::vector<Live> pool_;
  std::vector<std::uint32_t> free_live_;
  std::vector<std::vector<std::uint32_t>>
      on_node_;  // per node: places in pool_, one for each slot there, in any order
  std::vector<std::vector<const PodSet*>> pod_sets_;  // per shape
  std::vector<std::uint32_t> gantt_of_;
  std::vector<std::uint32_t> started_;  // in this round
  std::vector<std::uint32_t> waits_;    // began to wait in this moment
  NodeImages images_;
  Faults faults_;
  std::vector<Fault> repairing_;
  std::vector<std::uint32_t> free_repairs_;
  std::vector<std::int32_t> node_out_;                 // per node: failures that it is out for
  std::vector<std::vector<std::int32_t>> device_out_;  // per node and device; empty = none ever
  std::vector<std::uint32_t> resting_rules_;           // struck while nothing else was ahead
  std::vector<ServiceRun> services_;
  std::size_t next_ = 0;
  bool submission_queued_ = false;
  std::int64_t ended_ = 0;
  std::int64_t decisions_ = 0;
  TimeMs now_ = 0;
};

}  // namespace berth::sim
