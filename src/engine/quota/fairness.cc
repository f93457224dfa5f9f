#include "engine/quota/fairness.h"

#include <algorithm>
#include <utility>

namespace berth::engine {

std::strong_ordering compare_fractions(Int128 a, Int128 b, Int128 c, Int128 d) {
  if (a == c && b == d) return std::strong_ordering::equal;
  if (std::max(std::max(a, b), std::max(c, d)) <= kInt64Max) return a * d <=> c * b;
  // Whole parts first, then the reciprocals of the rests, whose order is the reverse.
  bool reversed = false;
  while (true) {
    const Int128 left = a / b;
    const Int128 right = c / d;
    if (left != right)
      return ((left < right) != reversed) ? std::strong_ordering::less : std::strong_ordering::greater;
    a %= b;
    c %= d;
    if (a == 0 || c == 0) {
      if (a == 0 && c == 0) return std::strong_ordering::equal;
      return ((a == 0) != reversed) ? std::strong_ordering::less : std::strong_ordering::greater;
    }
    std::swap(a, b);
    std::swap(c, d);
    reversed = !reversed;
  }
}

std::strong_ordering Share::operator<=>(const Share& other) const {
  if (over != other.over) return over <=> other.over;
  if (priority != other.priority) return other.priority <=> priority;
  if (weightless != other.weightless) return weightless <=> other.weightless;
  return compare_fractions(num, den, other.num, other.den);
}

void Fairness::rebuild(std::vector<Node> nodes, const std::vector<std::uint32_t>& resource_of, TimeMs now) {
  for (const QueueId queue : decaying_) past_[queue.index()].run_until(now);
  const std::vector<DecayedUse> old = std::exchange(past_, {});
  nodes_ = std::move(nodes);
  resource_of_ = resource_of;
  resources_ = 0;
  for (const std::uint32_t r : resource_of_) resources_ = std::max<std::size_t>(resources_, r + 1);
  counts_above_.assign(nodes_.size(), 0);
  lendable_.assign(nodes_.size(), {});
  past_.resize(nodes_.size());
  decaying_.clear();
  next_tick_ = kEndOfTime;
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    for (QueueId at(i); at.valid(); at = quota_.parent(at)) {
      if (counts(at)) counts_above_[i] = 1;
    }
    if (nodes_[i].sharing == Sharing::kPriority) continue;
    lendable_[i].assign(resources_, 0);
    for (std::size_t p = 0; p < quota_.pairs(); ++p) {
      auto& sum = lendable_[i][resource_of_[p]];
      sum = saturating_add(sum, std::max<std::int64_t>(0, quota_.potential(QueueId(i), FlavorResource(p))));
    }
  }
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    const QueueId parent = quota_.parent(QueueId(i));
    if (!parent.valid() || nodes_[parent.index()].sharing != Sharing::kDecayedUse) continue;
    decaying_.emplace_back(i);
    DecayedUse& past = past_[i];
    if (i < old.size()) past = old[i];
    past.resize(resources_);
    past.since = now;
    past.set_half_life(nodes_[parent.index()].half_life);
    set_rate(QueueId(i));
    next_tick_ = std::min(next_tick_, past.tick_ends(now));
  }
}

bool Fairness::counts(QueueId queue) const {
  const QueueId parent = quota_.parent(queue);
  return parent.valid() && nodes_[parent.index()].sharing != Sharing::kPriority;
}

Share Fairness::weighted(QueueId queue, Int128 num, Int128 den) const {
  const Rational weight = nodes_[queue.index()].weight;
  if (num == 0) return {};
  if (weight.num == 0) return {.weightless = true, .num = num, .den = den};
  // Weights beyond 2^31 and amounts beyond 2^95 do not occur in practice; they are brought down, so that the products stay
  // within 128 bits.
  while (num > (Int128{1} << 95) || den > (Int128{1} << 95)) {
    num /= 2;
    den = std::max<Int128>(1, den / 2);
  }
  std::int64_t wnum = weight.num;
  std::int64_t wden = weight.den;
  while (wnum > (std::int64_t{1} << 31) || wden > (std::int64_t{1} << 31)) {
    wnum = std::max<std::int64_t>(1, wnum / 2);
    wden = std::max<std::int64_t>(1, wden / 2);
  }
  return {.num = num * wden, .den = den * wnum};
}

Share Fairness::share(QueueId queue, QueueId leaf, std::span<const QuotaItem> ask, bool within) const {
  if (!counts(queue)) return {};
  const QueueId parent = quota_.parent(queue);
  const Sharing sharing = nodes_[parent.index()].sharing;
  const bool ranks = sharing == Sharing::kDominantShare && nodes_[parent.index()].ranks_within_quota;
  const auto& lendable = lendable_[parent.index()];
  Share best;
  const auto larger = [&](Int128 num, Int128 den) {
    if (den > 0 && compare_fractions(num, den, best.num, best.den) > 0) {
      best.num = num;
      best.den = den;
    }
  };
  if (sharing == Sharing::kDecayedUse) {
    const DecayedUse& past = past_[queue.index()];
    std::vector<std::int64_t> use(resources_, 0);
    for (std::size_t p = 0; p < quota_.pairs(); ++p) {
      auto& sum = use[resource_of_[p]];
      sum = saturating_add(sum, quota_.usage(queue, FlavorResource(p), kNow));
    }
    for (std::size_t r = 0; r < resources_; ++r)
      larger(past.counted(r, use[r]), static_cast<Int128>(lendable[r]) * past.tick);
    return weighted(queue, best.num, best.den);
  }

  std::vector<std::int64_t> borrowed(resources_, 0);
  std::vector<std::int64_t> used(resources_, 0);
  std::vector<std::int64_t> own(resources_, 0);
  bool over = false;
  for (std::size_t p = 0; p < quota_.pairs(); ++p) {
    const FlavorResource pair(p);
    const std::uint32_t r = resource_of_[p];
    std::int64_t use = quota_.usage(queue, pair, kAfter);
    for (const QuotaItem& item : ask) {
      if (item.pair == pair) use = saturating_add(use, quota_.passed_up_more(leaf, queue, pair, item.amount));
    }
    const std::int64_t quota = quota_.subtree(queue, pair);
    used[r] = saturating_add(used[r], std::max<std::int64_t>(0, use));
    own[r] = saturating_add(own[r], quota);
    if (use <= quota) continue;
    over = true;
    borrowed[r] = saturating_add(borrowed[r], saturating_sub(use, quota));
  }
  over = over && !within;
  if ((sharing == Sharing::kGuaranteedShare || ranks) && !over) {
    for (std::size_t r = 0; r < resources_; ++r) larger(used[r], own[r]);
    best.priority = ranks ? nodes_[queue.index()].priority : 0;
    return best;
  }
  for (std::size_t r = 0; r < resources_; ++r) larger(borrowed[r], lendable[r]);
  Share out = weighted(queue, best.num, best.den);
  out.over = over;
  out.priority = out.over ? nodes_[queue.index()].priority : 0;
  return out;
}

void Fairness::set_rate(QueueId queue) {
  DecayedUse& past = past_[queue.index()];
  std::fill(past.rate.begin(), past.rate.end(), 0);
  for (std::size_t p = 0; p < quota_.pairs(); ++p) {
    auto& sum = past.rate[resource_of_[p]];
    sum = saturating_add(sum, std::max<std::int64_t>(0, quota_.usage(queue, FlavorResource(p), kNow)));
  }
}

void Fairness::note_use(QueueId leaf, TimeMs now) {
  for (QueueId at = leaf; at.valid(); at = quota_.parent(at)) {
    const QueueId parent = quota_.parent(at);
    if (!parent.valid() || nodes_[parent.index()].sharing != Sharing::kDecayedUse) continue;
    past_[at.index()].run_until(now);
    set_rate(at);
  }
}

bool Fairness::advance(TimeMs now) {
  if (now < next_tick_) return false;
  next_tick_ = kEndOfTime;
  for (const QueueId queue : decaying_) {
    DecayedUse& past = past_[queue.index()];
    past.run_until(now);
    next_tick_ = std::min(next_tick_, past.tick_ends(now));
  }
  return true;
}

}  // namespace berth::engine
