// Kueue's Workload objects where they are the work (IntakeConfig::quota_only), by namespace/name, and the slices among them. A slice that
// replaces another is that one, with more pods. Private to the intake.
//
// Cost: O(log n) per call, and O(slices of the same Workload).
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "dialect/kueue/objects.h"

namespace berth::dialect {

class PlannedBook {
 public:
  using Object = std::shared_ptr<const KueueWorkload>;

  Object find(std::string_view key) const;  // nullptr: it is not there
  // nullptr: it is gone. Gives the keys of those that are work in another way from now on, or may be.
  std::vector<std::string> put(const std::string& key, Object object);
  // The slice that has the places of this one from now on, and asks for more; nullptr: none.
  const KueueWorkload* next_of(const KueueWorkload& object) const;
  // The slice whose next one this is.
  Object former_of(const KueueWorkload& object) const;

 private:
  std::map<std::string, Object, std::less<>> objects_;                // that are not finished
  std::map<std::string, std::set<std::string>, std::less<>> slices_;  // which of them replace which
};

}  // namespace berth::dialect
