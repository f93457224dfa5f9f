#include "engine/preempt/with_places/node_prices.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "engine/nodes/room.h"

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
  NodeRoom(State& state, const Shape& shape) : state_(state), shape_(shape) {}
  ~NodeRoom() { put_back(); }
  NodeRoom(const NodeRoom&) = delete;
  NodeRoom& operator=(const NodeRoom&) = delete;

  void look_at(NodeId node) {
    put_back();
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
    if (shape_.counted.valid() && theirs.counted.valid()) {
      state_.accounts.counted().add(node_, theirs.counted, kAfterBit, -sign);
      changed_.emplace_back(theirs.counted, sign);
    }
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
    std::int64_t fit = shape_.tokens.empty() ? kMostFit : 1;
    if (shape_.counted.valid())
      fit = std::min(fit, state_.accounts.counted().cap(node_, shape_.counted, Mode::kPlan));
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
  // Counts of terms are those of the state: nothing stays of what was tried.
  void put_back() {
    for (const auto& [counted, sign] : changed_)
      state_.accounts.counted().add(node_, counted, kAfterBit, sign);
    changed_.clear();
  }

  State& state_;
  const Shape& shape_;
  NodeId node_;
  std::vector<std::pair<CountedId, int>> changed_;
  std::vector<std::int64_t> free_;     // as shape_.amounts
  std::vector<std::int64_t> devices_;  // by number
  std::int64_t token_holders_ = 0;     // pods that have a token which the shape wants
};

// A place for one more slot, and what must go for it.
struct Priced {
  std::int64_t beyond = 0;
  std::int64_t priority = kInt64Min;
  bool whole = false;
  std::int64_t cost = 0;
  NodeId node;
  std::uint32_t step = 0;   // the how-manieth slot of the node
  std::uint32_t shape = 0;  // index into Wanted::shapes
  std::size_t begin = 0;    // of its units, in Pricing::units_
  std::size_t end = 0;

  auto key() const { return std::tie(beyond, priority, whole, cost, node, step); }
};

class Pricing {
 public:
  Pricing(State& state, const Candidates& candidates, const Wanted& wanted,
          const std::vector<std::uint32_t>& among, Budget& steps)
      : state_(state), candidates_(candidates), wanted_(wanted), among_(among), steps_(steps) {
    for (const std::int64_t n : wanted.slots) asked_ += n;
  }

  NodePrices run() {
    line_up();
    for (std::uint32_t of = 0; of < wanted_.shapes.size(); ++of) price_nodes(of);
    return in_order();
  }

 private:
  // By node, and on each node in the order of `among`.
  void line_up() {
    std::vector<Standing> unsorted;
    std::vector<std::uint32_t> end_of(state_.nodes.size(), 0);  // by node
    slots_of_.assign(among_.size(), 0);
    for (std::uint32_t u = 0; u < among_.size(); ++u) {
      candidates_.each_slot(candidates_[among_[u]].unit, [&](const Slot& slot, std::uint32_t, std::uint32_t) {
        unsorted.push_back({slot.node, u, slot.charge, slot.grant});
        ++end_of[slot.node.index()];
        ++slots_of_[u];
      });
    }
    for (std::size_t n = 1; n < end_of.size(); ++n) end_of[n] += end_of[n - 1];
    standings_.resize(unsorted.size());
    for (std::size_t s = unsorted.size(); s-- > 0;) {
      standings_[--end_of[unsorted[s].node.index()]] = unsorted[s];
    }
  }

  void price_nodes(std::uint32_t of) {
    const ShapeId shape_id = wanted_.shapes[of];
    const ShapeIndex& index = state_.index(shape_id, Mode::kPlan);
    NodeRoom room(state_, state_.shapes[shape_id].shape);
    for (std::size_t begin = 0, end = 0; begin < standings_.size() && !steps_.ended(); begin = end) {
      const NodeId node = standings_[begin].node;
      while (end < standings_.size() && standings_[end].node == node) ++end;
      if (!index.eligible(node) || state_.nodes.is_opaque(node)) continue;
      room.look_at(node);
      price_node(of, room, begin, end);
    }
  }

  // The standings of one node go one after the other; each further slot that fits has a price.
  void price_node(std::uint32_t of, NodeRoom& room, std::size_t begin, std::size_t end) {
    std::int64_t fit = room.fit();
    Priced last;
    last.node = standings_[begin].node;
    last.shape = of;
    since_.clear();
    for (std::size_t s = begin; s < end; ++s) {
      room.change(standings_[s], +1);
      since_.push_back(s);
      // All slots of a unit go together.
      if (s + 1 < end && standings_[s + 1].unit == standings_[s].unit) continue;
      steps_.spend();
      const std::int64_t now = room.fit();
      if (now <= fit) continue;
      ++last.step;
      add_needed(last, room, now);
      fit = now;
      since_.clear();
      prices_.push_back(last);
    }
  }

  // Adds the units of since_ whose end is needed for so many slots. The others come back.
  void add_needed(Priced& priced, NodeRoom& room, std::int64_t slots) {
    priced.begin = units_.size();
    for (std::size_t k = since_.size(); k > 0;) {
      std::size_t first = k - 1;
      const std::uint32_t unit = standings_[since_[k - 1]].unit;
      while (first > 0 && standings_[since_[first - 1]].unit == unit) --first;
      bool needed = true;
      if (k < since_.size()) {
        for (std::size_t j = first; j < k; ++j) room.change(standings_[since_[j]], -1);
        needed = room.fit() < slots;
        if (needed) {
          for (std::size_t j = first; j < k; ++j) room.change(standings_[since_[j]], +1);
        }
      }
      if (needed) add_unit(priced, unit, static_cast<std::int64_t>(k - first));
      k = first;
    }
    priced.end = units_.size();
    std::reverse(units_.begin() + static_cast<std::ptrdiff_t>(priced.begin), units_.end());
  }

  // `here`: how many of its slots are on the node.
  void add_unit(Priced& priced, std::uint32_t unit, std::int64_t here) {
    const Unit& u = candidates_[among_[unit]].unit;
    const Int128 cost = asked_ > 1 ? Int128{u.cost} * here / slots_of_[unit] : Int128{u.cost};
    priced.cost = saturating_add(priced.cost, clamp_to_int64(cost));
    priced.beyond += u.beyond;
    if (!u.holder && std::tie(u.priority, u.whole) > std::tie(priced.priority, priced.whole)) {
      priced.priority = u.priority;
      priced.whole = u.whole;
    }
    units_.push_back(among_[unit]);
  }

  NodePrices in_order() {
    std::sort(prices_.begin(), prices_.end(),
              [](const Priced& a, const Priced& b) { return a.key() < b.key(); });
    NodePrices out;
    out.parted = asked_ > 1;
    std::vector<std::uint8_t> seen(candidates_.size(), 0);
    std::vector<std::int64_t> missing = wanted_.slots;
    std::int64_t left = asked_;
    for (const Priced& priced : prices_) {
      for (std::size_t k = priced.begin; k < priced.end; ++k) {
        const std::uint32_t i = units_[k];
        if (seen[i] != 0) continue;
        seen[i] = 1;
        out.order.push_back(i);
      }
      if (left <= 0 || --missing[priced.shape] < 0) continue;
      if (--left == 0) out.dearest = {priced.beyond, priced.priority, priced.whole, priced.cost};
    }
    return out;
  }

  State& state_;
  const Candidates& candidates_;
  const Wanted& wanted_;
  const std::vector<std::uint32_t>& among_;
  Budget& steps_;
  std::int64_t asked_ = 0;              // slots, in all
  std::vector<std::int64_t> slots_of_;  // by unit
  std::vector<Standing> standings_;
  std::vector<Priced> prices_;
  std::vector<std::uint32_t> units_;  // of each price, one after the other
  std::vector<std::size_t> since_;    // scratch: standings gone since the last price
};

}  // namespace

NodePrices node_prices(State& state, const Candidates& candidates, const Wanted& wanted,
                       const std::vector<std::uint32_t>& among, Budget& steps) {
  return Pricing(state, candidates, wanted, among, steps).run();
}

}  // namespace berth::engine
