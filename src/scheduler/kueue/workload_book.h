// The records of all workloads, which of them are to be looked at, and what the intake is told of their standing. The parts of
// WorkloadObjects (workload_objects.h) share one. Lives on the decision thread.
//
// Two queues of looks. due(): work whose start waits for an answer, or whose timer has fired; handled on time. changes(): everything
// else that changed; handled `settle` later, and slowly while binds are in flight.
//
// Cost: O(log n) per call; O(pod sets) for a sketch.
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/time.h"
#include "dialect/intake/intake_promises.h"
#include "engine/engine.h"
#include "scheduler/kueue/ownership.h"
#include "scheduler/kueue/workload_record.h"
#include "scheduler/wire/due.h"
#include "scheduler/wire/lane_book.h"

namespace berth::scheduler {

class WorkloadBook {
 public:
  // `enabled`: false: nothing is looked at.
  WorkloadBook(dialect::IntakePromises& intake, const engine::Engine& engine, LaneBook& lanes, bool enabled,
               DurationMs settle)
      : intake_(intake), engine_(engine), lanes_(lanes), enabled_(enabled), settle_(settle) {}

  Records& records() { return records_; }
  const Records& records() const { return records_; }
  Ownership& ownership() { return ownership_; }

  // The record is looked at then.
  void schedule(const std::string& record, TimeMs at);
  void changed(std::string_view workload, TimeMs now);
  // The workload of this object (namespace/name) is.
  void wake(const std::string& object, TimeMs at);
  Due& due() { return due_; }
  Due& changes() { return changes_; }
  const Due& changes() const { return changes_; }
  DurationMs settle() const { return settle_; }
  TimeMs next_due() const { return next_due_; }
  void set_next_due(TimeMs at) { next_due_ = at; }
  void due_by(TimeMs at) { next_due_ = std::min(next_due_, at); }

  // The intended contents of the object of this record.
  std::optional<dialect::WorkloadSketch> sketch_of(const std::string& record) const;
  // The name of the workload's object (namespace/name). `sketch`: of the workload.
  std::string own_key(const std::string& workload, const dialect::WorkloadSketch& sketch) const;
  // An object that is over is Finished only when its successor has its quota on the server. So one of them stands for the Job at any
  // time.
  bool has_successor(const WorkloadRecord& past) const;
  // Why a workload without places waits, for people.
  std::optional<Reason> why_waiting(const std::string& workload) const;
  // There is another object of the name that its Workload was to have.
  void name_anew(const std::string& record);

  // A write about the record's object is under way, or is not any longer.
  void set_flying(WorkloadRecord& record, bool flying);
  std::size_t flying() const { return flying_; }

  // Tells the intake how the workload stands.
  void stand(const std::string& workload, const WorkloadRecord& record, TimeMs now);
  // The intake has news, since the last take_news().
  void add_news(bool any) { news_ = news_ || any; }
  bool take_news() { return std::exchange(news_, false); }
  // It counts in no queue.
  void leave_lanes(const std::string& record) { lanes_.set(record, {}, {}, LaneBook::State::kNone, {}); }

 private:
  dialect::IntakePromises& intake_;
  const engine::Engine& engine_;
  LaneBook& lanes_;
  const bool enabled_;
  const DurationMs settle_;
  Records records_;
  Ownership ownership_;
  Due due_;
  Due changes_;
  TimeMs next_due_ = kEndOfTime;
  std::size_t flying_ = 0;
  bool news_ = false;
};

}  // namespace berth::scheduler
