// One replay under way (replay.h says what it does). Internal to the room. replay.cc runs the clock and dispatches decisions.
// replay_jobs.cc moves work in and out of its room. replay_faults.cc takes nodes out and brings them back. replay_services.cc
// follows load and targets. ReplayWork (replay_work.h) has the work and its room, Outages (outages.h) the nodes that are out.
// OutcomeBook (outcome_book.h) writes the outcome.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/course/course.h"
#include "sim/course/event_queue.h"
#include "sim/course/start_costs.h"
#include "sim/replay/outages.h"
#include "sim/replay/outcome_book.h"
#include "sim/replay/replay.h"
#include "sim/replay/replay_work.h"
#include "sim/trace/books.h"

namespace berth::sim {

class ReplayRun {
 public:
  ReplayRun(const Input& input, Decider& decider, const ReplayOptions& options);
  Result<Outcome> run();

 private:
  using PlacedSlot = ReplayWork::PlacedSlot;
  using Live = ReplayWork::Live;

  // ---- replay.cc
  Status prepare();
  TimeMs engine_wakes_at() const;
  Status moment(TimeMs at);
  Status take(const SimEvent& event);
  Status carry_out(const Decision& decision);
  Status apply(const Event& event);
  void report_progress() const;
  void note_reasons();
  void finish();

  TimeMs engine_time(TimeMs at) const { return at - out_.begin + kSecond; }
  TimeMs next_submit() const;

  // ---- replay_jobs.cc
  void queue_submission();
  Status submit(std::uint32_t index);
  void set_waiting(std::uint32_t index);
  Status start(std::uint32_t index, const Decision& decision);
  Status take_room(std::uint32_t index, const Decision& decision);
  Status report_running();
  Status evict(std::uint32_t index, const Decision& decision);
  Status room_free(std::uint32_t index);
  Status finish_job(std::uint32_t index);
  // The job's speed with the slots that work now, and its finish event.
  void set_pace(std::uint32_t index);
  void set_finish(std::uint32_t index);
  // All its room is lost at once, or only from now on: what is kept is what the last checkpoint kept.
  void stop(std::uint32_t index, bool by_failure);
  // The slot's room is free.
  void leave(std::uint32_t index, const PlacedSlot& slot, bool lost);
  Status wait_again(std::uint32_t index, const std::vector<PlacedSlot>& slots);

  // ---- replay_faults.cc
  Status prepare_faults();
  Status strike(std::uint32_t rule);
  Status repair(std::uint32_t fault);
  Status take_out(std::uint32_t node, std::int64_t device);
  Status bring_back(std::uint32_t node, std::int64_t device);
  Status lose_slots(std::uint32_t index, std::uint32_t node, std::int64_t device);

  // ---- replay_services.cc
  void prepare_services();
  Status service_event(std::uint32_t service);
  Status set_target(std::uint32_t service, std::int64_t target);
  Status end_service(std::uint32_t service);
  void queue_service(std::uint32_t service);
  // Takes in the time since the last change of load, target or replicas that serve.
  void account_service(std::uint32_t service);
  void show_ready(std::uint32_t service);
  Workload service_workload(std::uint32_t service) const;

  const Input& input_;
  Decider& decider_;
  const ReplayOptions& options_;
  Books books_;
  EventQueue events_;
  Outcome out_;
  ReplayWork work_;
  OutcomeBook book_;
  Outages outages_;
  std::vector<std::uint32_t> started_;  // in this round
  std::vector<std::uint32_t> waits_;    // began to wait in this moment
  NodeImages images_;
  std::size_t next_ = 0;
  bool submission_queued_ = false;
  std::int64_t ended_ = 0;
  std::int64_t decisions_ = 0;
  TimeMs now_ = 0;
};

}  // namespace berth::sim
