// One case of Volcano's own suites as data. Its objects go through the dialect into an engine, as `berth scheduler` and `berth plan` read
// them. The engine decides until nothing more is decided. Starts are carried out in between. Evicted pods stay until the end of the
// session, as in Volcano.
//
// Where a case has something without an object, it is brought in as it would be in a cluster:
//   ages           none: then Berth goes by arrival, and the objects arrive in the order of Volcano's tie-break (uid)
//   hyperNodes     where the test has the sets alone, a HyperNode of each
//   shard          the nodes of other shards have a taint: NoSchedule where it is hard, PreferNoSchedule where it is soft
// Volcano's configuration (actions, plugins and their arguments) is not read: Berth has one way to decide.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "base/result.h"
#include "conformance/engine_run.h"
#include "conformance/peer_cases.h"
#include "conformance/volcano_outcome.h"
#include "text/document.h"

namespace berth::conformance {

class VolcanoCase : public PeerCase {
 public:
  // The document must outlive the case.
  explicit VolcanoCase(const text::Document& document);

  std::string suite() const override { return text_at(root_, {"suite"}); }
  std::string name() const override { return text_at(root_, {"name"}); }
  std::string_view left_out() const override;
  Result<Comparison> compare() override;
  std::vector<std::string> waiting() const override { return run_.waiting(); }

 private:
  Status load();
  Status add(const text::Node& object, std::vector<dialect::Object>& others);
  void add_hyper_nodes(std::vector<dialect::Object>& others) const;
  void decide();
  void carry_out(const Decision& decision);
  void note_phases();

  const text::Document& document_;
  const text::Node& root_;
  EngineRun run_;
  std::map<std::pair<std::string, std::string>, dialect::Pod> pods_;  // by group and uid
  std::map<std::string, dialect::Pod*> by_uid_;
  VolcanoOutcome outcome_;
};

}  // namespace berth::conformance
