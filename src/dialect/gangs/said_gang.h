// A gang that has no object: its pods say it by their marks alone. A pod names the gang, its own part of it, and how many pods of which
// parts start together. Such a system is a folder with a function from marks to SaidGang, and a row in objects/gang_systems.cc.
//
// Pods of one gang may say different things; what all of them say together is the gang (SaidByPods). Contradictions keep that gang waiting,
// and no other. A pod may also say what the pods of a part look like. Then the gang starts before these are there, and their places are kept
// (intake/future_slots.h). Cost: O(parts) per pod, O(parts of the gang) per question.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/shared.h"
#include "base/time.h"
#include "dialect/gangs/gang_object.h"

namespace berth::dialect {

// How long such a gang stays one. Its places are kept for so long from the start of its first pod. Where it has not started so long after
// that was made, and is `soft`, it does not wait for all of them any more. After either it needs what runs, and other pods start one by one.
struct Patience {
  DurationMs time = 0;
  bool soft = false;
  auto operator<=>(const Patience&) const = default;
};

// As one pod says it.
struct SaidGang {
  std::string_view system;  // "Koordinator"
  std::string_view key;     // the mark that says the numbers
  std::string name;         // of the gang within its namespace
  std::string part = {};    // that the pod is of; "" = the gang has none
  // The least number of pods by part; 0: the part is needed, and its own pods say how many.
  std::map<std::string, std::int64_t> least = {};
  std::map<std::string, std::string> pods = {};  // by part: a Pod as JSON, like which its pods are to be
  std::optional<Patience> patience = {};         // none: for ever
  std::string wrong = {};                        // a mark that cannot be read
  bool oldest_label = false;  // named by kOldestPodGroupName, and more than coscheduling knows
  bool operator==(const SaidGang&) const = default;
};

// A function of a system; nothing: the pod is of no gang of that system.
using GangSayer = std::optional<SaidGang> (*)(const Meta& pod);

// As all pods of a gang say it.
class SaidByPods {
 public:
  // One pod more (delta 1) or less (-1).
  void count(const SaidGang& said, std::int64_t delta);
  bool any() const { return numbers_->pods > 0; }
  // Its parts and the least number of all; `wrong` says why there is no such gang. `key`: SaidGang::key.
  GangObject object(std::string_view key) const;
  // The look of the pods of this part, as JSON; where pods disagree, one of the answers. nullptr: none says it.
  const std::string* pod_of(const std::string& part) const;
  // The least of the answers; nullptr: none says it.
  const Patience* patience() const {
    return numbers_->patience.empty() ? nullptr : &numbers_->patience.begin()->first;
  }

 private:
  struct Numbers {
    std::int64_t pods = 0;
    std::map<std::pair<std::string, std::int64_t>, std::int64_t>
        least;  // pods that say so, by part and number
    std::map<std::pair<std::string, std::string>, std::int64_t> looks;  // the same, by part and look
    std::map<Patience, std::int64_t> patience;
    std::map<std::string, std::int64_t> wrong;
    bool operator==(const Numbers&) const = default;
  };
  Shared<Numbers> numbers_;  // few workloads are such gangs
};

}  // namespace berth::dialect
