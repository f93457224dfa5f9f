#include "engine/nodes/nodes.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/container/small_vector.hpp>

namespace berth::engine {
namespace {

// `row`: the accounts of the node, by resource.
void mount(Mounted& mounted, NodeTable::Account* row, NodeId node, VolumeId volume, PlaneMask planes,
           int sign) {
  const auto places = mounted.charge(node, volume, planes, sign);
  auto& used = row[mounted.places_of(volume).index()].used;
  for (const Plane plane : {kNow, kAfter}) used[plane] += places[plane];
}

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
  for (const auto* list : {&node.allocatable, &node.attachable}) {
    for (const auto& [name, amount] : *list) BERTH_TRY(check_amount(node.name, name, amount));
  }
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
};

// `amounts`: the sum of each pool is added there.
Supply supply_of(const Node& node, std::span<const ResourceId> pools,
                 std::vector<std::pair<ResourceId, std::int64_t>>& amounts) {
  const std::vector<std::string_view> too_many = beyond_numbers(node);
  Supply out;
  for (std::size_t p = 0; p < pools.size(); ++p) {
    const DevicePool& pool = node.devices[p];
    std::int64_t healthy = pool.count;
    for (const std::int64_t i : pool.unhealthy) healthy -= i >= 0 && i < pool.count ? 1 : 0;
    if (std::find(too_many.begin(), too_many.end(), pool.resource) != too_many.end()) {
      out.counted.push_back(pools[p]);
      amounts.emplace_back(pools[p], std::max<std::int64_t>(0, healthy) * kWholeDevice);
      continue;
    }
    out.devices.reserve(out.devices.size() + static_cast<std::size_t>(pool.count));
    healthy = 0;  // listed twice, one that is not healthy is one all the same
    for (std::int64_t i = 0; i < pool.count; ++i) {
      NodeTable::Device device;
      device.resource = pools[p];
      device.healthy = std::find(pool.unhealthy.begin(), pool.unhealthy.end(), i) == pool.unhealthy.end();
      device.account.capacity = device.healthy ? kWholeDevice : 0;
      healthy += device.healthy ? 1 : 0;
      out.devices.push_back(device);
    }
    amounts.emplace_back(pools[p], healthy * kWholeDevice);
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
  const std::size_t known = resources_.size();
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
  if (id.index() == known && name.starts_with(kVolumesOf)) {
    of_volumes_.push_back(id);
    for (std::size_t n = 0; n < records_.size(); ++n)
      accounts_[n * stride_ + id.index()].capacity = kMostAmount;
  }
  return id;
}

ResourceId NodeTable::volumes_of(std::string_view driver) {
  return resource(fmt::format("{}{}", kVolumesOf, driver));
}

NodeId NodeTable::intern(std::string_view name) {
  const NodeId id(names_.intern(name));
  if (id.index() == records_.size()) {
    records_.emplace_back();
    records_.back().spec.name = std::string(name);
    ties_.push_back((std::uint64_t{0x80000000u} + id.value) << 32 | id.value);
    changes_.add_node();
    domains_.place(id, nullptr);
    capacities_.push_back(0);
    static_versions_.push_back(0);
    accounts_.resize(records_.size() * stride_);
    for (const ResourceId r : of_volumes_) accounts_[id.index() * stride_ + r.index()].capacity = kMostAmount;
    changes_.note(id, true);
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
  auto id = find(node.name);
  const auto same_supply = [&](const Record& r) {
    return r.alive && r.spec.allocatable == node.allocatable && r.spec.devices == node.devices &&
           r.spec.attachable == node.attachable;
  };
  if (!id || !same_supply(records_[id->index()])) {
    // Resources first: interning one may move the accounts.
    std::vector<std::pair<ResourceId, std::int64_t>> amounts;
    amounts.reserve(node.allocatable.size() + node.devices.size());
    for (const auto& [name, amount] : node.allocatable) amounts.emplace_back(resource(name), amount);
    std::vector<std::pair<ResourceId, std::int64_t>> limits;
    for (const auto& [driver, most] : node.attachable) limits.emplace_back(volumes_of(driver), most);
    boost::container::small_vector<ResourceId, 4> pools;
    for (const DevicePool& pool : node.devices) pools.push_back(resource(pool.resource));
    Supply supply = supply_of(node, {pools.data(), pools.size()}, amounts);

    id = intern(node.name);
    Record& record = records_[id->index()];
    record.devices = with_used(std::move(supply.devices), record.devices);
    record.counted = std::move(supply.counted);
    for (std::size_t r = 0; r < stride_; ++r) accounts_[id->index() * stride_ + r].capacity = 0;
    for (const auto& [r, amount] : amounts) accounts_[id->index() * stride_ + r.index()].capacity += amount;
    for (const ResourceId r : of_volumes_)
      accounts_[id->index() * stride_ + r.index()].capacity = kMostAmount;
    for (const auto& [r, most] : limits) accounts_[id->index() * stride_ + r.index()].capacity = most;
  }
  Record& record = records_[id->index()];
  if (!record.alive) ++alive_;
  record.alive = true;
  record.spec = node;
  const std::int64_t rank = node.rank.value_or(static_cast<std::int64_t>(id->value));
  ties_[id->index()] = static_cast<std::uint64_t>(rank + 0x80000000ll) << 32 | id->value;
  set_capacity(*id);
  ++static_versions_[id->index()];
  domains_.place(*id, &record.spec.labels);
  changes_.note(*id, true);
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
  domains_.place(*id, nullptr);
  changes_.note(*id, true);
  return {};
}

DeviceStateId NodeTable::device_state(NodeId id, Mode mode) const {
  if (known_.size() < records_.size()) known_.resize(records_.size());
  KnownState& known = known_[id.index()];
  if (known.changes != changes_.of(id) || known.generation != device_states_.generation()) {
    known.changes = changes_.of(id);
    known.generation = device_states_.generation();
    bool releasing = false;
    const std::vector<Device>& devices = records_[id.index()].devices;
    const bool is_small = records_[id.index()].counted.empty() && !devices.empty() &&
                          devices.size() <= DeviceStates::kMostWhole;
    const auto releases = [](const Account& a) { return a.used[kNow] > a.used[kAfter]; };
    const auto state = [&](Mode m) {
      std::size_t free = 0;
      bool whole = is_small;
      for (std::size_t i = 0; whole && i < devices.size(); ++i) {
        const Device& device = devices[i];
        const std::int64_t milli = device.account.free(m);
        whole = device.resource == devices[0].resource && (milli <= 0 || milli == kWholeDevice);
        free += milli > 0 ? 1 : 0;
        releasing = releasing || releases(device.account);
      }
      if (whole) return device_states_.whole(devices[0].resource, devices.size() - free, free);
      scratch_.clear();
      for (const Device& device : devices) {
        scratch_.push_back({device.resource, std::max<std::int64_t>(0, device.account.free(m)), false});
        releasing = releasing || releases(device.account);
      }
      for (const ResourceId r : records_[id.index()].counted) {
        const Account& all = account(id, r);
        scratch_.push_back({r, std::max<std::int64_t>(0, all.free(m)), true});
        releasing = releasing || releases(all);
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
  for (const VolumeId volume : shape.mounts) mount(held_.mounted, row, id, volume, planes, sign);
  if (!grant.tokens.empty()) held_.tokens.charge(id, grant.tokens, planes, sign);
  changes_.note(id, false);
}

std::vector<VolumeId> mounts_of(NodeTable& nodes, const std::vector<SharedVolume>& volumes) {
  std::vector<VolumeId> out;
  for (const SharedVolume& volume : volumes)
    out.push_back(nodes.held().mounted.intern(nodes.volumes_of(volume.driver), volume.name));
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

void NodeTable::charge_foreign(NodeId id, const ForeignPod& pod, const GrantView& grant, int sign) {
  const auto add = [&](ResourceId r, std::int64_t amount) {
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
    if (amount > 0) add(resource(name), amount);
  }
  for (const DeviceRequest& want : pod.devices)
    add(resource(want.resource), saturating_mul(want.count, want.milli));
  for (const auto& [driver, volumes] : pod.attaches) add(volumes_of(driver), volumes);
  for (const VolumeId volume : mounts_of(*this, pod.mounts))
    mount(held_.mounted, &accounts_[id.index() * stride_], id, volume, kBothPlanes, sign);
  if (!grant.tokens.empty()) held_.tokens.charge(id, grant.tokens, kBothPlanes, sign);
  for (const Piece& piece : grant.pieces) {
    auto& used = records_[id.index()].devices[piece.device].account.used;
    for (const Plane plane : {kNow, kAfter}) used[plane] += sign * piece.milli;
  }
  changes_.note(id, false);
}

void NodeTable::set_topologies(std::span<const Topology> topologies) {
  domains_.set(topologies);
  for (std::size_t n = 0; n < records_.size(); ++n)
    domains_.place(NodeId(n), records_[n].alive ? &records_[n].spec.labels : nullptr);
}

}  // namespace berth::engine
