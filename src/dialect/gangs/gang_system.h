// A system whose gangs are objects that pods name: a row of marks and pure functions. A new one is a folder and a row in
// objects/gang_systems.cc. The folder has a struct that derives from GangObject, with a member kGang, and its decoder. Intake and
// scheduler name no system.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/time.h"
#include "dialect/base/kind.h"
#include "dialect/base/meta.h"
#include "dialect/gangs/gang_object.h"
#include "model/decision.h"

namespace berth::dialect {

// How a gang does, for the status of its object.
struct GangReport {
  std::int64_t pods = 0;       // that exist, and have not ended
  std::int64_t bound = 0;      // of these, that have nodes
  std::int64_t running = 0;    // of these, whose containers run
  std::int64_t ending = 0;     // of `pods`, that are being deleted
  std::int64_t succeeded = 0;  // ended, as long as the API shows them
  std::int64_t failed = 0;     // ended, too
  std::int64_t least = 1;      // with which it is whole
  bool queued = false;         // its pods may be made: nothing that its object says keeps them from starting
  ReasonCode code = ReasonCode::kNone;  // why it waits; kNone: it does not
  std::string why;                      // in words
  std::string displaced;                // why it was ended, in words, until it is whole again
  std::string_view version;             // of the API in which the status is written

  bool whole() const { return bound > 0 && bound + succeeded >= least; }
  // All its pods have ended, and they were as many as it needs.
  bool over() const { return pods == 0 && succeeded + failed > 0 && succeeded + failed >= least; }
};

struct GangSystem {
  Kind kind;
  std::string_view name;                  // "Volcano"
  std::array<std::string_view, 2> names;  // marks of a pod that name the object; "": none
  bool labels_count = true;               // those marks may be labels, too
  std::string_view part = {};             // the mark of a pod that names its part
  std::string_view kept_mark = {};        // the mark of a pod that is "false" where it must not be evicted
  bool parts_are_named = false;           // a part that the object does not have is a mistake
  bool surplus_preempts = false;          // pods beyond the least numbers have the rights of the others
  std::string_view queue_mark = {};       // the mark that the queue of an object stands for; "": it has none
  std::string_view default_queue = {};    // of an object that names none, where nothing else names one
  std::string_view version =
      {};  // of the API in which its status is written, where nothing is known of what is served
  std::string_view status_resource = {};  // "status"; "": the status is a field like others
  // The status, as JSON; without times where `now` is 0. nullptr: none is written.
  std::string (*status)(const GangObject& object, const GangReport& report, TimeMs now) = nullptr;

  // The name of the object that a pod says, and of its part; "": none.
  std::string_view name_in(const Meta& pod) const;
  // `object`: nullptr where it is not known.
  std::string part_in(const GangObject* object, const Meta& pod) const;
  bool keeps(const Meta& pod) const { return !kept_mark.empty() && pod.mark(kept_mark) == "false"; }
};

// The kind under which the gang of an object is known: two groups serve coscheduling's PodGroups.
inline Kind kind_of_gang(Kind kind) {
  return kind == Kind::kOlderPodGroup ? Kind::kPodGroup : kind;
}
// The uid of the workload of a gang whose object has this name (namespace/name).
std::string gang_uid(Kind kind, std::string_view key);

}  // namespace berth::dialect
