#include "sim/measure/fairness.h"

#include <algorithm>
#include <map>
#include <string_view>

namespace berth::sim {
namespace {

constexpr std::int64_t kWeightUnit = 1'000'000;
constexpr std::uint32_t kRoot = 0xffffffffu;

std::int64_t weight_of(const Rational& weight) {
  if (weight.num <= 0 || weight.den <= 0) return 0;
  return std::max<std::int64_t>(1,
                                clamp_to_int64(static_cast<Int128>(weight.num) * kWeightUnit / weight.den));
}

// The quota tree with what is asked for at one time.
class Tree {
 public:
  Tree(const Input& input, const Outcome& outcome) {
    const std::size_t count = input.queues.size();
    nodes_.resize(count);
    std::map<std::string_view, std::uint32_t> by_name;  // parents stand before their children
    for (std::uint32_t i = 0; i < count; ++i) {
      const Queue& queue = input.queues[i];
      Place& place = nodes_[i];
      place.weight = weight_of(queue.weight);
      bool bounded = !queue.quotas.empty() && !queue.unlimited;
      std::int64_t limit = 0;
      for (const Quota& quota : queue.quotas) {
        if (quota.resource != kGpu) continue;
        // In the base unit of GPUs, which is a thousandth of one.
        place.own = saturating_add(place.own, quota.nominal);
        if (!quota.borrowing_limit) bounded = false;
        limit = saturating_add(limit, saturating_add(quota.nominal, quota.borrowing_limit.value_or(0)));
      }
      if (std::none_of(queue.quotas.begin(), queue.quotas.end(),
                       [](const Quota& quota) { return quota.resource == kGpu; }))
        bounded = false;
      place.borrows_at_most = bounded ? limit - place.own : kInt64Max;
      if (const auto above = by_name.find(queue.parent); above != by_name.end()) place.parent = above->second;
      by_name.emplace(queue.name, i);
      (place.parent == kRoot ? roots_ : nodes_[place.parent].children).push_back(i);
    }
    leaves_ = outcome.leaves;
    for (std::size_t i = count; i-- > 0;) {
      Place& place = nodes_[i];
      place.guarantee = saturating_add(place.guarantee, place.own);
      if (place.parent != kRoot)
        nodes_[place.parent].guarantee = saturating_add(nodes_[place.parent].guarantee, place.guarantee);
    }
  }

  std::int64_t guarantee(std::size_t leaf) const { return nodes_[leaves_[leaf]].guarantee; }

  // `asked` and the result are per leaf.
  std::vector<std::int64_t> divide(std::int64_t amount, const std::vector<std::int64_t>& asked) {
    for (Place& place : nodes_) place.asks = 0;
    for (std::size_t i = 0; i < leaves_.size(); ++i) nodes_[leaves_[i]].asks = asked[i];
    for (std::size_t i = nodes_.size(); i-- > 0;) {
      Place& place = nodes_[i];
      place.asks = std::min(place.asks, saturating_add(place.guarantee, place.borrows_at_most));
      if (place.parent != kRoot)
        nodes_[place.parent].asks = saturating_add(nodes_[place.parent].asks, place.asks);
    }
    share_out(amount, roots_);
    for (Place& place : nodes_) {
      if (!place.children.empty()) share_out(place.gets, place.children);
    }
    std::vector<std::int64_t> out;
    for (const std::uint32_t leaf : leaves_) out.push_back(nodes_[leaf].gets);
    return out;
  }

 private:
  struct Place {
    std::uint32_t parent = kRoot;
    std::vector<std::uint32_t> children;
    std::int64_t weight = kWeightUnit;
    std::int64_t own = 0;        // GPU milli, nominal quota
    std::int64_t guarantee = 0;  // with the queues below
    std::int64_t borrows_at_most = kInt64Max;
    std::int64_t asks = 0;
    std::int64_t gets = 0;
  };

  void share_out(std::int64_t amount, const std::vector<std::uint32_t>& among) {
    std::vector<Claim> claims;
    for (const std::uint32_t i : among) {
      const std::int64_t sure = std::min(nodes_[i].asks, nodes_[i].guarantee);
      claims.push_back({sure, sure});
    }
    const std::vector<std::int64_t> guaranteed = fill_by_weight(amount, claims);
    std::int64_t left = amount;
    for (std::size_t k = 0; k < among.size(); ++k) {
      left -= guaranteed[k];
      claims[k] = {nodes_[among[k]].weight, nodes_[among[k]].asks - guaranteed[k]};
    }
    const std::vector<std::int64_t> more = fill_by_weight(std::max<std::int64_t>(left, 0), claims);
    for (std::size_t k = 0; k < among.size(); ++k) nodes_[among[k]].gets = guaranteed[k] + more[k];
  }

  std::vector<Place> nodes_;
  std::vector<std::uint32_t> roots_;
  std::vector<std::uint32_t> leaves_;
};

// Jain's index in thousandths; 1000 where no queue deserves anything.
std::int64_t jain(const std::vector<std::int64_t>& held, const std::vector<std::int64_t>& deserved) {
  Int128 sum = 0;
  Int128 squares = 0;
  std::int64_t count = 0;
  for (std::size_t i = 0; i < held.size(); ++i) {
    if (deserved[i] <= 0) continue;
    const Int128 part =
        std::min<Int128>(static_cast<Int128>(held[i]) * 1'000'000 / deserved[i], Int128{1'000'000'000'000});
    sum += part;
    squares += part * part;
    ++count;
  }
  // All queues wait and none has anything: that is equal.
  if (count == 0 || squares == 0) return 1000;
  return static_cast<std::int64_t>((sum * sum * 1000 + count * squares / 2) / (count * squares));
}

}  // namespace

std::vector<std::int64_t> fill_by_weight(std::int64_t amount, std::span<const Claim> claims) {
  std::vector<std::int64_t> out(claims.size(), 0);
  std::vector<std::size_t> order;
  Int128 weights = 0;
  for (std::size_t i = 0; i < claims.size(); ++i) {
    if (claims[i].weight <= 0 || claims[i].most <= 0) continue;
    order.push_back(i);
    weights += claims[i].weight;
  }
  // The queue with the least demand per weight is satisfied first.
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return static_cast<Int128>(claims[a].most) * claims[b].weight <
           static_cast<Int128>(claims[b].most) * claims[a].weight;
  });
  Int128 left = std::max<std::int64_t>(amount, 0);
  for (const std::size_t i : order) {
    const Int128 share = left * claims[i].weight / weights;
    out[i] = static_cast<std::int64_t>(std::min<Int128>(share, claims[i].most));
    left -= out[i];
    weights -= claims[i].weight;
  }
  return out;
}

Fairness fairness_of(const Input& input, const Outcome& outcome) {
  Tree tree(input, outcome);
  Fairness out;
  const BinnedSeries& series = outcome.series;
  const std::size_t leaves = outcome.leaves.size();
  out.queues.resize(leaves);
  std::vector<std::int64_t> held(leaves);
  std::vector<std::int64_t> asked(leaves);
  Int128 index_sum = 0;
  DurationMs busy = 0;
  for (std::size_t bin = 0; bin < series.bins(); ++bin) {
    const DurationMs length = std::min(series.width(), outcome.end - series.bin_begin(bin));
    for (std::size_t i = 0; i < leaves; ++i) {
      held[i] = series.mean(queue_track(i, QueueTrack::kAllocated), bin);
      asked[i] = saturating_add(held[i], series.mean(queue_track(i, QueueTrack::kPendingGpu), bin));
    }
    const std::vector<std::int64_t> deserved = tree.divide(outcome.gpu_capacity_milli, asked);
    for (std::size_t i = 0; i < leaves; ++i) {
      QueueFairness& queue = out.queues[i];
      queue.deserved.push_back(deserved[i]);
      queue.held_milli_ms += static_cast<Int128>(held[i]) * length;
      queue.deserved_milli_ms += static_cast<Int128>(deserved[i]) * length;
      const auto below = [&](std::int64_t want) {
        return static_cast<Int128>(std::max<std::int64_t>(0, want - held[i])) * length;
      };
      queue.below_share_milli_ms += below(deserved[i]);
      queue.below_guarantee_milli_ms += below(std::min(asked[i], tree.guarantee(i)));
    }
    out.index_milli.push_back(jain(held, deserved));
    if (std::none_of(deserved.begin(), deserved.end(), [](std::int64_t d) { return d > 0; })) continue;
    index_sum += static_cast<Int128>(out.index_milli.back()) * length;
    busy += length;
  }
  if (busy > 0) out.index_mean_milli = static_cast<std::int64_t>((index_sum + busy / 2) / busy);
  return out;
}

}  // namespace berth::sim
