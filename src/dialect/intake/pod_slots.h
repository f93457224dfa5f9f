// The slots that pods have in their drafts, and what the engine is told of them. Private to the intake.
//
// A pod takes the slot of its index where it has one, else the lowest free. A pod of another scheduler is
// charged as a foreign pod. So is one whose draft the engine does not know, or knows without its requests.
// Cost: O(log slots) per pod that comes or goes; weigh() as in selector_book.h.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "dialect/intake/draft_rules.h"
#include "dialect/intake/engine_events.h"
#include "dialect/intake/intake_view.h"

namespace berth::dialect {

class PodSlots {
 public:
  PodSlots(IntakeBooks& books, const DraftRules& rules, EngineEvents& events)
      : books_(books), rules_(rules), events_(events) {}

  // Gives the pod a slot of this draft. The engine is not told.
  void join(std::uint32_t pod, std::uint32_t draft);
  // Takes the slot back; the record says until then where it was.
  void leave(std::uint32_t pod);

  void tell(const PodRecord& record, SlotState state);
  // The engine knows nothing of the slot yet.
  void tell_first(const PodRecord& record);
  // Why the pod must wait for a claim; nullptr: it need not. False: it is the same as before.
  bool set_claim_wait(PodRecord& record, std::shared_ptr<const Reason> wait);
  void charge_foreign(PodRecord& record);
  void uncharge_foreign(PodRecord& record);

  // Terms with these selectors came (+1) or went (-1).
  void use_selectors(const std::vector<PodSelector>& selectors, int delta);
  // Which selectors select a pod, whether a controller still prepares it, and whether it starts before the others of its group exist.
  void weigh(std::uint32_t pod);

  PodView view(const PodRecord& record) const;

 private:
  // The role of its owner's template, which the pod belongs to whatever its shape; none where the owner is not held.
  std::optional<std::size_t> promised_role(Draft& draft, const PodRecord& record, const OwnedPlace& place);
  std::shared_ptr<const PodTemplate> in_its_domain(const Draft& draft, const Role& role,
                                                   const PodRecord& record, const AskedPod& asked,
                                                   std::shared_ptr<const PodTemplate> shape) const;
  // The pods that named the domain of a role may be gone.
  void widen(Draft& draft) const;
  static std::int64_t take_index(const Draft& draft, Role& role, const Membership& membership,
                                 std::optional<std::int64_t> wanted);
  static void count_said(Draft& draft, const Membership& membership, std::int64_t delta);
  TimeMs start_of(const PodRecord& record) const;

  IntakeBooks& books_;
  const DraftRules& rules_;
  EngineEvents& events_;
};

}  // namespace berth::dialect
