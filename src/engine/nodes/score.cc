#include "engine/nodes/score.h"

#include <algorithm>

namespace berth::engine {
namespace {

constexpr int kPolicyBits = 48;
constexpr std::int64_t kMostIdle = (1 << 17) - 1;
constexpr std::int64_t kMostCpu = (1 << 30) - 1;
constexpr int kResidualBits = 13;
constexpr std::int64_t kMostResidual = (1 << kResidualBits) - 1;

std::int64_t clamped(std::int64_t value, std::int64_t most) {
  return std::clamp<std::int64_t>(value, 0, most);
}

// Whether there is a choice among devices that are free in part.
bool one_share(const Shape& shape) {
  return shape.devices.size() == 1 && shape.devices.front().count == 1 &&
         shape.devices.front().milli < kWholeDevice;
}

// Calls visit(way, free thousandths) for each different amount that is free on some device and suffices, least first, until
// it returns false.
template <class Visit>
void for_each_way(std::span<const DeviceStates::Free> devices, const ShapeDevices& want, Visit&& visit) {
  std::int64_t last = -1;
  std::uint32_t way = 0;
  for (const auto& device : devices) {
    if (device.is_counted || device.resource != want.resource || device.milli < want.milli ||
        device.milli == last)
      continue;
    last = device.milli;
    if (!visit(way++, last)) return;
  }
}

}  // namespace

Score score_first(const Site&) {
  return {};
}

Score score_pack(const Site& site) {
  return {clamped(site.idle, kMostIdle) << 30 | clamped(site.cpu, kMostCpu), 0};
}

Score score_spread(const Site& site) {
  return {(kMostIdle - clamped(site.idle, kMostIdle)) << 30 | (kMostCpu - clamped(site.cpu, kMostCpu)), 0};
}

// Share of the fleet's largest shape (128 cores, 8 devices) that stays free, equal weights, in whole percent rounded up:
// 100 - floor(100 (1 - (cpu / 128 + devices / 8) / 2)). In integers: x = (cpu + 16 devices) / 256,000 with thousandths.
Score score_best_fit(const Site& site) {
  const std::int64_t left = 100 * (clamped(site.cpu, kMostCpu) + 16 * clamped(site.idle, kMostIdle));
  return {(left + 255'999) / 256'000, 0};
}

// 35 bits of loss, enough for 32 devices x 1000 x 2^16 x 16 parts (a larger one counts as that), 13 of what is left over: a device
// weighs as much as 16 cores.
std::int64_t fragmentation_key(const Site& site, std::int64_t lost) {
  const std::int64_t left = (clamped(site.cpu, kMostCpu) + 16 * clamped(site.idle, kMostIdle)) / 64;
  return clamped(lost, (std::int64_t{1} << (kPolicyBits - kResidualBits)) - 1) << kResidualBits |
         std::min(left, kMostResidual);
}

// The rest of so much once the slot has been placed.
static Site site_of(std::int64_t idle, std::int64_t cpu, const Shape& shape) {
  Site site{idle, cpu};
  for (const ShapeDevices& want : shape.devices) site.idle -= want.count * want.milli;
  for (const ShapeAmount& a : shape.amounts) {
    if (a.resource == NodeTable::cpu()) site.cpu -= a.amount;
  }
  site.cpu = std::max<std::int64_t>(0, site.cpu);
  return site;
}

// The best way of fragmentation.
static Score score_fragmentation(const NodeTable& nodes, Fragments& fragments, NodeId node,
                                 const Shape& shape, DeviceRequestId request, Mode mode) {
  DeviceStates& states = nodes.device_states();
  const Fragments::Here& here = fragments.here(nodes, node, mode);
  const DeviceStateId state = here.state;
  const Site site = site_of(here.idle, here.cpu, shape);
  const auto key = [&](DeviceStateId at, const Take& take) {
    return fragmentation_key(site, here.usable - fragments.usable(nodes, here.pattern, at, site.cpu, take));
  };
  if (shape.devices.empty()) return {key(state, {}), 0};
  const ShapeDevices& want = shape.devices.front();
  if (shape.devices.size() == 1 && want.milli == kWholeDevice) {
    return {key(state, {want.resource, kWholeDevice, want.count, kWholeDevice}), 0};
  }
  if (!one_share(shape)) return {key(states.after(state, request).front(), {}), 0};
  Score best{kInt64Max, 0};
  for_each_way(states.devices(state), want, [&](std::uint32_t way, std::int64_t free) {
    const std::int64_t of_way = key(state, {want.resource, want.milli, 1, free});
    if (of_way < best.key) best = {of_way, way};
    return true;
  });
  return best;
}

std::int64_t with_preference(std::int64_t key, std::int64_t preference) {
  constexpr std::int64_t kPolicy = (std::int64_t{1} << kPolicyBits) - 1;
  return (kMostPreference - std::clamp<std::int64_t>(preference, 0, kMostPreference)) << kPolicyBits |
         (key & kPolicy);
}

Score score(const NodeTable& nodes, Fragments& fragments, NodeId node, const Shape& shape,
            DeviceRequestId request, std::int64_t preference, Mode mode) {
  // Room without end: all that tells such nodes apart is what is preferred.
  if (nodes.is_opaque(node)) return {with_preference(0, preference), 0};
  const auto site = [&] {
    return site_of(nodes.device_states().idle(nodes.device_state(node, mode)),
                   nodes.account(node, NodeTable::cpu()).free(mode), shape);
  };
  Score out;
  switch (shape.placement) {
    case Placement::kFirst:
      out = score_first(site());
      break;
    case Placement::kPack:
      out = score_pack(site());
      break;
    case Placement::kSpread:
      out = score_spread(site());
      break;
    case Placement::kBestFit:
      out = score_best_fit(site());
      break;
    case Placement::kDefault:
    case Placement::kFragmentation:
      out = score_fragmentation(nodes, fragments, node, shape, request, mode);
      break;
  }
  out.key = with_preference(out.key, preference);
  return out;
}

bool has_ways(const Shape& shape) {
  return one_share(shape) && shape.placement == Placement::kFragmentation;
}

std::int64_t free_of_best_way(const NodeTable& nodes, Fragments& fragments, NodeId node, const Shape& shape,
                              Mode mode) {
  const ShapeDevices& want = shape.devices.front();
  const DeviceStates& states = nodes.device_states();
  const DeviceRequestId request = nodes.device_states().request(shape.devices);
  const auto free_now = [&] { return states.devices(nodes.device_state(node, mode)); };
  std::int64_t chosen = -1;
  const auto some = [&](std::uint32_t, std::int64_t free) {
    chosen = free;
    return false;
  };
  for_each_way(free_now(), want, some);
  if (chosen < 0) return chosen;
  const std::uint32_t best = score(nodes, fragments, node, shape, request, 0, mode).way;
  for_each_way(free_now(), want, [&](std::uint32_t way, std::int64_t free) {
    chosen = free;
    return way < best;
  });
  return chosen;
}

}  // namespace berth::engine
