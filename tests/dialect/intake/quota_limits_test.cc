// Which limits of ClusterQueues and Cohorts are valid, as Kueue's webhooks say (pkg/webhooks), and what becomes of those that are not where
// no webhook stands in front of Berth.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <string>

#include "dialect/dialect_support.h"
#include "dialect/intake/intake.h"

namespace berth::dialect {
namespace {

std::string groups(const std::string& quota) {
  return fmt::format(
      "resourceGroups: [{{coveredResources: [cpu], flavors: [{{name: f, resources: [{{name: cpu, {}}}]}}]}}]",
      quota);
}
std::string cohort(const std::string& parent, const std::string& quota) {
  return fmt::format(
      "{{apiVersion: kueue.x-k8s.io/v1beta2, kind: Cohort, metadata: {{name: x}}, spec: {{{}{}}}}}\n---\n",
      parent.empty() ? "" : "parentName: " + parent + ", ", groups(quota));
}
std::string child_queue(const std::string& above, const std::string& quota) {
  return fmt::format(
      "{{apiVersion: kueue.x-k8s.io/v1beta2, kind: ClusterQueue, metadata: {{name: x}}, spec: "
      "{{{}{}}}}}\n---\n",
      above.empty() ? "" : "cohortName: " + above + ", ", groups(quota));
}

// Its form in the engine.
Queue told(const std::string& object) {
  Intake intake;
  const std::string flavor =
      "{apiVersion: kueue.x-k8s.io/v1beta2, kind: ResourceFlavor, metadata: {name: f}}\n---\n";
  for (auto& o : testing::objects_of(flavor + object)) intake.upsert(std::move(o));
  std::vector<Event> events;
  intake.drain(events);
  for (const auto& event : events) {
    const auto* upsert = std::get_if<QueueUpsert>(&event);
    if (upsert != nullptr && (upsert->queue.name == "x" || upsert->queue.name == "cohort:x"))
      return upsert->queue;
  }
  return {};
}

struct QuotaCase {
  const char* what;
  std::string object;
  bool valid;
  std::optional<std::int64_t> borrowing, lending;  // where it is valid
};

TEST(QuotaLimits, AreThoseOfKueue) {
  const QuotaCase cases[] = {
      {"a ClusterQueue lends at most its nominal quota",
       child_queue("all", "nominalQuota: 4, lendingLimit: 5"),
       false,
       {},
       {}},
      {"all of it", child_queue("all", "nominalQuota: 4, lendingLimit: 4"), true, {}, 4000},
      {"a Cohort lends what its subtree has",
       cohort("all", "nominalQuota: 0, lendingLimit: 5"),
       true,
       {},
       5000},
      {"and borrows", cohort("all", "nominalQuota: 1, borrowingLimit: 7"), true, 7000, {}},
      {"of a Cohort without a parent limits mean nothing",
       cohort("", "nominalQuota: 1, borrowingLimit: 7, lendingLimit: 0"),
       true,
       {},
       {}},
      {"of a ClusterQueue without a cohort, too",
       child_queue("", "nominalQuota: 1, borrowingLimit: 7, lendingLimit: 0"),
       true,
       {},
       {}},
      {"a negative nominal quota", cohort("all", "nominalQuota: -1"), false, {}, {}},
      {"a negative borrowing limit",
       child_queue("all", "nominalQuota: 1, borrowingLimit: -1"),
       false,
       {},
       {}},
      {"a negative lending limit", cohort("all", "nominalQuota: 1, lendingLimit: -1"), false, {}, {}},
  };
  for (const QuotaCase& c : cases) {
    const Queue queue = told(c.object);
    EXPECT_EQ(queue.disabled.empty(), c.valid) << c.what << ": " << queue.disabled;
    if (!c.valid) continue;
    ASSERT_EQ(queue.quotas.size(), 1u) << c.what;
    EXPECT_EQ(queue.quotas[0].borrowing_limit, c.borrowing) << c.what;
    EXPECT_EQ(queue.quotas[0].lending_limit, c.lending) << c.what;
  }
}

}  // namespace
}  // namespace berth::dialect
