// The state of one Workload object, or of work that is to have one. A value; workload_objects.h keeps them.
//
// Records by name. The uid of a workload: its record, with its object. "next/" and the uid: the waiting slice of an elastic Job
// (slices.h). "past/" and the uid of an object: an object that has lost its work, until it is Finished. No workload has such names.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "dialect/kueue/workload_status.h"
#include "model/decision.h"
#include "scheduler/kueue/workload_life.h"

namespace berth::scheduler {

struct WorkloadRecord {
  WorkloadLife life;
  std::string key;  // namespace/name of its object; "" = none is known
  std::string object_uid;
  TimeMs created = 0;
  std::uint64_t version = 0;
  std::size_t stands = 0;    // digest of the status on the server
  std::size_t written = 0;   // and of the one that Berth wrote last
  std::string checks;        // on the server, as text
  std::uint64_t turn = 0;    // in the AdmissionLine; 0: not there
  bool evicting = false;     // an eviction was decided since its end was last seen
  std::optional<bool> told;  // the last of take_admissions()
  std::string spec;          // digest of its spec, from its annotation
  bool reserved = false;     // the status on the server has quota: the spec is fixed
  bool says_active = true;
  std::int64_t boost = 0;  // of its priority, as its object says
  bool prebuilt = false;   // another client made its object
  bool flying = false;
  bool queued = false;
  bool looking = false;  // the end of its pods is being read
  bool asks = false;     // for nodes, or has asked
  int failures = 0;
  int corrections = 0;
  TimeMs quiet = 0;      // nothing is written before
  TimeMs corrected = 0;  // when it was last
  std::vector<FlavorChoice> flavors;
  std::string path;  // where its pods can be read when they have ended
  std::int64_t pods = 0;
  std::int64_t to_come = 0;            // of these, members of its group that were not there yet
  std::vector<dialect::Owner> owners;  // of its object, where it is a group's
  // For an elastic Job.
  std::int64_t count = 0;       // pods that its object is to ask for; 0: not known yet
  std::int64_t says_count = 0;  // and asks for
  TimeMs asked_at = 0;          // since when; 0: since its Job was made
  TimeMs raised_at = 0;         // when its Job was last seen to ask for more
  std::string slice;            // dialect::WorkloadSketch
  std::string replaces;
  std::string successor;  // of a slice that is over: the workload whose record has the one that replaces it
};

using Records = std::map<std::string, WorkloadRecord>;

inline std::string past_of(const std::string& object_uid) {
  return "past/" + object_uid;
}
inline bool is_past(std::string_view record) {
  return record.starts_with("past/");
}
inline std::string next_of(std::string_view workload) {
  return "next/" + std::string(workload);
}
inline bool is_next(std::string_view record) {
  return record.starts_with("next/");
}
// The workload of its record, or of that of its waiting slice.
inline std::string work_of(std::string_view record) {
  return std::string(is_next(record) ? record.substr(5) : record);
}
// The parts of an object's key, namespace/name.
inline std::string_view namespace_of(std::string_view key) {
  return key.substr(0, key.find('/'));
}
inline std::string_view name_of(std::string_view key) {
  return key.substr(key.find('/') + 1);
}

std::size_t digest_of(const dialect::WorkloadStatus& status);
// The object of the one becomes that of the other.
void move_object(WorkloadRecord& from, WorkloadRecord& to);
// The work without its object, which stays behind.
WorkloadRecord without_object(WorkloadRecord& record);

}  // namespace berth::scheduler
