// Which flavor each resource group of each pod set gets, as quota sees it: Kueue's flavor assignment, with the queue's
// FlavorSearch (model/queue.h). What nodes say is asked afterwards, of the choice that is made here.
//
// Pod sets one after the other, each on top of what those before it take; resource groups independently. Of one flavor, per
// resource:
//   fits      the quota is there; `borrowing` is the height of the lowest part of the tree whose own quota covers it
//   reclaims  only work of other queues must yield; preempts: some of the same queue too; `borrowing` as it is then
//   hopeless  victims are allowed, and there are not enough; no-fit: never, or only by borrowing where that is no right
// A flavor is as bad as its worst resource.
//
// Source: kubernetes-sigs/kueue, pkg/scheduler/flavorassigner (facts in research/kueue.md 1.7).
// Cost: O(pod sets x flavors x resources x depth), and a search for victims per flavor that does not fit, where several are
// in question.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/core/state.h"

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

// Of one pair, without a look at victims: kFits, kPreempts (where they would be allowed), or kNoFit.
FlavorRating rate_quota(const State& state, const WorkloadState& w, FlavorResource pair, std::int64_t amount);

class FlavorChooser {
 public:
  FlavorChooser(State& state, WorkloadId workload) : state_(state), id_(workload) {}

  // By pod set; sets that need no slot, or have no choice, get none. `counts`: how many slots of each set are meant.
  void run(std::span<const std::int64_t> counts);
  // These flavors, whatever the search above would take, as quota sees them; without a look at victims.
  void take(std::span<const ChargeId> charges, std::span<const std::int64_t> counts);
  const std::vector<ChargeId>& charges() const { return charges_; }
  // Of the whole workload: the worst.
  FlavorMode mode() const { return mode_; }
  std::int64_t borrowing() const { return borrowing_; }
  // What the charges ask for in all, without what they ask nothing of, and the pairs of it that are short.
  const std::vector<QuotaItem>& request() const { return request_; }
  const std::vector<FlavorResource>& short_pairs() const { return short_; }

  // When time alone could bring more who may yield; kEndOfTime: never.
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
