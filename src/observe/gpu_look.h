// Sums over devices for the metrics: the work that has them, the free ones, and the free ones that fit nothing. Amounts in thousandths.
//
// "Fits" looks at devices alone: CPU, memory, labels and quota of a pod may keep it away all the same (explain says so).
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "engine/engine.h"
#include "observe/work_book.h"

namespace berth::observe {

inline double devices(std::int64_t thousandths) {
  return static_cast<double>(thousandths) / static_cast<double>(kWholeDevice);
}

// A slot that has a place and devices.
struct DeviceSlot {
  std::int64_t pod_set = 0;
  std::int64_t index = 0;
  std::string_view node;
  const std::vector<DeviceRequest>* devices = nullptr;
};
// O(slots of its pod sets with devices).
void each_device_slot(const engine::Engine& engine, std::string_view uid, const KnownWork& work,
                      const std::function<void(const DeviceSlot&)>& f);

// The devices of one pod: so many, this much of each.
struct Profile {
  std::string resource;
  std::int64_t count = 0;
  std::int64_t milli = kWholeDevice;
  // "8", or "0.5" for half a device.
  std::string name() const;
  auto operator<=>(const Profile&) const = default;
};
// Those that the most pods ask for, waiting or running.
std::vector<Profile> most_asked(const WorkBook& book, std::size_t most);

struct NodeSums {
  using Key = std::tuple<std::string, std::string, std::string>;
  std::map<Key, std::int64_t> states;  // by pool, resource, state
  struct Fit {
    std::int64_t pods = 0;
    std::int64_t lost = 0;  // free devices that are of no use to these pods
  };
  std::map<Key, Fit> fits;                   // by pool, resource, profile
  std::map<std::string, std::int64_t> idle;  // nodes, by pool
};
// O(nodes x profiles).
NodeSums sum_nodes(const engine::Engine& engine, const WorkBook& book, const std::vector<Profile>& profiles,
                   const std::function<std::string(std::string_view)>& pool_label);

}  // namespace berth::observe
