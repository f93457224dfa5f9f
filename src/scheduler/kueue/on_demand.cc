#include "scheduler/kueue/on_demand.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "model/leading.h"
#include "scheduler/carry/let_out.h"

namespace berth::scheduler {
namespace {

constexpr DurationMs kLookAgain = 10 * kSecond;  // at limits that do not allow it
// After a start its nodes may be missing in what was read, and in what Karpenter has written, of the NodePools.
constexpr DurationMs kCounted = 10 * kSecond;
constexpr DurationMs kReadAgain = 2 * kSecond;  // them, after a failure

bool lacks_nodes(const Reason& reason) {
  if (reason.code == ReasonCode::kNodes) return true;
  if (reason.code == ReasonCode::kTopology && reason.detail.empty()) return true;
  return std::any_of(reason.children.begin(), reason.children.end(), lacks_nodes);
}

// Places that the last try has found for pods of one set.
struct Room {
  std::size_t set = 0;
  std::int64_t have = 0;
};
Room room_in(const Reason& reason) {
  if (reason.code == ReasonCode::kNodes) {
    Room out{0, std::max<std::int64_t>(0, reason.have)};
    if (!reason.detail.empty()) {
      const auto [end, error] =
          std::from_chars(reason.detail.data(), reason.detail.data() + reason.detail.size(), out.set);
      if (error != std::errc()) out.have = 0;
    }
    return out;
  }
  for (const Reason& child : reason.children) {
    if (lacks_nodes(child)) return room_in(child);
  }
  return {};
}

}  // namespace

bool OnDemand::is_allowed(const std::string& workload, const Reason& why, Entry& entry) const {
  const auto demand = intake_.queues().node_demand(workload);
  const auto pools = limits_.pools_for(demand.flavors);
  entry.asked = {};
  entry.pools.clear();
  for (const auto* pool : pools) entry.pools.insert(pool->name);
  const Room room = room_in(why);
  for (std::size_t s = 0; s < demand.sets.size(); ++s) {
    const auto& set = demand.sets[s];
    const std::int64_t missing = set.count - (s == room.set ? std::min(room.have, set.count) : 0);
    for (const auto& [resource, each] : set.each) {
      if (!entry.asked.add(resource, each * missing)) return true;  // quota never allows so much
    }
  }
  ResourceList all = entry.asked;
  for (const auto& [other, of] : entries_) {
    const bool shares = std::any_of(of.pools.begin(), of.pools.end(),
                                    [&](const std::string& pool) { return entry.pools.contains(pool); });
    if (&of == &entry || of.stage == Stage::kTries || !shares) continue;
    if (!all.add(of.asked)) return true;
  }
  const auto lack = dialect::node_pool_short(pools, all);
  // Other work may lack a resource for which it does not ask itself.
  entry.lack = lack && entry.asked.get(lack->resource) > 0 ? dialect::to_text(*lack) : std::string();
  return entry.lack.empty();
}

bool OnDemand::changed(const std::string& workload, TimeMs now) {
  auto it = entries_.find(workload);
  const bool may_ask = options_.enabled && intake_.queues().on_demand(workload);
  if (it == entries_.end() && !may_ask) return false;
  const auto verdict = engine_.verdict(workload);
  if (!verdict) return false;  // its timer finds that it is gone
  bool news = false;
  if (it != entries_.end() && it->second.stage == Stage::kOut) {
    if (verdict->kind != VerdictKind::kBlocked && verdict->kind != VerdictKind::kRefused) return false;
    take_back(workload, it->second);  // the engine has it anew
    news = true;
  }
  if (!may_ask) {
    if (it->second.stage != Stage::kAsks) return news;
    take_back(workload, it->second);
    return true;
  }
  // Quota of work that is out can be taken only by work that needs no nodes for it.
  const bool lacks =
      lacks_nodes(verdict->reason) || (outs_ > 0 && leading_code(verdict->reason) == ReasonCode::kQuota);
  if (verdict->kind != VerdictKind::kBlocked || !lacks) {
    if (it != entries_.end()) it->second.lack.clear();
    return news;
  }
  if (intake_.blocked(workload) != nullptr) return news;
  if (it == entries_.end()) it = entries_.try_emplace(workload).first;
  Entry& entry = it->second;
  if (entry.stage == Stage::kStarted) entry = {};  // it waits again
  if (entry.stage != Stage::kTries || now < entry.due) return news;
  if (!limits_.is_known(now)) {
    if (!std::exchange(entry.in_line, true)) line_.push_back(workload);
    return news;
  }
  const std::string lacked = entry.lack;
  if (!is_allowed(workload, verdict->reason, entry)) {
    timers_.emplace(now + kLookAgain, workload);
    if (lacked != entry.lack) news_.push_back(workload);
    return news;
  }
  entry.stage = Stage::kAsks;
  timers_.emplace(now + options_.within, workload);
  return intake_.set_asks_nodes(workload, true) || news;
}

void OnDemand::take_back(const std::string& workload, Entry& entry) {
  if (entry.stage == Stage::kOut) --outs_;
  entry.stage = Stage::kTries;
  entry.due = 0;
  intake_.set_asks_nodes(workload, false);
  intake_.set_nodes_came(workload, false);
}

bool OnDemand::decided(const Decision& decision, TimeMs now) {
  const auto it = entries_.find(decision.workload);
  if (it == entries_.end()) return false;
  Entry& entry = it->second;
  if (decision.kind == DecisionKind::kEvict && entry.stage == Stage::kOut) {
    const TimeMs due = entry.misses > 0 && decision.reason.code == ReasonCode::kWithdrawn ? entry.due : now;
    take_back(decision.workload, entry);
    entry.due = due;
    return false;
  }
  if (decision.kind != DecisionKind::kStart) return false;
  if (!is_without_nodes(decision)) {
    if (entry.stage == Stage::kStarted) return false;
    const bool was_out = entry.stage == Stage::kOut;
    take_back(decision.workload, entry);
    if (!was_out) {
      entries_.erase(it);
      return false;
    }
    limits_.forget();
    entry.stage = Stage::kStarted;
    entry.due = now + kCounted;
    timers_.emplace(entry.due, decision.workload);
    return false;
  }
  if (entry.stage == Stage::kTries) return false;
  if (entry.stage == Stage::kOut) return true;  // one of its slots was lost in between
  entry.stage = Stage::kOut;
  ++outs_;
  entry.due = now + options_.within;
  timers_.emplace(entry.due, decision.workload);
  intake_.set_nodes_came(decision.workload, true);  // from now on the engine looks for places
  return true;
}

void OnDemand::late(const std::string& workload, Entry& entry, TimeMs now) {
  const DurationMs rest = doubled(options_.within, entry.misses, options_.most_rest);
  ++entry.misses;
  entry.due = now + rest;
  timers_.emplace(entry.due, workload);
  std::string why = fmt::format("its nodes have not come within {} s; it asks for them again in {} s",
                                options_.within / kSecond, rest / kSecond);
  const auto info = intake_.workload(workload);
  spdlog::warn("{}: {}", info ? info->name : workload, why);
  events_.push_back(Withdraw{workload, std::move(why)});
}

void OnDemand::answered(const Answer& answer, TimeMs now) {
  if (!limits_.answered(answer, now)) {
    timers_.emplace(now + kReadAgain, std::string());
    return;
  }
  for (const std::string& workload : std::exchange(line_, {})) {
    const auto it = entries_.find(workload);
    if (it == entries_.end()) continue;
    it->second.in_line = false;
    (void)changed(workload, now);
  }
}

void OnDemand::tick(TimeMs now) {
  if (std::exchange(anew_, false)) {
    auto supplies = intake_.queues().on_demand();
    if (supplies != supplies_) {
      supplies_ = std::move(supplies);
      for (const auto& info : intake_.workloads()) (void)changed(std::string(info.uid), now);
    }
  }
  while (!timers_.empty() && timers_.begin()->first <= now) {
    const std::string workload = std::move(timers_.begin()->second);
    timers_.erase(timers_.begin());
    if (workload.empty() && !line_.empty()) (void)limits_.is_known(now);
    const auto it = entries_.find(workload);
    if (it == entries_.end()) continue;
    if (!intake_.workload(workload)) {
      take_back(workload, it->second);
      entries_.erase(it);
      continue;
    }
    switch (it->second.stage) {
      case Stage::kTries:
        (void)changed(workload, now);
        break;
      case Stage::kAsks:
        timers_.emplace(now + options_.within, workload);
        break;
      case Stage::kOut:
        if (it->second.due <= now) late(workload, it->second, now);
        break;
      case Stage::kStarted:
        if (it->second.due <= now) entries_.erase(it);
        break;
    }
  }
}

std::optional<std::string> OnDemand::why_not(const std::string& workload, TimeMs now) const {
  const auto it = entries_.find(workload);
  if (it == entries_.end() || it->second.stage != Stage::kTries) return std::nullopt;
  if (!it->second.lack.empty()) return fmt::format("it asks for no nodes: {}", it->second.lack);
  if (it->second.misses == 0 || it->second.due <= now) return std::nullopt;
  return fmt::format("its nodes have not come in time ({} so far); it asks for them again in {} s",
                     it->second.misses == 1 ? "once" : fmt::format("{} times", it->second.misses),
                     (it->second.due - now + kSecond - 1) / kSecond);
}

}  // namespace berth::scheduler
