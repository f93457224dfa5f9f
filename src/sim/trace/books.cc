#include "sim/trace/books.h"

#include <algorithm>

#include "sim/trace/trace.h"

namespace berth::sim {

Books::Books(const std::vector<Node>& nodes) : nodes_(&nodes) {
  accounts_.reserve(nodes.size());
  for (const Node& node : nodes) {
    index_.emplace(node.name, static_cast<std::uint32_t>(accounts_.size()));
    Account account;
    account.free = node.allocatable;
    cpu_capacity_ += node.allocatable.get("cpu");
    for (const DevicePool& pool : node.devices) {
      account.device_free.insert(account.device_free.end(), static_cast<std::size_t>(pool.count), 1000);
      account.is_gpu.resize(account.device_free.size(), pool.resource == kGpu);
      if (pool.resource == kGpu) gpu_capacity_ += pool.count * 1000;
    }
    account.device_out.resize(account.device_free.size(), false);
    count_idle(account, 1);
    accounts_.push_back(std::move(account));
  }
}

Result<std::uint32_t> Books::node(std::string_view name) const {
  const auto it = index_.find(name);
  if (it == index_.end())
    return fail(ErrorCode::kInternal, "a start names the node '{}', which does not exist", name);
  return it->second;
}

Status Books::charge(std::uint32_t node, const PodTemplate& pod, const SlotPlacement& slot) {
  count_idle(accounts_[node], -1);
  Status charged = charge_account(node, pod, slot);
  count_idle(accounts_[node], 1);
  return charged;
}

Status Books::charge_account(std::uint32_t node, const PodTemplate& pod, const SlotPlacement& slot) {
  Account& account = accounts_[node];
  const std::string& name = (*nodes_)[node].name;
  if (account.out) return fail(ErrorCode::kInternal, "a start names the node {}, which has failed", name);
  for (const auto& [resource, amount] : pod.requests) {
    // A node that does not name a resource does not count it.
    if (!account.free.has(resource)) {
      return fail(ErrorCode::kInternal, "node {} has no {}, but a pod that asks for it was started there",
                  name, resource);
    }
    const std::int64_t left = account.free.get(resource) - amount;
    if (left < 0) {
      return fail(ErrorCode::kInternal, "node {} is oversubscribed: {} {} too much", name,
                  format_amount(resource, -left), resource);
    }
    account.free.set(resource, left);
  }
  std::size_t at = 0;
  for (const DeviceRequest& request : pod.claim.requests) {
    for (std::int64_t i = 0; i < request.count; ++i, ++at) {
      const std::int64_t device = at < slot.devices.size() ? slot.devices[at] : -1;
      if (device < 0 || device >= static_cast<std::int64_t>(account.device_free.size())) {
        return fail(ErrorCode::kInternal, "a start on node {} names device {}, which it does not have", name,
                    device);
      }
      if (account.device_out[static_cast<std::size_t>(device)]) {
        return fail(ErrorCode::kInternal, "a start names device {} of node {}, which has failed", device,
                    name);
      }
      std::int64_t& left = account.device_free[static_cast<std::size_t>(device)];
      if (left < request.milli) {
        return fail(ErrorCode::kInternal,
                    "device {} of node {} is oversubscribed: {} thousandths are free, {} were given out",
                    device, name, left, request.milli);
      }
      left -= request.milli;
    }
  }
  if (at != slot.devices.size()) {
    return fail(ErrorCode::kInternal, "a start on node {} names {} devices where {} are asked for", name,
                slot.devices.size(), at);
  }
  return {};
}

void Books::release(std::uint32_t node, const PodTemplate& pod, const SlotPlacement& slot) {
  Account& account = accounts_[node];
  count_idle(account, -1);
  for (const auto& [resource, amount] : pod.requests) {
    account.free.set(resource, account.free.get(resource) + amount);
  }
  std::size_t at = 0;
  for (const DeviceRequest& request : pod.claim.requests) {
    for (std::int64_t i = 0; i < request.count; ++i, ++at) {
      account.device_free[static_cast<std::size_t>(slot.devices[at])] += request.milli;
    }
  }
  count_idle(account, 1);
}

void Books::count_idle(const Account& account, std::int64_t sign) {
  if (account.out) return;
  std::int64_t usable = 0;
  std::int64_t whole = 0;
  for (std::size_t i = 0; i < account.device_free.size(); ++i) {
    if (!account.is_gpu[i] || account.device_out[i]) continue;
    ++usable;
    const std::int64_t left = account.device_free[i];
    if (left == 1000) {
      ++whole;
    } else {
      idle_.parts_milli += sign * left;
    }
  }
  (whole == usable ? idle_.free_nodes_milli : idle_.whole_milli) += sign * whole * 1000;
}

void Books::set_node_out(std::uint32_t node, bool out) {
  count_idle(accounts_[node], -1);
  accounts_[node].out = out;
  count_idle(accounts_[node], 1);
}

void Books::set_device_out(std::uint32_t node, std::int64_t device, bool out) {
  count_idle(accounts_[node], -1);
  accounts_[node].device_out[static_cast<std::size_t>(device)] = out;
  count_idle(accounts_[node], 1);
}

bool Books::all_free() const {
  for (std::size_t i = 0; i < accounts_.size(); ++i) {
    if (accounts_[i].free != (*nodes_)[i].allocatable) return false;
    if (std::any_of(accounts_[i].device_free.begin(), accounts_[i].device_free.end(),
                    [](std::int64_t free) { return free != 1000; })) {
      return false;
    }
  }
  return true;
}

}  // namespace berth::sim
