// The simulator's own account of the nodes, kept from the decisions alone. It is a second opinion. A start beyond the capacity of a
// node or device, or on a node that does not exist, is an error of the engine. It ends the simulation with the node's name. O(1)
// per slot (a hash look-up), plus its devices.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "model/decision.h"
#include "model/node.h"
#include "model/workload.h"

namespace berth::sim {

// Free GPUs, in thousandths, by their remaining use. Their sum is the capacity less what is given out or out of service.
struct IdleGpus {
  std::int64_t free_nodes_milli = 0;  // on nodes none of whose GPUs is in use: a gang member of any size fits
  std::int64_t whole_milli = 0;       // whole GPUs of nodes where others are in use
  std::int64_t parts_milli = 0;       // what is left of GPUs that are given out in part
  bool operator==(const IdleGpus&) const = default;
};

class Books {
 public:
  // `nodes` must outlive the books.
  explicit Books(const std::vector<Node>& nodes);

  Result<std::uint32_t> node(std::string_view name) const;
  Status charge(std::uint32_t node, const PodTemplate& pod, const SlotPlacement& slot);
  void release(std::uint32_t node, const PodTemplate& pod, const SlotPlacement& slot);

  // A node or a device that is out takes nothing: charging it is an error. Its contents must be released first.
  void set_node_out(std::uint32_t node, bool out);
  void set_device_out(std::uint32_t node, std::int64_t device, bool out);

  std::int64_t gpu_capacity_milli() const { return gpu_capacity_; }
  std::int64_t cpu_capacity_milli() const { return cpu_capacity_; }
  const IdleGpus& idle() const { return idle_; }
  // Whether nothing is charged anywhere: true when all jobs are gone.
  bool all_free() const;

 private:
  struct Account {
    ResourceList free;
    std::vector<std::int64_t> device_free;  // milli, all pools in their order
    std::vector<bool> device_out;
    bool out = false;
    std::vector<bool> is_gpu;  // per device
  };

  Status charge_account(std::uint32_t node, const PodTemplate& pod, const SlotPlacement& slot);
  // Takes the node's idle GPUs into idle_ (sign 1) or out of it (-1). O(devices of the node).
  void count_idle(const Account& account, std::int64_t sign);

  const std::vector<Node>* nodes_;
  std::vector<Account> accounts_;
  std::unordered_map<std::string_view, std::uint32_t> index_;
  std::int64_t gpu_capacity_ = 0;
  std::int64_t cpu_capacity_ = 0;
  IdleGpus idle_;
};

}  // namespace berth::sim
