// Places of work whose pods are not there yet are bounded by namespace.
#include "dialect/books/place_budget.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "dialect/dialect_support.h"
#include "dialect/intake/intake.h"
#include "dialect/objects/decode.h"

namespace berth::dialect {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(PlaceBudget, IsOfANamespace) {
  PlaceBudget budget;
  EXPECT_TRUE(budget.take("a", "one", PlaceBudget::kMost));
  EXPECT_FALSE(budget.take("a", "two", PlaceBudget::kSmall + 1));
  EXPECT_TRUE(budget.take("a", "small", PlaceBudget::kSmall));
  EXPECT_TRUE(budget.take("b", "other", PlaceBudget::kMost));
  EXPECT_FALSE(budget.take("b", "huge", kInt64Max));
}

TEST(PlaceBudget, RefusedWorkAsksAgainWhenPlacesAreFree) {
  PlaceBudget budget;
  EXPECT_TRUE(budget.take("a", "one", PlaceBudget::kMost - 1000));
  EXPECT_FALSE(budget.take("a", "two", 2000));
  EXPECT_FALSE(budget.take("a", "three", 3000));
  EXPECT_THAT(budget.take_hopeful(), IsEmpty());
  budget.give_back("a", "three");
  EXPECT_THAT(budget.take_hopeful(), IsEmpty()) << "it had none";
  budget.give_back("a", "one");
  EXPECT_THAT(budget.take_hopeful(), ElementsAre("two"));
  EXPECT_TRUE(budget.take("a", "two", 2000));
  EXPECT_THAT(budget.take_hopeful(), IsEmpty());
}

TEST(PlaceBudget, AHolderMayChangeItsNumber) {
  PlaceBudget budget;
  EXPECT_TRUE(budget.take("a", "one", PlaceBudget::kMost));
  EXPECT_TRUE(budget.take("a", "one", 200));
  EXPECT_TRUE(budget.take("a", "two", PlaceBudget::kMost - 200));
  EXPECT_TRUE(budget.take("a", "one", 50));
  EXPECT_TRUE(budget.take("a", "three", 200));
}

std::string job_json(const std::string& name, std::int64_t pods) {
  return fmt::format(
      R"({{"metadata":{{"name":"{0}","namespace":"default","uid":"{0}","labels":{{"berth.dev/queue":"q"}}}},
    "spec":{{"suspend":true,"parallelism":{1},"completions":{1},"template":{{"spec":{{"schedulerName":"berth",
    "containers":[{{"name":"c"}}]}}}}}}}})",
      name, pods);
}

TEST(PlaceBudget, AJobBeyondItSaysSoAndComesBack) {
  IntakeConfig config;
  config.hold_owners = true;
  config.scheduler_names = {"berth"};
  Intake intake(config);
  JsonDecoder decoder;
  std::vector<Event> events;
  const auto slots_of = [&](const std::string& uid) {
    std::int64_t slots = -1;
    for (const Event& event : events) {
      const auto* upsert = std::get_if<WorkloadUpsert>(&event);
      if (upsert != nullptr && upsert->workload.uid == uid)
        slots = upsert->workload.root.pod_sets.at(0).count;
    }
    return slots;
  };
  for (const char* name : {"one", "two"}) intake.upsert(*decoder.decode(job_json(name, 200'000), Kind::kJob));
  intake.drain(events);
  EXPECT_EQ(slots_of("one"), 200'000);
  EXPECT_EQ(slots_of("two"), 1);
  ASSERT_NE(intake.blocked("two"), nullptr);
  EXPECT_THAT(to_text(*intake.blocked("two")),
              HasSubstr("it asks for 200000 pods, but Berth reserves at most 300000"));
  events.clear();
  intake.remove(Kind::kJob, "default", "one", "one");
  intake.drain(events);
  EXPECT_EQ(slots_of("two"), 200'000);
  const Reason* blocked = intake.blocked("two");
  EXPECT_TRUE(blocked == nullptr || to_text(*blocked).find("slots per namespace") == std::string::npos);
}

}  // namespace
}  // namespace berth::dialect
