// Whose a Workload object is. Berth's own stand with the record that has them (workload_record.h), foreign ones with the uids of
// their owners. Lives on the decision thread.
//
//   - Berth's Workloads are owned by the Job (or the pods), and carry an annotation that says so.
//   - A foreign Workload has the same owner, or the name of Berth's own, without that annotation. Berth neither obeys nor writes
//     it, makes no second one, and logs it.
//   - A prebuilt Workload was made by another client for work that names it, or for future work (dialect/intake/intake.h). Berth maintains
//     it like its own: it writes status and owner, but leaves the spec alone.
//
// Invariant: a name is Berth's or foreign, never both, except while a prebuilt Workload that was foreign is being read to be adopted.
// Cost: O(1) per call, O(owners) for a foreign object.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "dialect/intake/intake.h"

namespace berth::scheduler {

class Ownership {
 public:
  // ---- Berth's own. Keys are namespace/name.
  // The record that has this object; nullptr: none of Berth's has that name.
  const std::string* record_of(const std::string& key) const;
  void give(const std::string& key, std::string record) { by_key_.insert_or_assign(key, std::move(record)); }
  void take(const std::string& key) { by_key_.erase(key); }

  // ---- foreign. `owners`: namespace/uid; a finished one blocks no other work, and has none.
  void set_foreign(const std::string& key, std::vector<std::string> owners);
  // Its name is foreign until it has been read.
  void add_foreign(const std::string& key) { foreign_.try_emplace(key); }
  bool is_foreign(const std::string& key) const { return foreign_.contains(key); }
  // It is gone, or not foreign any more: the uids of its owners.
  std::vector<std::string> forget_foreign(const std::string& key);
  // Whether the object that the workload is to have is not Berth's, or is that of other work.
  bool is_foreign(const dialect::WorkloadSketch& sketch) const;
  // True: the log has not said yet that the workload has a foreign one.
  bool tell_once(const std::string& workload) { return told_.insert(workload).second; }
  void forget_told(const std::string& workload) { told_.erase(workload); }

  // ---- answers that are under way when an object changes its record
  void redirect(const std::string& from, std::string to) { moved_.insert_or_assign(from, std::move(to)); }
  // The record of the answer to a request for this record.
  std::string take_redirected(const std::string& record);

 private:
  std::unordered_map<std::string, std::string> by_key_;                // -> record
  std::unordered_map<std::string, std::vector<std::string>> foreign_;  // -> namespace/uid of their owners
  std::unordered_map<std::string, std::string> foreign_owners_;        // and back
  std::unordered_map<std::string, std::string> moved_;                 // records
  std::unordered_set<std::string> told_;                               // workloads
};

}  // namespace berth::scheduler
