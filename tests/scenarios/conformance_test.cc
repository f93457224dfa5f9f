// Kueue's own cases of quota arithmetic (TestAvailable), read from the shared conformance data where that is at hand: BERTH_SHARED,
// or a folder shared/ beside the tree. The queue objects go through the dialect, the usage of the admitted Workloads is seen as
// running pods of that flavor.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>

#include "dialect/decode.h"
#include "dialect/intake.h"
#include "engine/engine.h"
#include "text/quantity.h"
#include "text/source.h"

namespace berth::dialect {
namespace {

namespace fs = std::filesystem;

fs::path cases_file() {
  const char* shared = std::getenv("BERTH_SHARED");
  const fs::path root =
      shared != nullptr ? fs::path(shared) : fs::path(BERTH_SOURCE_DIR).parent_path() / "shared";
  return root / "conformance" / "kueue" / "TestAvailable.jsonl";
}

std::int64_t amount(std::string_view resource, std::string_view text) {
  return text::parse_quantity(text, units_per_one(resource)).value();
}

// One engine with the case's queues; with_usage adds what the admitted Workloads use.
class Case {
 public:
  Case(const text::Document& document, bool with_usage) {
    Intake intake;
    const text::Node& objects = *document.root().find("objects");
    for (const auto& object : objects.items()) {
      const auto kind = kind_of(object.find("apiVersion")->text(), object.find("kind")->text());
      if (!kind) continue;
      auto decoded = decode(document, object, *kind, {});
      EXPECT_TRUE(decoded) << decoded.error().str();
      intake.upsert(std::move(*decoded));
    }
    std::vector<Event> events;
    intake.drain(events);
    for (auto& event : events) {
      // A node per flavor, so that where a pod runs says which flavor it is charged to.
      if (auto* upsert = std::get_if<FlavorUpsert>(&event)) {
        upsert->flavor.node_labels = {{"flavor", upsert->flavor.name}};
        Node node;
        node.name = "node-of-" + upsert->flavor.name;
        node.labels = upsert->flavor.node_labels;
        apply(NodeUpsert{node});
      }
      apply(event);
    }
    if (!with_usage) return;
    for (const auto& object : objects.items()) {
      if (object.find("kind")->text() == "Workload") use(object);
    }
  }

  // cq/flavor/resource -> what the queue can still take, never below zero (as Kueue reports it).
  std::map<std::string, std::int64_t> available() const {
    std::map<std::string, std::int64_t> out;
    for (const auto& queue : engine_.queues()) {
      if (queue.name.empty() || queue.name.starts_with(kCohortPrefix)) continue;
      for (const auto& q : queue.quotas) {
        out[fmt::format("{}/{}/{}", queue.name, q.flavor, q.resource)] =
            std::max<std::int64_t>(0, q.available);
      }
    }
    return out;
  }

 private:
  void apply(const Event& event) {
    const auto status = engine_.apply(event);
    EXPECT_TRUE(status) << status.error().str();
  }
  void use(const text::Node& object) {
    const text::Node& admission = *object.at({"status", "admission"});
    for (const auto& set : admission.find("podSetAssignments")->items()) {
      for (const auto& [key, used] : set.find("resourceUsage")->entries()) {
        const std::string resource(key.text());
        const std::string flavor(set.find("flavors")->find(resource)->text());
        Workload w;
        w.uid = fmt::format("{}/{}/{}", object.at({"metadata", "name"})->text(), set.find("name")->text(),
                            resource);
        w.name = w.uid;
        w.queue = admission.find("clusterQueue")->text();
        PodSet pods;
        pods.name = "main";
        pods.pod.requests.set(resource, amount(resource, used.text()));
        w.root.pod_sets.push_back(pods);
        apply(WorkloadUpsert{w});
        apply(SlotUpdate{w.uid, 0, 0, SlotState::kRunning, "node-of-" + flavor});
      }
    }
  }

  engine::Engine engine_;
};

std::map<std::string, std::int64_t> expected(const text::Node& table) {
  std::map<std::string, std::int64_t> out;
  for (const auto& [queue, flavors] : table.entries()) {
    for (const auto& [flavor, resources] : flavors.entries()) {
      for (const auto& [resource, text] : resources.entries()) {
        out[fmt::format("{}/{}/{}", queue.text(), flavor.text(), resource.text())] =
            amount(resource.text(), text.text());
      }
    }
  }
  return out;
}

TEST(KueueConformance, Available) {
  if (!fs::exists(cases_file()))
    GTEST_SKIP() << cases_file() << " is not there (BERTH_SHARED names its folder)";
  auto source = text::ByteSource::open(cases_file().string());
  ASSERT_TRUE(source) << source.error().str();
  text::LineReader lines(*source);
  int cases = 0;
  for (;;) {
    const auto line = lines.next();
    ASSERT_TRUE(line) << line.error().str();
    if (!*line) break;
    const auto document = text::parse_json(std::string(**line), cases_file().string(), {}, lines.line());
    ASSERT_TRUE(document) << document.error().str();
    SCOPED_TRACE(document->root().find("name")->text());
    EXPECT_EQ(Case(*document, true).available(), expected(*document->root().at({"expect", "available"})));
    EXPECT_EQ(Case(*document, false).available(),
              expected(*document->root().at({"expect", "potentiallyAvailable"})));
    ++cases;
  }
  EXPECT_GE(cases, 6);
}

}  // namespace
}  // namespace berth::dialect
