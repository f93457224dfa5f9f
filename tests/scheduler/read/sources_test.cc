// Whether Kueue itself runs here, by its lease: the writer of Workloads and of the status of its queues.
#include "scheduler/read/sources.h"

#include <gtest/gtest.h>

#include <map>

#include "kube/clock.h"
#include "kube/fake_api_server_support.h"
#include "kube/transport.h"
#include "text/time.h"

namespace berth::scheduler {
namespace {

using kube::testing::FakeApiServer;
using kube::testing::Json;

constexpr const char* kLeases = "/apis/coordination.k8s.io/v1/namespaces/kueue-system/leases";
constexpr const char* kNameOfKueue = "c1f6bfd2.kueue.x-k8s.io";

class SourcesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto started = Sources::start(*transport_, inbox_, {}, [] { return true; });
    ASSERT_TRUE(started.has_value()) << started.error().str();
    sources_ = std::move(*started);
  }
  // As Kueue's manager writes it (client-go): given back, it has no holder, one second, and the time of that.
  void write_lease(const std::string& holder, int seconds, int seconds_ago) {
    const Json spec = {{"holderIdentity", holder},
                       {"leaseDurationSeconds", seconds},
                       {"renewTime", text::format_time_us(kube::wall_us() - seconds_ago * 1'000'000LL)}};
    const std::string path = std::string(kLeases) + "/" + kNameOfKueue;
    if (api_.get(path)) {
      api_.change(path, [&](Json& lease) { lease["spec"] = spec; });
    } else {
      api_.create(kLeases, Json{{"metadata", {{"name", kNameOfKueue}, {"namespace", "kueue-system"}}},
                                {"spec", spec}});
    }
  }
  // Where Berth writes: the version of Workloads, or nothing.
  std::string written() {
    sources_->look_for_kueue();
    return sources_->kueue_version();
  }

  FakeApiServer api_{{.workloads = true}};
  std::unique_ptr<kube::Transport> transport_ = *kube::Transport::create(api_.config());
  Inbox inbox_;
  std::unique_ptr<Sources> sources_;
};

TEST_F(SourcesTest, WhatIsKueuesIsLeftToItWhileItHoldsItsLease) {
  EXPECT_EQ(written(), "v1beta2") << "no Kueue";
  write_lease("kueue-controller-manager-0", 15, 2);
  EXPECT_EQ(written(), "");
  write_lease("kueue-controller-manager-0", 15, 40);
  EXPECT_EQ(written(), "") << "one that ended without a word; clocks differ";
  write_lease("kueue-controller-manager-0", 15, 46);
  EXPECT_EQ(written(), "v1beta2");
}

// Pods come decoded, but those that cannot be: the text of these says why.
TEST_F(SourcesTest, PodsComeDecoded) {
  constexpr const char* kPods = "/api/v1/namespaces/team/pods";
  api_.create(kPods, Json{{"metadata", {{"name", "good"}}}, {"spec", {{"containers", {{{"name", "c"}}}}}}});
  std::map<std::string, bool> decoded;
  Batch batch;
  for (int i = 0; i < 100 && decoded.empty(); ++i) {
    inbox_.take(batch, 100);
    for (const auto& item : batch.items()) {
      if (item.what != Batch::Item::What::kChange || batch.name(item).empty()) continue;
      EXPECT_EQ(item.pod.has_value(), item.kind == dialect::Kind::kPod);
      if (item.pod) decoded[batch.take_pod(item).meta.name] = true;
    }
  }
  EXPECT_TRUE(decoded.contains("good"));
}

// Its configuration is changed, or another version of it is rolled out: seconds later it is there again.
TEST_F(SourcesTest, AKueueThatStartsAgainFindsWhatIsItsOwnUntouched) {
  write_lease("", 1, 0);
  EXPECT_EQ(written(), "");
  write_lease("", 1, 29);
  EXPECT_EQ(written(), "");
  write_lease("kueue-controller-manager-1", 15, 0);
  EXPECT_EQ(written(), "");
  write_lease("", 1, 32);
  EXPECT_EQ(written(), "v1beta2") << "it does not come back";
}

// The role `edit` may write leases.
TEST_F(SourcesTest, ALeaseThatATenantWroteIsNotKueues) {
  write_lease("mallory", 2147483647, -3600 * 24 * 365);
  EXPECT_EQ(written(), "v1beta2") << "it was renewed in a year from now";
  write_lease("mallory", 2147483647, 3600 + 31);
  EXPECT_EQ(written(), "v1beta2") << "no lease lasts so long";
  write_lease("mallory", 2147483647, 1);
  EXPECT_EQ(written(), "") << "as Kueue's, for all that is known";
  api_.create("/api/v1/namespaces",
              Json{{"metadata", {{"name", "kueue-system"}, {"labels", {{"berth.dev/tenant", ""}}}}}});
  EXPECT_EQ(written(), "v1beta2");
}

}  // namespace
}  // namespace berth::scheduler
