// Two logs of the same work, compared per workload.
#include "observe/what_if.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "observe/log_support.h"

namespace berth::observe {
namespace {

using ::testing::HasSubstr;

// One node of four GPUs. a (4 GPUs) runs from 1 s to 11 s; b (4) comes at 2 s and waits for it, but where there is `room`,
// a second node.
std::string log_of(bool room) {
  std::string log;
  RecordedEngine recorded({}, [&](std::string_view line) {
    log += line;
    log += '\n';
    return Status();
  });
  const auto apply = [&](const Event& event) { EXPECT_TRUE(recorded.apply(event)); };
  apply(FlavorUpsert{Flavor{"default", {}, {}, {}, {}}});
  apply(testing::gpu_node("n", 4));
  if (room) apply(testing::gpu_node("m", 4));
  apply(testing::gpu_queue("q", 100));
  const auto gang = [&](const char* uid, std::int64_t count, TimeMs created) {
    Event event = testing::gpu_gang(uid, "q", count);
    std::get<WorkloadUpsert>(event).workload.created = created;
    apply(event);
    (void)recorded.decide(created);
  };
  gang("a", 4, 1000);
  gang("b", 4, 2000);
  apply(WorkloadRemove{"a"});
  (void)recorded.decide(11'000);
  (void)recorded.decide(20'000);
  return log;
}

TEST(WhatIf, NamesEarlierStartsAndObstacles) {
  const testing::ScratchFolder folder;
  testing::write_bytes(folder.file("one"), log_of(false));
  testing::write_bytes(folder.file("two"), log_of(true));
  const auto better = what_if(folder.file("one"), folder.file("two"), 10);
  ASSERT_TRUE(better) << better.error().str();
  EXPECT_EQ(better->both, 2);
  EXPECT_EQ(better->earlier, 1);
  EXPECT_EQ(better->later, 0);
  EXPECT_EQ(better->equal, 1);
  EXPECT_EQ(static_cast<std::int64_t>(better->saved_ms), 9000);
  ASSERT_EQ(better->moved.size(), 1u);
  const WhatIfRow& row = better->moved[0];
  EXPECT_EQ(row.uid, "b");
  EXPECT_EQ(row.queue, "q");
  EXPECT_EQ(row.change, -9000);
  EXPECT_EQ(row.before.started, 11'000);
  EXPECT_EQ(row.after.started, 2000);
  ASSERT_EQ(row.reasons.size(), 1u);
  EXPECT_EQ(row.reasons[0].reason, "Nodes");
  EXPECT_EQ(row.reasons[0].time, 9000);
  EXPECT_THAT(row.in_full, HasSubstr("room for 0"));

  // The other way round: the reasons come from the same log.
  const auto worse = what_if(folder.file("two"), folder.file("one"), 10);
  ASSERT_TRUE(worse);
  EXPECT_EQ(worse->later, 1);
  ASSERT_EQ(worse->moved.size(), 1u);
  EXPECT_EQ(worse->moved[0].change, 9000);
  EXPECT_EQ(worse->moved[0].reasons.at(0).reason, "Nodes");
}

TEST(WhatIf, EqualLogsDoNotDiffer) {
  const testing::ScratchFolder folder;
  testing::write_bytes(folder.file("one"), testing::session_log());
  const auto same = what_if(folder.file("one"), folder.file("one"), 10);
  ASSERT_TRUE(same) << same.error().str();
  EXPECT_GT(same->both, 0);
  EXPECT_EQ(same->equal, same->both);
  EXPECT_TRUE(same->moved.empty());
}

TEST(WhatIf, AWorkloadOfAnotherNameIsAnotherWorkload) {
  const testing::ScratchFolder folder;
  std::string log = log_of(false);
  testing::write_bytes(folder.file("one"), log);
  const std::string name = R"("uid":"b","name":")";
  const auto at = log.find(name);
  ASSERT_NE(at, std::string::npos) << log;
  log.insert(at + name.size(), "other-");
  testing::write_bytes(folder.file("two"), log);
  const auto differ = what_if(folder.file("one"), folder.file("two"), 10);
  ASSERT_TRUE(differ) << differ.error().str();
  EXPECT_EQ(differ->both, 1);
  EXPECT_EQ(differ->only_before, 1);
  EXPECT_EQ(differ->only_after, 1);
}

TEST(WhatIf, ALogThatThisEngineDoesNotReproduceIsRefused) {
  const testing::ScratchFolder folder;
  std::string log = log_of(false);
  // It says that b started elsewhere.
  const std::string there = R"("node":"n")";
  const auto at = log.rfind(there);
  ASSERT_NE(at, std::string::npos);
  log.replace(at, there.size(), R"("node":"x")");
  testing::write_bytes(folder.file("one"), log);
  testing::write_bytes(folder.file("two"), log_of(true));
  const auto refused = what_if(folder.file("one"), folder.file("two"), 10);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("decides otherwise"));
  EXPECT_FALSE(what_if(folder.file("none"), folder.file("two"), 10));
}

}  // namespace
}  // namespace berth::observe
