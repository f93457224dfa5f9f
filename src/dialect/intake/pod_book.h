// The pods that are known, by index, uid and name, and what running pods keep away from them. Private to the intake.
//
// An index is stable until erase(), and is used again after that. Cost: O(1) per pod, O(distinct terms) per question of anti-affinity.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "dialect/gangs/gangs.h"
#include "dialect/upstream/objects.h"
#include "model/event.h"

namespace berth::dialect {

inline constexpr std::uint32_t kNoIx = 0xffffffffu;

struct PodRecord {
  bool used = false;
  Pod pod;  // without the template
  std::shared_ptr<const PodTemplate> shape;
  Membership membership;
  TopologyMarks topology;
  std::uint32_t draft = kNoIx;  // none: foreign
  std::uint32_t role = 0;
  std::int64_t index = 0;
  SlotState state = SlotState::kAbsent;
  bool charged_as_foreign = false;
  bool own = false;         // no longer waits for its owner
  bool saw_owner = false;   // its membership was found with its owner at hand
  bool gated = false;       // it says kKueueGatedBy
  bool fast = false;        // it says kKueueFastAdmission
  std::string repelled_by;  // the running pod whose anti-affinity matches it; "" = none
};

class PodBook {
 public:
  // `name`: namespace/name, of no pod that is known.
  std::uint32_t add(PodRecord record, const std::string& name);
  void erase(std::uint32_t ix);
  std::uint32_t find(std::string_view uid) const;           // kNoIx: unknown
  std::uint32_t find_named(const std::string& name) const;  // namespace/name
  PodRecord& operator[](std::uint32_t ix) { return records_[ix]; }
  const PodRecord& operator[](std::uint32_t ix) const { return records_[ix]; }
  std::size_t size() const { return by_uid_.size(); }
  template <class F>
  void each(F&& f) {
    for (PodRecord& record : records_) {
      if (record.used) f(record);
    }
  }

  // A bound pod with required anti-affinity came (+1) or went (-1). True: that changes what is kept away.
  bool repel(const PodRecord& record, int delta);
  // The running pod that keeps such a pod away; "": none does.
  std::string_view repeller_of(const Meta& pod) const;

 private:
  // A term of anti-affinity, the number of bound pods that have it, and the first of them.
  struct Repeller {
    Repulsion what;
    std::int64_t pods = 0;
    std::string who;
  };
  std::vector<PodRecord> records_;
  std::vector<std::uint32_t> free_;
  std::unordered_map<std::string, std::uint32_t> by_uid_;
  std::unordered_map<std::string, std::uint32_t> by_name_;
  std::map<std::string, Repeller> repellers_;  // by the term as text
};

}  // namespace berth::dialect
