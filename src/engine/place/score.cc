#include "engine/place/score.h"

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

// 35 bits of loss (64 devices x 1000 x 2^16 x 8 parts at most), 13 of what is left over: a device weighs as much as 16 cores.
std::int64_t fragmentation_key(const Site& site, std::int64_t lost) {
  const std::int64_t left = (clamped(site.cpu, kMostCpu) + 16 * clamped(site.idle, kMostIdle)) / 64;
  return clamped(lost, (std::int64_t{1} << (kPolicyBits - kResidualBits)) - 1) << kResidualBits |
         std::min(left, kMostResidual);
}

Score score(const NodeTable& nodes, Fragments& fragments, NodeId node, const Shape& shape,
            DeviceRequestId request, std::int64_t preference, Mode mode) {
  // Room without end: all that tells such nodes apart is what is preferred.
  if (nodes.is_opaque(node)) return {(16383 - preference) << kPolicyBits, 0};
  DeviceStates& states = nodes.device_states();
  Site site;
  site.ways = states.after(nodes.device_state(node, mode), request);
  site.idle = states.idle(site.ways.front());
  site.cpu = nodes.account(node, NodeTable::cpu()).free(mode);
  for (const ShapeAmount& a : shape.amounts) {
    if (a.resource == NodeTable::cpu()) site.cpu -= a.amount;
  }
  site.cpu = std::max<std::int64_t>(0, site.cpu);

  Score out;
  switch (shape.placement) {
    case Placement::kFirst:
      out = score_first(site);
      break;
    case Placement::kPack:
      out = score_pack(site);
      break;
    case Placement::kSpread:
      out = score_spread(site);
      break;
    case Placement::kBestFit:
      out = score_best_fit(site);
      break;
    case Placement::kDefault:
    case Placement::kFragmentation: {
      const std::int64_t now = fragments.usable_now(nodes, node, mode);
      const PatternId pattern = fragments.pattern(nodes, node);
      out = score_fragmentation(
          site, [&](DeviceStateId way) { return now - fragments.usable(nodes, pattern, way, site.cpu); });
      break;
    }
  }
  out.key |= (16383 - preference) << kPolicyBits;
  return out;
}

std::uint64_t choose_devices(const NodeTable& nodes, Fragments& fragments, NodeId node, const Shape& shape,
                             Mode mode) {
  const bool one_share = shape.devices.size() == 1 && shape.devices.front().milli < 1000;
  if (!one_share || shape.placement != Placement::kFragmentation)
    return nodes.choose_devices(node, shape, mode);
  DeviceStates& states = nodes.device_states();
  const ShapeDevices& want = shape.devices.front();
  const DeviceRequestId request = states.request(shape.devices);
  if (states.after(nodes.device_state(node, mode), request).empty()) return 0;
  const std::uint32_t way = score(nodes, fragments, node, shape, request, 0, mode).way;
  // The way-th different amount that is free and suffices, least first.
  std::uint32_t at = 0;
  std::int64_t last = -1;
  for (const auto& device : states.devices(nodes.device_state(node, mode))) {
    if (device.resource != want.resource || device.milli < want.milli || device.milli == last) continue;
    last = device.milli;
    if (at++ == way) break;
  }
  const auto& devices = nodes.record(node).devices;
  for (std::size_t i = 0; i < devices.size(); ++i) {
    if (devices[i].resource == want.resource && devices[i].account.free(mode) == last)
      return std::uint64_t{1} << i;
  }
  return 0;
}

}  // namespace berth::engine
