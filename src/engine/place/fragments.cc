#include "engine/place/fragments.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace berth::engine {
namespace {
constexpr std::size_t kMostWhere = 64;
constexpr std::size_t kMostSteps = 4096;
constexpr std::uint32_t kNoRow = 0xffffffffu;
}  // namespace

void Fragments::use(const Mix& mix, const NodeTable& nodes) {
  ++epoch_;
  ++version_;
  mix_epoch_ = mix.version;
  given_ = mix.given;
  kinds_.clear();
  pattern_index_.clear();
  patterns_.clear();
  cells_.clear();
  rows_.clear();

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
    const auto& record = nodes.record(NodeId(n));
    if (!record.alive || record.devices.empty()) continue;
    std::int64_t here = 0;
    for (const auto& device : record.devices) here += device.account.capacity;
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
      here.resource = kind.devices.front().resource;
      here.each = kind.devices.front().milli;
      here.slot = here.each * kind.devices.front().count;
      here.request = nodes.device_states().request(kind.devices);
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
  if (fresh) {
    Pattern p;
    p.mask = bits;
    for (std::uint32_t k = 0; k < kinds_.size(); ++k) {
      if (kinds_[k].scarce > 0 && (bits >> kinds_[k].where & 1) != 0) p.kinds.push_back(k);
    }
    patterns_.push_back(std::move(p));
    cells_.emplace_back();
  }
  m.pattern = it->second;
  m.pattern_version = version_;
  return m.pattern;
}

// Thousandths that are free on devices with enough for one of the kind.
std::int64_t Fragments::once(const NodeTable& nodes, const KindHere& kind, DeviceStateId state) const {
  std::int64_t sum = 0;
  for (const auto& device : nodes.device_states().devices(state)) {
    if (device.resource == kind.resource && device.milli >= kind.each) sum += device.milli;
  }
  return sum;
}

std::int64_t Fragments::evaluate(const NodeTable& nodes, const Pattern& pattern, DeviceStateId state,
                                 std::int64_t cpu) {
  std::int64_t sum = 0;
  for (const std::uint32_t k : pattern.kinds) {
    const KindHere& kind = kinds_[k];
    std::int64_t fit = nodes.device_states().fit(state, kind.request);
    if (kind.cpu > 0) fit = std::min(fit, std::max<std::int64_t>(cpu, 0) / kind.cpu);
    if (fit == 0) continue;
    sum += kind.scarce * (kOnce * once(nodes, kind, state) + fit * kind.slot);
  }
  return sum;
}

// The same for every amount of CPU: its steps are at the multiples of the kinds' CPU.
Fragments::Row Fragments::make_row(const NodeTable& nodes, const Pattern& pattern, DeviceStateId state) {
  Row row;
  std::int64_t always = 0;
  std::vector<std::pair<std::int64_t, std::int64_t>> steps;
  for (const std::uint32_t k : pattern.kinds) {
    const KindHere& kind = kinds_[k];
    const std::int64_t fit = nodes.device_states().fit(state, kind.request);
    if (fit == 0) continue;
    const std::int64_t first = kind.scarce * kOnce * once(nodes, kind, state);
    if (kind.cpu == 0) {
      always += first + kind.scarce * fit * kind.slot;
      continue;
    }
    for (std::int64_t i = 1; i <= fit; ++i) {
      steps.emplace_back(i * kind.cpu, kind.scarce * kind.slot + (i == 1 ? first : 0));
    }
    if (steps.size() > kMostSteps) return {};
  }
  std::sort(steps.begin(), steps.end());
  row.usable.push_back(always);
  for (const auto& [cpu, gain] : steps) {
    if (row.cpu.empty() || row.cpu.back() != cpu) {
      row.cpu.push_back(cpu);
      row.usable.push_back(row.usable.back());
    }
    row.usable.back() += gain;
  }
  return row;
}

std::int64_t Fragments::usable(const NodeTable& nodes, PatternId id, DeviceStateId state, std::int64_t cpu) {
  if (generation_ != nodes.device_states().generation() || rows_.size() >= kMostRows) {
    generation_ = nodes.device_states().generation();
    for (auto& cells : cells_) cells.clear();
    rows_.clear();
  }
  auto& cells = cells_[id.index()];
  if (cells.size() <= state.index()) {
    cells.resize(std::max<std::size_t>(nodes.device_states().size(), state.index() + 1));
  }
  Cell& cell = cells[state.index()];
  if (cell.row == kNoRow) {
    // Most states are met a few times only: a table would cost more than it saves.
    if (++cell.asked != kDirect) return evaluate(nodes, patterns_[id.index()], state, cpu);
    Row row = make_row(nodes, patterns_[id.index()], state);
    if (row.usable.empty()) return evaluate(nodes, patterns_[id.index()], state, cpu);
    cell.row = static_cast<std::uint32_t>(rows_.size());
    rows_.push_back(std::move(row));
  }
  const Row& row = rows_[cell.row];
  const auto at = std::upper_bound(row.cpu.begin(), row.cpu.end(), cpu) - row.cpu.begin();
  return row.usable[static_cast<std::size_t>(at)];
}

std::int64_t Fragments::usable_now(const NodeTable& nodes, NodeId node, Mode mode) {
  auto& all = now_[static_cast<std::size_t>(mode)];
  if (all.size() < nodes.size()) all.resize(nodes.size());
  const PatternId at = pattern(nodes, node);
  Remembered& r = all[node.index()];
  if (r.changes != nodes.changes(node) || r.version != version_) {
    r = {nodes.changes(node), version_,
         usable(nodes, at, nodes.device_state(node, mode), nodes.account(node, nodes.cpu()).free(mode))};
  }
  return r.value;
}

std::int64_t Fragments::fragments(const NodeTable& nodes, NodeId node, Mode mode) {
  const DeviceStateId state = nodes.device_state(node, mode);
  const std::int64_t idle = nodes.device_states().idle(state);
  if (idle == 0) return 0;
  const std::int64_t cpu = nodes.account(node, nodes.cpu()).free(mode);
  const std::uint64_t bits = mask(nodes, node);
  std::int64_t sum = 0;
  std::int64_t weights = 0;
  for (const KindHere& kind : kinds_) {
    weights += kind.weight;
    sum += kind.weight * idle;
    if (!kind.request.valid() || (bits >> kind.where & 1) == 0 || cpu < kind.cpu) continue;
    if (nodes.device_states().fit(state, kind.request) == 0) continue;
    sum -= kind.weight * once(nodes, kind, state);
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
  if (!built_ || version_ != fragments.version() || cursor_ < nodes.log_begin()) {
    for (std::size_t n = 0; n < nodes.size(); ++n) update(nodes, fragments, NodeId(n));
    cursor_ = nodes.log_end();
  }
  for (; cursor_ < nodes.log_end(); ++cursor_) update(nodes, fragments, nodes.log_at(cursor_).node);
  built_ = true;
  version_ = fragments.version();
  return sums_;
}

}  // namespace berth::engine
