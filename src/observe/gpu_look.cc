#include "observe/gpu_look.h"

#include <fmt/format.h>

#include <algorithm>

namespace berth::observe {
namespace {

// The free devices of one resource on one node.
struct Free {
  std::int64_t whole = 0;
  std::vector<std::int64_t> parts;  // what is free of devices that are used in part
  std::int64_t amount = 0;
  std::int64_t capacity = 0;
  std::int64_t used = 0;
  std::int64_t sick = 0;  // not healthy, and not used
  bool promised = false;
};

std::map<std::string_view, Free> free_on(const engine::NodeView& node) {
  std::map<std::string_view, Free> out;
  for (const auto& device : node.devices) {
    Free& of = out[device.resource];
    of.capacity += kWholeDevice;
    of.used += device.used;
    of.promised |= device.promised > 0;
    const std::int64_t left = kWholeDevice - std::max(device.used, device.promised);
    if (!device.healthy) {
      of.sick += kWholeDevice - device.used;
    } else if (left >= kWholeDevice) {
      ++of.whole;
      of.amount += left;
    } else if (left > 0) {
      of.parts.push_back(left);
      of.amount += left;
    }
  }
  for (const std::string_view counted : node.counted) {
    for (const auto& amount : node.amounts) {
      if (amount.resource != counted) continue;
      Free& of = out[counted];
      of.capacity = amount.capacity;
      of.used = amount.used;
      of.promised = amount.promised > 0;
      of.amount = std::max<std::int64_t>(0, amount.capacity - std::max(amount.used, amount.promised));
      of.whole = of.amount / kWholeDevice;
    }
  }
  return out;
}

std::int64_t pods_that_fit(const Free& of, const Profile& profile) {
  if (profile.count <= 0 || profile.milli <= 0) return 0;
  if (profile.milli >= kWholeDevice) return of.whole / profile.count;
  std::int64_t shares = of.whole * (kWholeDevice / profile.milli);
  for (const std::int64_t part : of.parts) shares += part / profile.milli;
  return shares / profile.count;
}

}  // namespace

void each_device_slot(const engine::Engine& engine, std::string_view uid, const KnownWork& work,
                      const std::function<void(const DeviceSlot&)>& f) {
  for (std::size_t set = 0; set < work.sets.size(); ++set) {
    if (work.sets[set].devices.empty()) continue;
    for (std::int64_t index = 0;; ++index) {
      const auto slot = engine.slot(uid, static_cast<std::int64_t>(set), index);
      if (!slot) break;
      const bool has = slot->state == SlotState::kBinding || slot->state == SlotState::kRunning ||
                       slot->state == SlotState::kReleasing;
      if (has) f({static_cast<std::int64_t>(set), index, slot->node, &work.sets[set].devices});
    }
  }
}

std::string Profile::name() const {
  if (milli >= kWholeDevice) return fmt::format("{}", count);
  std::string share = fmt::format("0.{:03}", milli);
  share.erase(share.find_last_not_of('0') + 1);
  return share;
}

std::vector<Profile> most_asked(const WorkBook& book, std::size_t most) {
  std::map<Profile, std::int64_t> pods;
  for (const auto& [uid, work] : book.all_work()) {
    for (const KnownWork::Set& set : work.sets) {
      for (const DeviceRequest& request : set.devices)
        pods[Profile{request.resource, request.count, request.milli}] += set.count;
    }
  }
  std::vector<std::pair<std::int64_t, Profile>> order;
  for (const auto& [profile, count] : pods) order.emplace_back(-count, profile);
  std::sort(order.begin(), order.end());
  std::vector<Profile> out;
  for (const auto& [count, profile] : order) {
    if (out.size() < most) out.push_back(profile);
  }
  return out;
}

NodeSums sum_nodes(const engine::Engine& engine, const WorkBook& book, const std::vector<Profile>& profiles,
                   const std::function<std::string(std::string_view)>& pool_label) {
  NodeSums out;
  for (const engine::NodeView& view : engine.nodes()) {
    const KnownNode* node = book.node(view.name);
    const std::string pool =
        pool_label(node == nullptr ? std::string_view("none") : std::string_view(node->pool));
    const bool cordoned = node != nullptr && node->cordoned;
    std::int64_t capacity = 0;
    std::int64_t sick = 0;
    bool in_use = false;
    for (const auto& [resource, of] : free_on(view)) {
      const auto add = [&, &name = resource](const char* state, std::int64_t amount) {
        out.states[{pool, std::string(name), state}] += amount;
      };
      const std::int64_t left = std::max<std::int64_t>(0, of.capacity - of.used - of.sick);
      add("used", of.used);
      add("unhealthy", of.sick);
      add("cordoned", cordoned ? left : 0);
      add("free", cordoned ? 0 : left);
      capacity += of.capacity;
      sick += of.sick;
      in_use |= of.used > 0 || of.promised;
      for (const Profile& profile : profiles) {
        if (profile.resource != resource) continue;
        NodeSums::Fit& fit = out.fits[{pool, std::string(resource), profile.name()}];
        if (cordoned) continue;
        const std::int64_t pods = pods_that_fit(of, profile);
        fit.pods += pods;
        fit.lost += of.amount - pods * profile.count * profile.milli;
      }
    }
    if (capacity == 0) continue;
    std::int64_t& idle = out.idle[pool];
    if (!in_use && !cordoned && sick < capacity) ++idle;
  }
  return out;
}

}  // namespace berth::observe
