// Drafts of Kueue's Workloads that are work themselves: without pods, with the pod sets of the object. Private to the intake.
//
// One pod set of a Workload may start with fewer pods (minCount). The number is fixed by its first start (grant()) until its
// reservation ends.
// Cost: O(pod sets), beside template_effects.h; tell_admission() O(slots).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "dialect/books/intake_books.h"
#include "dialect/books/template_book.h"
#include "dialect/intake/engine_events.h"

namespace berth::dialect {

class ObjectDrafts {
 public:
  ObjectDrafts(const IntakeBooks& books, const TemplateBook& templates, EngineEvents& events)
      : books_(books), templates_(templates), events_(events) {}

  // Draft::object becomes what was written, with the changes that the API server makes to its templates, and with its present size.
  void take(Draft& draft) const;
  // It may start with fewer pods: at all, and as of now.
  bool shrinks(const Draft& draft) const;
  bool may_shrink(const Draft& draft) const;
  // It has places for so many pods.
  void grant(Draft& draft, std::int64_t pods);
  // The slots of one that holds quota.
  void tell_admission(const Draft& draft);

 private:
  void fit(KueueWorkload& object, const Draft& draft) const;

  const IntakeBooks& books_;
  const TemplateBook& templates_;
  EngineEvents& events_;
};

// The priority of a Workload of another client, and the keys that it depends on. `may_preempt` becomes false where its class says so.
std::int64_t priority_of_object(const IntakeBooks& books, const KueueWorkload& object, bool& may_preempt,
                                std::vector<std::string>& depends);

}  // namespace berth::dialect
