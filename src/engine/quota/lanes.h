// The lanes of a leaf's line (LaneOrder in model/queue.h): their recent use, and the places that follow from it. Lanes have no
// quota; they only decide the order.
//
// The measure of a lane: for each resource its use (decayed_use.h) divided by the leaf's quota in an empty cluster, times the
// weight of the resource. The sum is divided by the lane's own weight. Parts are used because bytes and cores cannot be added: a
// sum of raw units would count memory and nothing else (Kueue #10434). Rounded down to parts in 2^20 of a resource. A lane of
// weight 0 stands behind all that have one.
//
// Costs: use() O(1); places() O(lanes x resources + lanes log lanes).
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "engine/quota/decayed_use.h"
#include "engine/quota/fairness.h"
#include "model/queue.h"

namespace berth::engine {

class Lanes {
 public:
  // Takes new rules; what was used is kept. `resource_of(name)`: the number of a resource.
  template <class F>
  void set_rules(const LaneOrder& rules, TimeMs now, F&& resource_of) {
    advance(now);
    ordered_ = rules.by_use;
    half_life_ = rules.half_life;
    weights_.clear();
    for (const ResourceWeight& w : rules.resource_weights) weights_[resource_of(w.resource)] = w.weight;
    for (Lane& lane : lanes_) {
      lane.past.set_half_life(half_life_);
      lane.weight = {};
    }
    for (const auto& from : rules.lanes) {
      const bool known = find(from.name) != nullptr;
      Lane& lane = lanes_[number(from.name, now)];
      lane.weight = from.weight;
      if (known) continue;
      for (const auto& [resource, amount] : from.used) {
        const std::size_t r = resource_of(resource);
        if (r >= lane.past.before.size()) lane.past.resize(r + 1);
        lane.past.used_always(r, amount);
      }
      if (from.used_at > 0) lane.past.since = from.used_at;
    }
  }
  bool ordered() const { return ordered_; }

  // The number of a lane, made where it is new.
  std::uint32_t number(const std::string& name, TimeMs now);
  const std::string& name(std::uint32_t lane) const { return lanes_[lane].name; }
  // Changes the present use of the lane, from the next advance() on.
  void use(std::uint32_t lane, std::size_t resource, std::int64_t change);
  // Use since the last call counts until `now`; from then on the present use counts.
  void advance(TimeMs now);
  TimeMs next_tick(TimeMs now) const;
  // Calls f(lane, resource, amount) for the recent use of each, on average, as of `now`; 0 too. O(lanes x resources x ticks that
  // ended).
  void each_average(TimeMs now, const std::function<void(std::uint32_t, std::size_t, std::int64_t)>& f) const;

  // By lane: its place; those that used the same share one. `capacity`: by resource, of the leaf.
  std::vector<std::uint32_t> places(std::span<const std::int64_t> capacity) const;

 private:
  struct Lane {
    std::string name;
    Rational weight;
    DecayedUse past;
    std::vector<std::int64_t> in_use;  // by resource
  };
  const std::uint32_t* find(const std::string& name) const;

  bool ordered_ = false;
  DurationMs half_life_ = 0;
  std::map<std::size_t, Rational> weights_;  // of resources; others: 1
  std::map<std::string, std::uint32_t, std::less<>> numbers_;
  std::vector<Lane> lanes_;
};

}  // namespace berth::engine
