#include "engine/nodes/device_states.h"

#include <algorithm>

namespace berth::engine {

namespace {

std::uint64_t hash_of(std::span<const DeviceStates::Free> devices) {
  std::uint64_t hash = devices.size();
  for (const DeviceStates::Free& device : devices) {
    const std::uint64_t kind = std::uint64_t{device.resource.value} << 1U | (device.is_counted ? 1U : 0U);
    hash = (hash ^ (kind << 40U) ^ static_cast<std::uint64_t>(device.milli)) * 0x9E3779B97F4A7C15U;
    hash ^= hash >> 29U;
  }
  return hash;
}

}  // namespace

DeviceStateId DeviceStates::intern(std::vector<Free>& devices) {
  const auto before = [](const Free& a, const Free& b) {
    if (a.resource != b.resource) return a.resource < b.resource;
    if (a.milli != b.milli) return a.milli < b.milli;
    return a.is_counted < b.is_counted;
  };
  // Most are: devices are taken from the first one on.
  if (!std::is_sorted(devices.begin(), devices.end(), before))
    std::sort(devices.begin(), devices.end(), before);
  if (places_.size() <= 2 * states_.size()) grow();
  const std::size_t last = places_.size() - 1;
  std::size_t at = hash_of(devices) & last;
  for (; places_[at].valid(); at = (at + 1) & last) {
    const auto there = this->devices(places_[at]);
    if (std::equal(there.begin(), there.end(), devices.begin(), devices.end())) return places_[at];
  }
  State state{static_cast<std::uint32_t>(free_.size()), static_cast<std::uint32_t>(devices.size()), 0};
  for (const Free& device : devices) {
    state.idle += device.milli;
    free_.push_back(device);
  }
  places_[at] = DeviceStateId(states_.size());
  states_.push_back(state);
  return places_[at];
}

DeviceStates::Wholes& DeviceStates::wholes_of(ResourceId resource) {
  if (wholes_.size() <= resource.index()) wholes_.resize(resource.index() + 1);
  return wholes_[resource.index()];
}

DeviceStateId DeviceStates::find_whole(ResourceId resource, std::size_t taken, std::size_t free) {
  std::vector<Free> devices(taken, {resource, 0, false});
  devices.resize(taken + free, {resource, kWholeDevice, false});
  const std::size_t row = taken + free;
  return wholes_of(resource)[row * (row + 1) / 2 + free] = intern(devices);
}

// At most half of the places are taken.
void DeviceStates::grow() {
  places_.assign(std::max<std::size_t>(64, 2 * places_.size()), DeviceStateId());
  const std::size_t last = places_.size() - 1;
  for (std::size_t s = 0; s < states_.size(); ++s) {
    std::size_t at = hash_of(devices(DeviceStateId(s))) & last;
    while (places_[at].valid()) at = (at + 1) & last;
    places_[at] = DeviceStateId(s);
  }
}

DeviceRequestId DeviceStates::request(std::span<const ShapeDevices> devices) {
  for (std::size_t i = 0; i < requests_.size(); ++i) {
    if (std::equal(devices.begin(), devices.end(), requests_[i].begin(), requests_[i].end())) {
      return DeviceRequestId(i);
    }
  }
  requests_.emplace_back(devices.begin(), devices.end());
  fits_.emplace_back();
  outcomes_.emplace_back();
  return DeviceRequestId(requests_.size() - 1);
}

std::span<const DeviceStates::Free> DeviceStates::devices(DeviceStateId id) const {
  const State& state = states_[id.index()];
  return {free_.data() + state.begin, state.count};
}

bool DeviceStates::all_counted(DeviceStateId id) const {
  const auto all = devices(id);
  return std::all_of(all.begin(), all.end(), [](const Free& device) { return device.is_counted; });
}

void DeviceStates::find_fit(DeviceStateId state, DeviceRequestId id) {
  auto& row = fits_[id.index()];
  if (row.size() <= state.index()) row.resize(std::max(states_.size(), 2 * row.size()), -1);
  std::int64_t fit = kInt64Max;
  for (const ShapeDevices& want : requests_[id.index()]) {
    std::int64_t pieces = 0;
    for (const Free& device : devices(state)) {
      if (device.resource == want.resource) pieces += device.pieces(want.milli);
    }
    fit = std::min(fit, pieces / want.count);
  }
  row[state.index()] = static_cast<std::int32_t>(std::min<std::int64_t>(fit, kUnlimited));
}

void DeviceStates::find_after(DeviceStateId state, DeviceRequestId id) {
  const std::vector<ShapeDevices> wanted = requests_[id.index()];
  const std::int64_t fit = this->fit(state, id);
  std::vector<DeviceStateId> after;
  if (fit > 0) {
    const std::vector<Free> now(devices(state).begin(), devices(state).end());
    if (wanted.size() == 1 && wanted[0].milli < kWholeDevice) {
      std::int64_t last = -1;
      for (std::size_t i = 0; i < now.size(); ++i) {
        if (now[i].is_counted || now[i].resource != wanted[0].resource || now[i].milli < wanted[0].milli ||
            now[i].milli == last) {
          continue;
        }
        last = now[i].milli;
        std::vector<Free> left = now;
        left[i].milli -= wanted[0].milli;
        after.push_back(intern(left));
      }
    } else {
      std::vector<Free> left = now;
      for (const ShapeDevices& want : wanted) {
        std::int64_t missing = want.count;
        for (Free& device : left) {
          if (missing == 0) break;
          if (device.resource != want.resource) continue;
          const std::int64_t taken = device.is_counted ? std::min(missing, device.pieces(want.milli))
                                                       : (device.milli >= want.milli ? 1 : 0);
          device.milli -= taken * want.milli;
          missing -= taken;
        }
      }
      after.push_back(intern(left));
    }
  }
  auto& row = outcomes_[id.index()];
  if (row.size() <= state.index()) row.resize(std::max(states_.size(), 2 * row.size()));
  row[state.index()] = {static_cast<std::uint32_t>(after_.size()), static_cast<std::uint16_t>(after.size()),
                        true};
  after_.insert(after_.end(), after.begin(), after.end());
}

void DeviceStates::clear() {
  states_.clear();
  free_.clear();
  places_.clear();
  wholes_.clear();
  for (auto& row : fits_) row.clear();
  for (auto& row : outcomes_) row.clear();
  after_.clear();
  ++generation_;
}

}  // namespace berth::engine
