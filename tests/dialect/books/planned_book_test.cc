// Kueue's Workloads as work, and the slices among them.
#include "dialect/books/planned_book.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "dialect/base/names.h"

namespace berth::dialect {
namespace {

using ::testing::ElementsAre;

PlannedBook::Object workload(const std::string& name, std::int64_t pods, const std::string& replaces = "") {
  KueueWorkload out;
  out.meta.ns = "team";
  out.meta.name = name;
  out.meta.created = pods;
  out.queue = "main";
  out.pod_sets.emplace_back().name = "main";
  out.pod_sets.front().count = pods;
  if (!replaces.empty()) out.meta.annotations[std::string(kKueueSliceFor)] = "team/" + replaces;
  return std::make_shared<const KueueWorkload>(std::move(out));
}

PlannedBook::Object admitted(PlannedBook::Object object) {
  KueueWorkload out = *object;
  out.admitted_to = "cluster-queue";
  return std::make_shared<const KueueWorkload>(std::move(out));
}

TEST(PlannedBook, ASliceHasThePlacesOfTheOneThatItReplaces) {
  PlannedBook book;
  const auto small = admitted(workload("small", 2));
  EXPECT_THAT(book.put("team/small", small), ElementsAre("team/small"));
  EXPECT_EQ(book.next_of(*small), nullptr);

  const auto large = workload("large", 4, "small");
  EXPECT_THAT(book.put("team/large", large), ElementsAre("team/small", "team/large"))
      << "the one that is replaced is no work of its own any more";
  EXPECT_EQ(book.next_of(*small), large.get());
  EXPECT_EQ(book.former_of(*large), small);
  EXPECT_EQ(book.former_of(*small), nullptr);

  EXPECT_THAT(book.put("team/large", nullptr), ElementsAre("team/small", "team/large"));
  EXPECT_EQ(book.next_of(*small), nullptr);
}

TEST(PlannedBook, ReplacesOnlyWorkThatHoldsQuotaAndAsksForNoMore) {
  PlannedBook book;
  const auto waiting = workload("waiting", 2);
  const auto smaller = workload("smaller", 1, "running");
  const auto running = admitted(workload("running", 2));
  (void)book.put("team/waiting", waiting);
  (void)book.put("team/running", running);
  (void)book.put("team/of-waiting", workload("of-waiting", 4, "waiting"));
  (void)book.put("team/smaller", smaller);
  EXPECT_EQ(book.next_of(*waiting), nullptr) << "it holds no quota";
  EXPECT_EQ(book.next_of(*running), nullptr) << "the slice asks for less";
}

TEST(PlannedBook, TheFirstOfTwoSlicesCounts) {
  PlannedBook book;
  const auto running = admitted(workload("running", 2));
  const auto first = workload("z-first", 3, "running");
  const auto second = workload("a-second", 4, "running");
  (void)book.put("team/running", running);
  (void)book.put("team/a-second", second);
  (void)book.put("team/z-first", first);
  EXPECT_EQ(book.next_of(*running), first.get());
  EXPECT_EQ(book.former_of(*second), nullptr);
}

}  // namespace
}  // namespace berth::dialect
