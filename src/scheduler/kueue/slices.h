// The slices of elastic Jobs, as in Kueue. A running Job that is to get more pods gets another Workload, for its whole size. When
// these pods have places, that Workload becomes the Job's, and the former is Finished. With fewer pods the Workload that it has asks
// for fewer. Lives on the decision thread.
//
// Two numbers decide: the pods with places, and the pods that the Job asks for. So nothing is lost with this process: the slices,
// what they ask for and which is the newer are in the objects.
//
// An elastic Job has several records. That of the workload has the slice that it runs with. The waiting slice has one (next_of()),
// and so has each former slice until it is Finished (past_of()).
//
// Cost: O(pod sets) per look.
#pragma once

#include <optional>
#include <string>

#include "base/time.h"
#include "dialect/intake/intake_view.h"
#include "dialect/objects/decode.h"
#include "scheduler/kueue/object_writes.h"
#include "scheduler/kueue/succession.h"
#include "scheduler/kueue/workload_book.h"
#include "scheduler/wire/lane_book.h"

namespace berth::scheduler {

class Slices {
 public:
  Slices(const dialect::IntakeView& intake, LaneBook& lanes, WorkloadBook& book, ObjectWrites& writes,
         Succession& succession)
      : intake_(intake),
        lanes_(lanes),
        book_(book),
        records_(book.records()),
        writes_(writes),
        succession_(succession) {}

  // Brings its slices in step with its size. False: a write is under way, and it must be looked at again.
  bool follow_size(const std::string& workload, const dialect::WorkloadSketch& sketch,
                   const WorkloadFacts& facts, TimeMs now);
  void look_at_next(const std::string& workload, const WorkloadFacts& facts,
                    const std::optional<PodsReady>& pods_ready, TimeMs now);
  // Its Job has ended, or is gone.
  void leave_next(const std::string& workload, TimeMs now);
  // The record of this object, which Berth made for the workload; "": none.
  std::string record_of(const std::string& workload, const std::string& key,
                        const dialect::KueueWorkload& object, TimeMs now);

 private:
  bool replace_slice(const std::string& workload, const dialect::WorkloadSketch& sketch, TimeMs now);

  const dialect::IntakeView& intake_;
  LaneBook& lanes_;
  WorkloadBook& book_;
  Records& records_;
  ObjectWrites& writes_;
  Succession& succession_;
};

}  // namespace berth::scheduler
