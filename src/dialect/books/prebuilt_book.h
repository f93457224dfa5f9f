// The Workload objects of other clients (kKueuePrebuilt), by namespace/name, and the work that each belongs to. Private to the intake.
//
// A Workload that has changed, or whose work has, is `unsettled` until the intake has looked at it. Then it waits by itself, belongs to
// work, or is over. Cost: O(log n) per call.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "dialect/books/words.h"
#include "dialect/kueue/objects.h"

namespace berth::dialect {

class PrebuiltBook {
 public:
  using Object = std::shared_ptr<const KueueWorkload>;

  bool empty() const { return objects_.empty(); }
  std::vector<std::string> keys() const;
  Object find(const std::string& key) const;  // nullptr: it is not there
  void put(const std::string& key, Object object);
  // The key of the slice that it was to replace; "": none, or it was not there.
  std::string erase(const std::string& key);
  // Whether some of them are to replace this one.
  bool has_successor(const std::string& key) const { return slices_.contains(key); }

  // The workload (uid) that it belongs to; nullptr: none.
  const std::string* owner_of(const std::string& key) const;
  void claim(const std::string& key, const std::string& workload);
  void release(const std::string& key);
  // Whether it belongs to its work since the last call.
  bool take_claim(const std::string& key);

  void unsettle(const std::string& key) { unsettled_.insert(key); }
  // And those that are to replace it.
  void unsettle_successors(const std::string& key);
  void settled(const std::string& key) { unsettled_.erase(key); }
  std::optional<std::string> next_unsettled() const;

  // Work that names it asks for something else: it is finished from now on.
  void finish(const std::string& key);
  // Keys of those, and what work gets from Workloads that have waited, since the last call.
  std::vector<std::string> take_finished();
  void hand_over(HandOver what) { hand_overs_.push_back(std::move(what)); }
  std::vector<HandOver> take_hand_overs() { return std::exchange(hand_overs_, {}); }

 private:
  std::map<std::string, Object, std::less<>> objects_;
  std::map<std::string, std::set<std::string>, std::less<>> slices_;  // which of them replace which
  std::unordered_map<std::string, std::string> owners_;               // uids
  std::set<std::string> new_claims_;
  std::set<std::string> unsettled_;
  std::set<std::string> finished_;
  std::vector<HandOver> hand_overs_;
};

}  // namespace berth::dialect
