// Which object stands for which work when one of them changes. The cases: a Workload of another client whose work has come, one that
// has lost its work, and one that only pretends to have some. Lives on the decision thread.
//
// An object that has lost its work becomes a record of its own (past_of()), since Berth may not delete it. It is Finished, for a
// reason that says nothing of pods, and then forgotten.
//
// Cost: O(log n) per call, and a sketch.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "base/time.h"
#include "dialect/intake/intake_promises.h"
#include "scheduler/kueue/admission_line.h"
#include "scheduler/kueue/object_writes.h"
#include "scheduler/kueue/provisioner.h"
#include "scheduler/kueue/workload_book.h"

namespace berth::scheduler {

inline constexpr std::string_view kHasAnother = "Another Workload has replaced it";

class Succession {
 public:
  Succession(dialect::IntakePromises& intake, WorkloadBook& book, ObjectWrites& writes, AdmissionLine& line,
             Provisioner& provisioner)
      : intake_(intake),
        book_(book),
        records_(book.records()),
        writes_(writes),
        line_(line),
        provisioner_(provisioner) {}

  // Work has come that owns this Workload, which had stood for itself or belonged to other work.
  void handed_over(const dialect::HandOver& what, TimeMs now);
  // The Workload (namespace/name) does not match the work that names it.
  void out_of_sync(const std::string& key, TimeMs now);
  // Its object becomes a record of its own that is finished, for this reason. No effect without an object.
  void retire(const std::string& record, std::string_view reason, std::string message, TimeMs now);
  // Its object is not its own any more: the work names another one, or none, or another client made that object in its name.
  void settle(const std::string& workload, const dialect::WorkloadSketch& sketch, TimeMs now);
  // The object of a record of the past was read, and names this workload.
  void past_seen(const std::string& record, const std::string& workload, bool is_finished, TimeMs now);
  bool is_of_another_namespace(const std::string& workload, const std::string& ns) const;
  // The reason for which the object `key` is finished when its work has the object `next`, which replaces `replaces`. Slices of
  // elastic Jobs that another client makes replace each other.
  static std::pair<std::string_view, std::string> why_over(std::string_view replaces, std::string_view next,
                                                           std::string_view key);

 private:
  dialect::IntakePromises& intake_;
  WorkloadBook& book_;
  Records& records_;
  ObjectWrites& writes_;
  AdmissionLine& line_;
  Provisioner& provisioner_;
};

}  // namespace berth::scheduler
