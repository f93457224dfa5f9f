// Nodes and devices that are out, the repairs under way, and the failures to come. Internal to the room.
//
// Cost: O(devices of the node) per call.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "model/node.h"
#include "sim/course/faults.h"
#include "sim/replay/replay.h"

namespace berth::sim {

class Outages {
 public:
  explicit Outages(const Input& input) : input_(input) {}
  Status prepare();

  std::size_t rules() const { return faults_.rules(); }
  TimeMs first(std::uint32_t rule, TimeMs begin) { return faults_.first(rule, begin); }
  TimeMs next(std::uint32_t rule, TimeMs now) { return faults_.next(rule, now); }
  // Takes out by the rule now; nodes and devices that are out already are left out.
  Fault strike(std::uint32_t rule);
  // It struck while nothing else was ahead; take_resting(): those rules, since the last call.
  void rest(std::uint32_t rule) { resting_.push_back(rule); }
  std::vector<std::uint32_t> take_resting() { return std::exchange(resting_, {}); }

  // A number for the repair, by which end_repair() gives the fault.
  std::uint32_t begin_repair(Fault fault);
  Fault end_repair(std::uint32_t at);

  // One failure more, or less, of the node (device -1) or the device. bring_back(): true: none is left.
  void take_out(std::uint32_t node, std::int64_t device);
  bool bring_back(std::uint32_t node, std::int64_t device);
  bool is_out(std::uint32_t node) const { return node_out_[node] > 0; }
  // GPUs of the node that take no work now.
  std::int64_t gpu_milli(std::uint32_t node) const;
  // The node with the devices that are out.
  Node node_now(std::uint32_t node) const;

 private:
  const Input& input_;
  Faults faults_;
  std::vector<Fault> repairing_;
  std::vector<std::uint32_t> free_repairs_;
  std::vector<std::int32_t> node_out_;                 // per node: failures that it is out for
  std::vector<std::vector<std::int32_t>> device_out_;  // per node and device; empty = none ever
  std::vector<std::uint32_t> resting_;                 // rules
};

}  // namespace berth::sim
