// Goes through a decision log of Berth, line by line, and makes the states that the oracle (tools/kube-oracle) is asked about. A state
// is a cluster as Berth knew it, and the binds and ends that follow. It ends where a step cannot say what changed, such as a node. Private to
// bind_tape.h, which says the rules.
//
// Cost: linear in the log, and in the pods for each state.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "e2e/bind_tape.h"

namespace berth::e2e {

// As the API server showed them. `fixed`: all that is neither a pod nor a node.
struct TapeObjects {
  std::vector<nlohmann::json> pods, nodes, fixed;
};

class TapePlayer {
 public:
  TapePlayer(TapeObjects objects, std::string scheduler);

  // Goes through the log, asks, and reads the answers. Once.
  Result<TapeVerdict> judge(const std::string& decision_log, const std::string& folder,
                            const std::string& oracle);

 private:
  struct Place {
    std::string pod;  // uid
    std::string node;
    bool ending = false;
  };

  // The states, one a line.
  Result<TapeVerdict> play(const std::string& decision_log, const std::string& states);
  void read_answers(const std::string& answers, TapeVerdict& verdict) const;
  void take_event(const nlohmann::json& event, TapeVerdict& verdict);
  void take_slot(const nlohmann::json& event, TapeVerdict& verdict);
  void take_start(const nlohmann::json& decision, TapeVerdict& verdict);
  void take_eviction(const nlohmann::json& decision);
  void begin_session();
  // The pod of a slot that is on this node, or goes there; "": none is known.
  std::string pod_of(const std::string& slot, const std::string& workload, const std::string& node);
  void put(const std::string& slot, Place place);
  void remove(const std::string& slot);
  void open_state();
  void close_state(TapeVerdict& verdict);
  nlohmann::json node_now(const std::string& name) const;
  std::string name_of(const std::string& pod) const;

  const std::string scheduler_;
  const std::vector<nlohmann::json> fixed_;
  std::map<std::string, nlohmann::json> pods_;             // by uid
  std::map<std::string, nlohmann::json> nodes_;            // by name
  std::map<std::string, std::vector<std::string>> gangs_;  // uids of the members, by namespace/gang

  std::map<std::string, nlohmann::json> known_nodes_;  // as Berth knows them: taints, cordon
  std::map<std::string, Place> places_;                // by slot
  std::set<std::string> used_;                         // members that have a slot
  std::set<std::string> told_;                         // pods that were judged where they are bound

  std::optional<nlohmann::json> state_;
  std::set<std::string> names_;  // of the pods that the state binds
  bool changed_ = true;          // since the state was opened, by more than its steps
  std::vector<std::string> lines_;
};

}  // namespace berth::e2e
