// The pods that are known, by index, uid and name, and the selectors that count them. Private to the intake.
//
// An index is stable until erase(), and is used again after that. Cost: O(1) per pod, beside selectors in use (selector_book.h).
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/reused.h"
#include "base/text_index.h"
#include "dialect/books/selector_book.h"
#include "dialect/gangs/gangs.h"
#include "dialect/upstream/objects.h"
#include "model/decision.h"
#include "model/event.h"

namespace berth::dialect {

inline constexpr std::uint32_t kNoIx = TextIndex::kNone;

struct PodRecord {
  bool used = false;
  Pod pod;  // without the template
  std::shared_ptr<const PodTemplate> shape;
  Shared<Membership> membership;
  Shared<TopologyMarks> topology;
  std::uint32_t draft = kNoIx;  // none: foreign
  std::uint32_t role = 0;
  std::int64_t index = 0;
  SlotState state = SlotState::kAbsent;
  bool charged_as_foreign = false;
  bool own = false;                            // no longer waits for its owner
  bool saw_owner = false;                      // its membership was found with its owner at hand
  bool gated = false;                          // it says kKueueGatedBy
  bool fast = false;                           // it says kKueueFastAdmission
  std::vector<SelectorBook::Number> selected;  // the selectors in use that select it, ascending
  std::shared_ptr<const Reason> claim_wait;    // a claim of it cannot be used yet; nullptr: all can

  // The workload that it is of: its gang, or itself.
  Membership workload() const {
    if (membership->kind != GangKind::kSingle) return membership;
    return {GangKind::kSingle, pod.meta.uid, pod.meta.name};
  }
};

class PodBook {
 public:
  // `name`: namespace/name, of no pod that is known.
  std::uint32_t add(PodRecord record, const std::string& name);
  void erase(std::uint32_t ix);
  std::uint32_t find(std::string_view uid) const;         // kNoIx: unknown
  std::uint32_t find_named(std::string_view name) const;  // namespace/name
  PodRecord& operator[](std::uint32_t ix) { return records_[ix]; }
  const PodRecord& operator[](std::uint32_t ix) const { return records_[ix]; }
  std::size_t size() const { return by_name_.size(); }
  template <class F>
  void each(F&& f) {
    for (std::uint32_t ix = 0; ix < records_.size(); ++ix) {
      if (records_[ix].used) f(ix);
    }
  }

  SelectorBook& selectors() { return selectors_; }
  const SelectorBook& selectors() const { return selectors_; }
  // The pods that a selector may select, or may have selected.
  std::vector<std::uint32_t> candidates_of(SelectorBook::Number number);
  // Another state of the same pod, with other labels perhaps.
  void replace(std::uint32_t ix, Pod&& pod);

 private:
  Reused<PodRecord, std::deque<PodRecord>> records_;
  TextIndex by_uid_;
  TextIndex by_name_;
  SelectorBook selectors_;
};

}  // namespace berth::dialect
