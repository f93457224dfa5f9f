#include "scheduler/kueue/node_limits.h"

#include <spdlog/spdlog.h>

#include <algorithm>

namespace berth::scheduler {
namespace {

constexpr DurationMs kGood = 5 * kSecond;
constexpr DurationMs kGoodWithout = kMinute;  // the API server has none

}  // namespace

bool NodeLimits::is_known(TimeMs now) {
  if (now < good_until_) return true;
  if (!reading_) outbox_.read(std::string(dialect::kNodePoolsPath), "nodepools", Step::kNodePools);
  reading_ = true;
  return false;
}

bool NodeLimits::answered(const Answer& answer, TimeMs now) {
  reading_ = false;
  const auto outcome = answer.result.outcome;
  if (outcome == kube::Outcome::kNotFound || outcome == kube::Outcome::kForbidden) {
    if (outcome == kube::Outcome::kForbidden && !std::exchange(told_, true)) {
      spdlog::warn("Berth may not list Karpenter's NodePools, so that it does not know their limits: {}",
                   answer.result.message);
    }
    pools_.clear();
    good_until_ = now + kGoodWithout;
    return true;
  }
  if (outcome != kube::Outcome::kOk) return false;
  auto pools = dialect::read_node_pools(answer.result.body);
  if (!pools) {
    spdlog::warn("NodePools: {}", pools.error().str());
    return false;
  }
  pools_ = std::move(*pools);
  good_until_ = now + kGood;
  return true;
}

std::vector<const dialect::NodePool*> NodeLimits::pools_for(const std::vector<Labels>& flavors) const {
  std::vector<const dialect::NodePool*> out;
  for (const dialect::NodePool& pool : pools_) {
    if (std::any_of(flavors.begin(), flavors.end(),
                    [&](const Labels& labels) { return dialect::may_have(pool, labels); }))
      out.push_back(&pool);
  }
  return out;
}

}  // namespace berth::scheduler
