// Attachments without a pod on their node are what the engine is told of.
#include "dialect/books/attach_book.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace berth::dialect {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

VolumeAttachment attachment(const std::string& name, const std::string& node, const std::string& volume) {
  VolumeAttachment out;
  out.meta.name = name;
  out.driver = "disk";
  out.node = node;
  out.volume = volume;
  return out;
}

// A pod with these volumes of the driver.
AttachBook::Mounts on(const std::string& node, const std::vector<std::string>& volumes, bool ending = false,
                      bool shared = false) {
  AttachBook::Mounts out{node, {}, ending};
  for (const std::string& volume : volumes) out.volumes.emplace(volume, Attached{"disk", shared});
  return out;
}

// "+name@node" for one that counts from now on, "-name" for one that no longer does.
std::vector<std::string> told(AttachBook& book) {
  std::vector<Event> events;
  book.drain(events);
  std::vector<std::string> out;
  for (const Event& event : events) {
    if (const auto* come = std::get_if<ForeignPodUpsert>(&event)) {
      EXPECT_EQ(come->pod.attaches, (ResourceList{{"disk", 1}}));
      EXPECT_TRUE(come->pod.requests.empty());
      out.push_back("+" + come->pod.uid + "@" + come->pod.node);
    } else if (const auto* gone = std::get_if<ForeignPodRemove>(&event)) {
      out.push_back("-" + gone->uid);
    }
  }
  return out;
}

TEST(AttachBook, AVolumeWithAPodThereIsThePods) {
  AttachBook book;
  book.set_pod(1, on("n0", {"pv"}));
  book.put(attachment("a", "n0", "pv"), "pv");
  EXPECT_THAT(told(book), IsEmpty());
  book.set_pod(2, on("n0", {"pv", "other"}));
  book.set_pod(1, {});
  EXPECT_THAT(told(book), IsEmpty()) << "another pod of the node has it";
  book.set_pod(2, on("n0", {"other"}));
  EXPECT_THAT(told(book), ElementsAre("+attachment:a@n0"));
  EXPECT_THAT(told(book), IsEmpty()) << "once";
  book.set_pod(3, on("n1", {"pv"}));
  EXPECT_THAT(told(book), IsEmpty()) << "its node is another";
  book.set_pod(3, on("n0", {"pv"}));
  EXPECT_THAT(told(book), ElementsAre("-attachment:a"));
}

TEST(AttachBook, AnAttachmentThatComesAndGoesIsNotTold) {
  AttachBook book;
  book.put(attachment("a", "n0", "pv"), "pv");
  book.remove("a");
  book.remove("a");
  EXPECT_THAT(told(book), IsEmpty());
  book.put(attachment("a", "n0", "pv"), "pv");
  EXPECT_THAT(told(book), ElementsAre("+attachment:a@n0"));
  book.put(attachment("a", "n0", "pv"), "pv");
  EXPECT_THAT(told(book), IsEmpty());
  book.put(attachment("a", "n1", "pv"), "pv");
  EXPECT_THAT(told(book), ElementsAre("+attachment:a@n1"));
  book.remove("a");
  EXPECT_THAT(told(book), ElementsAre("-attachment:a"));
}

// It stands in a pod, and has no name by which the pod could be found.
TEST(AttachBook, AVolumeWithoutANameCountsAlways) {
  AttachBook book;
  book.set_pod(1, on("n0", {"pv"}));
  book.put(attachment("a", "n0", ""), "");
  EXPECT_THAT(told(book), ElementsAre("+attachment:a@n0"));
}

// The engine charges each pod.
TEST(AttachBook, ASharedVolumeRaisesTheLimitByWhatIsChargedTooOften) {
  AttachBook book;
  book.set_limits("n0", {{"disk", 2}}, {"disk"});
  EXPECT_THAT(book.take_changed_nodes(), ElementsAre("n0"));
  book.set_pod(1, on("n0", {"pv", "other"}));
  EXPECT_THAT(book.take_changed_nodes(), IsEmpty());
  book.set_pod(2, on("n0", {"pv"}));
  book.set_pod(3, on("n1", {"pv"}));
  EXPECT_THAT(book.take_changed_nodes(), ElementsAre("n0"));
  EXPECT_EQ(book.limits("n0"), (ResourceList{{"disk", 3}}));
  EXPECT_TRUE(book.limits("n1").empty()) << "it has no limits";
  book.set_pod(2, on("n0", {"pv"}, true));
  EXPECT_EQ(book.limits("n0"), (ResourceList{{"disk", 2}})) << "its room is free when it is gone";
  book.set_pod(2, {});
  EXPECT_EQ(book.limits("n0"), (ResourceList{{"disk", 2}}));
}

// The engine counts those with a shared claim once.
TEST(AttachBook, APodWithASharedClaimRaisesNothingItself) {
  AttachBook book;
  book.set_limits("n0", {{"disk", 2}}, {"disk"});
  book.set_pod(1, on("n0", {"pv"}, false, true));
  book.set_pod(2, on("n0", {"pv"}, false, true));
  EXPECT_EQ(book.limits("n0"), (ResourceList{{"disk", 2}}));
  book.set_pod(3, on("n0", {"pv"}));
  EXPECT_EQ(book.limits("n0"), (ResourceList{{"disk", 3}})) << "it is charged beside them";
  book.set_pod(1, on("n0", {"pv"}, true, true));
  book.set_pod(2, {});
  EXPECT_EQ(book.limits("n0"), (ResourceList{{"disk", 2}}));
}

// Since Kubernetes 1.37 (preventPodSchedulingIfMissing).
TEST(AttachBook, ADriverThatMustBeThereHasNoPlacesWhereItIsNot) {
  AttachBook book;
  book.set_limits("n0", {}, {"disk"});
  book.set_limits("n1", {{"files", 3}}, {"files"});
  EXPECT_TRUE(book.set_must_be_there("disk", true));
  EXPECT_FALSE(book.set_must_be_there("disk", true));
  EXPECT_TRUE(book.limits("n0").empty()) << "it is there, and has no limit";
  EXPECT_EQ(book.limits("n1"), (ResourceList{{"disk", 0}, {"files", 3}}));
  EXPECT_EQ(book.limits("n2"), (ResourceList{{"disk", 0}})) << "a node without CSINode";
  EXPECT_TRUE(book.set_must_be_there("disk", false));
  EXPECT_TRUE(book.limits("n2").empty());
}

TEST(AttachBook, OneOfSeveralAttachmentsOfAVolumeCounts) {
  AttachBook book;
  book.put(attachment("a", "n0", "pv"), "d/h");
  book.put(attachment("b", "n0", "too"), "too");
  EXPECT_THAT(told(book), ElementsAre("+attachment:a@n0", "+attachment:b@n0"));
  book.rename("too", "d/h");  // its object came late
  EXPECT_THAT(told(book), ElementsAre("-attachment:b"));
  book.remove("a");
  EXPECT_THAT(told(book), ElementsAre("-attachment:a", "+attachment:b@n0"));
  book.set_pod(1, on("n0", {"d/h"}));
  EXPECT_THAT(told(book), ElementsAre("-attachment:b"));
}

}  // namespace
}  // namespace berth::dialect
