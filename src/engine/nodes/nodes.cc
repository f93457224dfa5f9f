#include "engine/nodes/nodes.h"

#include <fmt/format.h>

#include <algorithm>

namespace berth::engine {
namespace {

Status check_amount(std::string_view node, std::string_view resource, std::int64_t amount) {
  if (amount < 0) {
    return fail(ErrorCode::kInvalid, "node {}: {} is negative ({})", node, resource, amount);
  }
  if (amount > kMostAmount) {
    return fail(ErrorCode::kInvalid, "node {}: {} of {} is more than Berth counts (2^50 base units)", node,
                amount, resource);
  }
  return {};
}

Status check(const Node& node) {
  if (node.name.empty()) return fail(ErrorCode::kInvalid, "a node has no name");
  for (const auto& pool : node.devices) {
    if (pool.count < 0 || pool.count > kMostCountedDevices) {
      return fail(ErrorCode::kInvalid, "node {}: {} devices of {}; a node has 0 to {}", node.name, pool.count,
                  pool.resource, kMostCountedDevices);
    }
    if (node.allocatable.has(pool.resource)) {
      return fail(ErrorCode::kInvalid, "node {}: {} is given both as devices and as an amount", node.name,
                  pool.resource);
    }
  }
  for (const auto& [name, amount] : node.allocatable) BERTH_TRY(check_amount(node.name, name, amount));
  if (node.rank && (*node.rank < -kInt64Max / 4294967296 || *node.rank > 2147483647)) {
    return fail(ErrorCode::kInvalid, "node {}: rank {} is outside of 32 bits", node.name, *node.rank);
  }
  return {};
}

// Pools whose devices are only counted: the largest ones, until the rest can have numbers.
std::vector<std::string_view> beyond_numbers(const Node& node) {
  std::int64_t sum = 0;
  for (const DevicePool& pool : node.devices) sum += pool.count;
  std::vector<std::string_view> out;
  while (sum > kMostNumberedDevices) {
    const DevicePool* largest = nullptr;
    for (const DevicePool& pool : node.devices) {
      const bool is_out = std::find(out.begin(), out.end(), pool.resource) != out.end();
      if (!is_out && (largest == nullptr || pool.count > largest->count)) largest = &pool;
    }
    out.push_back(largest->resource);
    for (const DevicePool& pool : node.devices) sum -= pool.resource == out.back() ? pool.count : 0;
  }
  return out;
}

// The devices of a node, as its accounts have them.
struct Supply {
  std::vector<NodeTable::Device> devices;
  std::vector<ResourceId> counted;
  std::vector<std::pair<ResourceId, std::int64_t>> amounts;  // by pool
};

Supply supply_of(const Node& node, std::span<const ResourceId> pools) {
  const std::vector<std::string_view> too_many = beyond_numbers(node);
  Supply out;
  for (std::size_t p = 0; p < pools.size(); ++p) {
    const DevicePool& pool = node.devices[p];
    std::int64_t healthy = pool.count;
    for (const std::int64_t i : pool.unhealthy) healthy -= i >= 0 && i < pool.count ? 1 : 0;
    if (std::find(too_many.begin(), too_many.end(), pool.resource) != too_many.end()) {
      out.counted.push_back(pools[p]);
      out.amounts.emplace_back(pools[p], std::max<std::int64_t>(0, healthy) * kWholeDevice);
      continue;
    }
    healthy = 0;  // listed twice, one that is not healthy is one all the same
    for (std::int64_t i = 0; i < pool.count; ++i) {
      NodeTable::Device device;
      device.resource = pools[p];
      device.healthy = std::find(pool.unhealthy.begin(), pool.unhealthy.end(), i) == pool.unhealthy.end();
      device.account.capacity = device.healthy ? kWholeDevice : 0;
      healthy += device.healthy ? 1 : 0;
      out.devices.push_back(device);
    }
    out.amounts.emplace_back(pools[p], healthy * kWholeDevice);
  }
  return out;
}

// Devices keep their number and what is used of them; ones that are no longer listed stay with no capacity while in use.
std::vector<NodeTable::Device> with_used(std::vector<NodeTable::Device> listed,
                                         std::span<const NodeTable::Device> before) {
  for (std::size_t i = 0; i < before.size(); ++i) {
    const NodeTable::Device& old = before[i];
    if (i < listed.size()) {
      listed[i].account.used = old.account.used;
      continue;
    }
    if (old.account.used == std::array<std::int64_t, 2>{}) continue;
    listed.resize(i, NodeTable::Device{old.resource, {}, false});
    listed.push_back(old);
    listed.back().account.capacity = 0;
    listed.back().healthy = false;
  }
  return listed;
}

}  // namespace

std::optional<ResourceId> NodeTable::resource_asked(std::string_view name) {
  if (const auto known = resources_.find(name)) return ResourceId(*known);
  if (is_full_of_asked()) return std::nullopt;
  const ResourceId id = resource(name);
  asked_only_[id.index()] = true;
  ++asked_;
  return id;
}

ResourceId NodeTable::resource(std::string_view name) {
  const ResourceId id(resources_.intern(name));
  if (id.index() >= asked_only_.size()) asked_only_.resize(id.index() + 1);
  if (asked_only_[id.index()]) {
    asked_only_[id.index()] = false;
    --asked_;
  }
  if (id.index() >= stride_) {
    const std::size_t wider = stride_ * 2;
    std::vector<Account> grown(records_.size() * wider);
    for (std::size_t n = 0; n < records_.size(); ++n) {
      std::copy_n(accounts_.begin() + static_cast<std::ptrdiff_t>(n * stride_), stride_,
                  grown.begin() + static_cast<std::ptrdiff_t>(n * wider));
    }
    accounts_ = std::move(grown);
    stride_ = wider;
  }
  return id;
}

NodeId NodeTable::intern(std::string_view name) {
  const NodeId id(names_.intern(name));
  if (id.index() == records_.size()) {
    records_.emplace_back();
    records_.back().spec.name = std::string(name);
    ties_.push_back((std::uint64_t{0x80000000u} + id.value) << 32 | id.value);
    changes_.push_back(0);
    capacities_.push_back(0);
    records_.back().domains.assign(levels_.size(), DomainId());
    static_versions_.push_back(0);
    accounts_.resize(records_.size() * stride_);
    touch(id, true);
  }
  return id;
}

std::optional<NodeId> NodeTable::find(std::string_view name) const {
  const auto id = names_.find(name);
  if (!id) return std::nullopt;
  return NodeId(*id);
}

NodeId NodeTable::opaque() {
  if (opaque_.valid()) return opaque_;
  opaque_ = intern("");
  records_[opaque_.index()].alive = true;  // not counted in alive(): it is no machine
  ++static_versions_[opaque_.index()];
  return opaque_;
}

Status NodeTable::upsert(const Node& node) {
  BERTH_TRY(check(node));
  // Resources first: interning one may move the accounts.
  std::vector<std::pair<ResourceId, std::int64_t>> amounts;
  for (const auto& [name, amount] : node.allocatable) amounts.emplace_back(resource(name), amount);
  std::vector<ResourceId> pools;
  for (const DevicePool& pool : node.devices) pools.push_back(resource(pool.resource));
  Supply supply = supply_of(node, pools);
  amounts.insert(amounts.end(), supply.amounts.begin(), supply.amounts.end());

  const NodeId id = intern(node.name);
  Record& record = records_[id.index()];
  record.devices = with_used(std::move(supply.devices), record.devices);
  record.counted = std::move(supply.counted);
  for (std::size_t r = 0; r < stride_; ++r) accounts_[id.index() * stride_ + r].capacity = 0;
  for (const auto& [r, amount] : amounts) accounts_[id.index() * stride_ + r.index()].capacity += amount;

  if (!record.alive) ++alive_;
  record.alive = true;
  record.spec = node;
  const std::int64_t rank = node.rank.value_or(static_cast<std::int64_t>(id.value));
  ties_[id.index()] = static_cast<std::uint64_t>(rank + 0x80000000ll) << 32 | id.value;
  set_capacity(id);
  ++static_versions_[id.index()];
  place_in_domains(id);
  touch(id, true);
  return {};
}

void NodeTable::set_capacity(NodeId id) {
  const Record& record = records_[id.index()];
  std::int64_t now = 0;
  for (const Device& device : record.devices) now += record.alive ? device.account.capacity : 0;
  for (const ResourceId r : record.counted) now += record.alive ? account(id, r).capacity : 0;
  device_capacity_ += now - capacities_[id.index()];
  capacities_[id.index()] = now;
}

Status NodeTable::remove(std::string_view name) {
  const auto id = find(name);
  if (!id || !records_[id->index()].alive) return fail(ErrorCode::kNotFound, "node {} is not known", name);
  Record& record = records_[id->index()];
  record.alive = false;
  --alive_;
  set_capacity(*id);
  ++static_versions_[id->index()];
  place_in_domains(*id);
  touch(*id, true);
  return {};
}

DeviceStateId NodeTable::device_state(NodeId id, Mode mode) const {
  if (known_.size() < records_.size()) known_.resize(records_.size());
  KnownState& known = known_[id.index()];
  if (known.changes != changes_[id.index()] || known.generation != device_states_.generation()) {
    known.changes = changes_[id.index()];
    known.generation = device_states_.generation();
    bool releasing = false;
    const auto state = [&](Mode m) {
      scratch_.clear();
      for (const Device& device : records_[id.index()].devices) {
        scratch_.push_back({device.resource, std::max<std::int64_t>(0, device.account.free(m)), false});
        releasing = releasing || device.account.used[kNow] > device.account.used[kAfter];
      }
      for (const ResourceId r : records_[id.index()].counted) {
        const Account& all = account(id, r);
        scratch_.push_back({r, std::max<std::int64_t>(0, all.free(m)), true});
        releasing = releasing || all.used[kNow] > all.used[kAfter];
      }
      return device_states_.intern(scratch_);
    };
    known.state[static_cast<std::size_t>(Mode::kPlan)] = state(Mode::kPlan);
    // Where nothing is being released both modes see the same.
    known.state[static_cast<std::size_t>(Mode::kStart)] =
        releasing ? state(Mode::kStart) : known.state[static_cast<std::size_t>(Mode::kPlan)];
  }
  return known.state[static_cast<std::size_t>(mode)];
}

void NodeTable::touch(NodeId id, bool fixed) {
  ++changes_[id.index()];
  // A reader that is more than a few changes per node behind reads all nodes faster than the changes.
  const std::size_t most = 2 * records_.size() + 1024;
  log_.push(id, most);
  if (fixed) fixed_log_.push(id, most);
}

std::int64_t NodeTable::device_fit(NodeId id, const ShapeDevices& want, Mode mode) const {
  const Record& record = records_[id.index()];
  std::int64_t pieces = 0;
  if (!record.counted.empty() && want.milli == kWholeDevice && is_counted(id, want.resource))
    pieces = std::max<std::int64_t>(0, account(id, want.resource).free(mode)) / kWholeDevice;
  for (const Device& device : record.devices) {
    if (device.resource != want.resource) continue;
    const std::int64_t free = device.account.free(mode);
    if (want.milli == kWholeDevice) {
      pieces += free >= kWholeDevice ? 1 : 0;
    } else if (free >= want.milli) {
      pieces += free / want.milli;
    }
  }
  return pieces / want.count;
}

std::int64_t NodeTable::fit_by_amounts(NodeId id, const Shape& shape, Mode mode, std::int64_t most) const {
  most = std::min(most, kMostFit);
  if (is_opaque(id)) return most;
  const Account* row = &accounts_[id.index() * stride_];
  for (const ShapeAmount& a : shape.amounts) {
    const std::int64_t free = row[a.resource.index()].free(mode);
    if (free < a.amount) return 0;
    // Most nodes have enough of most resources: a product is cheaper than a quotient.
    std::int64_t all = 0;
    if (__builtin_mul_overflow(most, a.amount, &all) || all > free) most = free / a.amount;
  }
  return most;
}

std::int64_t NodeTable::fit_by_room(NodeId id, const Shape& shape, Mode mode) const {
  if (is_opaque(id)) return kMostFit;
  std::int64_t fit = fit_by_amounts(id, shape, mode);
  if (!shape.tokens.empty())
    fit = std::min<std::int64_t>(fit, tokens_.taken(id, shape.tokens, planes_of(mode)) ? 0 : 1);
  for (const ShapeDevices& want : shape.devices) {
    if (fit == 0) return 0;
    fit = std::min(fit, device_fit(id, want, mode));
  }
  return fit;
}

bool NodeTable::fits(NodeId id, const Shape& shape, Mode mode) const {
  if (is_opaque(id)) return true;
  const Account* row = &accounts_[id.index() * stride_];
  for (const ShapeAmount& a : shape.amounts) {
    if (row[a.resource.index()].free(mode) < a.amount) return false;
  }
  for (const ShapeDevices& want : shape.devices) {
    if (device_fit(id, want, mode) == 0) return false;
  }
  return shape.tokens.empty() || !tokens_.taken(id, shape.tokens, planes_of(mode));
}

std::optional<NodeTable::Shortage> NodeTable::shortage(NodeId id, const Shape& shape, Mode mode) const {
  if (is_opaque(id)) return std::nullopt;
  for (const ShapeDevices& want : shape.devices) {
    if (device_fit(id, want, mode) == 0) return Shortage{want.resource, true, {}};
  }
  for (const ShapeAmount& a : shape.amounts) {
    if (account(id, a.resource).free(mode) < a.amount) return Shortage{a.resource, false, {}};
  }
  if (const auto token = tokens_.taken(id, shape.tokens, planes_of(mode))) return Shortage{{}, false, *token};
  return std::nullopt;
}

NodeTable::Shortage NodeTable::tightest(NodeId id, const Shape& shape) const {
  Shortage first;
  std::int64_t least = kInt64Max;
  const auto offer = [&](std::int64_t fit, ResourceId resource, bool device) {
    if (fit >= least) return;
    least = fit;
    first = {resource, device, {}};
  };
  if (!shape.tokens.empty()) {
    least = 1;
    first.token = shape.tokens.front();
  }
  for (const ShapeDevices& want : shape.devices) {
    offer(device_fit(id, want, Mode::kStart), want.resource, true);
  }
  for (const ShapeAmount& a : shape.amounts) {
    offer(account(id, a.resource).free(Mode::kStart) / a.amount, a.resource, false);
  }
  return first;
}

void NodeTable::charge(NodeId id, const Shape& shape, const GrantView& grant, PlaneMask planes, int sign) {
  if (is_opaque(id)) return;
  Account* row = &accounts_[id.index() * stride_];
  Record& record = records_[id.index()];
  for (const Plane plane : {kNow, kAfter}) {
    if ((planes & (1u << plane)) == 0) continue;
    for (const ShapeAmount& a : shape.amounts) row[a.resource.index()].used[plane] += sign * a.amount;
    for (const Piece& piece : grant.pieces) {
      record.devices[piece.device].account.used[plane] += sign * piece.milli;
      if (plane == kNow) device_use_ += sign * piece.milli;
    }
  }
  tokens_.charge(id, grant.tokens, planes, sign);
  touch(id);
}

void NodeTable::charge_foreign(NodeId id, const ForeignPod& pod, const GrantView& grant, int sign) {
  const auto add = [&](std::string_view name, std::int64_t amount) {
    const ResourceId r = resource(name);
    Int128& sum = foreign_[std::uint64_t{id.value} << 32 | r.value];
    const auto clamped = [](Int128 v) { return clamp_to_int64(std::min<Int128>(v, Int128{1} << 60)); };
    const std::int64_t before = clamped(sum);
    sum += static_cast<Int128>(sign) * amount;
    const std::int64_t delta = clamped(sum) - before;
    Account& a = accounts_[id.index() * stride_ + r.index()];
    a.used[kNow] += delta;
    a.used[kAfter] += delta;
  };
  for (const auto& [name, amount] : pod.requests) {
    if (amount > 0) add(name, amount);
  }
  for (const DeviceRequest& want : pod.devices) add(want.resource, saturating_mul(want.count, want.milli));
  tokens_.charge(id, grant.tokens, kBothPlanes, sign);
  for (const Piece& piece : grant.pieces) {
    auto& used = records_[id.index()].devices[piece.device].account.used;
    for (const Plane plane : {kNow, kAfter}) used[plane] += sign * piece.milli;
  }
  touch(id);
}

void NodeTable::set_topologies(std::span<const Topology> topologies) {
  topologies_.assign(topologies.begin(), topologies.end());
  rebuild_domains();
}

void NodeTable::rebuild_domains() {
  ++topology_version_;
  levels_.clear();
  domains_.clear();
  domain_index_.clear();
  for (const Topology& topology : topologies_) {
    std::uint32_t depth = 0;
    for (const std::string& key : topology.levels) levels_.push_back({topology.name, key, depth++, {}, 0});
  }
  for (std::size_t n = 0; n < records_.size(); ++n) {
    records_[n].domains.assign(levels_.size(), DomainId());
    place_in_domains(NodeId(n));
  }
}

void NodeTable::place_in_domains(NodeId id) {
  Record& record = records_[id.index()];
  std::vector<DomainId> now(levels_.size());
  DomainId parent;
  std::string path;
  for (std::size_t l = 0; l < levels_.size(); ++l) {
    if (levels_[l].depth == 0) {
      parent = DomainId();
      path.clear();
    } else if (!parent.valid()) {
      continue;
    }
    const auto label = record.spec.labels.find(levels_[l].key);
    if (!record.alive || label == record.spec.labels.end()) {
      parent = DomainId();
      continue;
    }
    path += fmt::format("{}{}", path.empty() ? "" : "/", label->second);
    const std::string key = fmt::format("{}:{}", l, path);
    auto [it, fresh] = domain_index_.try_emplace(key, DomainId(domains_.size()));
    if (fresh) {
      domains_.push_back({static_cast<std::uint32_t>(l), parent, path, {}, {}});
      levels_[l].domains.push_back(it->second);
      if (parent.valid()) domains_[parent.index()].children.push_back(it->second);
      ++topology_version_;
    }
    now[l] = parent = it->second;
  }
  for (std::size_t l = 0; l < levels_.size(); ++l) {
    const DomainId old = record.domains[l];
    if (old == now[l]) continue;
    ++topology_version_;
    if (old.valid()) {
      auto& nodes = domains_[old.index()].nodes;
      std::erase(nodes, id);
      if (nodes.size() == 1) --levels_[l].wide;
    }
    if (now[l].valid()) {
      auto& nodes = domains_[now[l].index()].nodes;
      nodes.insert(std::lower_bound(nodes.begin(), nodes.end(), id), id);
      if (nodes.size() == 2) ++levels_[l].wide;
    }
  }
  record.domains = std::move(now);
}

std::optional<std::uint32_t> NodeTable::level_of(std::string_view key) const {
  for (std::size_t l = 0; l < levels_.size(); ++l) {
    if (levels_[l].key == key) return static_cast<std::uint32_t>(l);
  }
  return std::nullopt;
}

std::string NodeTable::why_no_level() const {
  constexpr std::size_t kMostNamed = 8;
  std::string known;
  for (std::size_t l = 0; l < std::min(levels_.size(), kMostNamed); ++l)
    known += fmt::format("{}{}", l == 0 ? "" : ", ", levels_[l].key);
  if (levels_.empty()) {
    return "there is no topology: remove the request, or create a topology with this node label as a level";
  }
  return fmt::format(
      "no topology has this level: ask for one of {}{}, or add this node label to the levels of a topology",
      known, levels_.size() > kMostNamed ? ", ..." : "");
}

}  // namespace berth::engine
