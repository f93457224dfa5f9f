#include "engine/quota/tree.h"

#include <algorithm>
#include <utility>

#include "base/checked.h"

namespace berth::engine {

void add_item(std::vector<QuotaItem>& items, FlavorResource pair, std::int64_t amount) {
  const auto known =
      std::find_if(items.begin(), items.end(), [&](const QuotaItem& item) { return item.pair == pair; });
  if (known == items.end()) {
    items.push_back({pair, amount});
  } else {
    known->amount = saturating_add(known->amount, amount);
  }
}

void QuotaTree::rebuild(std::vector<Node> nodes, std::size_t pairs) {
  const std::size_t old_pairs = pairs_;
  const std::size_t old_size = parents_.size();
  const std::vector<QueueId> old_parents = std::move(parents_);
  const std::vector<Cell> old_cells = std::move(cells_);

  // Own use of each queue: what is left when the children's share is taken out of it.
  std::vector<std::array<std::int64_t, 2>> own(old_size * old_pairs);
  for (std::size_t i = 0; i < own.size(); ++i) own[i] = old_cells[i].usage;
  for (std::size_t q = 0; q < old_size; ++q) {
    if (!old_parents[q].valid()) continue;
    for (std::size_t p = 0; p < old_pairs; ++p) {
      const Cell& c = old_cells[q * old_pairs + p];
      for (const Plane plane : {kNow, kAfter}) {
        own[old_parents[q].index() * old_pairs + p][plane] -=
            std::max<std::int64_t>(0, c.usage[plane] - c.local);
      }
    }
  }

  pairs_ = pairs;
  parents_.assign(nodes.size(), QueueId());
  cells_.assign(nodes.size() * pairs_, Cell{});
  std::vector<std::pair<std::size_t, std::int64_t>> cuts;  // by cell
  for (std::size_t q = 0; q < nodes.size(); ++q) {
    parents_[q] = nodes[q].parent;
    for (const Limit& limit : nodes[q].limits) {
      Cell& c = cell(QueueId(q), limit.pair);
      c.declared = true;
      c.nominal = limit.nominal;
      c.borrowing = limit.borrowing ? std::max<std::int64_t>(0, *limit.borrowing) : -1;
      c.local = limit.lending ? -1 - *limit.lending : 0;  // the limit, until the subtree is known
      if (limit.subtree) cuts.emplace_back(q * pairs_ + limit.pair.index(), *limit.subtree);
    }
  }

  std::sort(cuts.begin(), cuts.end());

  // Children before parents.
  heights_.assign(nodes.size(), 0);
  std::vector<std::size_t> depth(nodes.size(), 0);
  std::vector<std::size_t> order(nodes.size());
  for (std::size_t q = 0; q < nodes.size(); ++q) {
    order[q] = q;
    for (QueueId at = parents_[q]; at.valid(); at = parents_[at.index()]) {
      ++depth[q];
      heights_[at.index()] = std::max(heights_[at.index()], static_cast<std::int64_t>(depth[q]));
    }
  }
  std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) { return depth[a] > depth[b]; });
  for (const std::size_t q : order) {
    for (std::size_t p = 0; p < pairs_; ++p) {
      Cell& c = cells_[q * pairs_ + p];
      c.subtree = saturating_add(c.subtree, c.nominal);
      const auto cut = std::lower_bound(cuts.begin(), cuts.end(), std::pair(q * pairs_ + p, kInt64Min));
      if (cut != cuts.end() && cut->first == q * pairs_ + p && cut->second < c.subtree) {
        c.subtree = cut->second;
        c.cut = true;
      }
      if (c.local < 0) {
        c.local = std::max<std::int64_t>(0, saturating_sub(c.subtree, -1 - c.local));
      }
      if (parents_[q].valid()) {
        Cell& up = cells_[parents_[q].index() * pairs_ + p];
        up.subtree = saturating_add(up.subtree, c.subtree - c.local);
      }
    }
  }
  for (std::size_t q = 0; q < std::min(old_size, nodes.size()); ++q) {
    for (std::size_t p = 0; p < std::min(old_pairs, pairs_); ++p) {
      const auto& use = own[q * old_pairs + p];
      if (use[kNow] != 0) add(QueueId(q), FlavorResource(p), use[kNow], kNowBit);
      if (use[kAfter] != 0) add(QueueId(q), FlavorResource(p), use[kAfter], kAfterBit);
    }
  }
}

void QuotaTree::add(QueueId queue, FlavorResource pair, std::int64_t amount, PlaneMask planes) {
  for (const Plane plane : {kNow, kAfter}) {
    if ((planes & (1u << plane)) == 0) continue;
    std::int64_t delta = amount;
    for (QueueId at = queue; at.valid() && delta != 0; at = parents_[at.index()]) {
      Cell& c = cell(at, pair);
      const std::int64_t before = std::max<std::int64_t>(0, c.usage[plane] - c.local);
      c.usage[plane] += delta;
      delta = std::max<std::int64_t>(0, c.usage[plane] - c.local) - before;
    }
  }
}

std::int64_t QuotaTree::available(QueueId queue, FlavorResource pair, Plane plane) const {
  const Cell& c = cell(queue, pair);
  const QueueId up = parents_[queue.index()];
  if (!up.valid()) return c.subtree - c.usage[plane];
  std::int64_t from_parent = available(up, pair, plane);
  if (c.borrowing >= 0) {
    const std::int64_t stored_in_parent = c.subtree - c.local;
    const std::int64_t used_in_parent = std::max<std::int64_t>(0, c.usage[plane] - c.local);
    from_parent = std::min(from_parent, saturating_add(stored_in_parent - used_in_parent, c.borrowing));
  }
  return saturating_add(std::max<std::int64_t>(0, c.local - c.usage[plane]), from_parent);
}

std::int64_t QuotaTree::potential(QueueId queue, FlavorResource pair) const {
  const Cell& c = cell(queue, pair);
  const QueueId up = parents_[queue.index()];
  if (!up.valid()) return c.subtree;
  std::int64_t all = saturating_add(c.local, potential(up, pair));
  if (c.borrowing >= 0) all = std::min(all, saturating_add(c.subtree, c.borrowing));
  return all;
}

bool QuotaTree::fits(QueueId queue, std::span<const QuotaItem> items, std::int64_t count, Mode mode) const {
  for (const QuotaItem& item : items) {
    const std::int64_t need = saturating_mul(item.amount, count);
    if (need == 0) continue;
    if (need > available(queue, item.pair, kAfter)) return false;
    if (mode == Mode::kStart && need > available(queue, item.pair, kNow)) return false;
  }
  return true;
}

std::int64_t QuotaTree::passed_up_more(QueueId queue, QueueId ancestor, FlavorResource pair,
                                       std::int64_t amount) const {
  for (QueueId at = queue; at != ancestor && amount != 0; at = parents_[at.index()]) {
    const Cell& c = cell(at, pair);
    const std::int64_t before = std::max<std::int64_t>(0, c.usage[kAfter] - c.local);
    amount = std::max<std::int64_t>(0, saturating_add(c.usage[kAfter] - c.local, amount)) - before;
  }
  return amount;
}

QuotaTree::Covering QuotaTree::covering(QueueId queue, FlavorResource pair, std::int64_t amount) const {
  if (!parent(queue).valid() || saturating_add(usage(queue, pair, kAfter), amount) <= nominal(queue, pair))
    return {0, parent(queue).valid()};
  std::int64_t rest = amount;
  QueueId at = queue;
  while (parent(at).valid()) {
    const std::int64_t own = std::max<std::int64_t>(0, local(at, pair) - usage(at, pair, kAfter));
    rest = std::max<std::int64_t>(0, rest - own);
    at = parent(at);
    if (saturating_add(usage(at, pair, kAfter), rest) <= subtree(at, pair))
      return {height(at), parent(at).valid()};
  }
  return {height(at), false};
}

std::int64_t QuotaTree::reach(QueueId queue, std::span<const QuotaItem> items, std::int64_t count) const {
  std::int64_t height = 0;
  for (const QuotaItem& item : items)
    height = std::max(height, covering(queue, item.pair, saturating_mul(item.amount, count)).height);
  return height;
}

QueueId QuotaTree::root(QueueId queue) const {
  while (parents_[queue.index()].valid()) queue = parents_[queue.index()];
  return queue;
}

}  // namespace berth::engine
