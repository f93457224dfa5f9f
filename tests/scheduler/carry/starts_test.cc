// A scheduler that starts anew: work that runs has run since its pods say so.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "scheduler/world_support.h"
#include "text/time.h"

namespace berth::scheduler::testing {
namespace {

using nlohmann::json;

// A pod of 4 GPUs that has run on n1 for so long.
void running(World& w, const std::string& name, DurationMs time) {
  json pod =
      json::parse(pod_json({.name = name, .owner = "ReplicaSet", .node = "n1", .gpus = 4}, ++w.version));
  const std::string since = text::format_time_seconds(w.now - time);
  pod["metadata"]["creationTimestamp"] = text::format_time_seconds(w.now - 24 * kHour);
  pod["status"]["phase"] = "Running";
  pod["status"]["startTime"] = since;
  pod["status"]["conditions"] =
      json::array({{{"type", "PodScheduled"}, {"status", "True"}, {"lastTransitionTime", since}}});
  w.object(dialect::Kind::kPod, name, pod.dump());
}

// Which of the two ends for work of higher priority.
std::string victim(bool long_first, DurationMs restarted_after = 0) {
  World w;
  w.node("n1", 8);
  running(w, long_first ? "long" : "short", long_first ? 10 * kHour : 2 * kMinute);
  running(w, long_first ? "short" : "long", long_first ? 2 * kMinute : 10 * kHour);
  w.recover();
  w.turn();
  w.pass(restarted_after);
  w.pod({.name = "urgent", .priority = 10, .gpus = 4});
  w.turn();
  std::string out;
  for (const char* name : {"long", "short"}) {
    if (w.slot(uid_of(name)) == SlotState::kReleasing) out += name;
  }
  return out;
}

TEST(AfterARestart, ShorterRunsLoseLess) {
  EXPECT_EQ(victim(true), "short");
  EXPECT_EQ(victim(false), "short") << "in whatever order they are seen";
  EXPECT_EQ(victim(false, kMinute), "short");
}

}  // namespace
}  // namespace berth::scheduler::testing
