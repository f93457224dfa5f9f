// Helpers of the dialect's tests: objects from YAML, an intake with an engine behind it.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "dialect/intake/intake.h"
#include "dialect/objects/decode.h"
#include "engine/engine.h"

namespace berth::dialect::testing {

// All objects of a YAML text, through the tree feed; fails the test on an error.
std::vector<Object> objects_of(const std::string& yaml);
// The same objects through JSON, as a watch delivers them.
std::vector<Object> objects_of_json(const std::string& yaml);

// A small cluster in text: `nodes` nodes named n0... with `gpus` GPUs and 64 CPUs each.
std::string node_yaml(const std::string& name, int gpus, const std::string& extra_labels = "");
// A pod. `head` goes into metadata (indented by two), `spec` into spec (indented by two).
std::string pod_yaml(const std::string& name, int gpus, const std::string& head = "",
                     const std::string& spec = "");

struct World {
  Intake intake;
  engine::Engine engine;
  std::vector<std::string> refused;      // events that the engine did not take
  std::map<std::string, Workload> told;  // by uid, as the engine was told last

  explicit World(IntakeConfig config = {}) : intake(std::move(config)) {}
  void apply(const std::string& yaml);
  void remove(Kind kind, const std::string& name) {
    intake.remove(kind, is_namespaced(kind) ? "default" : "", name);
    drain();
  }
  void drain();
  std::vector<Decision> decide(TimeMs now = 1000) { return engine.decide(now); }
  // "workload: pod->node, ..." of the starts, sorted by pod set and index.
  std::vector<std::string> started(const std::vector<Decision>& decisions) const;
};

}  // namespace berth::dialect::testing
