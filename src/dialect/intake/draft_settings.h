// The settings of a draft: what its owner, its members, its queue and the promises about it say together. Private to the intake.
//
// Cost: O(pods' roles and owners of the draft), beside look-ups of O(log n).
#pragma once

#include <string>
#include <vector>

#include "dialect/intake/draft_rules.h"
#include "dialect/intake/object_drafts.h"
#include "dialect/intake/prebuilt_claims.h"

namespace berth::dialect {

class DraftSettings {
 public:
  DraftSettings(const IntakeBooks& books, const DraftRules& rules, const ObjectDrafts& objects,
                PrebuiltClaims& claims)
      : books_(books), rules_(rules), objects_(objects), claims_(claims) {}

  // Also notes in the draft its present size, its queue and the Workload that it names. `depends` gets the keys of the objects that this
  // depends on, sorted.
  Settings of(Draft& draft, std::vector<std::string>& depends) const;

 private:
  class OfPods;
  Settings of_object(const Draft& draft, std::vector<std::string>& depends) const;

  // Waiting pods of an owner that is over are about to be deleted.
  void wait_for_end(const Draft& draft, const Ask& ask, Settings& settings) const;
  // Whether the API knows a queue of the name that was resolved.
  bool has_queue(const Draft& draft, const Settings& settings) const;
  // It waits because of its own fields or those of its owner.
  void refuse(const Draft& draft, const Pod& pod, const std::vector<const Meta*>& sources,
              const std::vector<PriorityKey>& priorities, Settings& settings,
              std::vector<std::string>& depends) const;
  // Members that start together cannot have a claim that one pod alone may use.
  static std::optional<Reason> refused_claims(const Draft& draft, const Settings& settings);
  void say_gates(const Draft& draft, const Pod& pod, Settings& settings) const;
  // Work of a queue with admission checks waits if no controller can be asked.
  void require_checks(const Draft& draft, Settings& settings) const;
  // In which flavors it gets quota first.
  void await_nodes(const Draft& draft, Settings& settings) const;
  void apply_standing(const Draft& draft, Settings& settings) const;

  const IntakeBooks& books_;
  const DraftRules& rules_;
  const ObjectDrafts& objects_;
  PrebuiltClaims& claims_;
};

}  // namespace berth::dialect
