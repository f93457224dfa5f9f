// Chooses the fewest domains that hold a number of alike slots, level by level from the widest down.
//
// Input: a tree of domains with the room of each, in slots. A domain's room is at least the sum of its children's; the rest lies on
// nodes without a label of the level below.
// The choice has the fewest domains of the widest level, then the fewest of the next one, and so on. Domains that are in use
// already cost nothing. Among equals the tightest wins, the deepest level first, so that large free domains survive.
//
// Algorithm. Where one domain suffices, each that does is looked at with what it needs below. Where several are needed, the
// largest give their least number. Candidates are the largest, and the tightest run of that length in the order of room. If both
// need more domains below than the largest of all would, a table over (domains taken, domains below) finds the sets with the
// fewest. Exact for two levels of which nothing is in use, up to kMostTable entries of work; a heuristic beyond. The tightness of
// several domains is a heuristic.
// Cost: O(domains log domains) for each level.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace berth::engine {

class FewestDomains {
 public:
  struct Item {
    std::uint32_t id = 0;  // the caller's
    std::int64_t room = 0;
    bool used = false;
    std::uint32_t begin = 0;  // its children: [begin, end) of the next level
    std::uint32_t end = 0;
  };
  struct Choice {
    std::vector<std::vector<std::uint32_t>>
        levels;                       // indices of items by level; the largest first, used ones before
    std::vector<std::int64_t> fresh;  // by level: how many of these were not in use
    std::vector<std::int64_t> slack;  // by level: room beyond the need; negative where it does not suffice
    bool better_than(const Choice& other) const;
  };

  explicit FewestDomains(std::vector<std::vector<Item>> levels) : levels_(std::move(levels)) {}

  Choice choose(std::int64_t need) const;
  // The same inside one domain of the widest level.
  Choice choose_in(std::uint32_t index, std::int64_t need) const;
  const std::vector<std::vector<Item>>& levels() const { return levels_; }

 private:
  using Set = std::vector<std::uint32_t>;
  Choice choose(std::size_t level, const Set& among, std::int64_t need) const;
  Choice with(std::size_t level, Set chosen, std::int64_t need) const;
  Choice beside(std::size_t level, Set near, std::span<const std::uint32_t> more, std::int64_t need) const;
  Choice several(std::size_t level, const Set& near, const Set& sorted, std::size_t count, std::int64_t left,
                 std::int64_t need) const;
  Set tightened(std::size_t level, const Set& sorted, std::size_t from, std::size_t count,
                std::int64_t left) const;
  Set fewest_below(std::size_t level, const Set& sorted, std::size_t count, std::int64_t need,
                   std::int64_t fewer_than) const;
  std::int64_t least_below(std::size_t level, const Set& among, std::int64_t need) const;
  std::vector<std::int64_t> rooms_below(std::size_t level, std::uint32_t item) const;
  std::int64_t room(std::size_t level, std::uint32_t item) const { return levels_[level][item].room; }

  std::vector<std::vector<Item>> levels_;
};

}  // namespace berth::engine
