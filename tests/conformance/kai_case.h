// One case of KAI's own suites as data (kai_objects.h). Its objects go through the dialect into an engine, as `berth scheduler` and `berth
// plan` read them.
//
//   rounds    The engine decides once, and that is carried out. Pods that start run. Pods that are evicted come back at once, without a
//             node. A minute later comes the next round, until nothing more is decided.
//   session   The engine decides until nothing more is decided. Starts are carried out in between. Evicted pods stay until the end.
// The placement of GPUs is all that is read of KAI's configuration. Its actions and plugins are not: Berth has one way to decide.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>

#include "base/result.h"
#include "conformance/engine_run.h"
#include "conformance/kai_outcome.h"
#include "conformance/peer_cases.h"
#include "dialect/objects/decode.h"
#include "text/document.h"

namespace berth::conformance {

class KaiCase : public PeerCase {
 public:
  // The document must outlive the case.
  explicit KaiCase(const text::Document& document);

  std::string suite() const override { return text_at(root_, {"suite"}); }
  std::string name() const override { return text_at(root_, {"name"}); }
  std::string_view left_out() const override;
  Result<Comparison> compare() override;
  std::vector<std::string> waiting() const override { return run_.waiting(); }

 private:
  struct Task {
    const text::Node* job = nullptr;
    const text::Node* task = nullptr;
    int life = 0;
    dialect::Pod pod;
  };

  Status load();
  Status make_pod(Task& task);
  Status decide();
  // Whether anything was decided.
  Result<bool> round(TimeMs now);
  void carry_out(const Decision& decision, TimeMs now);
  Status recreate(const std::set<std::string>& evicted);
  KaiTask state_of(const std::string& name, const Task& task) const;

  const text::Node& root_;
  const bool in_rounds_;
  EngineRun run_;
  dialect::JsonDecoder decoder_;
  std::map<std::string, Task> tasks_;         // by namespace/name
  std::set<std::string> bound_;               // started here, by the same
  std::set<std::string> evicted_;             // in this round, or session
  std::map<std::string, std::string> holds_;  // task -> node
  KaiOutcome outcome_;
};

}  // namespace berth::conformance
