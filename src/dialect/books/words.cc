#include "dialect/books/words.h"

#include <algorithm>

namespace berth::dialect {

bool IntakeConfig::answers_to(std::string_view scheduler) const {
  if (scheduler_names.empty()) return true;
  const std::string_view name = scheduler.empty() ? std::string_view("default-scheduler") : scheduler;
  return std::find(scheduler_names.begin(), scheduler_names.end(), name) != scheduler_names.end();
}

}  // namespace berth::dialect
