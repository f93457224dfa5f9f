#include "engine/nodes/fewest.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <span>

namespace berth::engine {
namespace {

constexpr std::size_t kMostTable = 200'000;

}  // namespace

bool FewestDomains::Choice::better_than(const Choice& other) const {
  const bool lacks = !slack.empty() && slack.front() < 0;
  const bool other_lacks = !other.slack.empty() && other.slack.front() < 0;
  if (lacks != other_lacks) return other_lacks;
  if (fresh != other.fresh) return fresh < other.fresh;
  return std::lexicographical_compare(slack.rbegin(), slack.rend(), other.slack.rbegin(), other.slack.rend());
}

FewestDomains::Choice FewestDomains::choose(std::int64_t need) const {
  if (levels_.empty()) return {};
  Set all(levels_.front().size());
  std::iota(all.begin(), all.end(), 0u);
  return choose(0, all, need);
}

FewestDomains::Choice FewestDomains::choose_in(std::uint32_t index, std::int64_t need) const {
  return with(0, {index}, need);
}

// The choice that takes these domains of the level.
FewestDomains::Choice FewestDomains::with(std::size_t level, Set chosen, std::int64_t need) const {
  std::int64_t total = 0;
  std::int64_t fresh = 0;
  Set below;
  for (const std::uint32_t i : chosen) {
    const Item& item = levels_[level][i];
    total += item.room;
    fresh += item.used ? 0 : 1;
    if (level + 1 == levels_.size()) continue;
    for (std::uint32_t child = item.begin; child < item.end; ++child) below.push_back(child);
  }
  Choice choice;
  if (level + 1 < levels_.size()) choice = choose(level + 1, below, need);
  choice.levels.insert(choice.levels.begin(), std::move(chosen));
  choice.fresh.insert(choice.fresh.begin(), fresh);
  choice.slack.insert(choice.slack.begin(), total - need);
  return choice;
}

// The choice that takes `more` beside those that are in use already.
FewestDomains::Choice FewestDomains::beside(std::size_t level, Set near, std::span<const std::uint32_t> more,
                                            std::int64_t need) const {
  near.insert(near.end(), more.begin(), more.end());
  return with(level, std::move(near), need);
}

FewestDomains::Choice FewestDomains::choose(std::size_t level, const Set& among, std::int64_t need) const {
  Set near;
  Set rest;
  std::int64_t near_room = 0;
  for (const std::uint32_t i : among) {
    const Item& item = levels_[level][i];
    if (item.room <= 0) continue;
    (item.used ? near : rest).push_back(i);
    if (item.used) near_room += item.room;
  }
  std::int64_t left = need - near_room;
  if (left <= 0) {
    rest = std::move(near);
    near.clear();
    left = need;
  }
  const auto larger = [&](std::uint32_t a, std::uint32_t b) {
    return room(level, a) != room(level, b) ? room(level, a) > room(level, b) : a < b;
  };
  std::sort(near.begin(), near.end(), larger);
  std::sort(rest.begin(), rest.end(), larger);
  std::size_t count = 0;
  std::int64_t sum = 0;
  while (count < rest.size() && sum < left) sum += room(level, rest[count++]);
  if (sum >= left && count > 1) return several(level, near, rest, count, left, need);
  const auto and_near = [&](std::span<const std::uint32_t> more) { return beside(level, near, more, need); };
  if (sum < left || count == 0) return and_near(rest);
  // One suffices.
  auto end = std::partition_point(rest.begin(), rest.end(), [&](auto i) { return room(level, i) >= left; });
  if (level + 1 == levels_.size()) {
    while (end - rest.begin() > 1 && room(level, *(end - 2)) == room(level, *(end - 1))) --end;
    return and_near({&*(end - 1), 1});
  }
  Choice best;
  for (auto it = rest.begin(); it != end; ++it) {
    Choice choice = and_near({&*it, 1});
    if (it == rest.begin() || choice.better_than(best)) best = std::move(choice);
  }
  return best;
}

// `count` of them from `from` on, the last one replaced by the tightest that suffices.
FewestDomains::Set FewestDomains::tightened(std::size_t level, const Set& sorted, std::size_t from,
                                            std::size_t count, std::int64_t left) const {
  Set set(sorted.begin() + static_cast<std::ptrdiff_t>(from),
          sorted.begin() + static_cast<std::ptrdiff_t>(from + count));
  for (std::size_t i = 0; i + 1 < count; ++i) left -= room(level, set[i]);
  for (std::size_t i = from + count; i < sorted.size() && room(level, sorted[i]) >= left; ++i) {
    if (room(level, sorted[i]) < room(level, set.back())) set.back() = sorted[i];
  }
  return set;
}

FewestDomains::Choice FewestDomains::several(std::size_t level, const Set& near, const Set& sorted,
                                             std::size_t count, std::int64_t left, std::int64_t need) const {
  const auto and_near = [&](std::span<const std::uint32_t> more) { return beside(level, near, more, need); };
  // The tightest run that suffices: sums of runs fall with their beginning.
  std::size_t from = 0;
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < count; ++i) sum += room(level, sorted[i]);
  while (from + count < sorted.size()) {
    const std::int64_t next = sum - room(level, sorted[from]) + room(level, sorted[from + count]);
    if (next < left) break;
    sum = next;
    ++from;
  }
  Choice best = and_near(tightened(level, sorted, from, count, left));
  if (from > 0) {
    Choice largest = and_near(tightened(level, sorted, 0, count, left));
    if (largest.better_than(best)) best = std::move(largest);
  }
  if (level + 1 == levels_.size() || !near.empty() || best.slack[1] < 0) return best;
  if (best.fresh[1] <= least_below(level, sorted, need)) return best;
  const Set fewest = fewest_below(level, sorted, count, need, best.fresh[1]);
  if (fewest.empty()) return best;
  Choice other = and_near(fewest);
  return other.better_than(best) ? other : best;
}

// The rooms of the children of a domain, the largest first.
std::vector<std::int64_t> FewestDomains::rooms_below(std::size_t level, std::uint32_t item) const {
  std::vector<std::int64_t> out;
  for (std::uint32_t child = levels_[level][item].begin; child < levels_[level][item].end; ++child)
    out.push_back(room(level + 1, child));
  std::sort(out.begin(), out.end(), std::greater<>());
  return out;
}

// No fewer domains of the next level hold so much.
std::int64_t FewestDomains::least_below(std::size_t level, const Set& among, std::int64_t need) const {
  std::vector<std::int64_t> all;
  for (const std::uint32_t i : among) {
    for (const std::int64_t r : rooms_below(level, i)) all.push_back(r);
  }
  std::sort(all.begin(), all.end(), std::greater<>());
  std::int64_t count = 0;
  for (const std::int64_t r : all) {
    if (need <= 0) break;
    need -= r;
    ++count;
  }
  return count;
}

// most[taken][below]: the most room of so many domains with so many of their children. Empty: none is better, or the table
// would be too large.
FewestDomains::Set FewestDomains::fewest_below(std::size_t level, const Set& sorted, std::size_t count,
                                               std::int64_t need, std::int64_t fewer_than) const {
  const auto columns = static_cast<std::size_t>(fewer_than);  // 0 to fewer_than - 1
  std::size_t work = 0;
  for (const std::uint32_t i : sorted) {
    const std::size_t children = levels_[level][i].end - levels_[level][i].begin;
    work += count * columns * (1 + std::min(children, columns));
  }
  if (work > kMostTable) return {};
  std::vector<std::int64_t> most((count + 1) * columns, -1);
  most[0] = 0;
  // By domain, taken and below: how many of its children are in it; 0: it is not taken.
  std::vector<std::uint32_t> parts(sorted.size() * most.size(), 0);
  for (std::size_t d = 0; d < sorted.size(); ++d) {
    const std::vector<std::int64_t> rooms = rooms_below(level, sorted[d]);
    for (std::size_t taken = count; taken-- > 0;) {
      for (std::size_t below = columns; below-- > 0;) {
        const std::int64_t before = most[taken * columns + below];
        if (before < 0) continue;
        std::int64_t sum = before;
        for (std::size_t part = 1; part <= rooms.size() && below + part < columns; ++part) {
          sum += rooms[part - 1];
          const std::size_t to = (taken + 1) * columns + below + part;
          if (sum <= most[to]) continue;
          most[to] = sum;
          parts[d * most.size() + to] = static_cast<std::uint32_t>(part);
        }
      }
    }
  }
  for (std::size_t below = 1; below < columns; ++below) {
    if (most[count * columns + below] < need) continue;
    // Backwards: the last domain that changed an entry is in it.
    Set out;
    std::size_t taken = count;
    for (std::size_t d = sorted.size(); d-- > 0 && taken > 0;) {
      const std::uint32_t part = parts[d * most.size() + taken * columns + below];
      if (part == 0) continue;
      out.insert(out.begin(), sorted[d]);
      below -= part;
      --taken;
    }
    return out;
  }
  return {};
}

}  // namespace berth::engine
