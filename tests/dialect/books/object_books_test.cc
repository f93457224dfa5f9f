// Objects that work depends on: which changes concern it.
#include "dialect/books/object_books.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "dialect/dialect_support.h"
#include "dialect/intake/intake.h"

namespace berth::dialect {
namespace {

using ::testing::IsEmpty;
using ::testing::Not;
using testing::objects_of;

struct Case {
  std::string head;
  std::string spec;
  std::string other_spec;
};

std::string queue_spec(int gpus) {
  return "spec: {namespaceSelector: {}, admissionChecksStrategy: {admissionChecks: [{name: check}]}, "
         "resourceGroups: [{coveredResources: [cpu], flavors: [{name: f, resources: [{name: cpu, "
         "nominalQuota: " +
         std::to_string(gpus) + "}]}]}]}\n";
}

std::vector<Case> cases() {
  const std::string kueue = "apiVersion: kueue.x-k8s.io/v1beta2\nmetadata: {name: a}\nkind: ";
  return {
      {kueue + "ClusterQueue\n", queue_spec(4), queue_spec(5)},
      {kueue + "LocalQueue\n", "spec: {clusterQueue: b}\n", "spec: {clusterQueue: c}\n"},
      {kueue + "AdmissionCheck\n", "spec: {controllerName: x}\n", "spec: {controllerName: y}\n"},
      {kueue + "WorkloadPriorityClass\n", "value: 1\n", "value: 2\n"},
      {"apiVersion: scheduling.k8s.io/v1\nmetadata: {name: a}\nkind: PriorityClass\n", "value: 1\n",
       "value: 2\n"},
      {"apiVersion: berth.dev/v1alpha1\nmetadata: {name: a}\nkind: Queue\n", "spec: {weight: 1}\n",
       "spec: {weight: 2}\n"},
      {"apiVersion: scheduling.volcano.sh/v1beta1\nmetadata: {name: a}\nkind: Queue\n", "spec: {weight: 1}\n",
       "spec: {weight: 2}\n"},
      {"apiVersion: topology.volcano.sh/v1alpha1\nmetadata: {name: a}\nkind: HyperNode\n",
       "spec: {tier: 1, members: []}\n", "spec: {tier: 2, members: []}\n"},
  };
}

// Queues have new counts in their statuses all the time, and all work of a queue depends on it.
TEST(ObjectBooks, AStatusConcernsNoWork) {
  for (const Case& one : cases()) {
    ObjectBooks books{IntakeConfig()};
    const auto put = [&](const std::string& text) { return books.put(std::move(objects_of(text).at(0))); };
    (void)put("apiVersion: kueue.x-k8s.io/v1beta2\nkind: ClusterQueue\nmetadata: {name: checked}\n" +
              queue_spec(1));
    EXPECT_THAT(put(one.head + one.spec), Not(IsEmpty())) << one.head;
    std::vector<Event> events;
    (void)books.drain(events);
    const std::string status = "status: {pendingWorkloads: 3, nodeCount: 3, allocated: {cpu: 1}}\n";
    EXPECT_THAT(put(one.head + one.spec + status), IsEmpty()) << one.head;
    EXPECT_FALSE(books.drain(events)) << one.head << ": its queues are not made anew";
    EXPECT_THAT(put(one.head + one.other_spec + status), Not(IsEmpty())) << one.head;
  }
}

// Past use is read from the status where the LocalQueue is new, and no later one is another object.
TEST(ObjectBooks, AStatusOfPastUseIsNoChangeOfALocalQueue) {
  ObjectBooks books{IntakeConfig()};
  const auto put = [&](const std::string& cpu) {
    Object object =
        std::move(objects_of("apiVersion: kueue.x-k8s.io/v1beta2\nkind: LocalQueue\nmetadata: {name: a}\n"
                             "spec: {clusterQueue: b}\nstatus: {fairSharing: {weightedShare: 0, "
                             "admissionFairSharingStatus: {consumedResources: {cpu: " +
                             cpu + "}, lastUpdate: '2026-11-01T00:00:00Z'}}}\n")
                      .at(0));
    EXPECT_FALSE(std::get<LocalQueue>(object).used.empty());
    return books.put(std::move(object));
  };
  EXPECT_THAT(put("1"), Not(IsEmpty()));
  EXPECT_THAT(put("2"), IsEmpty());
}

}  // namespace
}  // namespace berth::dialect
