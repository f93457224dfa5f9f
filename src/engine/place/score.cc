#include "engine/place/score.h"

#include <algorithm>

namespace berth::engine {
namespace {

struct Room {
  std::int64_t devices = 0;  // thousandths of devices free after placing
  std::int64_t cpu = 0;      // thousandths of cores free after placing
};

Room room_left(const NodeTable& nodes, NodeId node, const Shape& shape, Mode mode) {
  Room room;
  for (const auto& device : nodes.record(node).devices)
    room.devices += std::max<std::int64_t>(0, device.account.free(mode));
  for (const auto& want : shape.devices) room.devices -= want.count * want.milli;
  // "cpu" is interned first (engine/core/state.cc).
  room.cpu = nodes.account(node, ResourceId(0u)).free(mode);
  for (const auto& a : shape.amounts) {
    if (a.resource == ResourceId(0u)) room.cpu -= a.amount;
  }
  room.devices = std::clamp<std::int64_t>(room.devices, 0, (1 << 17) - 1);
  room.cpu = std::clamp<std::int64_t>(room.cpu, 0, (1 << 30) - 1);
  return room;
}

// Share of the fleet's largest shape (128 cores, 8 devices) that stays free, equal weights, in whole percent rounded up:
// 100 - floor(100 (1 - (cpu / 128 + devices / 8) / 2)). In integers: x = (cpu + 16 devices) / 256,000 with thousandths.
std::int64_t best_fit(const Room& room) {
  const std::int64_t left = 100 * (room.cpu + 16 * room.devices);
  return (left + 255'999) / 256'000;
}

}  // namespace

std::int64_t placement_key(const NodeTable& nodes, NodeId node, const Shape& shape, std::int64_t preference,
                           Mode mode) {
  const std::int64_t preferred = (16383 - preference) << 47;
  switch (shape.placement) {
    case Placement::kFirst:
      return preferred;
    case Placement::kBestFit:
      return preferred | best_fit(room_left(nodes, node, shape, mode));
    case Placement::kSpread: {
      const Room room = room_left(nodes, node, shape, mode);
      return preferred | ((1 << 17) - 1 - room.devices) << 30 | ((1 << 30) - 1 - room.cpu);
    }
    case Placement::kDefault:
    case Placement::kPack:
      break;
  }
  const Room room = room_left(nodes, node, shape, mode);
  return preferred | room.devices << 30 | room.cpu;
}

}  // namespace berth::engine
