#include "engine/nodes/choose.h"

#include <algorithm>

#include "engine/nodes/score.h"

namespace berth::engine {
namespace {

// How much of a device the first pieces of a grant in the making have: those of earlier requests.
std::int64_t had(const Grant& grant, std::size_t pieces, std::size_t device) {
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < pieces; ++i)
    sum += grant.pieces[i].device == device ? grant.pieces[i].milli : 0;
  return sum;
}

void add(Grant& grant, std::size_t device, std::int64_t milli) {
  grant.pieces.push_back({static_cast<std::uint16_t>(device), 0, static_cast<std::int32_t>(milli)});
}

void in_order(Grant& grant) {
  if (!std::is_sorted(grant.pieces.begin(), grant.pieces.end()))
    std::sort(grant.pieces.begin(), grant.pieces.end());
}

}  // namespace

void choose_first(const NodeTable& nodes, NodeId node, const Shape& shape, Mode mode, Grant& out) {
  out.clear();
  const auto& devices = nodes.record(node).devices;  // of the opaque node: none
  for (const ShapeDevices& want : shape.devices) {
    const std::size_t before = out.pieces.size();
    const auto free = [&](std::size_t i) { return devices[i].account.free(mode) - had(out, before, i); };
    if (want.milli == kWholeDevice) {
      std::int64_t left = want.count;
      for (std::size_t i = 0; i < devices.size() && left > 0; ++i) {
        if (devices[i].resource != want.resource || free(i) < kWholeDevice) continue;
        add(out, i, kWholeDevice);
        --left;
      }
      continue;
    }
    std::size_t best = devices.size();
    std::int64_t least = kInt64Max;
    for (std::size_t i = 0; i < devices.size(); ++i) {
      if (devices[i].resource != want.resource) continue;
      const std::int64_t here = free(i);
      if (here < want.milli || here >= least) continue;
      least = here;
      best = i;
    }
    if (best < devices.size()) add(out, best, want.milli);
  }
  in_order(out);
  out.tokens = shape.tokens;
}

void choose(const NodeTable& nodes, Fragments& fragments, NodeId node, const Shape& shape, Mode mode,
            Grant& out) {
  if (!has_ways(shape)) return choose_first(nodes, node, shape, mode, out);
  out.clear();
  out.tokens = shape.tokens;
  const ShapeDevices& want = shape.devices.front();
  const std::int64_t free = free_of_best_way(nodes, fragments, node, shape, mode);
  if (free < 0) return;
  const auto& devices = nodes.record(node).devices;
  const auto at = std::find_if(devices.begin(), devices.end(), [&](const NodeTable::Device& device) {
    return device.resource == want.resource && device.account.free(mode) == free;
  });
  if (at != devices.end()) add(out, static_cast<std::size_t>(at - devices.begin()), want.milli);
}

bool take_reported(const NodeTable& nodes, NodeId node, const Shape& shape,
                   std::span<const std::int64_t> numbers, Grant& out) {
  out.clear();
  out.tokens = shape.tokens;
  if (numbers.empty()) return false;
  const auto& devices = nodes.record(node).devices;
  for (const std::int64_t number : numbers) {
    if (number < 0 || number >= static_cast<std::int64_t>(devices.size())) return false;
    const auto at = static_cast<std::size_t>(number);
    const auto want = std::find_if(shape.devices.begin(), shape.devices.end(),
                                   [&](const ShapeDevices& d) { return d.resource == devices[at].resource; });
    if (want == shape.devices.end()) return false;
    add(out, at, want->milli);
  }
  in_order(out);
  const auto same = [](const Piece& a, const Piece& b) { return a.device == b.device; };
  if (std::adjacent_find(out.pieces.begin(), out.pieces.end(), same) != out.pieces.end()) return false;
  return std::all_of(shape.devices.begin(), shape.devices.end(), [&](const ShapeDevices& want) {
    return want.count == std::count_if(out.pieces.begin(), out.pieces.end(), [&](const Piece& piece) {
             return devices[piece.device].resource == want.resource;
           });
  });
}

void choose_foreign(NodeTable& nodes, NodeId node, const ForeignPod& pod, Grant& out) {
  out.clear();
  const auto& devices = nodes.record(node).devices;
  for (const DeviceRequest& want : pod.devices) {
    const std::size_t before = out.pieces.size();
    std::int64_t left = want.count;
    ResourceId last;
    bool suits = false;
    for (std::size_t i = 0; i < devices.size() && left > 0; ++i) {
      const auto& account = devices[i].account;
      if (devices[i].resource != last) {
        last = devices[i].resource;
        suits = nodes.resource_name(last) == want.resource;
      }
      if (!suits || account.capacity - account.used[kNow] - had(out, before, i) < want.milli) continue;
      add(out, i, want.milli);
      --left;
    }
  }
  in_order(out);
  for (const HostPort& port : pod.ports) out.tokens.push_back(nodes.held().tokens.intern(port));
  one_each(out.tokens);
}

}  // namespace berth::engine
