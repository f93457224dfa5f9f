// Workload objects of other clients, and the work that each belongs to.
#include "dialect/books/prebuilt_book.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "dialect/base/names.h"

namespace berth::dialect {
namespace {

using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::IsEmpty;
using ::testing::Optional;
using ::testing::Pointee;

PrebuiltBook::Object object(const std::string& replaces = "") {
  KueueWorkload out;
  if (!replaces.empty()) out.meta.annotations[std::string(kKueueSliceFor)] = replaces;
  return std::make_shared<const KueueWorkload>(std::move(out));
}

TEST(PrebuiltBook, AClaimIsNewsOnce) {
  PrebuiltBook book;
  book.put("ns/a", object());
  EXPECT_EQ(book.owner_of("ns/a"), nullptr);
  book.claim("ns/a", "job");
  EXPECT_THAT(book.owner_of("ns/a"), Pointee(std::string("job")));
  EXPECT_THAT(book.next_unsettled(), Optional(std::string("ns/a")));
  EXPECT_TRUE(book.take_claim("ns/a"));
  EXPECT_FALSE(book.take_claim("ns/a"));

  book.release("ns/a");
  EXPECT_EQ(book.owner_of("ns/a"), nullptr);
  book.claim("ns/a", "job");
  book.release("ns/a");
  EXPECT_FALSE(book.take_claim("ns/a")) << "the work left it before the intake looked";
}

TEST(PrebuiltBook, SuccessorsAreUnsettledWithTheOneThatTheyReplace) {
  PrebuiltBook book;
  book.put("ns/a", object());
  book.put("ns/b", object("ns/a"));
  EXPECT_TRUE(book.has_successor("ns/a"));
  EXPECT_EQ(book.next_unsettled(), std::nullopt);
  book.unsettle_successors("ns/a");
  EXPECT_THAT(book.next_unsettled(), Optional(std::string("ns/b")));
  book.settled("ns/b");
  EXPECT_EQ(book.next_unsettled(), std::nullopt);
  EXPECT_EQ(book.erase("ns/b"), "ns/a");
  EXPECT_FALSE(book.has_successor("ns/a"));
  EXPECT_EQ(book.erase("ns/b"), "") << "it is gone";
}

TEST(PrebuiltBook, OneThatIsFinishedIsToldOnce) {
  PrebuiltBook book;
  const auto before = object();
  book.put("ns/a", before);
  book.finish("ns/a");
  EXPECT_TRUE(book.find("ns/a")->finished);
  EXPECT_FALSE(before->finished) << "views of the former state stay as they are";
  EXPECT_THAT(book.take_finished(), ElementsAre("ns/a"));
  EXPECT_THAT(book.take_finished(), IsEmpty());
}

TEST(PrebuiltBook, HandOversComeInTheirOrder) {
  PrebuiltBook book;
  book.hand_over({"", "first", {}, {}});
  book.hand_over({"ns/a", "second", {}, {}});
  EXPECT_THAT(book.take_hand_overs(),
              ElementsAre(Field(&HandOver::to, "first"), Field(&HandOver::to, "second")));
  EXPECT_THAT(book.take_hand_overs(), IsEmpty());
}

}  // namespace
}  // namespace berth::dialect
