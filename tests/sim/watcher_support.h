// A second pair of eyes between the simulator and the engine: it knows only the events and the decisions that pass, and derives
// from them alone the places of jobs and the failed units.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "sim/replay/decider.h"

namespace berth::sim {

class Watcher final : public Decider {
 public:
  explicit Watcher(const engine::EngineConfig& config) : inner_(config) {}

  Status apply(const Event& event) override;
  Result<std::vector<Decision>> decide(TimeMs now) override;
  const engine::Engine& engine() const override { return inner_.engine(); }

  // The first errors; empty if there were none.
  const std::vector<std::string>& wrongs() const { return wrongs_; }
  std::int64_t nodes_out() const { return nodes_out_; }
  std::int64_t devices_out() const { return devices_out_; }
  std::int64_t slots_lost() const { return slots_lost_; }
  std::int64_t partial_evictions() const { return partial_evictions_; }
  // Whether nothing is left anywhere.
  bool empty() const { return places_.empty(); }

 private:
  using Slot = std::tuple<std::string, std::int64_t, std::int64_t>;
  struct Place {
    std::string node;
    std::vector<std::int64_t> devices;
    bool ending = false;
  };
  void wrong(std::string what);
  void forget(const Slot& slot) { places_.erase(slot); }
  void check_node(const Node& node);

  EngineDecider inner_;
  std::map<Slot, Place> places_;
  std::map<std::string, std::set<std::int64_t>> nodes_;  // that are in service: devices that are not
  std::vector<std::string> wrongs_;
  std::int64_t nodes_out_ = 0;
  std::int64_t devices_out_ = 0;
  std::int64_t slots_lost_ = 0;
  std::int64_t partial_evictions_ = 0;
};

}  // namespace berth::sim
