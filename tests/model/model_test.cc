#include <gtest/gtest.h>

#include "base/checked.h"
#include "model/decision.h"
#include "model/labels.h"
#include "model/resources.h"
#include "model/workload.h"

namespace berth {
namespace {

TEST(ResourceList, AddsExactlyOrNotAtAll) {
  ResourceList list{{"cpu", 1500}, {"memory", kInt64Max - 10}};
  EXPECT_TRUE(list.add("cpu", 500).has_value());
  EXPECT_EQ(list.get("cpu"), 2000);
  const ResourceList before = list;
  EXPECT_FALSE(list.add(ResourceList{{"cpu", 1}, {"memory", 11}}).has_value());
  EXPECT_EQ(list, before) << "a sum that does not fit changes nothing";
  list.raise_to({{"cpu", 100}, {"pods", 1}});
  EXPECT_EQ(list.get("cpu"), 2000);
  EXPECT_EQ(list.get("pods"), 1);
  EXPECT_FALSE((ResourceList{{"cpu", -1}}).check_not_negative().has_value());
}

TEST(ResourceList, WritesAmountsAsPeopleDo) {
  EXPECT_EQ(format_amount("cpu", 1500), "1500m");
  EXPECT_EQ(format_amount("nvidia.com/gpu", 8000), "8");
  EXPECT_EQ(format_amount("memory", 3LL << 30), "3Gi");
  EXPECT_EQ((ResourceList{{"memory", 1024}, {"cpu", 1000}}).str(), "cpu 1, memory 1Ki");
}

TEST(DeviceRequest, IsWholeDevicesOrOneShare) {
  EXPECT_TRUE((DeviceRequest{"g", 8, 1000}).check().has_value());
  EXPECT_TRUE((DeviceRequest{"g", 1, 250}).check().has_value());
  EXPECT_FALSE((DeviceRequest{"g", 2, 250}).check().has_value());
  EXPECT_FALSE((DeviceRequest{"g", 0, 1000}).check().has_value());
  EXPECT_FALSE((DeviceRequest{"g", 1, 1001}).check().has_value());
}

TEST(Labels, TolerationsCoverTheirTaints) {
  const Taint taint{"pool", "infra", TaintEffect::kNoExecute};
  EXPECT_TRUE((Toleration{"", true, "", TolerationEffect::kAll}).tolerates(taint));
  EXPECT_TRUE((Toleration{"pool", true, "", TolerationEffect::kNoExecute}).tolerates(taint));
  EXPECT_TRUE((Toleration{"pool", false, "infra", TolerationEffect::kAll}).tolerates(taint));
  EXPECT_FALSE((Toleration{"pool", false, "other", TolerationEffect::kAll}).tolerates(taint));
  EXPECT_FALSE((Toleration{"pool", true, "", TolerationEffect::kNoSchedule}).tolerates(taint));
  EXPECT_FALSE((Toleration{"", false, "", TolerationEffect::kAll}).tolerates(taint));
}

TEST(Labels, TolerationsCompareTheNumbersOfTaints) {
  const auto tolerates = [](TolerationBound bound, std::string value, std::string of_taint) {
    const Toleration toleration{"load", false, std::move(value), TolerationEffect::kAll, bound};
    return toleration.tolerates(Taint{"load", std::move(of_taint), TaintEffect::kNoSchedule});
  };
  EXPECT_TRUE(tolerates(TolerationBound::kAbove, "5", "6"));
  EXPECT_FALSE(tolerates(TolerationBound::kAbove, "5", "5"));
  EXPECT_FALSE(tolerates(TolerationBound::kBelow, "5", "5"));
  EXPECT_TRUE(tolerates(TolerationBound::kBelow, "5", "-40"));
  EXPECT_TRUE(tolerates(TolerationBound::kBelow, "10", "9")) << "numbers, not texts";
  for (const char* no_number : {"", "x", "05", "-0", "+4", "4.0", "99999999999999999999"}) {
    EXPECT_FALSE(tolerates(TolerationBound::kBelow, "5", no_number)) << no_number;
    EXPECT_FALSE(tolerates(TolerationBound::kAbove, no_number, "6")) << no_number;
  }
}

TEST(Labels, AnEmptyTermMatchesNothing) {
  EXPECT_FALSE(SelectorTerm{}.matches({{"a", "b"}}, "n"));
}

Workload one(std::int64_t count, std::optional<std::int64_t> least = {}) {
  Workload w;
  w.uid = w.name = "w";
  PodSet set;
  set.name = "main";
  set.count = count;
  set.least = least;
  w.root.pod_sets.push_back(set);
  return w;
}

TEST(Workload, ChecksNameTheFault) {
  EXPECT_TRUE(check(one(3, 2)).has_value());
  EXPECT_NE(check(one(3, 4)).error().message.find("between 0 and the count 3"), std::string::npos);
  EXPECT_NE(check(one(-1)).error().message.find("must not be negative"), std::string::npos);
  EXPECT_FALSE(check(one(0)).has_value());
  EXPECT_FALSE(check(one(2'000'000)).has_value());
  Workload no_uid = one(1);
  no_uid.uid.clear();
  EXPECT_FALSE(check(no_uid).has_value());
  Workload deep = one(1);
  Group* at = &deep.root;
  for (int i = 0; i < 9; ++i) {
    at->groups.emplace_back();
    at = &at->groups.back();
  }
  EXPECT_NE(check(deep).error().message.find("deeper than"), std::string::npos);
}

TEST(Workload, PodSetsAreNumberedInTheOrderOfTheTree) {
  Workload w = one(1);
  Group child;
  child.pod_sets.resize(2);
  child.pod_sets[1].name = "last";
  w.root.groups.push_back(child);
  const auto sets = pod_sets_of(w.root);
  ASSERT_EQ(sets.size(), 3u);
  EXPECT_EQ(sets[0]->name, "main");
  EXPECT_EQ(sets[2]->name, "last");
}

TEST(Reason, ReadsAsOneSentence) {
  Reason r{ReasonCode::kNodes, "", "", 8, 6, 0, {}};
  r.children.push_back({ReasonCode::kNodeDevice, "nvidia.com/gpu", "", 0, 0, 94, {}});
  r.children.push_back({ReasonCode::kNodeTaint, "pool=infra", "", 0, 0, 1, {}});
  EXPECT_EQ(
      to_text(r),
      "8 pods need nodes, there is room for 6: 94 nodes lack free nvidia.com/gpu, 1 node has the untolerated "
      "taint pool=infra");
  EXPECT_EQ(to_text({ReasonCode::kQuota, "nvidia.com/gpu", "a100", 8000, 3000, 0, {}}),
            "needs 8 nvidia.com/gpu in flavor a100, quota left for it: 3");
}

TEST(Reason, EveryCodeHasANameAndWords) {
  for (std::size_t i = 1; i < EnumNames<ReasonCode>::names.size(); ++i) {
    const auto code = static_cast<ReasonCode>(i);
    EXPECT_FALSE(enum_name(code).empty());
    EXPECT_FALSE(to_text({code, "subject", "detail", 2, 1, 1, {}}).empty()) << enum_name(code);
  }
  EXPECT_EQ(EnumNames<ReasonCode>::names.size(), static_cast<std::size_t>(ReasonCode::kFits) + 1);
}

}  // namespace
}  // namespace berth
