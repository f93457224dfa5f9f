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
#include "conformance/volcano_outcome.h"
#include "dialect/intake/intake.h"
#include "engine/engine.h"
#include "text/document.h"

namespace berth::conformance {

class VolcanoCase {
 public:
  // The document must outlive the case.
  explicit VolcanoCase(const text::Document& document);

  std::string suite() const { return text("suite"); }
  std::string name() const { return text("name"); }
  // Words for something in it that Berth does not read at all; "": it reads all.
  std::string_view left_out() const;

  // kInvalid where the case cannot be read.
  Result<VolcanoComparison> compare();
  // One line for each work that waits after compare().
  std::vector<std::string> waiting() const;

 private:
  std::string text(std::string_view key) const;
  Status load();
  Status add(const text::Node& object, std::vector<dialect::Object>& others);
  void add_hyper_nodes(std::vector<dialect::Object>& others) const;
  void drain();
  void decide();
  void carry_out(const Decision& decision);
  std::string name_of(const std::string& workload, const SlotPlacement& slot) const;
  void note_phases();

  const text::Document& document_;
  const text::Node& root_;
  dialect::Intake intake_;
  engine::Engine engine_;
  std::map<std::pair<std::string, std::string>, dialect::Pod> pods_;  // by group and uid
  std::map<std::string, dialect::Pod*> by_uid_;
  VolcanoOutcome outcome_;
};

}  // namespace berth::conformance
