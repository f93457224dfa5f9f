#include "engine/quota/lanes.h"

#include <algorithm>

namespace berth::engine {

const std::uint32_t* Lanes::find(const std::string& name) const {
  const auto it = numbers_.find(name);
  return it == numbers_.end() ? nullptr : &it->second;
}

std::uint32_t Lanes::number(const std::string& name, TimeMs now) {
  const auto [it, fresh] = numbers_.try_emplace(name, static_cast<std::uint32_t>(lanes_.size()));
  if (fresh) {
    Lane& lane = lanes_.emplace_back();
    lane.name = name;
    lane.past.set_half_life(half_life_);
    lane.past.since = now;
  }
  return it->second;
}

void Lanes::use(std::uint32_t lane, std::size_t resource, std::int64_t change) {
  auto& in_use = lanes_[lane].in_use;
  if (resource >= in_use.size()) in_use.resize(resource + 1, 0);
  in_use[resource] = saturating_add(in_use[resource], change);
}

void Lanes::advance(TimeMs now) {
  for (Lane& lane : lanes_) {
    lane.past.resize(std::max(lane.past.before.size(), lane.in_use.size()));
    lane.past.run_until(now);
    std::copy(lane.in_use.begin(), lane.in_use.end(), lane.past.rate.begin());
  }
}

TimeMs Lanes::next_tick(TimeMs now) const {
  TimeMs next = kEndOfTime;
  for (const Lane& lane : lanes_) next = std::min(next, lane.past.tick_ends(now));
  return next;
}

void Lanes::each_average(TimeMs now,
                         const std::function<void(std::uint32_t, std::size_t, std::int64_t)>& f) const {
  for (std::uint32_t l = 0; l < lanes_.size(); ++l) {
    DecayedUse past = lanes_[l].past;
    past.resize(std::max(past.before.size(), lanes_[l].in_use.size()));
    past.run_until(now);
    for (std::size_t r = 0; r < past.before.size(); ++r) f(l, r, past.average(r));
  }
}

std::vector<std::uint32_t> Lanes::places(std::span<const std::int64_t> capacity) const {
  std::vector<Share> shares;
  for (const Lane& lane : lanes_) {
    Share share;
    for (std::size_t r = 0; r < lane.past.before.size() && r < capacity.size(); ++r) {
      if (capacity[r] <= 0) continue;
      const std::int64_t use = r < lane.in_use.size() ? lane.in_use[r] : 0;
      const Int128 whole = static_cast<Int128>(capacity[r]) * lane.past.tick;
      const Int128 part = (lane.past.counted(r, use) << 20) / whole;
      const auto weight = weights_.find(r);
      share.num +=
          weight == weights_.end() ? part * 1000 : part * 1000 * weight->second.num / weight->second.den;
    }
    share.weightless = lane.weight.num == 0;
    if (!share.weightless) {
      share.num *= lane.weight.den;
      share.den = lane.weight.num;
    }
    shares.push_back(share);
  }
  std::vector<std::uint32_t> order(lanes_.size());
  for (std::uint32_t i = 0; i < order.size(); ++i) order[i] = i;
  std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    const auto by_share = shares[a] <=> shares[b];
    return by_share != 0 ? by_share < 0 : a < b;
  });
  std::vector<std::uint32_t> places(lanes_.size(), 0);
  for (std::size_t i = 1; i < order.size(); ++i) {
    const bool same = shares[order[i]] == shares[order[i - 1]];
    places[order[i]] = same ? places[order[i - 1]] : static_cast<std::uint32_t>(i);
  }
  return places;
}

}  // namespace berth::engine
