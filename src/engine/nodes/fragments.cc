#include "engine/nodes/fragments.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <map>
#include <tuple>
#include <utility>

#include "base/checked.h"
#include "base/fixed_point.h"

namespace berth::engine {
namespace {
constexpr std::size_t kMostWhere = 64;
// The ladder of expected future kinds.
constexpr std::size_t kMostLadders = 4;
constexpr std::int64_t kLargestSize = 256;  // quarters of a device
constexpr std::int64_t kCpuSteps = 8;
// The largest request, in devices, that nodes are kept nearly free for: counted devices have no bound of their own.
constexpr std::int64_t kMostComing = 1024;

// The weight of a kind by its request. `devices`: thousandths of all its devices.
std::int64_t asked(std::int64_t weight, std::int64_t devices) {
  return weight *
         static_cast<std::int64_t>(detail::floor_sqrt(static_cast<std::uint64_t>(devices * kWholeDevice)));
}

// How many slots with this CPU each fit; `most` at most, and not none.
std::int64_t slots_of(std::int64_t each, std::int64_t most, std::int64_t cpu) {
  if (saturating_mul(most, each) <= cpu) return most;
  // A quotient of 32 bits is much cheaper. Amounts above 4 million cores need the long one.
  const bool is_small = cpu <= std::numeric_limits<std::uint32_t>::max();
  return is_small ? static_cast<std::uint32_t>(cpu) / static_cast<std::uint32_t>(each) : cpu / each;
}

std::size_t hash_of(PatternId pattern, DeviceStateId state, std::int64_t cpu, const Take& take) {
  std::uint64_t h = static_cast<std::uint64_t>(cpu) * 0x9e3779b97f4a7c15u;
  h ^= (std::uint64_t{state.value} << 32 | pattern.value) * 0xc2b2ae3d27d4eb4fu;
  h ^= static_cast<std::uint64_t>(take.each + (take.devices << 16) + (take.from << 32)) * 0x165667b19e3779f9u;
  return static_cast<std::size_t>(h >> 40);
}
}  // namespace

void Fragments::use(const Mix& mix, const NodeTable& nodes) {
  ++epoch_;
  mix_epoch_ = mix.version;
  given_ = mix.given;
  turnover_ = mix.turnover;
  asks_.clear();
  kinds_.clear();
  profiles_.clear();
  haves_.clear();
  wholes_.clear();
  if (bares_.size() > 2 * nodes.size() + kMostWhere) {  // of nodes that are others by now
    bares_.clear();
    bare_index_.clear();
    masks_.clear();
  }

  // Which whereabouts the mix needs: the ones that have a bit keep it.
  std::vector<const FrozenKind*> taken;
  std::vector<std::uint32_t> bits;
  used_ = 0;
  const auto bit_of = [&](const Whereabouts& want) -> std::optional<std::uint32_t> {
    for (std::uint32_t b = 0; b < where_.size(); ++b) {
      if (where_[b].key == want.key) return b;
    }
    return std::nullopt;
  };
  for (const FrozenKind& frozen : mix.kinds) {
    if (const auto bit = bit_of(frozen.kind.where)) used_ |= std::uint64_t{1} << *bit;
  }
  for (const FrozenKind& frozen : mix.kinds) {
    auto bit = bit_of(frozen.kind.where);
    if (!bit && where_.size() < kMostWhere) {
      bit = static_cast<std::uint32_t>(where_.size());
      where_.emplace_back();
    } else if (!bit && ~used_ != 0) {
      bit = static_cast<std::uint32_t>(std::countr_one(used_));
    }
    if (!bit) continue;  // more than 64 different whereabouts: those of the lightest kinds are left out
    if (where_[*bit].key != frozen.kind.where.key) {
      where_[*bit] = {frozen.kind.where.key, {}, epoch_};
      for (const Shape& shape : frozen.kind.where.any)
        where_[*bit].any.push_back(nodes.suits().column(shape));
    }
    used_ |= std::uint64_t{1} << *bit;
    taken.push_back(&frozen);
    bits.push_back(*bit);
  }

  devices_ = nodes.device_capacity();
  for (std::size_t i = 0; i < taken.size(); ++i) {
    const Kind& kind = taken[i]->kind;
    KindHere here;
    here.cpu = kind.cpu;
    here.weight = taken[i]->weight;
    here.where = bits[i];
    // Work without devices, and on several kinds of devices at once, leaves no room that could be told apart.
    if (kind.devices.size() == 1) {
      here.ask = ask_of(kind.devices.front());
      here.asked = asked(here.weight, asks_[here.ask].each * asks_[here.ask].count);
    }
    kinds_.push_back(here);
  }
  count_bare(nodes);
  if (mix.unseen > 0) expect_ladder(mix.unseen);
  leave_out_hopeless();
  std::stable_sort(kinds_.begin(), kinds_.end(), [](const KindHere& a, const KindHere& b) {
    return std::tie(a.ask, a.cpu) < std::tie(b.ask, b.cpu);
  });
  std::uint32_t k = 0;
  for (std::uint32_t a = 0; a < asks_.size(); ++a) {
    asks_[a].begin = k;
    while (k < kinds_.size() && kinds_[k].ask == a) ++k;
    asks_[a].end = k;
  }
  weigh(nodes);
}

// Nodes with devices by what they are with nothing running.
void Fragments::count_bare(const NodeTable& nodes) {
  alike_.begin(nodes.size());
  for (std::size_t n = 0; n < nodes.size(); ++n) {
    if (nodes.device_capacity(NodeId(n)) == 0) continue;
    const std::uint64_t bits = mask(nodes, NodeId(n));
    alike_.add(bits, masks_[n].bare, 0);
  }
}

void Fragments::expect_ladder(std::int64_t weight) {
  struct Supply {
    std::int64_t devices = 0;
    std::int64_t largest = 0;  // node, in devices
    Int128 cpu = 0;            // of the nodes that have such devices
  };
  std::map<std::uint32_t, Supply> supplies;  // by resource
  for (const AlikeNodes::Group& group : alike_.groups()) {
    const Bare& bare = bares_[group.state];
    std::map<std::uint32_t, std::int64_t> whole;
    for (const auto& device : bare.devices) {
      if (device.milli >= kWholeDevice) ++whole[device.resource.value];
    }
    for (const auto& [resource, count] : whole) {
      Supply& supply = supplies[resource];
      supply.devices += count * group.nodes;
      supply.largest = std::max(supply.largest, count);
      supply.cpu += Int128{bare.cpu} * group.nodes;
    }
  }
  std::vector<std::pair<std::uint32_t, Supply>> heaviest(supplies.begin(), supplies.end());
  std::stable_sort(heaviest.begin(), heaviest.end(),
                   [](const auto& a, const auto& b) { return a.second.devices > b.second.devices; });
  if (heaviest.size() > kMostLadders) heaviest.resize(kMostLadders);
  Int128 devices = 0;
  for (const auto& [resource, supply] : heaviest) devices += supply.devices;
  for (const auto& [resource, supply] : heaviest) {
    // In quarters of a device. By number a size weighs 1 / size.
    Int128 parts = 0;
    for (std::int64_t size = 1; size <= 4 * supply.largest; size *= 2) parts += kLargestSize / size;
    for (std::int64_t size = 1; size <= 4 * supply.largest && size <= kLargestSize; size *= 2) {
      const ShapeDevices want{ResourceId(resource), std::max<std::int64_t>(1, size / 4),
                              std::min(kWholeDevice, size * kWholeDevice / 4)};
      const Int128 share = static_cast<Int128>(weight) * supply.devices * (kLargestSize / size) /
                           (devices * parts * kCpuSteps);
      KindHere here;
      here.where = kAnywhere;
      here.ask = ask_of(want);
      here.asked = asked(std::max<std::int64_t>(1, clamp_to_int64(share)), want.count * want.milli);
      for (std::int64_t step = 1; step <= kCpuSteps; ++step) {
        here.cpu = clamp_to_int64(supply.cpu * size * step / (supply.devices * 4 * kCpuSteps));
        kinds_.push_back(here);
      }
    }
  }
}

// A kind that not even the empty cluster holds has no room that could be kept for it. Devices that are only counted hold none.
void Fragments::leave_out_hopeless() {
  std::vector<char> held(kinds_.size(), 0);
  std::vector<char> some(asks_.size(), 0);
  for (const AlikeNodes::Group& group : alike_.groups()) {
    const Bare& bare = bares_[group.state];
    for (std::uint32_t a = 0; a < asks_.size(); ++a) {
      std::int64_t pieces = 0;
      for (const auto& device : bare.devices) {
        if (device.resource == asks_[a].resource) pieces += asks_[a].pieces(device.milli);
      }
      some[a] = pieces >= asks_[a].count ? 1 : 0;
    }
    for (std::size_t k = 0; k < kinds_.size(); ++k) {
      const KindHere& kind = kinds_[k];
      if (kind.ask != kNoAsk && some[kind.ask] != 0 && kind.cpu <= bare.cpu && kind.suits(group.bits))
        held[k] = 1;
    }
  }
  for (std::size_t k = 0; k < kinds_.size(); ++k) {
    if (held[k] == 0) kinds_[k].asked = 0;
  }
}

std::vector<std::int64_t> Fragments::room(const NodeTable& nodes) {
  DeviceStates& states = nodes.device_states();
  if (states.full()) states.clear();
  alike_.begin(nodes.size());
  for (std::size_t n = 0; n < nodes.size(); ++n) {
    const NodeId id(n);
    if (nodes.device_capacity(id) == 0) continue;
    const DeviceStateId state = nodes.device_state(id, Mode::kStart);
    if (profile(nodes, state).empty()) continue;
    alike_.add(mask(nodes, id), state.value, nodes.account(id, NodeTable::cpu()).free(Mode::kStart));
  }
  std::vector<std::int64_t> sums(kinds_.size(), 0);
  for (const AlikeNodes::Group& group : alike_.groups()) {
    if (states.all_counted(DeviceStateId(group.state))) continue;
    for (const Have& have : profile(nodes, DeviceStateId(group.state))) {
      const Ask& ask = asks_[have.ask];
      const std::int64_t slots = have.pieces / ask.count;
      for (std::uint32_t k = ask.begin; k < ask.end && kinds_[k].cpu <= group.cpu; ++k) {
        const KindHere& kind = kinds_[k];
        if (!kind.suits(group.bits)) continue;
        sums[k] +=
            (saturating_mul(slots, kind.cpu) <= group.cpu ? slots : group.cpu / kind.cpu) * group.nodes;
      }
    }
  }
  for (std::size_t k = 0; k < kinds_.size(); ++k) {
    if (kinds_[k].ask != kNoAsk) sums[k] *= asks_[kinds_[k].ask].each * asks_[kinds_[k].ask].count;
  }
  return sums;
}

void Fragments::weigh(const NodeTable& nodes) {
  ++version_;
  idle_ = nodes.device_capacity() - nodes.device_use();
  pattern_index_.clear();
  patterns_.clear();
  const std::vector<std::int64_t> left = room(nodes);
  std::vector<Int128> pressure;
  Int128 total = 0;
  for (std::size_t i = 0; i < kinds_.size(); ++i) {
    const KindHere& kind = kinds_[i];
    if (kind.asked == 0) {
      pressure.push_back(0);
      continue;
    }
    const Ask& ask = asks_[kind.ask];
    // Times 2^20, for shares of what is much less asked for than there is room.
    pressure.push_back((static_cast<Int128>(kind.asked) << 20) * devices_ / (left[i] + ask.each * ask.count));
    total += pressure.back();
  }
  for (std::size_t i = 0; i < kinds_.size(); ++i) {
    const Int128 share = total == 0 ? 0 : (pressure[i] * kWeights + total / 2) / total;
    kinds_[i].scarce = kinds_[i].asked == 0 ? 0 : std::max<std::int64_t>(1, clamp_to_int64(share));
  }
}

bool Fragments::drifted(const NodeTable& nodes) const {
  const std::int64_t idle = nodes.device_capacity() - nodes.device_use();
  const std::int64_t change = idle > idle_ ? idle - idle_ : idle_ - idle;
  return !kinds_.empty() && change > std::max(idle_ / 4, devices_ / 16);
}

// All whereabouts that have a bit, needed by the present mix or not: they may be needed again.
std::uint64_t Fragments::mask(const NodeTable& nodes, NodeId node) {
  if (masks_.size() < nodes.size()) masks_.resize(nodes.size());
  NodeMask& m = masks_[node.index()];
  const std::uint64_t fixed = nodes.static_version(node);
  if (m.fixed == fixed && m.epoch == epoch_) return m.mask & used_;
  if (m.fixed != fixed) m.bare = bare_of(nodes, node);
  for (std::size_t b = 0; b < where_.size(); ++b) {
    if (m.fixed == fixed && where_[b].epoch <= m.epoch) continue;
    const std::uint64_t bit = std::uint64_t{1} << b;
    const bool suits = std::any_of(where_[b].any.begin(), where_[b].any.end(), [&](const auto& column) {
      column->refresh(nodes);
      return column->of(node) >= 0;
    });
    m.mask = suits ? m.mask | bit : m.mask & ~bit;
  }
  m.fixed = fixed;
  m.epoch = epoch_;
  m.pattern_version = 0;
  return m.mask & used_;
}

std::uint32_t Fragments::bare_of(const NodeTable& nodes, NodeId node) {
  Bare bare{nodes.account(node, NodeTable::cpu()).capacity, {}};
  for (const auto& device : nodes.record(node).devices)
    bare.devices.push_back({device.resource, device.account.capacity, false});
  std::sort(bare.devices.begin(), bare.devices.end());
  const auto [it, fresh] = bare_index_.try_emplace(bare, static_cast<std::uint32_t>(bares_.size()));
  if (fresh) bares_.push_back(std::move(bare));
  return it->second;
}

PatternId Fragments::pattern(const NodeTable& nodes, NodeId node) {
  const std::uint64_t bits = mask(nodes, node);
  NodeMask& m = masks_[node.index()];
  if (m.pattern_version == version_) return m.pattern;
  const auto [it, fresh] = pattern_index_.try_emplace(bits, PatternId(patterns_.size()));
  if (fresh) patterns_.push_back(make_pattern(bits));
  m.pattern = it->second;
  m.pattern_version = version_;
  return m.pattern;
}

std::uint32_t Fragments::ask_of(const ShapeDevices& want) {
  for (std::uint32_t a = 0; a < asks_.size(); ++a) {
    if (asks_[a].resource == want.resource && asks_[a].each == want.milli && asks_[a].count == want.count)
      return a;
  }
  asks_.push_back({want.resource, want.milli, want.count, ((1 << 20) + want.milli - 1) / want.milli, 0, 0});
  return static_cast<std::uint32_t>(asks_.size() - 1);
}

Fragments::Pattern Fragments::make_pattern(std::uint64_t bits) const {
  Pattern p;
  p.mask = bits;
  p.kinds.resize(asks_.size());
  for (std::uint32_t a = 0; a < asks_.size(); ++a) {
    Kinds& group = p.kinds[a];
    group.ask = asks_[a];
    group.begin = static_cast<std::uint32_t>(p.steps.size());
    for (std::uint32_t k = group.ask.begin; k < group.ask.end; ++k) {
      const KindHere& kind = kinds_[k];
      if (kind.scarce == 0 || !kind.suits(bits)) continue;
      group.scarce += kind.scarce;
      group.most_cpu = kind.cpu;
      p.steps.push_back({kind.cpu, kind.scarce});
    }
    group.end = static_cast<std::uint32_t>(p.steps.size());
    if (turnover_ > 0 && group.scarce > 0) add_coming(p, group);
  }
  return p;
}

void Fragments::add_coming(Pattern& pattern, const Kinds& kinds) const {
  const std::int64_t count = kinds.ask.count;
  if (kinds.ask.each != kWholeDevice || count < 2 || count > kMostComing) return;
  auto at = std::find_if(pattern.coming.begin(), pattern.coming.end(),
                         [&](const Coming& c) { return c.resource == kinds.ask.resource; });
  if (at == pattern.coming.end()) at = pattern.coming.insert(at, {kinds.ask.resource, {{}}});
  auto& sums = at->up_to;
  const auto n = static_cast<std::size_t>(count);
  if (sums.size() <= n) sums.resize(n + 1, sums.back());
  for (std::size_t i = n; i < sums.size(); ++i) {
    sums[i].asked += kinds.scarce * count;
    sums[i].squares += kinds.scarce * count * count;
  }
}

std::int64_t Fragments::coming(const Pattern& pattern, DeviceStateId state, const Take& take) const {
  const Profile& p = profiles_[state.index()];
  std::int64_t sum = 0;
  for (std::uint32_t w = p.wholes; w < p.wholes_end; ++w) {
    const Whole& whole = wholes_[w];
    std::int64_t free = whole.free;
    if (take.devices > 0 && take.resource == whole.resource && take.from == kWholeDevice)
      free -= take.devices;
    for (const Coming& c : pattern.coming) {
      if (c.resource != whole.resource) continue;
      const Coming::Sums& fit = c.of(free);
      const Coming::Sums& all = c.of(whole.all);
      sum += fit.asked + ((whole.all + 1) * (all.asked - fit.asked) - (all.squares - fit.squares)) /
                             (whole.all - free + 1);
    }
  }
  return sum * kWholeDevice * kComing * turnover_ / Mix::kMostTurnover;
}

std::span<const Fragments::Have> Fragments::profile(const NodeTable& nodes, DeviceStateId state) {
  const DeviceStates& states = nodes.device_states();
  if (generation_ != states.generation() || haves_.size() > kMostHaves) {
    generation_ = states.generation();
    profiles_.clear();
    haves_.clear();
    wholes_.clear();
  }
  if (profiles_.size() <= state.index()) profiles_.resize(std::max(states.size(), state.index() + 1));
  Profile& p = profiles_[state.index()];
  if (!p.known) {
    p.known = true;
    p.begin = static_cast<std::uint32_t>(haves_.size());
    const auto devices = states.devices(state);
    for (std::uint32_t a = 0; a < asks_.size(); ++a) {
      const Ask& ask = asks_[a];
      Have have{a, 0, 0};
      for (const auto& device : devices) {
        if (device.resource != ask.resource || device.milli < ask.each) continue;
        if (device.is_counted && ask.each != kWholeDevice) continue;
        have.pieces += static_cast<std::uint32_t>(device.is_counted ? device.pieces(ask.each)
                                                                    : ask.pieces(device.milli));
        have.once += device.milli;
      }
      if (have.pieces >= ask.count) haves_.push_back(have);
    }
    p.end = static_cast<std::uint32_t>(haves_.size());
    p.wholes = static_cast<std::uint32_t>(wholes_.size());
    for (const auto& device : devices) {
      if (turnover_ == 0 || device.is_counted) continue;
      if (wholes_.size() == p.wholes || wholes_.back().resource != device.resource)
        wholes_.push_back({device.resource, 0, 0});
      wholes_.back().free += device.milli / kWholeDevice;
      ++wholes_.back().all;
    }
    p.wholes_end = static_cast<std::uint32_t>(wholes_.size());
  }
  return {haves_.data() + p.begin, p.end - p.begin};
}

std::int64_t Fragments::usable(const NodeTable& nodes, PatternId pattern, DeviceStateId state,
                               std::int64_t cpu, const Take& take) {
  cpu = std::max<std::int64_t>(cpu, 0);
  if (answers_.empty()) answers_.resize(kAnswers);
  const std::uint64_t generation = nodes.device_states().generation();
  Answer& last = answers_[hash_of(pattern, state, cpu, take) % kAnswers];
  if (last.version != version_ || last.generation != generation || last.pattern != pattern ||
      last.state != state || last.cpu != cpu || last.take != take) {
    const std::int64_t usable = count_usable(nodes, pattern, state, cpu, take);
    last = {version_, generation, pattern, state, cpu, take, usable};
  }
  return last.usable;
}

std::int64_t Fragments::count_usable(const NodeTable& nodes, PatternId id, DeviceStateId state,
                                     std::int64_t cpu, const Take& take) {
  const Pattern& pattern = patterns_[id.index()];
  const std::span<const Have> haves = profile(nodes, state);
  std::int64_t sum = turnover_ > 0 ? coming(pattern, state, take) : 0;
  for (const Have& have : haves) {
    const Kinds& kinds = pattern.kinds[have.ask];
    if (kinds.scarce == 0) continue;
    const Ask& ask = kinds.ask;
    std::int64_t pieces = have.pieces;
    std::int64_t once = have.once;
    if (take.devices > 0 && take.resource == ask.resource && take.from >= ask.each) {
      const std::int64_t left = take.from - take.each;
      pieces -= take.devices * (ask.pieces(take.from) - ask.pieces(left));
      once -= take.devices * (left >= ask.each ? take.each : take.from);
    }
    if (pieces < ask.count) continue;
    // Both are small: a quotient of 32 bits is much cheaper.
    const std::int64_t fit =
        ask.count == 1 ? pieces : static_cast<std::uint32_t>(pieces) / static_cast<std::uint32_t>(ask.count);
    const std::int64_t slot = ask.each * ask.count;
    if (cpu >= saturating_mul(fit, kinds.most_cpu)) {
      sum += kinds.scarce * (kOnce * once + fit * slot);
      continue;
    }
    std::int64_t scarce = 0;  // of the kinds that fit
    std::int64_t filled = 0;  // each as often as it fits
    for (std::uint32_t i = kinds.begin; i < kinds.end && pattern.steps[i].cpu <= cpu; ++i) {
      scarce += pattern.steps[i].scarce;
      filled += pattern.steps[i].scarce * slots_of(pattern.steps[i].cpu, fit, cpu);
    }
    sum += scarce * kOnce * once + filled * slot;
  }
  return sum;
}

const Fragments::Here& Fragments::here(const NodeTable& nodes, NodeId node, Mode mode) {
  const DeviceStates& states = nodes.device_states();
  if (stamped_version_ != version_ || stamped_generation_ != states.generation()) {
    stamped_version_ = version_;
    stamped_generation_ = states.generation();
    ++stamp_;
  }
  auto& all = here_[static_cast<std::size_t>(mode)];
  if (all.size() < nodes.size()) all.resize(nodes.size());
  Remembered& r = all[node.index()];
  if (r.changes != nodes.changes().of(node) || r.stamp != stamp_) {
    r.changes = nodes.changes().of(node);
    r.stamp = stamp_;
    r.here.pattern = pattern(nodes, node);
    r.here.state = nodes.device_state(node, mode);
    r.here.idle = states.idle(r.here.state);
    r.here.cpu = nodes.account(node, NodeTable::cpu()).free(mode);
    r.here.usable = usable(nodes, r.here.pattern, r.here.state, r.here.cpu);
  }
  return r.here;
}

std::int64_t Fragments::fragments(const NodeTable& nodes, NodeId node, Mode mode) {
  const DeviceStateId state = nodes.device_state(node, mode);
  const std::int64_t idle = nodes.device_states().idle(state);
  if (idle == 0) return 0;
  const std::int64_t cpu = nodes.account(node, nodes.cpu()).free(mode);
  const std::uint64_t bits = mask(nodes, node);
  const auto haves = profile(nodes, state);
  std::int64_t sum = 0;
  std::int64_t weights = 0;
  for (const KindHere& kind : kinds_) {
    weights += kind.weight;
    sum += kind.weight * idle;
    if (!kind.suits(bits) || cpu < kind.cpu) continue;
    const auto have =
        std::find_if(haves.begin(), haves.end(), [&](const Have& h) { return h.ask == kind.ask; });
    if (have != haves.end()) sum -= kind.weight * have->once;
  }
  // Shares are rounded: their sum is a little off the whole.
  return weights == 0 ? 0 : static_cast<std::int64_t>(static_cast<Int128>(sum) * Mix::kTotal / weights);
}

void FragmentMeter::update(const NodeTable& nodes, Fragments& fragments, NodeId node) {
  OfNode now;
  if (nodes.record(node).alive) {
    now.idle = nodes.device_states().idle(nodes.device_state(node, Mode::kStart));
    now.fragments = fragments.fragments(nodes, node, Mode::kStart);
  }
  OfNode& was = nodes_[node.index()];
  sums_.idle += now.idle - was.idle;
  sums_.fragments += now.fragments - was.fragments;
  was = now;
}

const FragmentMeter::Sums& FragmentMeter::read(const NodeTable& nodes, Fragments& fragments) {
  if (nodes.device_states().full()) nodes.device_states().clear();
  nodes_.resize(nodes.size());
  if (!built_ || uses_ != fragments.uses() || cursor_ < nodes.changes().all().begin()) {
    for (std::size_t n = 0; n < nodes.size(); ++n) update(nodes, fragments, NodeId(n));
    cursor_ = nodes.changes().all().end();
  }
  for (; cursor_ < nodes.changes().all().end(); ++cursor_)
    update(nodes, fragments, nodes.changes().all().at(cursor_));
  built_ = true;
  uses_ = fragments.uses();
  return sums_;
}

}  // namespace berth::engine
