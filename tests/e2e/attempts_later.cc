// What a tenant does to pods that are bound and to their owners, and how it ends them.
#include "e2e/tenant_attempts.h"

namespace berth::e2e {
namespace {

using nlohmann::json;
using Hands = TenantHands;

json metadata_of(const char* what, json values) {
  return {{"metadata", {{what, std::move(values)}}}};
}

// A change of each kind of what is bound: a bare pod, a Job's, a ReplicaSet's.
Attempt change_row(const std::string& name, Answer answer, const json& patch) {
  return {"a bound pod: " + name, answer, [patch](Hands& t) {
            const json all = t.get(Hands::pods());
            for (const json& pod : all["items"]) {
              if (!pod["spec"].contains("nodeName")) continue;
              t.patch(Hands::pods() + "/" + pod["metadata"]["name"].get<std::string>(), patch);
            }
          }};
}

void add_marks(std::vector<Attempt>& rows) {
  for (const char* key :
       {"kueue.x-k8s.io/queue-name", "berth.dev/queue", "scheduling.volcano.sh/queue-name",
        "kai.scheduler/queue", "runai/queue", "berth.dev/gang", "berth.dev/gang-size",
        "scheduling.x-k8s.io/pod-group", "pod-group.scheduling.sigs.k8s.io", "kueue.x-k8s.io/pod-group-name",
        "kueue.x-k8s.io/priority-class", "berth.dev/charged-to", "berth.dev/gpu-milli",
        "berth.dev/preemptible", "kueue.x-k8s.io/prebuilt-workload-name",
        "batch.kubernetes.io/job-completion-index"}) {
    rows.push_back(change_row(std::string("another label ") + key, Answer::kRefused,
                              metadata_of("labels", {{key, "other"}})));
    rows.push_back(change_row(std::string("another annotation ") + key, Answer::kRefused,
                              metadata_of("annotations", {{key, "other"}})));
  }
  rows.push_back(
      change_row("its queue taken away", Answer::kEither, metadata_of("labels", {{kQueueLabel, nullptr}})));
  rows.push_back(change_row("its charge taken away", Answer::kRefused,
                            metadata_of("annotations", {{"berth.dev/charged-to", nullptr}})));
  rows.push_back(change_row("no labels at all", Answer::kEither, metadata_of("labels", nullptr)));
  rows.push_back(change_row("no annotations at all", Answer::kRefused, metadata_of("annotations", nullptr)));
  rows.push_back(change_row("another owner", Answer::kRefused,
                            metadata_of("ownerReferences", json::array({{{"apiVersion", "v1"},
                                                                         {"kind", "Node"},
                                                                         {"name", "node-0"},
                                                                         {"uid", "x"},
                                                                         {"controller", true}}}))));
  json many = json::object();
  for (int i = 0; i < 200; ++i) many["berth.dev/x" + std::to_string(i)] = "y";
  rows.push_back(change_row("more marks than Berth reads", Answer::kTaken, metadata_of("annotations", many)));
  rows.push_back(
      change_row("a mark longer than Berth reads", Answer::kTaken,
                 metadata_of("annotations", {{"berth.dev/last-checkpoint", std::string(4000, '1')}})));
  rows.push_back(change_row(
      "marks of other systems", Answer::kTaken,
      metadata_of("annotations", {{"gpu-fraction", "0.01"}, {"scheduling.k8s.io/group-name", "g"}})));
  rows.push_back(
      change_row("a lie about its course", Answer::kTaken,
                 metadata_of("annotations", {{"berth.dev/expected-duration", "-1s"},
                                             {"berth.dev/restart-overhead", "999999999999999999h"}})));
  rows.push_back(change_row("another scheduler", Answer::kRefused, {{"spec", {{"schedulerName", "mine"}}}}));
  rows.push_back(
      change_row("a gate", Answer::kRefused,
                 {{"spec", {{"schedulingGates", json::array({{{"name", "kueue.x-k8s.io/admission"}}})}}}}));
  rows.push_back(change_row("finalizers of its own", Answer::kTaken,
                            metadata_of("finalizers", json::array({"example.com/stay"}))));
}

void add_subresources(std::vector<Attempt>& rows) {
  rows.push_back(
      {"a bound pod: a resize in place, of containers, sidecars and the pod", Answer::kRefused, [](Hands& t) {
         const std::string path = Hands::pods() + "/held-0/resize";
         t.patch(path, json::parse(R"({"spec":{"containers":[{"name":"main","resources":{"requests":
                              {"cpu":"60"}}}]}})"),
                 kStrategicMergePatch);
         t.patch(path, json::parse(R"({"spec":{"initContainers":[{"name":"side","resources":{"requests":
                              {"cpu":"60"}}}]}})"),
                 kStrategicMergePatch);
         t.patch(path, json::parse(R"({"spec":{"resources":{"requests":{"cpu":"60"}}}})"),
                 kStrategicMergePatch);
       }});
  rows.push_back(
      {"a bound pod: an ephemeral container, with a queue", Answer::kEither, [](Hands& t) {
         t.patch(Hands::pods() + "/held-1/ephemeralcontainers",
                 json::parse(R"({"metadata":{"labels":{"kueue.x-k8s.io/queue-name":"theirs"},"annotations":
                              {"berth.dev/charged-to":"x=y"}},"spec":{"ephemeralContainers":[{"name":"e","image":"image"}]}})"),
                 kStrategicMergePatch);
       }});
  rows.push_back({"a bound pod: written whole, without its charge", Answer::kRefused, [](Hands& t) {
                    json pod = t.get(Hands::pods() + "/held-0");
                    pod["metadata"].erase("annotations");
                    t.put(Hands::pods() + "/held-0", pod);
                  }});
  rows.push_back({"a bound pod: written by apply, with another queue", Answer::kRefused, [](Hands& t) {
                    t.patch(
                        Hands::pods() + "/held-1?fieldManager=mallory&force=true",
                        json::parse(R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"held-1","labels":
                              {"kueue.x-k8s.io/queue-name":"theirs"}}})"),
                        kApplyPatch);
                  }});
  rows.push_back({"a bound pod: a second bind, its status", Answer::kRefused, [](Hands& t) {
                    t.post(Hands::pods() + "/held-0/binding",
                           {{"apiVersion", "v1"},
                            {"kind", "Binding"},
                            {"metadata", {{"name", "held-0"}}},
                            {"target", {{"kind", "Node"}, {"name", "node-9"}}}});
                    t.patch(Hands::pods() + "/held-0/status",
                            {{"metadata", {{"annotations", {{"berth.dev/charged-to", "x=y"}}}}},
                             {"status", {{"phase", "Succeeded"}}}});
                  }});
}

void add_changed_owners(std::vector<Attempt>& rows) {
  rows.push_back(
      {"a Job that runs: another queue", Answer::kRefused, [](Hands& t) {
         for (const char* queue : {"theirs", "", "none"})
           t.patch(Hands::jobs() + "/work", metadata_of("labels", {{kQueueLabel, queue}}));
         t.patch(Hands::jobs() + "/work", metadata_of("labels", {{"berth.dev/queue", "shared"}}));
         t.patch(Hands::jobs() + "/work", metadata_of("annotations", {{"berth.dev/preemptible", "false"}}));
       }});
  rows.push_back({"a Job that runs: more pods", Answer::kTaken, [](Hands& t) {
                    t.patch(Hands::jobs() + "/work", {{"spec", {{"parallelism", 9}}}});
                    t.patch(Hands::jobs() + "/work", {{"spec", {{"parallelism", 3}}}});
                  }});
  rows.push_back(
      {"a Job that runs: partly admitted, elastic, prebuilt all of a sudden", Answer::kTaken, [](Hands& t) {
         t.patch(Hands::jobs() + "/work",
                 metadata_of("annotations", {{"berth.dev/partial-admission", "1/3"},
                                             {"kueue.x-k8s.io/job-min-parallelism", "1"}}));
         t.patch(Hands::jobs() + "/work",
                 metadata_of("labels", {{"kueue.x-k8s.io/prebuilt-workload-name", "x"}}));
         t.patch(Hands::jobs() + "/work",
                 metadata_of("annotations", {{"berth.dev/partial-admission", nullptr}}));
         t.patch(Hands::jobs() + "/work",
                 metadata_of("labels", {{"kueue.x-k8s.io/prebuilt-workload-name", nullptr}}));
       }});
  rows.push_back({"a ReplicaSet that runs: another template", Answer::kTaken, [](Hands& t) {
                    t.patch(Hands::sets("ReplicaSet") + "/set",
                            json::parse(R"({"spec":{"replicas":4,"template":{"metadata":{"labels":
                              {"kueue.x-k8s.io/queue-name":"theirs"}}}}})"));
                  }});
  rows.push_back({"a name that is free at once, taken again, in another queue", Answer::kTaken, [](Hands& t) {
                    for (int i = 0; i < 10; ++i) {
                      t.del(Hands::pods() + "/greedy-0?gracePeriodSeconds=0");
                      t.pod("greedy-0", [i](json& p) {
                        if (i % 2 == 0) p["metadata"]["labels"][kQueueLabel] = "none";
                      });
                    }
                  }});
  rows.push_back(
      {"a pod that waits: another queue, gang or owner", Answer::kRefused, [](Hands& t) {
         for (const json& patch :
              {metadata_of("labels", {{kQueueLabel, "theirs"}}), metadata_of("labels", {{kQueueLabel, ""}}),
               metadata_of("annotations", {{"berth.dev/gpu-milli", "1"}}),
               metadata_of("annotations", {{"berth.dev/charged-to", "kueue.x-k8s.io/queue-name=theirs"}}),
               metadata_of("labels", {{"berth.dev/gang", "g"}, {"berth.dev/gang-size", "1"}})})
           t.patch(Hands::pods() + "/greedy-1", patch);
       }});
}

void add_ends(std::vector<Attempt>& rows) {
  rows.push_back({"a waiting pod that is deleted and stays by its finalizer", Answer::kTaken, [](Hands& t) {
                    t.patch(Hands::pods() + "/greedy-2",
                            metadata_of("finalizers", json::array({"example.com/stay"})));
                    t.del(Hands::pods() + "/greedy-2?gracePeriodSeconds=0");
                  }});
  rows.push_back({"a Job deleted without its pods", Answer::kTaken,
                  [](Hands& t) { t.del(Hands::jobs() + "/work?propagationPolicy=Orphan"); }});
  rows.push_back({"a Job of the same name, at once", Answer::kEither, [](Hands& t) { t.job("work"); }});
  rows.push_back(
      {"a ReplicaSet deleted without its pods, and another that takes them", Answer::kTaken, [](Hands& t) {
         t.del(Hands::sets("ReplicaSet") + "/set?propagationPolicy=Orphan");
         t.set("ReplicaSet", "set-again", [](json& o) {
           o["spec"]["selector"]["matchLabels"]["app"] = "set";
           o["spec"]["template"]["metadata"]["labels"]["app"] = "set";
           o["spec"]["replicas"] = 5;
         });
       }});
  rows.push_back({"a bound pod deleted as an orphan, with years of grace", Answer::kTaken, [](Hands& t) {
                    t.del(Hands::pods() + "/held-0?gracePeriodSeconds=100000000&propagationPolicy=Orphan");
                  }});
  rows.push_back(
      {"a terminating pod: another queue, no finalizers", Answer::kEither, [](Hands& t) {
         t.patch(Hands::pods() + "/held-0", metadata_of("labels", {{kQueueLabel, "theirs"}}));
         t.patch(Hands::pods() + "/held-0", metadata_of("annotations", {{"berth.dev/charged-to", nullptr}}));
       }});
  rows.push_back({"a bound pod deleted at once that stays by its finalizer", Answer::kTaken,
                  [](Hands& t) { t.del(Hands::pods() + "/held-1?gracePeriodSeconds=0"); }});
  rows.push_back({"an eviction of its own pod", Answer::kEither, [](Hands& t) {
                    t.post(Hands::pods() + "/held-2/eviction",
                           {{"apiVersion", "policy/v1"},
                            {"kind", "Eviction"},
                            {"metadata", {{"name", "held-2"}}},
                            {"deleteOptions", {{"gracePeriodSeconds", 1000}}}});
                  }});
  rows.push_back({"a Deployment and a StatefulSet deleted without their pods", Answer::kTaken, [](Hands& t) {
                    t.del(Hands::sets("Deployment") + "/deployment-in-its-queue?propagationPolicy=Orphan");
                    t.del(Hands::sets("StatefulSet") + "/statefulset-in-its-queue?propagationPolicy=Orphan");
                  }});
  rows.push_back(
      {"all of its PodGroups deleted", Answer::kEither, [](Hands& t) { t.del(Hands::pod_groups()); }});
}

}  // namespace

std::vector<Attempt> attempts_on_what_is_bound() {
  std::vector<Attempt> rows;
  add_marks(rows);
  add_subresources(rows);
  add_changed_owners(rows);
  return rows;
}

std::vector<Attempt> attempts_at_the_end() {
  std::vector<Attempt> rows;
  add_ends(rows);
  return rows;
}

}  // namespace berth::e2e
