// Pods whose volumes are made when they have their places. The node goes onto the claim; the pods are bound when all volumes are there.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "scheduler/job_support.h"
#include "scheduler/world_support.h"

namespace berth::scheduler::testing {
namespace {

using dialect::Kind;
using kube::Outcome;
using nlohmann::json;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

class VolumesTest : public ::testing::Test {
 protected:
  struct Live : World {
    using World::World;

    void klass(const json& more = json::object()) {
      json out = {{"metadata", {{"name", "late"}}},
                  {"provisioner", "disks.example.com"},
                  {"volumeBindingMode", "WaitForFirstConsumer"}};
      out.update(more);
      object(Kind::kStorageClass, "late", out.dump());
    }
    json claim_of(const std::string& name, const std::string& selected, const std::string& volume) {
      json out = {{"metadata",
                   {{"name", name},
                    {"namespace", "default"},
                    {"uid", uid_of(name)},
                    {"resourceVersion", std::to_string(version + 1)}}},
                  {"spec", {{"storageClassName", "late"}}},
                  {"status", {{"phase", volume.empty() ? "Pending" : "Bound"}}}};
      if (!selected.empty()) out["metadata"]["annotations"]["volume.kubernetes.io/selected-node"] = selected;
      if (!volume.empty()) out["spec"]["volumeName"] = volume;
      return out;
    }
    void claim(const std::string& name, const std::string& selected = "", const std::string& volume = "") {
      object(Kind::kPersistentVolumeClaim, name, claim_of(name, selected, volume).dump());
    }
    // A volume that can be used on one node alone.
    void volume(const std::string& name, const std::string& node) {
      const json term = {
          {"matchFields",
           json::array({{{"key", "metadata.name"}, {"operator", "In"}, {"values", json::array({node})}}})}};
      object(Kind::kPersistentVolume, name,
             json{{"metadata", {{"name", name}}},
                  {"spec", {{"nodeAffinity", {{"required", {{"nodeSelectorTerms", json::array({term})}}}}}}}}
                 .dump());
    }
    // A pod that mounts the claim of its name, or another.
    void mounting(PodSpecText text, const std::string& claim = "") {
      json pod = json::parse(pod_json(text, version + 1));
      pod["spec"]["volumes"] = json::array(
          {{{"name", "v"}, {"persistentVolumeClaim", {{"claimName", claim.empty() ? text.name : claim}}}}});
      object(Kind::kPod, text.name, pod.dump());
    }
    // "a on n1" for the nodes that are written on claims, each of which the API server takes, and shows.
    std::vector<std::string> select() {
      std::vector<std::string> out;
      for (const Sent& sent : take(Step::kClaim)) {
        const std::string name = sent.uid.substr(sent.uid.find('/') + 1);
        EXPECT_EQ(sent.path, "/api/v1/namespaces/default/persistentvolumeclaims/" + name);
        const json body = json::parse(sent.body);
        EXPECT_EQ(body["metadata"]["uid"], uid_of(name));
        EXPECT_TRUE(body["metadata"].contains("resourceVersion"));
        const std::string node = body["metadata"]["annotations"]["volume.kubernetes.io/selected-node"];
        out.push_back(name + " on " + node);
        const json taken = claim_of(name, node, "");
        claim(name, node);
        answer_about(Step::kClaim, sent.uid, Outcome::kOk, "", taken.dump());
      }
      return out;
    }
    // Its provisioner has made the volume there, and Kubernetes has bound the claim to it.
    void made(const std::string& claim_name, const std::string& node) {
      volume("pv-" + claim_name, node);
      claim(claim_name, node, "pv-" + claim_name);
      turn();
    }
    std::vector<std::string> binds() {
      std::vector<std::string> out;
      for (const Sent& bind : take(Step::kBind)) out.push_back(bind.uid.substr(4) + " on " + node_of(bind));
      return out;
    }
    // "<reason>: <message>" of the conditions that are due.
    std::vector<std::string> conditions() {
      pass(6 * kSecond);
      report();
      std::vector<std::string> out;
      for (const Sent& status : take(Step::kStatus))
        out.push_back(condition_field(status, "reason") + ": " + condition_field(status, "message"));
      return out;
    }
  };

  VolumesTest() { begin(w_); }
  static void begin(Live& w, const std::vector<std::string>& nodes = {"n1", "n2"}, int gpus = 2) {
    for (const std::string& node : nodes) w.node(node, gpus);
    w.klass();
  }
  Live w_;
};

TEST_F(VolumesTest, APodIsBoundWhenItsVolumeIsMade) {
  w_.recover();
  w_.claim("a");
  w_.mounting({.name = "a"});
  w_.turn();
  EXPECT_THAT(w_.binds(), IsEmpty());
  EXPECT_EQ(w_.slot(uid_of("a")), SlotState::kBinding) << "it keeps its place";
  EXPECT_EQ(w_.core->carrier().busy(), 0u) << "nothing is on its way that others wait for";
  EXPECT_THAT(w_.select(), ElementsAre("a on n1"));
  w_.turn();
  EXPECT_THAT(w_.binds(), IsEmpty());
  EXPECT_THAT(w_.conditions(),
              ElementsAre("Claim: waits for its volumes: claim a is being provisioned for node n1"));
  w_.made("a", "n1");
  EXPECT_THAT(w_.binds(), ElementsAre("a on n1"));
  w_.answer(Step::kBind, "a", Outcome::kOk);
  w_.mounting({.name = "a", .node = "n1"});
  w_.turn();
  EXPECT_EQ(w_.slot(uid_of("a")), SlotState::kRunning);
  EXPECT_EQ(w_.core->carrier().places().binds(), 0u);
  EXPECT_THAT(w_.take(Step::kClaim), IsEmpty());
  EXPECT_TRUE(w_.core->engine().audit());
}

TEST_F(VolumesTest, TheVolumeMustBeThereToo) {
  w_.recover();
  w_.claim("a");
  w_.mounting({.name = "a"});
  w_.turn();
  EXPECT_THAT(w_.select(), ElementsAre("a on n1"));
  w_.claim("a", "n1", "pv-a");
  w_.turn();
  EXPECT_THAT(w_.binds(), IsEmpty()) << "where it can be used is not known yet";
  w_.volume("pv-a", "n2");
  w_.turn();
  EXPECT_THAT(w_.binds(), ElementsAre("a on n2")) << "it was made elsewhere";
  EXPECT_TRUE(w_.core->engine().audit());
}

TEST_F(VolumesTest, AGangIsBoundWhenAllItsVolumesAreThere) {
  w_.recover();
  for (const char* name : {"a", "b", "c"}) {
    w_.claim(name);
    w_.mounting({.name = name, .gang = "g", .size = 4, .gpus = 1});
  }
  w_.turn();
  EXPECT_THAT(w_.take(Step::kClaim), IsEmpty()) << "it is not whole";
  w_.pod({.name = "d", .gang = "g", .size = 4, .gpus = 1});
  w_.turn();
  const auto selected = w_.select();
  EXPECT_EQ(selected.size(), 3u);
  w_.turn();
  EXPECT_THAT(w_.binds(), IsEmpty()) << "nor is the pod without a claim bound";
  std::map<std::string, std::string> node;
  for (const std::string& text : selected) node[text.substr(0, 1)] = text.substr(5);
  w_.made("a", node["a"]);
  w_.made("b", node["b"]);
  EXPECT_THAT(w_.binds(), IsEmpty());
  w_.pass(2 * kMinute);
  EXPECT_THAT(w_.conditions(), ElementsAre(AllOf(HasSubstr("claim c is being provisioned")), ::testing::_,
                                           ::testing::_, ::testing::_));
  w_.made("c", node["c"]);
  EXPECT_EQ(w_.binds().size(), 4u);
  EXPECT_THAT(w_.take(Step::kDelete), IsEmpty());
  EXPECT_TRUE(w_.core->engine().audit());
}

TEST_F(VolumesTest, ANodeThatTheProvisionerRefusesIsLeft) {
  w_.recover();
  w_.claim("a");
  w_.mounting({.name = "a"});
  w_.turn();
  EXPECT_THAT(w_.select(), ElementsAre("a on n1"));
  w_.turn();
  w_.claim("a");  // the provisioner has taken the node off
  w_.turn();
  EXPECT_THAT(w_.select(), ElementsAre("a on n2"));
  w_.turn();
  w_.claim("a");
  w_.turn();
  EXPECT_THAT(w_.select(), IsEmpty()) << "it rests";
  EXPECT_EQ(w_.slot(uid_of("a")), SlotState::kWaiting) << "others may have the room";
  EXPECT_THAT(w_.conditions(), ElementsAre(HasSubstr("claim a (not made for n1, n2 lately)")));
  w_.pass(5 * kSecond);
  EXPECT_THAT(w_.select(), ElementsAre("a on n1"));
  w_.turn();
  w_.made("a", "n1");
  EXPECT_THAT(w_.binds(), ElementsAre("a on n1"));
  EXPECT_TRUE(w_.core->engine().audit());
}

TEST_F(VolumesTest, AGangWhoseVolumeIsRefusedStartsElsewhereTogether) {
  w_.recover();
  for (const char* name : {"a", "b"}) {
    w_.claim(name);
    w_.mounting({.name = name, .gang = "g", .size = 2, .gpus = 2});
  }
  w_.node("n3", 2);
  w_.turn();
  EXPECT_THAT(w_.select(), UnorderedElementsAre("a on n1", "b on n2"));
  w_.turn();
  w_.claim("a");
  w_.turn();
  EXPECT_THAT(w_.binds(), IsEmpty());
  EXPECT_THAT(w_.select(), ElementsAre("a on n3")) << "the volume of b is under way on n2";
  w_.made("b", "n2");
  EXPECT_THAT(w_.binds(), IsEmpty());
  w_.made("a", "n3");
  EXPECT_THAT(w_.binds(), UnorderedElementsAre("a on n3", "b on n2"));
  EXPECT_TRUE(w_.core->engine().audit());
}

TEST_F(VolumesTest, VolumesThatDoNotComeGiveThePlaceToOthers) {
  Live w;
  begin(w, {"n1"});
  w.recover();
  w.claim("a");
  w.mounting({.name = "a", .priority = 5, .gpus = 2});
  w.turn();
  EXPECT_THAT(w.select(), ElementsAre("a on n1"));
  w.pod({.name = "b", .gpus = 2});
  w.pass(10 * kMinute - 1);
  EXPECT_THAT(w.binds(), IsEmpty());
  w.pass(1);
  EXPECT_THAT(w.binds(), ElementsAre("b on n1"));
  EXPECT_EQ(w.slot(uid_of("a")), SlotState::kWaiting);
  EXPECT_TRUE(w.core->engine().audit());
}

TEST_F(VolumesTest, AfterARestartTheWaitGoesOn) {
  w_.claim("a", "n2");
  w_.claim("b");
  w_.claim("c", "n2", "pv-c");
  w_.volume("pv-c", "n2");
  for (const char* name : {"a", "b", "c"}) w_.mounting({.name = name, .gang = "g", .size = 3, .gpus = 1});
  w_.recover();
  w_.turn();
  EXPECT_THAT(w_.binds(), IsEmpty());
  const auto selected = w_.select();
  ASSERT_EQ(selected.size(), 1u) << "the others have their nodes";
  EXPECT_EQ(selected[0], "b on n1");
  w_.made("b", "n1");
  w_.made("a", "n2");
  EXPECT_THAT(w_.binds(), UnorderedElementsAre("a on n2", "b on n1", "c on n2"));
  EXPECT_TRUE(w_.core->engine().audit());
}

TEST_F(VolumesTest, APodThatIsDeletedEndsTheWaitOfItsGang) {
  w_.recover();
  for (const char* name : {"a", "b"}) {
    w_.claim(name);
    w_.mounting({.name = name, .gang = "g", .size = 2, .gpus = 1});
  }
  w_.turn();
  EXPECT_EQ(w_.select().size(), 2u);
  w_.pod_gone("a");
  w_.turn();
  w_.made("b", "n1");
  EXPECT_THAT(w_.binds(), IsEmpty());
  EXPECT_EQ(w_.core->carrier().places().binds(), 0u);
  w_.mounting({.name = "a2", .gang = "g", .size = 2, .gpus = 1}, "a");
  w_.turn();
  EXPECT_THAT(w_.binds(), IsEmpty());
  w_.made("a", "n1");
  EXPECT_THAT(w_.binds(), UnorderedElementsAre("a2 on n1", "b on n1"));
  EXPECT_TRUE(w_.core->engine().audit());
}

TEST_F(VolumesTest, AClaimThatIsDeletedEndsTheWait) {
  w_.recover();
  w_.claim("a");
  w_.mounting({.name = "a"});
  w_.turn();
  EXPECT_EQ(w_.select().size(), 1u);
  w_.gone(Kind::kPersistentVolumeClaim, "a");
  w_.turn();
  EXPECT_EQ(w_.slot(uid_of("a")), SlotState::kWaiting);
  EXPECT_THAT(w_.conditions(), ElementsAre(HasSubstr("claim a does not exist")));
  w_.claim("a");
  w_.turn();
  EXPECT_THAT(w_.select(), ElementsAre("a on n1"));
}

TEST_F(VolumesTest, APodThatWaitsForItsVolumeIsPreemptedWithoutAnyDeletion) {
  Live w;
  begin(w, {"n1"});
  w.recover();
  w.claim("a");
  w.mounting({.name = "a", .gpus = 2});
  w.turn();
  EXPECT_THAT(w.select(), ElementsAre("a on n1"));
  w.pod({.name = "urgent", .priority = 100, .gpus = 2});
  w.turn();
  EXPECT_THAT(w.take(Step::kMark), IsEmpty());
  EXPECT_THAT(w.take(Step::kDelete), IsEmpty());
  EXPECT_THAT(w.binds(), ElementsAre("urgent on n1"));
  w.made("a", "n1");
  EXPECT_THAT(w.binds(), IsEmpty());
  EXPECT_EQ(w.slot(uid_of("a")), SlotState::kWaiting);
  EXPECT_TRUE(w.core->engine().audit());
}

TEST_F(VolumesTest, MembersThatShareAClaimFollowItsVolume) {
  w_.recover();
  w_.claim("data");
  for (const char* name : {"a", "b"}) w_.mounting({.name = name, .gang = "g", .size = 2, .gpus = 1}, "data");
  w_.turn();
  EXPECT_THAT(w_.select(), ElementsAre("data on n1"));
  w_.turn();
  w_.made("data", "n1");
  EXPECT_THAT(w_.binds(), UnorderedElementsAre("a on n1", "b on n1"));
}

TEST_F(VolumesTest, AWriteThatIsRefusedIsTriedAgainAndSaid) {
  w_.recover();
  w_.claim("a");
  w_.mounting({.name = "a"});
  w_.turn();
  ASSERT_EQ(w_.take(Step::kClaim).size(), 1u);
  w_.answer_about(Step::kClaim, "default/a", Outcome::kForbidden, "no right");
  EXPECT_THAT(w_.take(Step::kClaim), IsEmpty());
  w_.pass(100);
  ASSERT_EQ(w_.take(Step::kClaim).size(), 1u);
  w_.answer_about(Step::kClaim, "default/a", Outcome::kConflict, "the object has been modified");
  w_.pass(200);
  EXPECT_THAT(w_.select(), ElementsAre("a on n1"));
}

TEST_F(VolumesTest, ABindByAnotherClientEndsTheWait) {
  w_.recover();
  w_.claim("a");
  w_.mounting({.name = "a"});
  w_.turn();
  EXPECT_EQ(w_.select().size(), 1u);
  w_.mounting({.name = "a", .node = "n2"});
  w_.turn();
  EXPECT_EQ(w_.slot(uid_of("a")), SlotState::kRunning);
  EXPECT_EQ(w_.core->carrier().places().binds(), 0u);
  w_.made("a", "n1");
  EXPECT_THAT(w_.binds(), IsEmpty());
  EXPECT_TRUE(w_.core->engine().audit());
}

// A Job that waits suspended: its pods come one by one, and none is bound before the volumes of all are there.
TEST(VolumesOfJobs, PodsOfAReleasedJobAreBoundTogether) {
  CoreOptions options = World::defaults();
  options.intake.hold_owners = true;
  World w(options);
  for (const char* node : {"n1", "n2"}) w.node(node, 1);
  w.object(Kind::kResourceFlavor, "any", R"({"metadata":{"name":"any"}})");
  w.object(Kind::kClusterQueue, "team", R"({"metadata":{"name":"team"},"spec":{"namespaceSelector":{},
      "resourceGroups":[{"coveredResources":["cpu","nvidia.com/gpu"],"flavors":[{"name":"any","resources":[
      {"name":"cpu","nominalQuota":"100"},{"name":"nvidia.com/gpu","nominalQuota":"100"}]}]}]}})");
  w.object(Kind::kLocalQueue, "team",
           R"({"metadata":{"name":"team","namespace":"default"},"spec":{"clusterQueue":"team"}})");
  w.object(Kind::kStorageClass, "late", R"({"metadata":{"name":"late"},"provisioner":"disks.example.com",
      "volumeBindingMode":"WaitForFirstConsumer"})");
  w.recover();
  const json volumes = json::parse(R"([{"name":"v","ephemeral":{"volumeClaimTemplate":{"spec":
      {"storageClassName":"late","resources":{"requests":{"storage":"1Gi"}}}}}}])");
  JobText text;
  const auto job = [&](bool suspend) {
    text.suspend = suspend;
    json out = json::parse(job_json(text, w.version + 1));
    out["spec"]["template"]["spec"]["volumes"] = volumes;
    return out.dump();
  };
  const auto pod = [&](int index) {
    json out = json::parse(job_pod(text, index));
    out["spec"]["volumes"] = volumes;
    w.object(Kind::kPod, fmt::format("train-{}", index), out.dump());
    w.turn();
  };
  const auto claim = [&](int index, const std::string& selected, const std::string& volume) {
    const std::string name = fmt::format("train-{}-v", index);
    json out = {{"metadata",
                 {{"name", name},
                  {"namespace", "default"},
                  {"uid", uid_of(name)},
                  {"resourceVersion", std::to_string(w.version + 1)},
                  {"ownerReferences", json::array({{{"kind", "Pod"},
                                                    {"apiVersion", "v1"},
                                                    {"name", fmt::format("train-{}", index)},
                                                    {"uid", uid_of(fmt::format("train-{}", index))},
                                                    {"controller", true}}})}}},
                {"spec", {{"storageClassName", "late"}}},
                {"status", {{"phase", volume.empty() ? "Pending" : "Bound"}}}};
    if (!selected.empty()) out["metadata"]["annotations"]["volume.kubernetes.io/selected-node"] = selected;
    if (!volume.empty()) out["spec"]["volumeName"] = volume;
    w.object(Kind::kPersistentVolumeClaim, name, out.dump());
    w.turn();
  };
  w.object(Kind::kJob, "train", job(true));
  w.turn();
  ASSERT_EQ(w.only(Step::kOwner), "train");
  ++text.generation;
  ++w.version;
  w.answer(Step::kOwner, "train", Outcome::kOk, "", job(false));
  pod(0);
  EXPECT_THAT(w.take(Step::kBind), IsEmpty()) << "its claim is not there yet";
  claim(0, "", "");
  EXPECT_THAT(w.take(Step::kClaim), IsEmpty()) << "the other pod is to come";
  EXPECT_THAT(w.take(Step::kBind), IsEmpty());
  pod(1);
  const auto asked = w.take(Step::kClaim);
  ASSERT_EQ(asked.size(), 1u);
  EXPECT_EQ(asked[0].uid, "default/train-0-v");
  claim(1, "", "");
  EXPECT_EQ(w.take(Step::kClaim).size(), 1u);
  w.object(Kind::kPersistentVolume, "pv-0", R"({"metadata":{"name":"pv-0"},"spec":{}})");
  claim(0, "n1", "pv-0");
  w.object(Kind::kPersistentVolume, "pv-1", R"({"metadata":{"name":"pv-1"},"spec":{}})");
  EXPECT_THAT(w.take(Step::kBind), IsEmpty());
  claim(1, "n2", "pv-1");
  EXPECT_EQ(w.take(Step::kBind).size(), 2u);
  EXPECT_TRUE(w.core->engine().audit());
}

}  // namespace
}  // namespace berth::scheduler::testing
