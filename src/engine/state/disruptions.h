// Disruption budgets (model/event.h): how many more of their pods may be evicted now. They put victims in order, and forbid nothing.
//
// As the default scheduler counts them: a pod whose eviction takes any of its budgets below zero is beyond its budgets. Decided
// evictions use a budget up, until it is told anew, or for kForgets. Within that time the controller that tells it has followed. So the
// eviction of a pod that the controller did not count is not held against a budget for ever.
// Cost: O(log budgets) per look-up. Nothing where there are no budgets.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"

namespace berth::engine {

class Disruptions {
 public:
  static constexpr DurationMs kForgets = kMinute;

  bool any() const { return !budgets_.empty(); }
  Status set(const std::string& name, std::int64_t allowed);
  void remove(const std::string& name);
  // The eviction of a pod with these budgets has been decided. The first of them that did not allow it; "": all did.
  std::string_view use(const std::vector<std::string>& of_pod, TimeMs now);
  // That pod stays after all.
  void give_back(const std::vector<std::string>& of_pod);
  // How many more pods of it may go; kInt64Max for one that was not told.
  std::int64_t left(const std::string& name, TimeMs now) const;
  // Goes up with each change.
  std::uint64_t version() const { return version_; }

 private:
  struct Budget {
    std::int64_t allowed = 0;
    std::int64_t used = 0;  // by decisions since it was told
    TimeMs used_at = 0;     // the last of these
  };
  std::map<std::string, Budget, std::less<>> budgets_;
  std::uint64_t version_ = 1;
};

// Evictions on trial: counts the pods that are beyond their budgets. O(its budgets x log) for each pod.
class Disrupted {
 public:
  Disrupted(const Disruptions& budgets, TimeMs now) : budgets_(&budgets), now_(now) {}
  // More evictions beside these, counted for themselves; `this` outlives them.
  Disrupted beside() const;
  // Those of beside() go, too.
  void join(const Disrupted& more);
  // One more pod goes.
  void add(const std::vector<std::string>& of_pod);
  std::int64_t beyond() const { return beyond_; }

 private:
  std::int64_t left(const std::string& name) const;

  const Disruptions* budgets_;
  TimeMs now_;
  const Disrupted* before_ = nullptr;
  std::map<std::string_view, std::int64_t> left_;
  std::int64_t beyond_ = 0;
};

}  // namespace berth::engine
