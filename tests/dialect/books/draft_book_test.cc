#include "dialect/books/draft_book.h"

#include <gtest/gtest.h>

#include "dialect/books/gang_book.h"
#include "dialect/books/owner_book.h"
#include "dialect/objects/gang_systems.h"

namespace berth::dialect {
namespace {

std::uint32_t add_draft(DraftBook& drafts, const std::string& uid, GangKind kind = GangKind::kSingle,
                        const GangSystem* system = nullptr) {
  Membership membership;
  membership.kind = kind;
  membership.uid = uid;
  membership.name = uid;
  membership.system = system;
  return drafts.add(membership, "default");
}

TEST(DraftBook, HoldsEqualSettingsOnce) {
  DraftBook drafts;
  Settings settings;
  settings.queue = "team";
  settings.counts = {{1, 1}};
  settings.created = 1000;
  const auto first = add_draft(drafts, "first");
  EXPECT_FALSE(drafts[first].given == settings);
  drafts.give(first, Settings(settings));
  EXPECT_TRUE(drafts[first].given == settings);

  Settings later = settings;
  later.created = 2000;
  const auto second = add_draft(drafts, "second");
  drafts.give(second, Settings(later));
  EXPECT_EQ(drafts[first].given.common, drafts[second].given.common);
  EXPECT_FALSE(drafts[first].given == later) << "each has its own times";
  EXPECT_TRUE(drafts[second].given == later);

  later.blocked = reason_of(ReasonCode::kInvalid, "it lacks a pod");
  EXPECT_FALSE(drafts[second].given == later);
  drafts.give(second, Settings(later));
  EXPECT_TRUE(drafts[second].given == later);
  EXPECT_TRUE(drafts[first].given == settings) << "the other is as it was";
  EXPECT_EQ(drafts[second].given->blocked->detail, "it lacks a pod");
}

TEST(DraftBook, ForgetsSettingsWithTheirDraft) {
  DraftBook drafts;
  Settings settings;
  settings.queue = "team";
  const auto at = add_draft(drafts, "first");
  drafts.give(at, Settings(settings));
  const std::weak_ptr<const CommonSettings> held = drafts[at].given.common;
  drafts.erase(at);
  EXPECT_TRUE(held.expired());
  EXPECT_EQ(add_draft(drafts, "second"), at);
  EXPECT_TRUE(drafts[at].given->queue.empty()) << "it is as new";
}

TEST(DraftBook, HoldsEqualDependenciesOnce) {
  using Numbers = std::vector<std::uint32_t>;
  DraftBook drafts;
  const auto first = add_draft(drafts, "first");
  const auto second = add_draft(drafts, "second");
  drafts.set_depends(first, {"lq:a", "ns:a"});
  drafts.set_depends(second, {"lq:a", "ns:a"});
  EXPECT_EQ(drafts[first].depends.get(), drafts[second].depends.get());
  EXPECT_EQ(drafts.dependents_of("ns:a"), (Numbers{first, second}));

  drafts.set_depends(second, {"ns:a"});
  EXPECT_EQ(drafts.dependents_of("lq:a"), Numbers{first}) << "the other is as it was";
  EXPECT_EQ(drafts.dependents_of("ns:a"), (Numbers{first, second}));
  drafts.erase(first);
  drafts.set_depends(second, {});
  EXPECT_TRUE(drafts.dependents_of("lq:a").empty());
  EXPECT_TRUE(drafts.dependents_of("ns:a").empty());
}

TEST(DraftBook, KnowsTheObjectOfAGang) {
  DraftBook drafts;
  const GangSystem* system = gang_system(Kind::kPodGroup);
  ASSERT_NE(system, nullptr);
  EXPECT_EQ(drafts[add_draft(drafts, "pod")].object_key(), "");
  EXPECT_EQ(drafts[add_draft(drafts, "group", GangKind::kPodGroup, system)].object_key(),
            gang_key(Kind::kPodGroup, "default/group"));
  EXPECT_EQ(drafts[add_draft(drafts, "owner", GangKind::kOwner)].object_key(), owner_key("owner"));
}

// There is one of each for every pod that is no part of a gang. Things that few of them have, or many have alike, are kept elsewhere.
TEST(DraftBook, TakesLittleForAPod) {
  EXPECT_LE(sizeof(Draft), 720u);
  EXPECT_LE(sizeof(Role), 160u);
  EXPECT_LE(sizeof(PodRecord), 800u);
}

}  // namespace
}  // namespace berth::dialect
