#include <algorithm>

#include "property/runner.h"

namespace berth::property {

std::string kind_of(const std::string& failure) {
  std::string out;
  for (const char c : failure.substr(0, failure.find(": ", failure.find(')') + 3))) {
    if (c < '0' || c > '9') out += c;
  }
  return out;
}

History shrink(History history) {
  const auto failure_of = [](const History& h) {
    Coverage ignored;
    return kind_of(run_history(h, ignored).failure);
  };
  const std::string kind = failure_of(history);
  const auto fails = [&](const History& h) { return failure_of(h) == kind; };
  for (std::size_t chunk = std::max<std::size_t>(1, history.steps.size() / 2); chunk > 0; chunk /= 2) {
    bool again = true;
    while (again) {
      again = false;
      for (std::size_t at = 0; at < history.steps.size();) {
        History smaller = history;
        const auto from = smaller.steps.begin() + static_cast<std::ptrdiff_t>(at);
        smaller.steps.erase(from,
                            from + static_cast<std::ptrdiff_t>(std::min(chunk, smaller.steps.size() - at)));
        if (fails(smaller)) {
          history = std::move(smaller);
          again = chunk == 1;
        } else {
          at += chunk;
        }
      }
    }
  }
  return history;
}

}  // namespace berth::property
