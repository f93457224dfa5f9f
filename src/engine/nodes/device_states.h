// Free devices as values. Nodes whose devices are equally free share one device state, whatever the order of the devices. Results
// that depend on devices alone are computed once per state and request, not once per node: the number of fitting slots, the state
// after one, the fragments.
//
// A state is a multiset of (resource, free thousandths); devices that are only counted are one entry. A request is the device
// request of one slot. Both are interned for as long as the table lives; clear() starts again with a new generation, so that memory
// stays bounded (full()). Answers are pure functions of their arguments: when a table is cleared never shows in a decision.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/checked.h"
#include "base/ids.h"
#include "engine/nodes/shape.h"

namespace berth::engine {

using DeviceStateId = Id<struct DeviceStateTag>;
using DeviceRequestId = Id<struct DeviceRequestTag>;

class DeviceStates {
 public:
  struct Free {
    ResourceId resource;
    std::int64_t milli = 0;   // 0 to 1000; of counted ones their sum
    bool is_counted = false;  // devices without numbers, all together: only whole ones can be given

    // How many times so many thousandths of one device are there.
    std::int64_t pieces(std::int64_t each) const {
      if (is_counted) return each == kWholeDevice ? milli / kWholeDevice : 0;
      return milli / each;
    }
    bool operator==(const Free&) const = default;
    auto operator<=>(const Free&) const = default;
  };

  static constexpr std::size_t kMostWhole = 16;

  // In any order; it is sorted in place. O(devices).
  DeviceStateId intern(std::vector<Free>& devices);
  // The same of at most kMostWhole devices of one kind, each with all of it free or nothing. O(1) from the second time on.
  DeviceStateId whole(ResourceId resource, std::size_t taken, std::size_t free) {
    const std::size_t row = taken + free;
    auto& known = wholes_.size() > resource.index() ? wholes_[resource.index()] : wholes_of(resource);
    const DeviceStateId state = known[row * (row + 1) / 2 + free];
    return state.valid() ? state : find_whole(resource, taken, free);
  }
  DeviceRequestId request(std::span<const ShapeDevices> devices);

  std::span<const Free> devices(DeviceStateId id) const;  // ascending
  std::int64_t idle(DeviceStateId id) const { return states_[id.index()].idle; }
  bool all_counted(DeviceStateId id) const;  // no device has a number

  // How many slots with this request fit, by devices alone: kInt64Max for a request without devices.
  std::int64_t fit(DeviceStateId state, DeviceRequestId request) {
    auto& row = fits_[request.index()];
    if (row.size() <= state.index() || row[state.index()] < 0) find_fit(state, request);
    const std::int32_t fit = row[state.index()];
    return fit == kUnlimited ? kInt64Max : fit;
  }
  // The states after one slot has been placed, one per different way. Whole devices and several requests have one way. A share has
  // one way per amount that is free on some device, least first. Empty where nothing fits. Valid until the next call.
  std::span<const DeviceStateId> after(DeviceStateId state, DeviceRequestId request) {
    auto& row = outcomes_[request.index()];
    if (row.size() <= state.index() || !row[state.index()].known) find_after(state, request);
    const Outcome& o = outcomes_[request.index()][state.index()];
    return {after_.data() + o.begin, o.count};
  }

  bool full() const {
    return states_.size() > kMostStates || after_.size() > 8 * kMostStates || free_.size() > 64 * kMostStates;
  }
  // Forgets states and outcomes, keeps requests.
  void clear();
  std::uint64_t generation() const { return generation_; }
  std::size_t size() const { return states_.size(); }

 private:
  static constexpr std::size_t kMostStates = std::size_t{1} << 14;
  static constexpr std::int32_t kUnlimited = 0x7fffffff;

  struct State {
    std::uint32_t begin = 0;
    std::uint32_t count = 0;
    std::int64_t idle = 0;
  };
  struct Outcome {
    std::uint32_t begin = 0;
    std::uint16_t count = 0;
    bool known = false;
  };

  void grow();
  // By the number of devices, and then of free ones.
  using Wholes = std::array<DeviceStateId, (kMostWhole + 1) * (kMostWhole + 2) / 2>;
  Wholes& wholes_of(ResourceId resource);
  DeviceStateId find_whole(ResourceId resource, std::size_t taken, std::size_t free);
  void find_fit(DeviceStateId state, DeviceRequestId request);
  void find_after(DeviceStateId state, DeviceRequestId request);

  std::vector<State> states_;
  std::vector<Free> free_;
  std::vector<DeviceStateId>
      places_;  // of a hash table: each state lies at its hash, or at the next free place behind it
  std::vector<Wholes> wholes_;  // by resource
  std::vector<std::vector<ShapeDevices>> requests_;
  std::vector<std::vector<std::int32_t>> fits_;  // [request][state], -1: not known yet
  std::vector<std::vector<Outcome>> outcomes_;
  std::vector<DeviceStateId> after_;
  std::uint64_t generation_ = 1;
};

}  // namespace berth::engine
