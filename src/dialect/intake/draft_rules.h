// Answers about one draft: what its owner and its members make of it. Only reads the books; the size of a draft also notes whether it has
// been whole (Draft::whole). Private to the intake.
//
// A draft is held while its owner is suspended and Berth may release it (IntakeConfig::hold_owners): its slots wait, made from the
// owner's templates.
// Cost: O(pod sets of the owner); the size of a group O(its ended members).
#pragma once

#include <cstdint>
#include <string_view>

#include "dialect/books/intake_books.h"

namespace berth::dialect {

class DraftRules {
 public:
  explicit DraftRules(const IntakeBooks& books) : books_(books) {}

  // Whether Berth schedules this pod.
  bool is_ours(const Pod& pod) const;
  bool may_hold(const Ask& ask) const;
  // Its slots without a pod wait.
  bool holds(const Draft& draft) const;
  // It stays although it has no pods.
  bool keeps(const Draft& draft) const;
  // It was started before, and that was not revoked: it may replace lost pods, even in a queue that is held.
  bool is_admitted(const Draft& draft) const;
  // Its owner is elastic (kKueueElastic): it may change its size while it runs (docs/contributors/elastic-jobs.md).
  bool may_grow(const Draft& draft) const;
  // And its slices are Berth's own.
  bool is_elastic(const Draft& draft) const { return draft.prebuilt->key.empty() && may_grow(draft); }
  // It may start with fewer, and has no pods yet.
  bool may_shrink(const Draft& draft, const Ask& ask) const;
  // The engine may start it with fewer pods than it asks for.
  bool starts_with_fewer(const Draft& draft, const Ask& ask) const;
  // Members that an owner's gang needs now.
  std::int64_t size_of_owner(Draft& draft, const Ask& ask) const;
  // Members that a gang of pods needs now which asks for `asked`.
  std::int64_t size_of_group(Draft& draft, std::int64_t asked) const;
  // The controllers that still prepare it (kKueueGatedBy), while it has nothing; "": none.
  std::string_view gates_of(const Draft& draft) const;
  // The state of a pod that has no node.
  SlotState state_without_node(const PodRecord& record) const;

 private:
  const IntakeBooks& books_;
};

// Pods of one of its sets that a draft is to have places for.
std::int64_t places_of(const Draft& draft, const Ask& ask, std::size_t set);

// Whether Kueue's API has a Workload for work of this kind.
bool has_object(const Draft& draft);

// Its pods name an object on which it is written how it does.
inline bool has_told_object(const Draft& draft) {
  return draft.system != nullptr && draft.system->status != nullptr;
}

}  // namespace berth::dialect
