#include "engine/state/disruptions.h"

#include "base/checked.h"

namespace berth::engine {

Status Disruptions::set(const std::string& name, std::int64_t allowed) {
  if (name.empty()) return fail(ErrorCode::kInvalid, "a disruption budget has no name");
  if (allowed < 0)
    return fail(ErrorCode::kInvalid, "disruption budget {}: allowed is {}, less than 0", name, allowed);
  budgets_[name] = {allowed, 0, 0};
  ++version_;
  return {};
}

void Disruptions::remove(const std::string& name) {
  if (budgets_.erase(name) > 0) ++version_;
}

std::string_view Disruptions::use(const std::vector<std::string>& of_pod, TimeMs now) {
  std::string_view beyond;
  for (const std::string& name : of_pod) {
    const auto it = budgets_.find(name);
    if (it == budgets_.end()) continue;
    if (left(name, now) <= 0 && beyond.empty()) beyond = it->first;
    Budget& budget = it->second;
    if (now - budget.used_at >= kForgets) budget.used = 0;
    ++budget.used;
    budget.used_at = now;
    ++version_;
  }
  return beyond;
}

void Disruptions::give_back(const std::vector<std::string>& of_pod) {
  for (const std::string& name : of_pod) {
    const auto it = budgets_.find(name);
    if (it == budgets_.end() || it->second.used == 0) continue;
    --it->second.used;
    ++version_;
  }
}

std::int64_t Disruptions::left(const std::string& name, TimeMs now) const {
  const auto it = budgets_.find(name);
  if (it == budgets_.end()) return kInt64Max;
  const Budget& budget = it->second;
  const bool counts = budget.used > 0 && now - budget.used_at < kForgets;
  return budget.allowed - (counts ? budget.used : 0);
}

Disrupted Disrupted::beside() const {
  Disrupted out(*budgets_, now_);
  out.before_ = this;
  return out;
}

void Disrupted::join(const Disrupted& more) {
  for (const auto& [name, left] : more.left_) left_[name] = left;
  beyond_ += more.beyond_;
}

std::int64_t Disrupted::left(const std::string& name) const {
  if (const auto it = left_.find(name); it != left_.end()) return it->second;
  return before_ != nullptr ? before_->left(name) : budgets_->left(name, now_);
}

void Disrupted::add(const std::vector<std::string>& of_pod) {
  bool is_beyond = false;
  for (const std::string& name : of_pod) {
    const std::int64_t before = left(name);
    if (before == kInt64Max) continue;
    left_[name] = before - 1;
    is_beyond = before <= 0 || is_beyond;
  }
  beyond_ += is_beyond ? 1 : 0;
}

}  // namespace berth::engine
