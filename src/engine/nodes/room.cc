#include "engine/nodes/room.h"

#include <algorithm>

namespace berth::engine {
namespace {

std::int64_t device_fit(const NodeTable& nodes, NodeId id, const ShapeDevices& want, Mode mode) {
  const NodeTable::Record& record = nodes.record(id);
  std::int64_t pieces = 0;
  if (!record.counted.empty() && want.milli == kWholeDevice && nodes.is_counted(id, want.resource))
    pieces = std::max<std::int64_t>(0, nodes.account(id, want.resource).free(mode)) / kWholeDevice;
  for (const NodeTable::Device& device : record.devices) {
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

std::int64_t asked_of(const Shape& shape, ResourceId resource) {
  for (const ShapeAmount& a : shape.amounts) {
    if (a.resource == resource) return a.amount;
  }
  return 0;
}

// How many slots the places of this driver take: the volumes that they share come with the first of them.
std::int64_t fit_by_driver(const NodeTable& nodes, NodeId id, const Shape& shape, PlaneMask planes,
                           ResourceId places) {
  const NodeTable::Account& account = nodes.account(id, places);
  const std::int64_t each = asked_of(shape, places);
  std::int64_t fit = kMostFit;
  for (const Plane plane : {kNow, kAfter}) {
    if ((planes & (1u << plane)) == 0) continue;
    const std::int64_t left = account.capacity - account.used[plane] -
                              nodes.held().mounted.missing(id, shape.mounts, places, plane);
    if (left < each) return 0;
    if (each > 0) fit = std::min(fit, left / each);
  }
  return fit;
}

}  // namespace

std::optional<ResourceId> lacks_places(const NodeTable& nodes, NodeId id, const Shape& shape,
                                       PlaneMask planes) {
  std::optional<ResourceId> out;
  each_driver(nodes.held().mounted, shape.mounts, [&](ResourceId places, std::int64_t) {
    if (!out && fit_by_driver(nodes, id, shape, planes, places) == 0) out = places;
  });
  return out;
}

std::int64_t fit_by_amounts(const NodeTable& nodes, NodeId id, const Shape& shape, Mode mode,
                            std::int64_t most) {
  most = std::min(most, kMostFit);
  if (nodes.is_opaque(id)) return most;
  const NodeTable::Account* row = nodes.row(id);
  for (const ShapeAmount& a : shape.amounts) {
    const std::int64_t free = row[a.resource.index()].free(mode);
    if (free < a.amount) return 0;
    // Most nodes have enough of most resources: a product is cheaper than a quotient.
    std::int64_t all = 0;
    if (__builtin_mul_overflow(most, a.amount, &all) || all > free) most = free / a.amount;
  }
  if (shape.mounts.empty()) return most;
  each_driver(nodes.held().mounted, shape.mounts, [&](ResourceId places, std::int64_t) {
    most = std::min(most, fit_by_driver(nodes, id, shape, planes_of(mode), places));
  });
  return most;
}

std::int64_t fit_by_room(const NodeTable& nodes, NodeId id, const Shape& shape, Mode mode) {
  if (nodes.is_opaque(id)) return kMostFit;
  std::int64_t fit = fit_by_amounts(nodes, id, shape, mode);
  if (!shape.tokens.empty())
    fit = std::min<std::int64_t>(fit, nodes.held().tokens.taken(id, shape.tokens, planes_of(mode)) ? 0 : 1);
  for (const ShapeDevices& want : shape.devices) {
    if (fit == 0) return 0;
    fit = std::min(fit, device_fit(nodes, id, want, mode));
  }
  return fit;
}

bool has_room(const NodeTable& nodes, NodeId id, const Shape& shape, Mode mode) {
  if (nodes.is_opaque(id)) return true;
  const NodeTable::Account* row = nodes.row(id);
  for (const ShapeAmount& a : shape.amounts) {
    if (row[a.resource.index()].free(mode) < a.amount) return false;
  }
  for (const ShapeDevices& want : shape.devices) {
    if (device_fit(nodes, id, want, mode) == 0) return false;
  }
  if (!shape.mounts.empty() && lacks_places(nodes, id, shape, planes_of(mode))) return false;
  return shape.tokens.empty() || !nodes.held().tokens.taken(id, shape.tokens, planes_of(mode));
}

std::optional<Shortage> shortage_of(const NodeTable& nodes, NodeId id, const Shape& shape, Mode mode) {
  if (nodes.is_opaque(id)) return std::nullopt;
  for (const ShapeDevices& want : shape.devices) {
    if (device_fit(nodes, id, want, mode) == 0) return Shortage{want.resource, true, {}};
  }
  for (const ShapeAmount& a : shape.amounts) {
    if (nodes.account(id, a.resource).free(mode) < a.amount) return Shortage{a.resource, false, {}};
  }
  if (const auto places = lacks_places(nodes, id, shape, planes_of(mode)))
    return Shortage{*places, false, {}};
  if (const auto token = nodes.held().tokens.taken(id, shape.tokens, planes_of(mode)))
    return Shortage{{}, false, *token};
  return std::nullopt;
}

Shortage tightest_of(const NodeTable& nodes, NodeId id, const Shape& shape) {
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
    offer(device_fit(nodes, id, want, Mode::kStart), want.resource, true);
  }
  for (const ShapeAmount& a : shape.amounts) {
    offer(nodes.account(id, a.resource).free(Mode::kStart) / a.amount, a.resource, false);
  }
  each_driver(nodes.held().mounted, shape.mounts, [&](ResourceId places, std::int64_t) {
    offer(fit_by_driver(nodes, id, shape, kBothPlanes, places), places, false);
  });
  return first;
}

}  // namespace berth::engine
