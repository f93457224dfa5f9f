// The slots of pods that are still to come. Private to the intake.
//
//   - A future member of a group that starts before all of its pods are there (kKueueFastAdmission) is assumed to be like the first.
//   - An owner makes some of its pods when others run (AskedSet::later, AskedSet::after_first).
//   - A suspended owner waits without pods: its slots are made from its templates.
//   - A slice of another client adds pods to an owner that runs.
//   - A gang that its pods declare starts before all of them are there, where they also say what the others look like (SaidGang::pods).
//     Such a place is for a pod that asks for no more. Another takes none, and is placed by its own request.
// All but the suspended owner's are `expected` (Role): such a slot waits as if it had a pod. The carrier keeps its place
// (IntakeView::expects()). PlaceBudget bounds the slots of all of them together.
// Cost: O(slots that come or go), and O(log n) each.
#pragma once

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/time.h"
#include "dialect/books/place_budget.h"
#include "dialect/books/template_book.h"
#include "dialect/intake/draft_rules.h"
#include "dialect/intake/engine_events.h"

namespace berth::dialect {

class FutureSlots {
 public:
  FutureSlots(const IntakeBooks& books, const DraftRules& rules, TemplateBook& templates,
              EngineEvents& events)
      : books_(books), rules_(rules), templates_(templates), events_(events) {}

  // Makes the expected slots of the draft those that are to come by now. Gives the updates of slots that the engine knows; it gets them
  // after the draft.
  std::vector<SlotUpdate> follow(Draft& draft);
  // The slots of a draft that is held are those that its owner asks for.
  void hold(Draft& draft, const OwnerRecord& owner);
  // For a draft that was told with all of its slots waiting: slots without a future pod do not wait.
  void tell_unexpected(const Draft& draft);

  // Places for the pods that a slice adds to its owner are kept until they come.
  void expect_growth(Draft& draft, const HandOver& what);

  // It is `now`, from now on. The gangs (uid) whose patience may have ended (SaidGang::patience): each is to follow() anew.
  std::vector<std::string> pass(TimeMs now);
  // When the next one's ends; the largest time: none does.
  TimeMs next_end() const;

  // The draft is no more: others may have its places.
  void give_back(const Draft& draft) { budget_.give_back(draft.ns, draft.uid); }
  // Drafts (uid) that were turned away, where places have become free since the last call.
  std::vector<std::string> take_hopeful() { return budget_.take_hopeful(); }

 private:
  void expect_later_sets(Draft& draft, std::vector<SlotUpdate>& out);
  // The same for a group of an owner.
  void expect_later_sets(Draft& draft, const Ask& ask, std::vector<SlotUpdate>& out);
  void expect_declared(Draft& draft, std::vector<SlotUpdate>& out);
  // Whether it is a gang still (Draft::loose).
  void settle_patience(Draft& draft);
  std::shared_ptr<const PodTemplate> declared_shape(const std::string* json);
  // Places that its owner does not want any more are freed.
  void end_growth(Draft& draft);

  const IntakeBooks& books_;
  const DraftRules& rules_;
  TemplateBook& templates_;
  EngineEvents& events_;
  PlaceBudget budget_;
  TimeMs now_ = 0;
  std::set<std::pair<TimeMs, std::string>> ends_;  // of patience, by uid
};

// Makes a role for each set of an owner, in their order, where the draft has none yet.
void promise_roles(Draft& draft, const OwnerRecord& owner);

}  // namespace berth::dialect
