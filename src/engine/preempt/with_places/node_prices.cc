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
  NodeRoom(State& state, const Shape& shape) : state_(state), shape_(shape) {
    each_driver(state.nodes.held().mounted, shape.mounts,
                [&](ResourceId places, std::int64_t) { wants(places, 0); });
    for (const ShapeAmount& a : shape.amounts) wants(a.resource, a.amount);
  }
  ~NodeRoom() { put_back(); }
  NodeRoom(const NodeRoom&) = delete;
  NodeRoom& operator=(const NodeRoom&) = delete;

  void look_at(NodeId node) {
    put_back();
    node_ = node;
    for (Wish& wish : wishes_) wish.free = state_.nodes.account(node, wish.resource).free(Mode::kPlan);
    const auto mounted = state_.nodes.held().mounted.on(node);
    mounted_.assign(mounted.begin(), mounted.end());
    devices_.clear();
    for (const auto& device : state_.nodes.record(node).devices)
      devices_.push_back(device.account.free(Mode::kPlan));
    token_holders_ = 0;
    for (const TokenId token : shape_.tokens)
      token_holders_ += state_.nodes.held().tokens.holders(node, token, kAfter);
  }

  // sign +1: the slot goes.
  void change(const Standing& s, int sign) {
    const Shape& theirs = state_.shape_of(s.charge);
    if (shape_.counted.valid() && theirs.counted.valid()) {
      state_.accounts.counted().add(node_, theirs.counted, kAfterBit, -sign);
      changed_.emplace_back(theirs.counted, sign);
    }
    for (const ShapeAmount& a : theirs.amounts) give(a.resource, sign * a.amount);
    for (const VolumeId volume : theirs.mounts) {
      std::int32_t& pods = held(volume)->pods[kAfter];
      const bool had = pods > 0;
      pods -= sign;
      give(state_.nodes.held().mounted.places_of(volume), (had ? 1 : 0) - (pods > 0 ? 1 : 0));
    }
    const GrantView grant = state_.accounts.grants()[s.grant];
    for (const Piece& piece : grant.pieces) devices_[piece.device] += sign * piece.milli;
    for (const TokenId wanted : shape_.tokens) {
      for (const TokenId token : grant.tokens)
        token_holders_ -= state_.nodes.held().tokens.exclude(wanted, token) ? sign : 0;
    }
  }

  std::int64_t fit() const {
    if (token_holders_ > 0) return 0;
    std::int64_t fit = shape_.tokens.empty() ? kMostFit : 1;
    if (shape_.counted.valid())
      fit = std::min(fit, state_.accounts.counted().cap(node_, shape_.counted, Mode::kPlan));
    for (const Wish& wish : wishes_) {
      const std::int64_t left = wish.free - missing(wish.resource);
      if (left < wish.each) return 0;
      if (wish.each > 0) fit = std::min(fit, left / wish.each);
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
  struct Wish {
    ResourceId resource;
    std::int64_t each = 0;  // beside the volumes that it may share
    std::int64_t free = 0;
  };

  void wants(ResourceId resource, std::int64_t amount) {
    const auto known = std::find_if(wishes_.begin(), wishes_.end(),
                                    [&](const Wish& wish) { return wish.resource == resource; });
    if (known == wishes_.end()) {
      wishes_.push_back({resource, amount, 0});
    } else {
      known->each += amount;
    }
  }
  void give(ResourceId resource, std::int64_t amount) {
    for (Wish& wish : wishes_) wish.free += wish.resource == resource ? amount : 0;
  }
  // nullptr: it is not there.
  Mounted::Held* held(VolumeId volume) {
    const auto at = std::find_if(mounted_.begin(), mounted_.end(),
                                 [&](const Mounted::Held& one) { return one.volume == volume; });
    return at == mounted_.end() ? nullptr : &*at;
  }
  std::int64_t missing(ResourceId places) const {
    return std::count_if(shape_.mounts.begin(), shape_.mounts.end(), [&](VolumeId volume) {
      if (state_.nodes.held().mounted.places_of(volume) != places) return false;
      return std::none_of(mounted_.begin(), mounted_.end(), [&](const Mounted::Held& one) {
        return one.volume == volume && one.pods[kAfter] > 0;
      });
    });
  }

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
  std::vector<Wish> wishes_;  // amounts, and places for volumes
  std::vector<Mounted::Held> mounted_;
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
