// Rights to queues, priorities and gangs: attempts of a tenant to hold more than its queue grants. The tenant is a user with the
// rights of the role `edit` in one namespace; the account of what each namespace holds is the observer's, and goes by the namespace
// alone, whatever the pods say. docs/security.md has one line per attempt.
#include <functional>
#include <nlohmann/json.hpp>
#include <set>

#include "e2e/security_fixture.h"

namespace berth::e2e {
namespace {

class BerthSecurity : public SecurityTest {};

// Berth alone, no policy: eight pods hold the quota, eight more want it, and the eight try to look like something else.
TEST_F(BerthSecurity, WhatIsBoundStaysChargedWhateverItSaysOfItself) {
  ASSERT_NO_FATAL_FAILURE(start_two_teams());
  auto* berth = start_berth();
  ASSERT_NE(berth, nullptr);
  create_mine("held", 8);
  EXPECT_TRUE(eventually([&] { return occupying("team-a/held") == 8; })) << reasons_of_waiting();
  create_mine("greedy", 8);
  EXPECT_TRUE(eventually([&] { return reason("team-a/greedy-7").starts_with("Quota"); }));

  const std::string node = get("/api/v1/nodes/node-0")["metadata"].value("uid", "");
  const auto metadata = [](const char* text) { return json{{"metadata", json::parse(text)}}; };
  const auto owned_by_node = [&] {
    return json{{"metadata",
                 {{"ownerReferences", json::array({{{"apiVersion", "v1"},
                                                    {"kind", "Node"},
                                                    {"name", "node-0"},
                                                    {"uid", node},
                                                    {"controller", true}}})}}}};
  };
  const std::vector<std::pair<std::string, json>> attempts = {
      {"another queue", metadata(R"({"labels":{"kueue.x-k8s.io/queue-name":"theirs"}})")},
      {"no queue", metadata(R"({"labels":{"kueue.x-k8s.io/queue-name":null}})")},
      {"the ClusterQueue of others", metadata(R"({"labels":{"berth.dev/queue":"team-b"}})")},
      {"a queue that admits everybody", metadata(R"({"labels":{"berth.dev/queue":"shared"}})")},
      {"the queue of another system",
       metadata(R"({"labels":{"kai.scheduler/queue":"x","berth.dev/queue":null}})")},
      {"a gang", metadata(R"({"labels":{"berth.dev/gang":"g","berth.dev/gang-size":"100"}})")},
      {"another size of the gang", metadata(R"({"labels":{"berth.dev/gang-size":"1"}})")},
      {"a PodGroup", metadata(R"({"labels":{"scheduling.x-k8s.io/pod-group":"none"}})")},
      {"Kueue's pod group",
       metadata(
           R"({"labels":{"kueue.x-k8s.io/pod-group-name":"k"},"annotations":{"kueue.x-k8s.io/pod-group-total-count":"3"}})")},
      {"a thousandth of a device",
       metadata(R"({"annotations":{"berth.dev/gpu-milli":"1","berth.dev/devices":"0"}})")},
      {"a topology", metadata(R"({"annotations":{"berth.dev/topology-required":"rack"}})")},
      {"a priority", metadata(R"({"labels":{"kueue.x-k8s.io/priority-class":"vip"}})")},
      {"a pod of a node", owned_by_node()},
      {"nobody's pod", metadata(R"({"ownerReferences":null})")},
      {"a lie about its course",
       metadata(
           R"({"annotations":{"berth.dev/expected-duration":"1s","berth.dev/last-checkpoint":"9999-12-31T23:59:59Z",)"
           R"("berth.dev/restart-overhead":"99999999h"}})")}};
  for (const auto& [what, patch] : attempts) {
    for (int i = 0; i < 8; ++i) {
      const Reply reply = tenant_->patch(fmt::format("{}/held-{}", pods_in("team-a"), i), patch.dump());
      EXPECT_TRUE(reply.ok()) << what << ": " << reply.describe();
    }
    expect_within_limits(what);
    EXPECT_EQ(occupying("team-a/"), 8U) << what;
  }
  // Requests of a tenant that the API server itself refuses.
  const std::string held = pods_in("team-a") + "/held-0";
  for (const auto& [path, patch] : std::vector<std::pair<std::string, std::string>>{
           {held + "/status", R"({"status":{"phase":"Succeeded"}})"},
           {held + "/status", R"({"status":{"nominatedNodeName":"node-1"}})"},
           {held, R"({"spec":{"schedulerName":"other"}})"},
           {held, R"({"spec":{"nodeName":"node-1"}})"},
           {held, R"({"spec":{"priority":1000000}})"},
           {held, R"({"metadata":{"annotations":{"kubernetes.io/config.mirror":"x"}}})"},
           {"/api/v1/namespaces/team-a", R"({"metadata":{"labels":{"berth.dev/tenant":null}}})"},
           {fmt::format("{}/namespaces/team-a/localqueues/main", kKueue),
            R"({"spec":{"clusterQueue":"shared"}})"},
           {fmt::format("{}/clusterqueues/team-a", kKueue), R"({"spec":{"cohortName":"all"}})"}}) {
    const Reply reply = tenant_->patch(path, patch);
    EXPECT_FALSE(reply.ok()) << path << " " << patch;
    EXPECT_GE(reply.status, 400) << reply.describe();
  }
  const Reply bind = tenant_->post(
      pods_in("team-a") + "/greedy-0/binding",
      R"({"apiVersion":"v1","kind":"Binding","metadata":{"name":"greedy-0"},"target":{"kind":"Node","name":"node-9"}})");
  EXPECT_EQ(bind.status, 403) << bind.describe();
  expect_within_limits("writes that are not the tenant's");
  // Whatever they called themselves: one that ends makes room for one.
  ASSERT_OK(expect_ok(tenant_->del(held), "deleting a pod"));
  EXPECT_TRUE(eventually([&] { return occupying("team-a/greedy") == 1; })) << reasons_of_waiting();
  expect_within_limits("one of eight has gone");
  expect_clean();
}

// Names of others, and pods that ask for more than their containers seem to.
TEST_F(BerthSecurity, NamesOfOthersAndHiddenRequestsOpenNothing) {
  ASSERT_NO_FATAL_FAILURE(start_two_teams());
  ASSERT_OK(expect_ok(cluster_->client().patch("/api/v1/namespaces/team-a",
                                               R"({"metadata":{"labels":{"berth.dev/tenant":""}}})"),
                      "labelling a namespace"));
  auto* berth = start_berth();
  ASSERT_NE(berth, nullptr);

  // Half a gang in each of two namespaces is no gang.
  for (const auto& [ns, queue] : {std::pair{"team-a", "main"}, {"team-b", "theirs"}}) {
    Labels labels = gang("ring", 4);
    labels.emplace_back("kueue.x-k8s.io/queue-name", queue);
    ASSERT_OK(cluster_->create_pods(2, {.name = "ring", .ns = ns, .labels = labels}));
  }
  EXPECT_TRUE(eventually([&] {
    return reason("team-a/ring-1").starts_with("IncompleteGang") &&
           reason("team-b/ring-1").starts_with("IncompleteGang");
  })) << reasons_of_waiting();

  // Queues of others, by each kind of name.
  const std::vector<std::tuple<std::string, std::string, std::string>> names = {
      {"lq", "kueue.x-k8s.io/queue-name", "theirs"},
      {"cq", "kueue.x-k8s.io/queue-name", "team-b"},
      {"direct", "berth.dev/queue", "team-b"},
      {"open", "berth.dev/queue", "shared"},
      {"slash", "berth.dev/queue", "team-b/theirs"},
      {"cohort", "berth.dev/queue", "cohort/all"},
      {"volcano", "scheduling.volcano.sh/queue-name", "team-b"}};
  std::vector<std::string> must_wait = {"team-a/ring-0", "team-a/ring-1", "team-b/ring-0"};
  for (const auto& [name, key, value] : names) {
    PodShape pod = mine("other-" + name);
    pod.labels.clear();
    pod.annotations = {{key, value}};  // a label's value has no slash
    const Reply reply = try_pod(pod_of(pod));
    EXPECT_TRUE(reply.ok()) << reply.describe();
    must_wait.push_back("team-a/other-" + name + "-0");
  }

  // A pod that claims the Job of another namespace as its controller. Its uid is no secret.
  create(jobs_in("team-b"), job_json({.name = "work", .ns = "team-b", .queue = "theirs", .pods = 2}));
  const std::string job = get(jobs_in("team-b") + "/work")["metadata"].value("uid", "");
  ASSERT_FALSE(job.empty());
  for (int i = 0; i < 2; ++i) {
    json pod = json::parse(pod_json(mine("claims"), static_cast<std::size_t>(i)));
    pod["metadata"]["labels"] = {{"kueue.x-k8s.io/queue-name", "none"}};
    pod["metadata"]["ownerReferences"] = json::array({{{"apiVersion", "batch/v1"},
                                                       {"kind", "Job"},
                                                       {"name", "work"},
                                                       {"uid", job},
                                                       {"controller", true}}});
    const Reply reply = try_pod(pod);
    EXPECT_TRUE(reply.ok()) << reply.describe();
    must_wait.push_back(fmt::format("team-a/claims-{}", i));
  }

  // More than the queue grants, said where it is easily overlooked. Each pod has nine of something that eight (64 cores) are.
  const auto container = [](const char* name, const char* resources) {
    return json{{"name", name}, {"image", "image"}, {"resources", json::parse(resources)}};
  };
  const auto with = [&](const std::string& name, const json& containers, const json& init = json::array()) {
    json pod = pod_of(mine(name));
    pod["spec"]["containers"] = containers;
    if (!init.empty()) pod["spec"]["initContainers"] = init;
    must_wait.push_back("team-a/" + name + "-0");
    return pod;
  };
  const json tiny = container("main", R"({"requests":{"cpu":"1"}})");
  json sidecar = container("side", R"({"limits":{"nvidia.com/gpu":"5"}})");
  sidecar["restartPolicy"] = "Always";
  json pod_level = with("pod-level", json::array({tiny}));
  pod_level["spec"]["resources"] = {{"requests", {{"cpu", "100"}}}};
  for (const json& pod : {
           with("limits", json::array({container("main", R"({"limits":{"nvidia.com/gpu":"9"}})")})),
           with("cores", json::array({container("main", R"({"limits":{"cpu":"65"}})")})),
           with("sum", json::array({container("a", R"({"limits":{"nvidia.com/gpu":"5"}})"),
                                    container("b", R"({"limits":{"nvidia.com/gpu":"4"}})")})),
           with("init", json::array({tiny}),
                json::array({container("i", R"({"limits":{"nvidia.com/gpu":"9"}})")})),
           with("sidecar", json::array({container("main", R"({"limits":{"nvidia.com/gpu":"4"}})")}),
                json::array({sidecar})),
           with("exa", json::array({container("a", R"({"requests":{"memory":"7E"}})"),
                                    container("b", R"({"requests":{"memory":"7E"}})")})),
           with("beyond", json::array({container("main", R"({"requests":{"cpu":"9223372036854775807"}})")})),
           with("share", json::array({container("main", R"({"limits":{"nvidia.com/gpu":"9"}})")})),
           pod_level,
       }) {
    const Reply reply = try_pod(pod);
    EXPECT_TRUE(reply.ok()) << pod["metadata"]["name"] << ": " << reply.describe();
  }
  // A whole device under the name of a thousandth.
  PodShape share = mine("milli");
  share.annotations = {{"berth.dev/gpu-milli", "1"}};
  for (std::size_t i = 0; i < 9; ++i) {
    EXPECT_TRUE(tenant_->post(pods_in("team-a"), pod_json(share, i)).ok());
    must_wait.push_back(fmt::format("team-a/milli-{}", i));
  }
  // Objects that the API server does not accept.
  for (const char* resources : {R"({"requests":{"cpu":"-1"}})", R"({"limits":{"nvidia.com/gpu":"-1"}})",
                                R"({"limits":{"nvidia.com/gpu":"0.5"}})"}) {
    json pod = pod_of(mine("negative"));
    pod["spec"]["containers"] = json::array({container("main", resources)});
    EXPECT_EQ(try_pod(pod).status, 422) << resources;
  }
  json overhead = pod_of(mine("overhead"));
  overhead["spec"]["overhead"] = {{"cpu", "-1"}};
  EXPECT_GE(try_pod(overhead).status, 400);
  // A status in the body of what is made is not taken over.
  json done = pod_of(mine("done"));
  done["spec"]["containers"] = json::array({container("main", R"({"limits":{"nvidia.com/gpu":"9"}})")});
  done["status"] = {{"phase", "Succeeded"}, {"nominatedNodeName", "node-3"}};
  EXPECT_TRUE(try_pod(done).ok());
  must_wait.push_back("team-a/done-0");

  expect_within_limits("names and requests");
  EXPECT_TRUE(eventually([&] {
    return std::all_of(must_wait.begin(), must_wait.end(), [&](const std::string& key) {
      return reason(key).size() > 2;  // it says why
    });
  })) << reasons_of_waiting();
  for (const auto& key : must_wait) EXPECT_EQ(occupying(key), 0U) << key;
  EXPECT_EQ(accounts_.highest("team-a", kGpu), 0);

  // Pods without requests are bound, and a lie about a gang's size brings no more than the queue's share.
  json zero = pod_of(mine("zero"));
  zero["spec"]["containers"] = json::array({container("main", R"({"limits":{"nvidia.com/gpu":"0"}})")});
  EXPECT_TRUE(try_pod(zero).ok());
  PodShape liar = mine("liar");
  for (const auto& label : gang("liar", 1)) liar.labels.push_back(label);
  for (std::size_t i = 0; i < 12; ++i) EXPECT_TRUE(tenant_->post(pods_in("team-a"), pod_json(liar, i)).ok());
  EXPECT_TRUE(eventually([&] { return occupying("team-a/liar") == 8 && occupying("team-a/zero") == 1; }))
      << reasons_of_waiting();
  expect_within_limits("a gang of one with twelve members");
  expect_clean();
}

// Jobs that change while they are decided about, and after.
TEST_F(BerthSecurity, AJobThatChangesItsMindHoldsNoMore) {
  const ClusterOptions options = {.controller_manager = true,
                                  .kwok = true,
                                  .service_accounts = true,
                                  .job_pod_runs_ms = 600'000,
                                  .controller_manager_args = {"--kube-api-qps=500", "--kube-api-burst=1000"}};
  ASSERT_NO_FATAL_FAILURE(start_two_teams(options));
  auto* berth = start_berth();
  ASSERT_NE(berth, nullptr);
  const auto patch = [&](const std::string& name, const std::string& text) {
    return tenant_->patch(fmt::format("{}/{}", jobs_in("team-a"), name), text);
  };
  const auto make = [&](const std::string& name, int pods) {
    const Reply reply = tenant_->post(
        jobs_in("team-a"), job_json({.name = name, .ns = "team-a", .queue = "main", .pods = pods}).dump());
    EXPECT_TRUE(reply.ok()) << reply.describe();
  };
  make("first", 6);
  EXPECT_TRUE(eventually([&] { return occupying("team-a/first") == 6; })) << reasons_of_waiting();
  make("second", 6);

  // It grows beyond the quota while it runs.
  EXPECT_TRUE(patch("first", R"({"spec":{"parallelism":12,"completions":12}})").status > 0);
  EXPECT_TRUE(patch("first", R"({"spec":{"parallelism":12}})").ok());
  expect_within_limits("a Job that grew");
  EXPECT_TRUE(patch("first", R"({"spec":{"parallelism":6}})").ok());

  // It calls itself another queue's.
  for (const char* labels :
       {R"({"kueue.x-k8s.io/queue-name":"theirs"})", R"({"kueue.x-k8s.io/queue-name":null})",
        R"({"kueue.x-k8s.io/queue-name":null,"berth.dev/queue":"team-b"})",
        R"({"berth.dev/queue":"shared"})"}) {
    EXPECT_TRUE(patch("first", fmt::format(R"({{"metadata":{{"labels":{}}}}})", labels)).ok());
    expect_within_limits(labels);
    EXPECT_EQ(occupying("team-a/second"), 0U) << labels;
  }
  EXPECT_TRUE(
      patch("first", R"({"metadata":{"labels":{"kueue.x-k8s.io/queue-name":"main","berth.dev/queue":null}}})")
          .ok());

  // The user releases what waits, holds it again, and so on.
  for (int i = 0; i < 60; ++i) {
    EXPECT_TRUE(patch("second", fmt::format(R"({{"spec":{{"suspend":{}}}}})", i % 2 == 1)).ok());
    std::this_thread::sleep_for(milliseconds(i % 7 * 10));
  }
  expect_within_limits("suspend, toggled");
  // And what runs, while another waits for it.
  for (int i = 0; i < 60; ++i) {
    (void)patch("first", fmt::format(R"({{"spec":{{"suspend":{}}}}})", i % 2 == 0));
    std::this_thread::sleep_for(milliseconds(i % 11 * 10));
  }
  expect_within_limits("suspend of what runs, toggled");

  // A status is the Job controller's.
  EXPECT_EQ(tenant_
                ->patch(jobs_in("team-a") + "/first/status",
                        R"({"status":{"conditions":[{"type":"Complete","status":"True"}],"active":0}})")
                .status,
            403);
  json done = job_json({.name = "done", .ns = "team-a", .queue = "main", .pods = 9});
  done["status"] = {{"active", 0}, {"succeeded", 9}};
  EXPECT_TRUE(tenant_->post(jobs_in("team-a"), done.dump()).ok());
  // Pods of its own that say that they are the Job's.
  const std::string uid = get(jobs_in("team-a") + "/second")["metadata"].value("uid", "");
  for (std::size_t i = 0; i < 12; ++i) {
    json pod = json::parse(pod_json(mine("adopted"), i));
    pod["metadata"]["labels"] = {{"kueue.x-k8s.io/queue-name", "none"}};
    pod["metadata"]["ownerReferences"] = json::array({{{"apiVersion", "batch/v1"},
                                                       {"kind", "Job"},
                                                       {"name", "second"},
                                                       {"uid", uid},
                                                       {"controller", true}}});
    EXPECT_TRUE(try_pod(pod).ok());
  }
  expect_within_limits("a forged status, and forged members");
  EXPECT_EQ(accounts_.highest("team-b", kGpu), 1) << "nothing of this was ever the other team's";
  ASSERT_OK(observer_->catch_up());
  const auto report = observer_->check();
  EXPECT_TRUE(report.clean()) << report.str();
}

// Workloads that the tenant makes itself, where it was given the right, and gates that it takes off its pods. The Job that named
// the queue is gone, its pods stay, and Berth starts anew: their binds say what they are charged to.
TEST_F(BerthSecurity, AfterARestartOrphansStayCharged) {
  ASSERT_NO_FATAL_FAILURE(start_two_teams(
      {.controller_manager = true, .kwok = true, .service_accounts = true, .job_pod_runs_ms = 600'000}));
  auto* berth = start_berth();
  ASSERT_NE(berth, nullptr);
  const Reply made = tenant_->post(
      jobs_in("team-a"), job_json({.name = "orphan", .ns = "team-a", .queue = "main", .pods = 8}).dump());
  ASSERT_TRUE(made.ok()) << made.describe();
  ASSERT_TRUE(eventually([&] { return occupying("team-a/orphan") == 8; })) << reasons_of_waiting();
  for (int restart = 0; restart < 3; ++restart) {
    if (restart == 0) {
      const Reply gone = tenant_->del(jobs_in("team-a") + "/orphan?propagationPolicy=Orphan");
      ASSERT_TRUE(gone.ok()) << gone.describe();
      ASSERT_TRUE(eventually([&] {
        const json pods = get(pods_in("team-a"))["items"];
        return std::none_of(pods.begin(), pods.end(),
                            [](const json& p) { return p["metadata"].contains("ownerReferences"); });
      }));
    }
    kill(*berth);
    berth = start_berth({.name = fmt::format("berth-{}", restart)});
    ASSERT_NE(berth, nullptr);
    create_mine(fmt::format("greedy{}", restart), 4);
    expect_within_limits(fmt::format("restart {}", restart));
    EXPECT_EQ(occupying("team-a/"), 8U);
    EXPECT_TRUE(eventually([&] {
      return reason(fmt::format("team-a/greedy{}-3", restart)).starts_with("Quota");
    })) << reasons_of_waiting();
  }
  expect_clean();
}

TEST_F(BerthSecurity, ForeignWorkloadsAndGatesOpenNothing) {
  start_two_teams();
  ASSERT_NE(start_berth(), nullptr);
  const std::string workloads = workloads_in("team-a");
  const json object = workload_of("mine", 1);
  EXPECT_EQ(tenant_->post(workloads, object.dump()).status, 403) << "`edit` does not reach so far";
  // It does not need to: even a tenant with the right gains nothing.
  ASSERT_NO_FATAL_FAILURE(give_workloads());
  create_mine("held", 8);
  ASSERT_TRUE(eventually([&] { return occupying("team-a/held") == 8; })) << reasons_of_waiting();
  create_mine("more", 4);
  settle();
  const json more = json::parse(tenant_->get(pods_in("team-a") + "/more-0").body);
  const json owner = {{"apiVersion", "v1"},
                      {"kind", "Pod"},
                      {"name", "more-0"},
                      {"uid", more["metadata"]["uid"]},
                      {"controller", true}};
  json forged = object;
  // For a waiting pod; with the annotation of Berth's own; with a status; as the admitted one of a running pod.
  forged["metadata"]["ownerReferences"] = json::array({owner});
  EXPECT_TRUE(tenant_->post(workloads, forged.dump()).ok());
  forged["metadata"]["name"] = "marked";
  forged["metadata"]["annotations"]["berth.dev/workload"] = more["metadata"]["uid"];
  forged["status"] = {{"admission", {{"clusterQueue", "shared"}, {"podSetAssignments", json::array()}}},
                      {"conditions", json::array({{{"type", "Admitted"},
                                                   {"status", "True"},
                                                   {"reason", "Admitted"},
                                                   {"message", ""},
                                                   {"lastTransitionTime", "2026-01-01T00:00:00Z"}}})}};
  EXPECT_TRUE(tenant_->post(workloads, forged.dump()).ok());
  EXPECT_FALSE(json::parse(tenant_->get(workloads + "/marked").body).contains("status"))
      << "the API drops it";
  EXPECT_EQ(tenant_->patch(workloads + "/marked/status", forged.dump()).status, 403);
  expect_within_limits("Workloads of its own");
  // Berth's own: whose queue, priority and size it says change nothing, and neither does its end.
  const Reply listed = tenant_->get(workloads);
  const json list = json::parse(listed.body);
  for (const json& item : list["items"]) {
    const std::string path = workloads + "/" + item["metadata"]["name"].get<std::string>();
    (void)tenant_->patch(path, R"({"spec":{"queueName":"theirs","priority":1000000}})");
  }
  expect_within_limits("Workloads of Berth that say something else");
  for (const json& item : list["items"])
    (void)tenant_->del(workloads + "/" + item["metadata"]["name"].get<std::string>());
  expect_within_limits("no Workloads");
  EXPECT_EQ(occupying("team-a/held"), 8U);
  // Gates of other controllers are the pod's own affair, and Berth decides once they are gone.
  json gated = pod_of(mine("gated"));
  gated["spec"]["schedulingGates"] = json::array({{{"name", "kueue.x-k8s.io/admission"}}});
  for (int i = 0; i < 4; ++i) {
    gated["metadata"]["name"] = fmt::format("gated-{}", i);
    EXPECT_TRUE(try_pod(gated).ok());
  }
  settle();
  for (int i = 0; i < 4; ++i) {
    const Reply opened = tenant_->patch(fmt::format("{}/gated-{}", pods_in("team-a"), i),
                                        R"({"spec":{"schedulingGates":null}})");
    EXPECT_TRUE(opened.ok()) << opened.describe();
  }
  expect_within_limits("gates that the tenant took off");
  EXPECT_EQ(occupying("team-a/gated"), 0U);
  const Reply again = tenant_->patch(pods_in("team-a") + "/held-0",
                                     R"({"spec":{"schedulingGates":[{"name":"kueue.x-k8s.io/admission"}]}})");
  EXPECT_EQ(again.status, 422) << "a pod that runs takes no gate: it would not be counted";
  expect_clean();
}

// Workloads without an owner are work of their own (docs/migration/kueue.md, prebuilt Workloads). A tenant with the right to make
// them has its queue's quota and its classes' priority, whatever they contain.
TEST_F(BerthSecurity, WorkloadsWithoutAnOwnerHoldWhatTheirQueueGrants) {
  ASSERT_NO_FATAL_FAILURE(start_two_teams());
  ASSERT_NE(start_berth(), nullptr);
  ASSERT_NO_FATAL_FAILURE(give_workloads());
  const std::string path = workloads_in("team-a");
  create_mine("held", 8);
  ASSERT_OK(cluster_->create_pods(
      7, {.name = "other", .ns = "team-b", .labels = {{"kueue.x-k8s.io/queue-name", "theirs"}}}));
  ASSERT_TRUE(eventually([&] { return occupying("team-a/held") == 8 && occupying("team-b/other") == 7; }))
      << reasons_of_waiting();
  const auto conditions = [&](const std::string& name) {
    std::string out;
    const json object = get(path + "/" + name);
    if (!object.is_object() || !object.contains("status")) return out;
    for (const json& c : object["status"].value("conditions", json::array())) {
      if (c["status"] == "True") out += c["type"].get<std::string>() + " ";
    }
    return out;
  };
  const auto make = [&](json object, const std::function<void(json&)>& change) {
    change(object["spec"]);
    const Reply reply = tenant_->post(path, object.dump());
    EXPECT_TRUE(reply.ok()) << object["metadata"]["name"] << ": " << reply.describe();
  };
  const auto as_it_is = [](json&) {};

  // Objects that the API server accepts, and the parts that it keeps.
  json forged = workload_of("forged", 4);
  forged["status"] = {{"admission", {{"clusterQueue", "team-b"}, {"podSetAssignments", json::array()}}},
                      {"conditions", json::array({{{"type", "Admitted"},
                                                   {"status", "True"},
                                                   {"reason", "Admitted"},
                                                   {"message", ""},
                                                   {"lastTransitionTime", "2026-01-01T00:00:00Z"}}})}};
  make(forged, as_it_is);
  EXPECT_EQ(tenant_->patch(path + "/forged/status", json{{"status", forged["status"]}}.dump()).status, 403);
  // A trusted client writes it into the status: that decides nothing either.
  forged["status"]["conditions"][0]["type"] = "QuotaReserved";
  EXPECT_TRUE(
      cluster_->client().patch(path + "/forged/status", json{{"status", forged["status"]}}.dump()).ok());
  make(workload_of("highest", 8), [](json& spec) { spec["priority"] = 2147483647; });
  make(workload_of("higher", 1), [](json& spec) { spec["priority"] = 1000000000; });
  make(workload_of("theirs", 1), [](json& spec) { spec["queueName"] = "theirs"; });
  make(workload_of("slash", 1), [](json& spec) { spec["queueName"] = "team-b/theirs"; });
  make(workload_of("cluster-queue", 1), [](json& spec) { spec["queueName"] = "team-b"; });
  make(workload_of("open", 1), [](json& spec) { spec["queueName"] = "shared"; });
  make(workload_of("no-queue", 1), [](json& spec) { spec.erase("queueName"); });
  make(workload_of("nine", 9), as_it_is);
  make(workload_of("million", 1'000'000), as_it_is);
  make(workload_of("overflow", 2147483647), as_it_is);
  make(workload_of("sum", 1'000'000), [](json& spec) {
    for (int i = 0; i < 7; ++i) {
      spec["podSets"].push_back(spec["podSets"][0]);
      spec["podSets"].back()["name"] = fmt::format("set-{}", i);
    }
  });
  make(workload_of("negative-request", 1), [](json& spec) {
    spec["podSets"][0]["template"]["spec"]["containers"][0]["resources"] =
        json::parse(R"({"requests":{"cpu":"-100","nvidia.com/gpu":"-8"},"limits":{"nvidia.com/gpu":"-8"}})");
  });
  for (const std::int64_t pods : {-1L, -2147483648L, 2147483648L})
    EXPECT_EQ(tenant_->post(path, workload_of("bad", pods).dump()).status, 422) << pods;
  // The Workload that Berth keeps for a pod of the other team, copied, and not active.
  json copied;
  ASSERT_TRUE(eventually([&] {
    const json list = get(workloads_in("team-b"));
    for (const json& item : list["items"]) {
      if (item["metadata"]["ownerReferences"][0]["name"] == "other-0") copied = item;
    }
    return copied.is_object();
  }));
  json copy = {{"apiVersion", copied["apiVersion"]}, {"kind", "Workload"}, {"spec", copied["spec"]}};
  for (const char* field : {"name", "labels", "annotations", "ownerReferences"}) {
    if (copied["metadata"].contains(field)) copy["metadata"][field] = copied["metadata"][field];
  }
  make(copy, [](json& spec) { spec["active"] = false; });

  const std::vector<std::string> made = {"forged",        "highest", "higher",          "theirs", "slash",
                                         "cluster-queue", "open",    "no-queue",        "nine",   "million",
                                         "overflow",      "sum",     "negative-request"};
  const auto expect_nothing = [&](const std::string& after) {
    expect_within_limits(after);
    EXPECT_EQ(occupying("team-a/held"), 8U) << after;
    EXPECT_EQ(occupying("team-b/other"), 7U) << after;
    for (const std::string& name : made) {
      if (name == "forged") continue;
      EXPECT_EQ(conditions(name), "") << after << ": " << name;
    }
  };
  expect_nothing("Workloads without an owner");
  EXPECT_TRUE(eventually([&] { return conditions("forged").empty(); })) << conditions("forged");
  EXPECT_FALSE(get(path + "/forged")["status"].contains("admission")) << "what was forged is taken away";
  // They change their minds.
  for (const std::string& name : made) {
    (void)tenant_->patch(path + "/" + name, R"({"spec":{"priority":2147483647}})");
    if (name == "forged") continue;  // with the mark of Berth's own it would hold nothing, as below
    (void)tenant_->patch(path + "/" + name, R"({"metadata":{"annotations":{"berth.dev/workload":"x"}}})");
  }
  expect_nothing("priorities, raised");

  // One of them may hold all of the queue, and then no other does.
  for (int i = 0; i < 4; ++i)
    ASSERT_OK(expect_ok(tenant_->del(fmt::format("{}/held-{}", pods_in("team-a"), i)), "deleting a pod"));
  for (const char* name : {"highest", "higher", "nine", "negative-request"})
    EXPECT_TRUE(tenant_->del(path + "/" + name).ok()) << name;
  EXPECT_TRUE(eventually([&] { return conditions("forged").find("Admitted") != std::string::npos; }))
      << conditions("forged");
  create_mine("more", 4);
  expect_within_limits("a Workload that holds quota");
  EXPECT_EQ(occupying("team-a/more"), 0U) << "its quota is that of the Workload";
  EXPECT_EQ(occupying("team-a/held"), 4U);
  EXPECT_TRUE(tenant_->del(path + "/forged").ok());
  EXPECT_TRUE(eventually([&] { return occupying("team-a/more") == 4; })) << reasons_of_waiting();
  expect_within_limits("its quota, given back");
  EXPECT_EQ(occupying("team-b/other"), 7U);
  expect_clean();
}

}  // namespace
}  // namespace berth::e2e
