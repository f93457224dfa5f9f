// The numbers that counted terms keep (counted.h).
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/reused.h"
#include "engine/base/plane.h"
#include "engine/nodes/shape.h"
#include "model/labels.h"

namespace berth::engine {

// Appends the terms of a pod to a key. Two lists give the same text exactly when they are the same.
void put_terms(std::string& key, const std::vector<CountedTerm>& required,
               const std::vector<PreferredCountedTerm>& preferred);

// How many slots, on both planes.
struct CountedSlots {
  std::array<std::int64_t, 2> planes{};
  std::int64_t reserved = 0;  // of those on each plane
  std::int64_t ending = 0;    // of those on both planes: pods that will go
  std::int64_t pods = 0;      // on both planes, and neither: they are there, and stay
  // Those that are not reserved.
  std::int64_t sure(Plane plane) const { return planes[plane] - reserved; }
  // For a spread: all that may stay, and those of them that are sure to.
  std::int64_t most() const { return planes[kAfter] - ending; }
  std::int64_t there(bool pods_alone) const { return pods_alone ? pods : most(); }
  std::int64_t least() const { return sure(kAfter) - ending; }
  CountedSlots times(std::int64_t by) const {
    return {{by * planes[kNow], by * planes[kAfter]}, by * reserved, by * ending, by * pods};
  }
  CountedSlots& operator+=(const CountedSlots& other) {
    for (const Plane plane : {kNow, kAfter}) planes[plane] += other.planes[plane];
    reserved += other.reserved;
    ending += other.ending;
    pods += other.pods;
    return *this;
  }
  bool operator==(const CountedSlots&) const = default;
};

// The counts of one pair in one domain.
struct CountedTally {
  CountedSlots counted;  // slots that the selector counts
  CountedSlots apart;    // slots that must stand apart from them
  // Slots that will stay, and name those that the selector counts: the weights of their wishes, and how many must be near.
  std::int64_t wishes = 0;
  std::int64_t needs = 0;
  static constexpr std::int64_t kMostLean = 64;  // slots: more weigh no more
  // Their weight for one that the selector counts. It leaves the range of a preference for no domain.
  std::int64_t pull() const {
    constexpr std::int64_t kMost = 100 * kMostLean;
    return std::clamp<std::int64_t>(wishes, -kMost, kMost) + std::clamp<std::int64_t>(needs, 0, kMostLean);
  }
  bool operator==(const CountedTally&) const = default;
};

// The fewest of any domain.
struct CountedFewest {
  std::map<std::int64_t, std::int64_t> domains;  // how many have so many; those that have none are left out
  std::int64_t some = 0;                         // domains that have some
  void change(std::int64_t before, std::int64_t after);
  std::int64_t of(std::int64_t filled) const {
    return some < filled || domains.empty() ? 0 : domains.begin()->first;
  }
};

// A selector at a level (label_domains.h).
struct CountedPair {
  std::uint32_t selector = 0;
  std::uint32_t level = 0;
  std::int64_t users = 0;     // rules and leanings of sets
  std::int64_t spreads = 0;   // rules of kSpread
  std::int64_t leanings = 0;  // without these and spreads the fewest are not kept
  std::int64_t pulls = 0;     // rules of kNear, and leanings that are no spreads
  CountedFewest fewest_pods;
  CountedFewest fewest_sure;                                  // on the after plane
  CountedSlots counted;                                       // in all domains
  std::unordered_map<std::uint32_t, CountedTally> by_domain;  // where some count is not zero; looked up
  void keep_fewest();                                         // from now on
};

// A term of a pod.
struct CountedRule {
  std::uint32_t term = 0;
  TermKind kind = TermKind::kApart;
  bool self = false;  // its selector counts the slot itself
  std::int64_t max_skew = 0;
  std::int64_t min_domains = 0;
};

// A preferred term of a pod.
struct CountedLeaning {
  std::uint32_t term = 0;
  TermKind kind = TermKind::kApart;
  std::int64_t weight = 0;
};

struct CountedSelector {
  std::string name;
  std::int64_t users = 0;
  std::vector<std::uint32_t> terms;
};

// The part of a shape.
struct CountedSet {
  bool used = false;
  std::string key;
  std::vector<std::uint32_t> selectors;  // ascending
  std::vector<CountedRule> rules;
  std::vector<CountedLeaning> leanings;
  bool spreads = false;  // one rule of kSpread
};

// Slots of one part on a node.
struct CountedStanding {
  CountedId id;
  CountedSlots slots;
};

// A domain in which a count changed, or the same for all domains.
struct CountedCrossing {
  static constexpr std::uint32_t kEverywhere = 0xffffffffu;
  enum class Of : std::uint8_t {
    kZero,     // it became or ceased to be zero; everywhere: the sum did
    kSpread,   // for spreads: it changed; everywhere: the fewest of any domain did
    kLeaning,  // the same for leanings; everywhere: so that all weigh otherwise
    kPull,     // what the slots there weigh for one that the selector counts
  };
  std::uint32_t term = 0;
  std::uint32_t domain = kEverywhere;
  Of of = Of::kZero;
  auto operator<=>(const CountedCrossing&) const = default;
};

// The last crossings, in order.
class CountedLog {
 public:
  std::uint64_t begin() const { return begin_; }
  std::uint64_t end() const { return begin_ + all_.size(); }
  const CountedCrossing& at(std::uint64_t number) const { return all_[number - begin_]; }
  void add(const CountedCrossing& crossing) {
    constexpr std::size_t kMost = 4096;
    all_.push_back(crossing);
    if (all_.size() <= kMost) return;
    all_.erase(all_.begin(), all_.begin() + kMost / 2);
    begin_ += kMost / 2;
  }
  // Crossings of a term that is gone say nothing any more. Readers that have not seen them all look at everything.
  void forget() {
    begin_ = end();
    all_.clear();
  }

 private:
  std::vector<CountedCrossing> all_;
  std::uint64_t begin_ = 0;
};

// Whether slots or foreign pods with terms came, went or moved; trials do not count. Waiting work and holds look at it for themselves:
// one may make news for the other.
class CountedNews {
 public:
  void note() { for_work_ = for_holds_ = true; }
  bool any() const { return for_work_ || for_holds_; }
  // Since the last call.
  bool take_for_work() { return std::exchange(for_work_, false); }
  bool take_for_holds() { return std::exchange(for_holds_, false); }

 private:
  bool for_work_ = false;
  bool for_holds_ = false;
};

}  // namespace berth::engine
