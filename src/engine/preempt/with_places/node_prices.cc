#include "engine/preempt/with_places/node_prices.h"

#include <algorithm>
#include <tuple>

namespace berth::engine {
namespace {

// A slot of a unit on a node.
struct Standing {
  NodeId node;
  std::uint32_t unit = 0;  // index into `among`
  ChargeId charge;
  GrantId grant;
};

// The free room of a node for one shape, now and after evictions.
class NodeRoom {
 public:
  NodeRoom(const State& state, const Shape& shape) : state_(state), shape_(shape) {}

  void look_at(NodeId node) {
    node_ = node;
    free_.clear();
    for (const ShapeAmount& a : shape_.amounts)
      free_.push_back(state_.nodes.account(node, a.resource).free(Mode::kPlan));
    devices_.clear();
    for (const auto& device : state_.nodes.record(node).devices)
      devices_.push_back(device.account.free(Mode::kPlan));
    token_holders_ = 0;
    for (const TokenId token : shape_.tokens)
      token_holders_ += state_.nodes.tokens().holders(node, token, kAfter);
  }

  // sign +1: the slot goes.
  void change(const Standing& s, int sign) {
    const Shape& theirs = state_.shape_of(s.charge);
    for (const ShapeAmount& a : theirs.amounts) {
      for (std::size_t k = 0; k < shape_.amounts.size(); ++k) {
        if (shape_.amounts[k].resource == a.resource) free_[k] += sign * a.amount;
      }
    }
    const GrantView grant = state_.accounts.grants()[s.grant];
    for (const Piece& piece : grant.pieces) devices_[piece.device] += sign * piece.milli;
    for (const TokenId wanted : shape_.tokens) {
      for (const TokenId token : grant.tokens)
        token_holders_ -= state_.nodes.tokens().exclude(wanted, token) ? sign : 0;
    }
  }

  std::int64_t fit() const {
    if (token_holders_ > 0) return 0;
    std::int64_t fit = shape_.tokens.empty() ? 1'000'000 : 1;
    for (std::size_t k = 0; k < free_.size(); ++k) {
      if (free_[k] < shape_.amounts[k].amount) return 0;
      fit = std::min(fit, free_[k] / shape_.amounts[k].amount);
    }
    const auto& record = state_.nodes.record(node_);
    for (const ShapeDevices& want : shape_.devices) {
      if (want.milli == kWholeDevice && state_.nodes.is_counted(node_, want.resource)) continue;  // an amount
      std::int64_t pieces = 0;
      for (std::size_t d = 0; d < record.devices.size(); ++d) {
        if (record.devices[d].resource == want.resource && devices_[d] >= want.milli)
          pieces += want.milli == kWholeDevice ? 1 : devices_[d] / want.milli;
      }
      fit = std::min(fit, pieces / want.count);
    }
    return fit;
  }

 private:
  const State& state_;
  const Shape& shape_;
  NodeId node_;
  std::vector<std::int64_t> free_;     // as shape_.amounts
  std::vector<std::int64_t> devices_;  // by number
  std::int64_t token_holders_ = 0;     // pods that have a token which the shape wants
};

struct Priced {
  std::int64_t priority = kInt64Min;
  bool whole = false;
  std::int64_t cost = 0;
  NodeId node;
  std::uint32_t step = 0;   // the how-manieth slot of the node
  std::uint32_t shape = 0;  // index into Wanted::shapes
  std::vector<std::uint32_t> units;

  auto key() const { return std::tie(priority, whole, cost, node, step); }
};

}  // namespace

NodePrices node_prices(State& state, const Candidates& candidates, const Wanted& wanted,
                       const std::vector<std::uint32_t>& among, Budget& steps) {
  std::vector<Standing> unsorted;
  std::vector<std::int64_t> slots_of(among.size(), 0);
  std::vector<std::uint32_t> end_of(state.nodes.size(), 0);  // by node
  for (std::uint32_t u = 0; u < among.size(); ++u) {
    candidates.each_slot(candidates[among[u]].unit, [&](const Slot& slot, std::uint32_t, std::uint32_t) {
      unsorted.push_back({slot.node, u, slot.charge, slot.grant});
      ++end_of[slot.node.index()];
      ++slots_of[u];
    });
  }
  // By node, and on each node in the order of `among`.
  for (std::size_t n = 1; n < end_of.size(); ++n) end_of[n] += end_of[n - 1];
  std::vector<Standing> standings(unsorted.size());
  for (std::size_t s = unsorted.size(); s-- > 0;) {
    standings[--end_of[unsorted[s].node.index()]] = unsorted[s];
  }
  std::int64_t asked = 0;
  for (const std::int64_t n : wanted.slots) asked += n;

  std::vector<Priced> prices;
  for (std::uint32_t of = 0; of < wanted.shapes.size(); ++of) {
    const ShapeId shape_id = wanted.shapes[of];
    const Shape& shape = state.shapes[shape_id].shape;
    const ShapeIndex& index = state.index(shape_id, Mode::kPlan);
    NodeRoom room(state, shape);
    std::vector<std::size_t> since;  // standings gone since the last price
    for (std::size_t begin = 0, end = 0; begin < standings.size() && !steps.ended(); begin = end) {
      const NodeId node = standings[begin].node;
      while (end < standings.size() && standings[end].node == node) ++end;
      if (!index.eligible(node) || state.nodes.is_opaque(node)) continue;
      room.look_at(node);
      std::int64_t fit = room.fit();
      Priced last;
      since.clear();
      for (std::size_t s = begin; s < end; ++s) {
        room.change(standings[s], +1);
        since.push_back(s);
        // All slots of a unit go together.
        if (s + 1 < end && standings[s + 1].unit == standings[s].unit) continue;
        steps.spend();
        const std::int64_t now = room.fit();
        if (now <= fit) continue;
        Priced priced = last;
        priced.node = node;
        priced.shape = of;
        priced.step = last.step + 1;
        priced.units.clear();
        for (std::size_t k = since.size(); k > 0;) {
          std::size_t first = k - 1;
          while (first > 0 && standings[since[first - 1]].unit == standings[since[k - 1]].unit) --first;
          const std::uint32_t unit = standings[since[k - 1]].unit;
          bool needed = true;
          if (k < since.size()) {
            for (std::size_t j = first; j < k; ++j) room.change(standings[since[j]], -1);
            needed = room.fit() < now;
            if (needed) {
              for (std::size_t j = first; j < k; ++j) room.change(standings[since[j]], +1);
            }
          }
          if (needed) {
            const Unit& u = candidates[among[unit]].unit;
            const auto here = static_cast<std::int64_t>(k - first);
            const Int128 cost = asked > 1 ? Int128{u.cost} * here / slots_of[unit] : Int128{u.cost};
            priced.cost = saturating_add(priced.cost, clamp_to_int64(cost));
            if (!u.holder && std::tie(u.priority, u.whole) > std::tie(priced.priority, priced.whole)) {
              priced.priority = u.priority;
              priced.whole = u.whole;
            }
            priced.units.push_back(among[unit]);
          }
          k = first;
        }
        std::reverse(priced.units.begin(), priced.units.end());
        fit = now;
        since.clear();
        last = priced;
        prices.push_back(std::move(priced));
      }
    }
  }
  std::sort(prices.begin(), prices.end(), [](const Priced& a, const Priced& b) { return a.key() < b.key(); });
  NodePrices out;
  out.parted = asked > 1;
  std::vector<std::uint8_t> seen(candidates.size(), 0);
  std::vector<std::int64_t> missing = wanted.slots;
  for (const Priced& priced : prices) {
    for (const std::uint32_t i : priced.units) {
      if (seen[i] != 0) continue;
      seen[i] = 1;
      out.order.push_back(i);
    }
    if (asked <= 0 || --missing[priced.shape] < 0) continue;
    if (--asked == 0) out.dearest = {priced.priority, priced.whole, priced.cost};
  }
  return out;
}

}  // namespace berth::engine
