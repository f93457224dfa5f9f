// The flavor of each resource group of each pod set, by quota alone: Kueue's flavor assignment, with the queue's FlavorSearch
// (model/queue.h). Nodes are checked afterwards, for the chosen flavors.
//
// Pod sets come one after the other, each on top of the quota of those before it; resource groups are independent. Rating of one
// flavor, per resource:
//   fits      The quota is there; `borrowing` is the height of the lowest part of the tree whose own quota covers it.
//   reclaims  Only work of other queues must be evicted; `borrowing` as it is then.
//   preempts  Some work of the same queue must be evicted too.
//   hopeless  Victims are allowed, but there are too few.
//   no-fit    Never, or only by borrowing without a right to it.
// A flavor is as bad as its worst resource.
//
// Source: kubernetes-sigs/kueue, pkg/scheduler/flavorassigner (facts in research/kueue.md 1.7).
// Cost: O(pod sets x flavors x resources x depth), and a search for victims per flavor that does not fit, if there are several
// flavors.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/state/state.h"

namespace berth::engine {

enum class FlavorMode : std::uint8_t { kNoFit, kHopeless, kPreempts, kReclaims, kFits };

// How good a flavor is, and how far up the tree the quota comes from (0: its own).
struct FlavorRating {
  FlavorMode mode = FlavorMode::kNoFit;
  std::int64_t borrowing = 0;
};
bool better(const FlavorSearch& how, const FlavorRating& a, const FlavorRating& b);
// Is no further flavor looked at?
bool search_ends(const FlavorSearch& how, const FlavorRating& rating);

// Rates one pair without a search for victims: kFits, kPreempts (if victims are allowed), or kNoFit.
FlavorRating rate_quota(const State& state, const WorkloadState& w, FlavorResource pair, std::int64_t amount);

class FlavorChooser {
 public:
  FlavorChooser(State& state, WorkloadId workload) : state_(state), id_(workload) {}

  // Chooses by pod set. Sets that need no slot, or have no choice, get none. `counts`: the slots of each set.
  void run(std::span<const std::int64_t> counts);
  // Takes these flavors instead of searching, and rates them by quota, without a search for victims.
  void take(std::span<const ChargeId> charges, std::span<const std::int64_t> counts);
  const std::vector<ChargeId>& charges() const { return charges_; }
  // The worst mode of any pod set.
  FlavorMode mode() const { return mode_; }
  std::int64_t borrowing() const { return borrowing_; }
  // The sum of the charges, without zero amounts, and its pairs that are short.
  const std::vector<QuotaItem>& request() const { return request_; }
  const std::vector<FlavorResource>& short_pairs() const { return short_; }

  // The time at which time alone could allow more victims; kEndOfTime: never.
  TimeMs more_at() const { return more_at_; }

 private:
  using Rating = FlavorRating;
  // Pod sets that get one flavor together, and what they ask for of one pair.
  using Unit = std::vector<std::size_t>;
  struct Ask {
    std::string_view resource;
    FlavorResource pair;
    std::int64_t amount = 0;
  };

  std::vector<Unit> units(std::span<const std::int64_t> counts) const;
  std::vector<Ask> asks(const Unit& unit, std::uint32_t group, const std::string& flavor,
                        std::span<const std::int64_t> counts, bool& offered);
  Rating rate(FlavorResource pair, std::int64_t amount, bool look_for_victims);
  const FlavorSearch& how() const;
  void note_short();
  std::int64_t taken(FlavorResource pair) const;
  ChargeId charge_of(std::size_t set, const std::vector<std::string>& flavors) const;

  State& state_;
  WorkloadId id_;
  std::vector<ChargeId> charges_;
  FlavorMode mode_ = FlavorMode::kFits;
  TimeMs more_at_ = kEndOfTime;
  std::int64_t borrowing_ = 0;
  std::vector<QuotaItem> request_;
  std::vector<FlavorResource> short_;
};

}  // namespace berth::engine
