// PodDisruptionBudgets: which pods have them, and how many of these may be disrupted now. Private to the intake.
// Cost: O(log budgets) per call.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "dialect/upstream/objects.h"
#include "model/event.h"

namespace berth::dialect {

class BudgetBook {
 public:
  // The consequences of a change: selectors that are used no more, then others that are, and what the engine is to be told. The name of
  // each selector is that of its budget.
  struct Change {
    std::vector<PodSelector> gone;
    std::vector<PodSelector> come;
    std::optional<Event> event;
  };
  // `key`: namespace/name.
  Change put(const std::string& key, const DisruptionBudget& object);
  Change remove(const std::string& key);

 private:
  struct Budget {
    std::optional<PodSelector> pods;  // none: it covers nothing
    std::int64_t allowed = 0;
  };
  std::map<std::string, Budget> budgets_;  // namespace/name
};

}  // namespace berth::dialect
