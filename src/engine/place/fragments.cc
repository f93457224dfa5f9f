#include "engine/place/fragments.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "base/checked.h"

namespace berth::engine {
namespace {
constexpr std::size_t kMostWhere = 64;
}  // namespace

void Fragments::use(const Mix& mix, const NodeTable& nodes) {
  ++epoch_;
  ++version_;
  mix_epoch_ = mix.version;
  given_ = mix.given;
  asks_.clear();
  kinds_.clear();
  pattern_index_.clear();
  patterns_.clear();
  profiles_.clear();
  haves_.clear();

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
      where_[*bit] = {frozen.kind.where.key, frozen.kind.where.any, epoch_};
    }
    used_ |= std::uint64_t{1} << *bit;
    taken.push_back(&frozen);
    bits.push_back(*bit);
  }

  // How many devices each of them may run on.
  devices_ = 0;
  std::vector<std::int64_t> devices_of(where_.size(), 0);
  for (std::size_t n = 0; n < nodes.size(); ++n) {
    const std::int64_t here = nodes.device_capacity(NodeId(n));
    if (here == 0) continue;
    devices_ += here;
    for (std::uint64_t rest = mask(nodes, NodeId(n)); rest != 0; rest &= rest - 1) {
      devices_of[static_cast<std::size_t>(std::countr_zero(rest))] += here;
    }
  }

  Int128 total = 0;
  std::vector<Int128> scarce;
  for (std::size_t i = 0; i < taken.size(); ++i) {
    const Kind& kind = taken[i]->kind;
    KindHere here;
    here.cpu = kind.cpu;
    here.weight = taken[i]->weight;
    here.where = bits[i];
    Int128 weight = 0;
    // Work without devices, and on several kinds of devices at once, leaves no room that could be told apart.
    if (kind.devices.size() == 1) {
      here.ask = ask_of(kind);
      if (devices_of[bits[i]] > 0) {
        weight = static_cast<Int128>(here.weight) * devices_ / devices_of[bits[i]];
      }
    }
    scarce.push_back(weight);
    total += weight;
    kinds_.push_back(here);
  }
  for (std::size_t i = 0; i < kinds_.size() && total > 0; ++i) {
    kinds_[i].scarce = static_cast<std::int64_t>((scarce[i] * kWeights + total / 2) / total);
  }
}

// All whereabouts that have a bit, needed by the present mix or not: they may be needed again.
std::uint64_t Fragments::mask(const NodeTable& nodes, NodeId node) {
  if (masks_.size() < nodes.size()) masks_.resize(nodes.size());
  NodeMask& m = masks_[node.index()];
  const std::uint64_t fixed = nodes.static_version(node);
  if (m.fixed == fixed && m.epoch == epoch_) return m.mask & used_;
  const auto& record = nodes.record(node);
  for (std::size_t b = 0; b < where_.size(); ++b) {
    if (m.fixed == fixed && where_[b].epoch <= m.epoch) continue;
    const std::uint64_t bit = std::uint64_t{1} << b;
    const bool suits =
        record.alive && std::any_of(where_[b].any.begin(), where_[b].any.end(), [&](const Shape& s) {
          return static_mismatch(s, record.spec).code == ReasonCode::kNone;
        });
    m.mask = suits ? m.mask | bit : m.mask & ~bit;
  }
  m.fixed = fixed;
  m.epoch = epoch_;
  m.pattern_version = 0;
  return m.mask & used_;
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

std::uint32_t Fragments::ask_of(const Kind& kind) {
  const ShapeDevices& want = kind.devices.front();
  for (std::uint32_t a = 0; a < asks_.size(); ++a) {
    if (asks_[a].resource == want.resource && asks_[a].each == want.milli && asks_[a].count == want.count)
      return a;
  }
  asks_.push_back({want.resource, want.milli, want.count, ((1 << 20) + want.milli - 1) / want.milli});
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
    for (const KindHere& kind : kinds_) {
      if (kind.ask == a && kind.scarce > 0 && (bits >> kind.where & 1) != 0)
        p.steps.push_back({kind.cpu, kind.scarce});
    }
    group.end = static_cast<std::uint32_t>(p.steps.size());
    const auto begin = p.steps.begin() + group.begin;
    std::sort(begin, p.steps.end(), [](const Step& x, const Step& y) { return x.cpu < y.cpu; });
    for (auto step = begin; step != p.steps.end(); ++step) {
      group.scarce += step->scarce;
      step->scarce = group.scarce;
      group.most_cpu = step->cpu;
    }
  }
  return p;
}

std::span<const Fragments::Have> Fragments::profile(const NodeTable& nodes, DeviceStateId state) {
  const DeviceStates& states = nodes.device_states();
  if (generation_ != states.generation() || haves_.size() > kMostHaves) {
    generation_ = states.generation();
    profiles_.clear();
    haves_.clear();
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
  }
  return {haves_.data() + p.begin, p.end - p.begin};
}

std::int64_t Fragments::within(const Pattern& pattern, const Kinds& kinds, std::int64_t cpu) {
  const Step* const begin = pattern.steps.data() + kinds.begin;
  const Step* const end = pattern.steps.data() + kinds.end;
  const Step* const after =
      std::upper_bound(begin, end, cpu, [](std::int64_t have, const Step& step) { return have < step.cpu; });
  return after == begin ? 0 : after[-1].scarce;
}

std::int64_t Fragments::filled(const Pattern& pattern, const Kinds& kinds, std::int64_t fit,
                               std::int64_t cpu) {
  std::int64_t sum = 0;
  if (fit <= 4) {
    // A kind fits n times where it needs no more than an n-th of the CPU.
    for (std::int64_t n = 1; n <= fit; ++n) sum += within(pattern, kinds, cpu / n);
    return sum;
  }
  std::int64_t before = 0;
  for (std::uint32_t s = kinds.begin; s < kinds.end && pattern.steps[s].cpu <= cpu; ++s) {
    const Step& step = pattern.steps[s];
    sum += (step.scarce - before) * (step.cpu == 0 ? fit : std::min(fit, cpu / step.cpu));
    before = step.scarce;
  }
  return sum;
}

std::int64_t Fragments::usable(const NodeTable& nodes, PatternId id, DeviceStateId state, std::int64_t cpu,
                               const Take& take) {
  const Pattern& pattern = patterns_[id.index()];
  cpu = std::max<std::int64_t>(cpu, 0);
  std::int64_t sum = 0;
  for (const Have& have : profile(nodes, state)) {
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
    const std::int64_t fit = ask.count == 1 ? pieces : pieces / ask.count;
    const std::int64_t slot = ask.each * ask.count;
    if (cpu >= saturating_mul(fit, kinds.most_cpu)) {
      sum += kinds.scarce * (kOnce * once + fit * slot);
      continue;
    }
    const std::int64_t some = within(pattern, kinds, cpu);
    sum += some * kOnce * once + (fit == 1 ? some : filled(pattern, kinds, fit, cpu)) * slot;
  }
  return sum;
}

Fragments::Here Fragments::here(const NodeTable& nodes, NodeId node, Mode mode) {
  auto& all = here_[static_cast<std::size_t>(mode)];
  if (all.size() < nodes.size()) all.resize(nodes.size());
  Remembered& r = all[node.index()];
  if (r.changes != nodes.changes(node) || r.version != version_) {
    const PatternId at = pattern(nodes, node);
    r = {
        nodes.changes(node),
        version_,
        {at, usable(nodes, at, nodes.device_state(node, mode), nodes.account(node, nodes.cpu()).free(mode))}};
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
    if ((bits >> kind.where & 1) == 0 || cpu < kind.cpu) continue;
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
  if (!built_ || version_ != fragments.version() || cursor_ < nodes.log().begin()) {
    for (std::size_t n = 0; n < nodes.size(); ++n) update(nodes, fragments, NodeId(n));
    cursor_ = nodes.log().end();
  }
  for (; cursor_ < nodes.log().end(); ++cursor_) update(nodes, fragments, nodes.log().at(cursor_));
  built_ = true;
  version_ = fragments.version();
  return sums_;
}

}  // namespace berth::engine
