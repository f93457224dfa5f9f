// One case of Kueue's own suites as data (format: README of the shared conformance folder): its objects go through the
// dialect into an engine without nodes, the engine decides, and the outcome is compared with what Kueue does.
//
// Comparison is the data's verdict "exact": sets of admitted, newly admitted, evicted and pending workloads, ClusterQueue,
// flavor per resource and count of each admitted pod set, victims with their reasons. Victims of cases with tieBreaks "uid"
// are compared by number per ClusterQueue. Wording and counters are not compared.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "dialect/intake/intake.h"
#include "engine/engine.h"
#include "text/document.h"

namespace berth::conformance {

class KueueCase {
 public:
  // The document must outlive the case.
  explicit KueueCase(const text::Document& document);

  std::string suite() const { return text("suite"); }
  std::string name() const { return text("name"); }
  std::string kind() const { return text("kind"); }
  // Comparable at all: portable, and Kueue decides the same under its default gates.
  bool applies() const;

  // The differences from the expectation, one line each; empty: exact. kInvalid where the case cannot be read.
  Result<std::vector<std::string>> differences();

 private:
  struct PodSetQuota {
    std::map<std::string, std::string> flavors;
    std::int64_t count = 0;
    bool operator==(const PodSetQuota&) const = default;
  };
  struct Holding {
    std::string queue;
    std::map<std::string, PodSetQuota> pod_sets;
  };
  struct Outcome {
    std::map<std::string, Holding> started;      // by namespace/name
    std::map<std::string, std::string> evicted;  // name -> Kueue's reason
    std::map<std::string, std::string> beneficiary;
    std::set<std::string> replaced;  // slices that are over, since another has their places
  };

  std::string text(std::string_view key) const;
  Status load();
  Result<Outcome> decide(std::int64_t cycles);
  void compare_cycle(const text::Node& expect, const Outcome& outcome, bool whole,
                     std::vector<std::string>& out) const;
  void compare_targets(const text::Node& expect, const Outcome& outcome, std::vector<std::string>& out) const;
  void compare_available(std::vector<std::string>& out);
  Status compare_shares(std::vector<std::string>& out);
  bool ties_by_uid() const;
  std::string name_of(const std::string& uid) const;

  const text::Document& document_;
  const text::Node& root_;
  dialect::Intake intake_;
  engine::Engine engine_;
  std::map<std::string, dialect::KueueWorkload> workloads_;  // by namespace/name
  std::map<std::string, std::string> by_uid_;                // uid -> namespace/name
  std::set<std::string> unreadable_;                         // workloads, by namespace/name
};

}  // namespace berth::conformance
