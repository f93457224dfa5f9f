// Pods whose claims get volumes that exist (local volumes): the claim goes onto the volume, and the pods are bound when all claims are.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>

#include "scheduler/job_support.h"
#include "scheduler/world_support.h"

namespace berth::scheduler::testing {
namespace {

using dialect::Kind;
using kube::Outcome;
using nlohmann::json;
using ::testing::AnyOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

class ExistingVolumes : public ::testing::Test {
 protected:
  struct Live : World {
    using World::World;

    void klass(const std::string& provisioner = "kubernetes.io/no-provisioner") {
      object(Kind::kStorageClass, "local",
             json{{"metadata", {{"name", "local"}}},
                  {"provisioner", provisioner},
                  {"volumeBindingMode", "WaitForFirstConsumer"}}
                 .dump());
    }
    void host(const std::string& name, int gpus) {
      object(Kind::kNode, name,
             json{{"metadata", {{"name", name}, {"labels", {{"kubernetes.io/hostname", name}}}}},
                  {"status",
                   {{"allocatable",
                     {{"cpu", "1000"},
                      {"memory", "1Ti"},
                      {"pods", "110"},
                      {"nvidia.com/gpu", std::to_string(gpus)}}}}}}
                 .dump());
    }
    json claim_of(const std::string& name, const std::string& volume) {
      json out = {{"metadata",
                   {{"name", name},
                    {"namespace", "default"},
                    {"uid", uid_of(name)},
                    {"resourceVersion", std::to_string(version + 1)}}},
                  {"spec",
                   {{"storageClassName", "local"},
                    {"accessModes", json::array({"ReadWriteOnce"})},
                    {"resources", {{"requests", {{"storage", "1Gi"}}}}}}},
                  {"status", {{"phase", volume.empty() ? "Pending" : "Bound"}}}};
      if (!volume.empty()) out["spec"]["volumeName"] = volume;
      return out;
    }
    void claim(const std::string& name, const std::string& volume = "") {
      object(Kind::kPersistentVolumeClaim, name, claim_of(name, volume).dump());
    }
    // On one node; `of`: the claim that it is for.
    json volume_of(const std::string& name, const std::string& node, const std::string& of) {
      const json term = {
          {"matchFields",
           json::array({{{"key", "metadata.name"}, {"operator", "In"}, {"values", json::array({node})}}})}};
      json out = {{"metadata",
                   {{"name", name}, {"uid", uid_of(name)}, {"resourceVersion", std::to_string(version + 1)}}},
                  {"spec",
                   {{"storageClassName", "local"},
                    {"accessModes", json::array({"ReadWriteOnce"})},
                    {"capacity", {{"storage", "10Gi"}}},
                    {"nodeAffinity", {{"required", {{"nodeSelectorTerms", json::array({term})}}}}}}},
                  {"status", {{"phase", "Available"}}}};
      if (!of.empty())
        out["spec"]["claimRef"] = {{"namespace", "default"}, {"name", of}, {"uid", uid_of(of)}};
      return out;
    }
    void volume(const std::string& name, const std::string& node, const std::string& of = "") {
      nodes_of[name] = node;
      object(Kind::kPersistentVolume, name, volume_of(name, node, of).dump());
    }
    // A pod that mounts the claim of its name, or another.
    void mounting(PodSpecText text, const std::string& claim_name = "") {
      json pod = json::parse(pod_json(text, version + 1));
      const std::string of = claim_name.empty() ? text.name : claim_name;
      pod["spec"]["volumes"] = json::array({{{"name", "v"}, {"persistentVolumeClaim", {{"claimName", of}}}}});
      object(Kind::kPod, text.name, pod.dump());
    }
    // "v1 for a" for the claims that are written on volumes, each of which the API server takes, and shows.
    std::vector<std::string> written() {
      std::vector<std::string> out;
      for (const Sent& sent : take(Step::kClaim)) {
        const std::string prefix = "/api/v1/persistentvolumes/";
        EXPECT_TRUE(sent.path.starts_with(prefix)) << sent.path;
        const std::string name = sent.path.substr(prefix.size());
        const json body = json::parse(sent.body);
        EXPECT_EQ(body["metadata"]["uid"], uid_of(name));
        EXPECT_TRUE(body["metadata"].contains("resourceVersion"));
        EXPECT_EQ(body["metadata"]["annotations"]["pv.kubernetes.io/bound-by-controller"], "yes");
        const std::string of = body["spec"]["claimRef"]["name"];
        EXPECT_EQ(body["spec"]["claimRef"]["namespace"], "default");
        EXPECT_EQ(body["spec"]["claimRef"]["uid"], uid_of(of));
        EXPECT_EQ(sent.uid, "default/" + of);
        out.push_back(fmt::format("{} for {}", name, of));
        const json taken = volume_of(name, nodes_of[name], of);
        volume(name, nodes_of[name], of);
        answer_about(Step::kClaim, sent.uid, Outcome::kOk, "", taken.dump());
      }
      return out;
    }
    // Kubernetes has bound them.
    void bound(const std::string& claim_name, const std::string& volume_name) {
      claim(claim_name, volume_name);
      turn();
    }
    std::vector<std::string> binds() {
      std::vector<std::string> out;
      for (const Sent& bind : take(Step::kBind)) out.push_back(bind.uid.substr(4) + " on " + node_of(bind));
      return out;
    }
    std::vector<std::string> conditions() {
      pass(6 * kSecond);
      report();
      std::vector<std::string> out;
      for (const Sent& status : take(Step::kStatus))
        out.push_back(condition_field(status, "reason") + ": " + condition_field(status, "message"));
      return out;
    }
    std::map<std::string, std::string> nodes_of;  // by volume
  };

  ExistingVolumes() { begin(w_); }
  static void begin(Live& w, const std::vector<std::string>& nodes = {"n1", "n2", "n3"}, int gpus = 8) {
    for (const std::string& node : nodes) w.host(node, gpus);
    w.klass();
  }
  // A gang of pods, each with a claim of its own name.
  static void gang(Live& w, const std::vector<std::string>& names) {
    for (const std::string& name : names) {
      w.claim(name);
      w.mounting({.name = name, .gang = "g", .size = static_cast<int>(names.size()), .gpus = 1});
    }
  }
  Live w_;
};

TEST_F(ExistingVolumes, APodIsBoundWhenItsClaimIs) {
  w_.volume("v1", "n2");
  w_.recover();
  w_.claim("a");
  w_.mounting({.name = "a"});
  w_.turn();
  EXPECT_THAT(w_.binds(), IsEmpty());
  EXPECT_EQ(w_.slot(uid_of("a")), SlotState::kBinding) << "it keeps its place";
  EXPECT_THAT(w_.written(), ElementsAre("v1 for a"));
  w_.turn();
  EXPECT_THAT(w_.binds(), IsEmpty());
  EXPECT_THAT(w_.conditions(),
              ElementsAre("Claim: waits for its volumes: claim a is being bound to PersistentVolume v1"));
  w_.bound("a", "v1");
  EXPECT_THAT(w_.binds(), ElementsAre("a on n2"));
  w_.answer(Step::kBind, "a", Outcome::kOk);
  w_.mounting({.name = "a", .node = "n2"});
  w_.turn();
  EXPECT_EQ(w_.slot(uid_of("a")), SlotState::kRunning);
  EXPECT_THAT(w_.take(Step::kClaim), IsEmpty());
  EXPECT_TRUE(w_.core->engine().audit());
}

TEST_F(ExistingVolumes, AGangIsPlacedRightAtOnce) {
  for (const auto& [volume, node] : std::map<std::string, std::string>{
           {"v1", "n1"}, {"v2", "n2"}, {"v3", "n2"}, {"v4", "n3"}, {"v5", "n3"}, {"v6", "n3"}})
    w_.volume(volume, node);
  w_.recover();
  gang(w_, {"a", "b", "c", "d", "e", "f"});
  w_.turn();
  EXPECT_EQ(w_.written().size(), 6u) << "no node has more pods than volumes";
  w_.turn();
  EXPECT_THAT(w_.take(Step::kClaim), IsEmpty());
  EXPECT_THAT(w_.binds(), IsEmpty());
  EXPECT_TRUE(w_.core->engine().audit());
  std::map<std::string, std::string> claims;
  for (const char* name : {"a", "b", "c", "d", "e", "f"}) {
    EXPECT_THAT(w_.binds(), IsEmpty()) << "not all are there";
    for (const auto& [volume, node] : w_.nodes_of) {
      const auto bind = w_.core->carrier().places().bind(uid_of(name));
      ASSERT_NE(bind, nullptr);
      if (bind->node != node || claims.contains(volume)) continue;
      claims[volume] = name;
      w_.bound(name, volume);
      break;
    }
  }
  EXPECT_EQ(claims.size(), 6u);
  EXPECT_EQ(w_.binds().size(), 6u);
  EXPECT_TRUE(w_.core->engine().audit());
}

TEST_F(ExistingVolumes, TwoPodsCompeteForTheLastVolume) {
  w_.volume("v1", "n2");
  w_.recover();
  for (const char* name : {"a", "b"}) {
    w_.claim(name);
    w_.mounting({.name = name});
  }
  w_.turn();
  EXPECT_THAT(w_.written(), ElementsAre("v1 for a"));
  w_.turn();
  EXPECT_EQ(w_.slot(uid_of("b")), SlotState::kWaiting);
  EXPECT_THAT(w_.conditions(),
              ::testing::Contains(HasSubstr("claim b, by the PersistentVolumes of local (on no node)")));
  w_.volume("v2", "n3");
  w_.turn();
  EXPECT_THAT(w_.written(), ElementsAre("v2 for b")) << "a new one wakes it";
  w_.bound("a", "v1");
  EXPECT_THAT(w_.binds(), ElementsAre("a on n2"));
  w_.bound("b", "v2");
  EXPECT_THAT(w_.binds(), ElementsAre("b on n3"));
  EXPECT_TRUE(w_.core->engine().audit());
}

TEST_F(ExistingVolumes, AVolumeThatIsTakenOrGoneIsReplaced) {
  w_.volume("v1", "n1");
  w_.volume("v2", "n1");
  w_.volume("v3", "n2");
  w_.recover();
  w_.claim("a");
  w_.mounting({.name = "a"});
  w_.turn();
  ASSERT_EQ(w_.take(Step::kClaim).size(), 1u);
  w_.volume("v1", "n1", "other");
  w_.turn();
  EXPECT_THAT(w_.take(Step::kClaim), IsEmpty()) << "the answer is to come";
  w_.answer_about(Step::kClaim, "default/a", Outcome::kConflict, "the object has been modified");
  w_.turn();
  EXPECT_THAT(w_.written(), ElementsAre("v2 for a")) << "another of its node";
  w_.gone(Kind::kPersistentVolume, "v2");
  w_.turn();
  EXPECT_THAT(w_.written(), ElementsAre("v3 for a")) << "its node has none left";
  w_.bound("a", "v3");
  EXPECT_THAT(w_.binds(), ElementsAre("a on n2"));
  EXPECT_TRUE(w_.core->engine().audit());
}

TEST_F(ExistingVolumes, AWriteThatIsRefusedIsTriedAgainAndSaid) {
  w_.volume("v1", "n1");
  w_.recover();
  w_.claim("a");
  w_.mounting({.name = "a"});
  w_.turn();
  ASSERT_EQ(w_.take(Step::kClaim).size(), 1u);
  w_.answer_about(Step::kClaim, "default/a", Outcome::kForbidden, "no right");
  EXPECT_THAT(w_.conditions(),
              ElementsAre(HasSubstr("claim a is to be bound to PersistentVolume v1 (it could not be "
                                    "written: ")));
  EXPECT_THAT(w_.written(), ElementsAre("v1 for a"));
  w_.turn();
  w_.bound("a", "v1");
  EXPECT_THAT(w_.binds(), ElementsAre("a on n1"));
}

TEST_F(ExistingVolumes, AClaimThatIsTakenOffItsVolumeGivesThePlaceBack) {
  w_.volume("v1", "n1");
  w_.volume("v2", "n2");
  w_.recover();
  w_.claim("a");
  w_.mounting({.name = "a"});
  w_.turn();
  EXPECT_THAT(w_.written(), ElementsAre("v1 for a"));
  w_.turn();
  w_.volume("v1", "n1");
  w_.turn();
  w_.turn();
  EXPECT_THAT(w_.written(), ElementsAre("v2 for a"));
  EXPECT_TRUE(w_.core->engine().audit());
}

TEST_F(ExistingVolumes, AfterARestartTheWaitGoesOn) {
  w_.volume("v1", "n1");
  w_.volume("v2", "n2", "b");  // written before, and not bound yet
  w_.volume("v3", "n3", "c");
  w_.claim("c", "v3");
  for (const char* name : {"a", "b"}) w_.claim(name);
  for (const char* name : {"a", "b", "c"}) w_.mounting({.name = name, .gang = "g", .size = 3, .gpus = 1});
  w_.recover();
  w_.turn();
  EXPECT_THAT(w_.binds(), IsEmpty());
  EXPECT_THAT(w_.written(), ElementsAre("v1 for a")) << "the others have theirs";
  w_.turn();
  w_.bound("a", "v1");
  EXPECT_THAT(w_.binds(), IsEmpty());
  w_.bound("b", "v2");
  EXPECT_THAT(w_.binds(), UnorderedElementsAre("a on n1", "b on n2", "c on n3"));
  EXPECT_TRUE(w_.core->engine().audit());
}

TEST_F(ExistingVolumes, APodThatIsDeletedLeavesItsClaimTheVolume) {
  w_.volume("v1", "n1");
  w_.volume("v2", "n2");
  w_.recover();
  gang(w_, {"a", "b"});
  w_.turn();
  EXPECT_EQ(w_.written().size(), 2u);
  w_.pod_gone("a");
  w_.turn();
  EXPECT_EQ(w_.core->carrier().places().binds(), 0u);
  w_.bound("b", w_.nodes_of["v1"] == "n1" ? "v2" : "v1");
  EXPECT_THAT(w_.binds(), IsEmpty());
  // Another pod with the claim goes where the volume is that the claim was written on.
  w_.mounting({.name = "a2", .gang = "g", .size = 2, .gpus = 1}, "a");
  w_.turn();
  EXPECT_THAT(w_.take(Step::kClaim), IsEmpty());
  w_.bound("a", "v1");
  EXPECT_THAT(w_.binds(), UnorderedElementsAre("a2 on n1", "b on n2"));
  EXPECT_TRUE(w_.core->engine().audit());
}

TEST_F(ExistingVolumes, AVolumeThatWasChosenAndNotWrittenIsFreeAgain) {
  w_.volume("v1", "n1");
  w_.recover();
  w_.claim("a");
  w_.claim("b");
  w_.mounting({.name = "a"});
  w_.turn();
  ASSERT_EQ(w_.take(Step::kClaim).size(), 1u);
  w_.answer_about(Step::kClaim, "default/a", Outcome::kUnavailable, "down");
  w_.mounting({.name = "b"});
  w_.pod_gone("a");
  w_.turn();
  w_.turn();
  EXPECT_THAT(w_.written(), ElementsAre("v1 for b"));
  EXPECT_TRUE(w_.core->engine().audit());
}

TEST_F(ExistingVolumes, MembersThatShareAClaimGoToOneVolume) {
  w_.volume("v1", "n1");
  w_.recover();
  w_.claim("data");
  for (const char* name : {"a", "b", "c"})
    w_.mounting({.name = name, .gang = "g", .size = 3, .gpus = 2}, "data");
  w_.turn();
  EXPECT_THAT(w_.written(), ElementsAre("v1 for data"));
  w_.bound("data", "v1");
  EXPECT_THAT(w_.binds(), UnorderedElementsAre("a on n1", "b on n1", "c on n1"));
  EXPECT_TRUE(w_.core->engine().audit());
}

// Each of the nodes has a volume and room for one of them; one of the nodes has room for both.
TEST_F(ExistingVolumes, MembersThatShareALocalClaimComeTogether) {
  Live w;
  begin(w, {"n1", "n2"}, 4);
  w.volume("v1", "n1");
  w.volume("v2", "n2");
  w.recover();
  w.claim("data");
  w.pod({.name = "there", .gpus = 2});
  w.turn();
  ASSERT_THAT(w.binds(), ElementsAre("there on n1"));
  for (const char* name : {"a", "b"}) w.mounting({.name = name, .gang = "g", .size = 2, .gpus = 2}, "data");
  w.turn();
  const auto written = w.written();
  ASSERT_EQ(written.size(), 1u);
  EXPECT_EQ(written[0], "v2 for data");
  w.bound("data", "v2");
  EXPECT_THAT(w.binds(), UnorderedElementsAre("a on n2", "b on n2"));
  EXPECT_TRUE(w.core->engine().audit());
}

TEST_F(ExistingVolumes, WhereNoVolumeCanBeMadeOneThatExistsServes) {
  Live w;
  for (const char* node : {"n1", "n2"}) w.node(node, 8);
  w.klass("disks.example.com");
  w.volume("v1", "n2");
  w.recover();
  w.claim("a");
  w.mounting({.name = "a"});
  w.turn();
  const auto asked = w.take(Step::kClaim);
  ASSERT_EQ(asked.size(), 1u);
  EXPECT_EQ(asked[0].path, "/api/v1/namespaces/default/persistentvolumeclaims/a") << "n1 is as good as n2";
  Live on_n2;
  on_n2.node("n2", 8);
  on_n2.klass("disks.example.com");
  on_n2.volume("v1", "n2");
  on_n2.recover();
  on_n2.claim("a");
  on_n2.mounting({.name = "a"});
  on_n2.turn();
  EXPECT_THAT(on_n2.written(), ElementsAre("v1 for a"));
}

TEST_F(ExistingVolumes, WhileAVolumeIsMadeNoOtherIsChosen) {
  Live w;
  w.host("n1", 8);
  w.klass("disks.example.com");
  w.recover();
  w.claim("a");
  w.mounting({.name = "a"});
  w.turn();
  ASSERT_EQ(w.take(Step::kClaim).size(), 1u);
  w.volume("v1", "n1");
  w.turn();
  w.answer_about(Step::kClaim, "default/a", Outcome::kOk, "", w.claim_of("a", "").dump());
  w.turn();
  EXPECT_THAT(w.take(Step::kClaim), IsEmpty());
}

// Claims with a selector are not counted: each node is tried, with one volume for three pods.
TEST_F(ExistingVolumes, AGangWhoseClaimsAreNotCountedFindsItsNodes) {
  for (const auto& [volume, node] :
       std::map<std::string, std::string>{{"v1", "n1"}, {"v2", "n2"}, {"v3", "n3"}})
    w_.volume(volume, node);
  w_.recover();
  for (const char* name : {"a", "b", "c"}) {
    json claim = w_.claim_of(name, "");
    claim["spec"]["selector"] = {
        {"matchExpressions", json::array({{{"key", "broken"}, {"operator", "DoesNotExist"}}})}};
    w_.object(Kind::kPersistentVolumeClaim, name, claim.dump());
    w_.mounting({.name = name, .gang = "g", .size = 3, .gpus = 1});
  }
  for (int i = 0; i < 4; ++i) w_.turn();
  EXPECT_EQ(w_.written().size(), 3u);
  EXPECT_TRUE(w_.core->engine().audit());
}

// A Job that waits suspended is placed by its template, on nodes with a volume for each pod. Its claims come with its pods.
TEST_F(ExistingVolumes, PodsOfAReleasedJobGetTheirVolumesTogether) {
  CoreOptions options = World::defaults();
  options.intake.hold_owners = true;
  Live w(options);
  begin(w, {"n1", "n2"}, 8);
  w.volume("v1", "n1");
  w.volume("v2", "n2");
  w.object(Kind::kResourceFlavor, "any", R"({"metadata":{"name":"any"}})");
  w.object(Kind::kClusterQueue, "team", R"({"metadata":{"name":"team"},"spec":{"namespaceSelector":{},
      "resourceGroups":[{"coveredResources":["cpu","nvidia.com/gpu"],"flavors":[{"name":"any","resources":[
      {"name":"cpu","nominalQuota":"100"},{"name":"nvidia.com/gpu","nominalQuota":"100"}]}]}]}})");
  w.object(Kind::kLocalQueue, "team",
           R"({"metadata":{"name":"team","namespace":"default"},"spec":{"clusterQueue":"team"}})");
  w.recover();
  const json volumes = json::parse(R"([{"name":"v","ephemeral":{"volumeClaimTemplate":{"spec":
      {"storageClassName":"local","accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"1Gi"}}}}}}])");
  JobText text;
  const auto job = [&](bool suspend) {
    text.suspend = suspend;
    json out = json::parse(job_json(text, w.version + 1));
    out["spec"]["template"]["spec"]["volumes"] = volumes;
    return out.dump();
  };
  const auto claim = [&](int index, const std::string& volume) {
    const std::string pod = fmt::format("train-{}", index);
    json out = w.claim_of(pod + "-v", volume);
    out["metadata"]["ownerReferences"] = json::array(
        {{{"kind", "Pod"}, {"apiVersion", "v1"}, {"name", pod}, {"uid", uid_of(pod)}, {"controller", true}}});
    w.object(Kind::kPersistentVolumeClaim, pod + "-v", out.dump());
    w.turn();
  };
  const auto pod = [&](int index) {
    json out = json::parse(job_pod(text, index));
    out["spec"]["volumes"] = volumes;
    w.object(Kind::kPod, fmt::format("train-{}", index), out.dump());
    w.turn();
    claim(index, "");
  };
  w.object(Kind::kJob, "train", job(true));
  w.turn();
  ASSERT_EQ(w.only(Step::kOwner), "train");
  ++text.generation;
  ++w.version;
  w.answer(Step::kOwner, "train", Outcome::kOk, "", job(false));
  pod(0);
  EXPECT_THAT(w.take(Step::kClaim), IsEmpty()) << "the other pod is to come";
  pod(1);
  const auto written = w.written();
  ASSERT_EQ(written.size(), 2u);
  for (const std::string& one : written) claim(one.ends_with("train-0-v") ? 0 : 1, one.substr(0, 2));
  EXPECT_EQ(w.binds().size(), 2u);
  EXPECT_TRUE(w.core->engine().audit());
}

}  // namespace
}  // namespace berth::scheduler::testing
