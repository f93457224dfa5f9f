#include "scheduler/wire/inbox.h"

#include <gtest/gtest.h>

#include <thread>
#include <utility>
#include <vector>

#include "base/heap.h"

namespace berth::scheduler {
namespace {

kube::Change change(std::string_view name, std::string_view object) {
  return {kube::ChangeType::kAdded, "ns", name, "uid", "17", object};
}

TEST(Inbox, KeepsOrderAndTexts) {
  Inbox inbox;
  inbox.push(dialect::Kind::kPod, change("a", R"({"x":1})"));
  inbox.push(Answer{Step::kBind, "a", {}});
  int asked = 0;
  inbox.ask([&] { ++asked; });
  inbox.push(dialect::Kind::kNode, change("bb", "{}"));
  EXPECT_EQ(inbox.depth(), 4u);
  Batch batch;
  inbox.take(batch, 0);
  ASSERT_EQ(batch.size(), 4u);
  const auto& items = batch.items();
  EXPECT_EQ(batch.ns(items[0]), "ns");
  EXPECT_EQ(batch.name(items[0]), "a");
  EXPECT_EQ(batch.uid(items[0]), "uid");
  EXPECT_EQ(batch.version(items[0]), "17");
  EXPECT_EQ(batch.object(items[0]), R"({"x":1})");
  EXPECT_EQ(batch.answer(items[1]).uid, "a");
  batch.question(items[2])();
  EXPECT_EQ(asked, 1);
  EXPECT_EQ(items[3].kind, dialect::Kind::kNode);
  EXPECT_EQ(batch.name(items[3]), "bb");
  EXPECT_EQ(batch.object(items[3]), "{}");
  EXPECT_EQ(inbox.depth(), 0u);
  inbox.take(batch, 0);
  EXPECT_TRUE(batch.empty());
}

TEST(Inbox, APodMayComeDecodedWithItsPlaceInTheOrder) {
  Inbox inbox(1000);
  inbox.push(dialect::Kind::kPod, change("a", "{}"));
  dialect::Pod pod;
  pod.meta.name = "b";
  inbox.push(change("b", std::string(500, ' ')), std::move(pod));
  EXPECT_FALSE(inbox.accepts()) << "it counts, with its text";
  inbox.push(dialect::Kind::kPod, change("c", "{}"));
  Batch batch;
  inbox.take(batch, 0);
  ASSERT_EQ(batch.size(), 3u);
  EXPECT_TRUE(inbox.accepts());
  EXPECT_EQ(batch.items()[0].pod, std::nullopt);
  ASSERT_TRUE(batch.items()[1].pod);
  EXPECT_EQ(batch.name(batch.items()[1]), "b");
  EXPECT_EQ(batch.version(batch.items()[1]), "17");
  EXPECT_EQ(batch.take_pod(batch.items()[1]).meta.name, "b");
  EXPECT_EQ(batch.object(batch.items()[2]), "{}");
}

// A claim whose version was lost looked as if its provisioner had taken the node off again.
TEST(Inbox, AnAnswerKeepsTheBodyThatIsRead) {
  Inbox inbox;
  for (const Step step :
       {Step::kClaim, Step::kQueue, Step::kOwner, Step::kWorkload, Step::kRead, Step::kBind, Step::kStatus}) {
    Answer answer{step, "a", {}};
    answer.result.body = "{}";
    inbox.push(std::move(answer));
  }
  Batch batch;
  inbox.take(batch, 0);
  std::vector<bool> has;
  for (const auto& item : batch.items()) has.push_back(!batch.answer(item).result.body.empty());
  EXPECT_EQ(has, (std::vector<bool>{true, true, true, true, true, false, false}));
}

TEST(Inbox, ObjectsHaveReadableBytesBehindThem) {
  Inbox inbox;
  inbox.push(dialect::Kind::kPod, change("a", "{}"));
  Batch batch;
  inbox.take(batch, 0);
  const auto object = batch.object(batch.items()[0]);
  int sum = 0;
  for (std::size_t i = 0; i < kube::kJsonPadding; ++i) sum += object.data()[object.size() + i];
  EXPECT_EQ(sum, 0);
}

TEST(Inbox, GivesItsBuffersBackOnceBatchesAreSmall) {
  if (heap_use().in_use == 0) GTEST_SKIP() << "the allocator of this build counts nothing";
  constexpr std::size_t kMiB = std::size_t{1} << 20;
  Inbox inbox;
  Batch batch;
  const std::size_t before = heap_use().in_use;
  for (int i = 0; i < 2; ++i) {
    inbox.push(dialect::Kind::kPod, change("a", std::string(6 * kMiB, ' ')));
    inbox.take(batch, 0);
  }
  EXPECT_GT(heap_use().in_use, before + 6 * kMiB) << "under load the buffers are kept";
  for (int i = 0; i < 3; ++i) inbox.take(batch, 0);
  EXPECT_LT(heap_use().in_use, before + kMiB / 2);
}

TEST(Inbox, HoldsReadersBackAboveItsBound) {
  Inbox inbox(100);
  EXPECT_TRUE(inbox.accepts());
  inbox.push(dialect::Kind::kPod, change("a", std::string(200, ' ')));
  EXPECT_FALSE(inbox.accepts());
  Batch batch;
  inbox.take(batch, 0);
  EXPECT_TRUE(inbox.accepts());
}

TEST(Inbox, WakesTheWaiter) {
  Inbox inbox;
  Batch batch;
  std::thread waker([&] { inbox.wake(); });
  inbox.take(batch, 60'000);
  waker.join();
  EXPECT_TRUE(batch.empty());
  std::thread pusher([&] { inbox.push(dialect::Kind::kPod, change("a", "{}")); });
  inbox.take(batch, 60'000);
  pusher.join();
  EXPECT_EQ(batch.size(), 1u);
}

TEST(Inbox, LosesNothingBetweenThreads) {
  Inbox inbox;
  constexpr int kEach = 2000;
  const auto push = [&] {
    for (int i = 0; i < kEach; ++i) inbox.push(dialect::Kind::kPod, change("a", "{}"));
  };
  std::thread one(push);
  std::thread two(push);
  std::size_t taken = 0;
  Batch batch;
  while (taken < 2 * kEach) {
    inbox.take(batch, 1000);
    taken += batch.size();
  }
  one.join();
  two.join();
  EXPECT_EQ(taken, static_cast<std::size_t>(2 * kEach));
}

}  // namespace
}  // namespace berth::scheduler
