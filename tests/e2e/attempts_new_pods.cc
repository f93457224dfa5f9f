// Pods that a tenant makes itself, while its queue is full.
#include "e2e/tenant_attempts.h"

namespace berth::e2e {
namespace {

using nlohmann::json;
using Hands = TenantHands;

// A pod with a change, as a row.
Attempt pod_row(const std::string& name, Answer answer, const Hands::Change& change) {
  const std::string pod_name = name_from("new-" + name);
  return {"a pod: " + name, answer, [pod_name, change](Hands& t) { t.pod(pod_name, change); }};
}

json resources_from(const char* text) {
  return json::parse(text);
}

json& first_container(json& p) {
  return p["spec"]["containers"][0];
}

json owned_by(const char* api, const char* kind, const std::string& name, const std::string& uid) {
  return json::array(
      {{{"apiVersion", api}, {"kind", kind}, {"name", name}, {"uid", uid}, {"controller", true}}});
}

void add_queues(std::vector<Attempt>& rows) {
  rows.push_back(pod_row("two queues", Answer::kTaken,
                         [](json& p) { p["metadata"]["labels"]["berth.dev/queue"] = "shared"; }));
  rows.push_back(pod_row("the queue of others beside its own", Answer::kTaken,
                         [](json& p) { p["metadata"]["labels"]["berth.dev/queue"] = "team-b"; }));
  rows.push_back(
      pod_row("its queue as a label, empty, and another as an annotation", Answer::kRefused, [](json& p) {
        p["metadata"]["labels"][kQueueLabel] = "";
        p["metadata"]["annotations"][kQueueLabel] = "theirs";
      }));
  rows.push_back(pod_row("its queue as an annotation only", Answer::kRefused, [](json& p) {
    p["metadata"]["labels"].erase(kQueueLabel);
    p["metadata"]["annotations"][kQueueLabel] = "main";
  }));
  rows.push_back(pod_row("its queue as an empty annotation too", Answer::kTaken, [](json& p) {
    p["metadata"]["annotations"][kQueueLabel] = "";
    p["metadata"]["annotations"]["berth.dev/queue"] = "";
  }));
  for (const char* key : {"scheduling.volcano.sh/queue-name", "kai.scheduler/queue", "runai/queue"}) {
    rows.push_back(pod_row(std::string("a queue of another system, ") + std::to_string(rows.size()),
                           Answer::kTaken, [key](json& p) {
                             p["metadata"]["labels"].erase(kQueueLabel);
                             p["metadata"]["labels"][key] = "default";
                           }));
  }
  rows.push_back(pod_row("a charge of its own making", Answer::kRefused, [](json& p) {
    p["metadata"]["annotations"]["berth.dev/charged-to"] = "kueue.x-k8s.io/queue-name=theirs";
  }));
  rows.push_back(pod_row("a charge as a label", Answer::kTaken,
                         [](json& p) { p["metadata"]["labels"]["berth.dev/charged-to"] = "theirs"; }));
}

void add_gangs(std::vector<Attempt>& rows) {
  rows.push_back(pod_row("a gang of one", Answer::kTaken, [](json& p) {
    p["metadata"]["labels"]["berth.dev/gang"] = "one";
    p["metadata"]["labels"]["berth.dev/gang-size"] = "1";
  }));
  for (const char* size : {"0", "-1", "1000000", "99999999999999999999", "eight"}) {
    rows.push_back(pod_row("a gang of size " + std::to_string(rows.size()), Answer::kTaken, [size](json& p) {
      p["metadata"]["labels"]["berth.dev/gang"] = std::string("odd") + (size[0] == '-' ? "minus" : size);
      p["metadata"]["annotations"]["berth.dev/gang-size"] = size;
    }));
  }
  rows.push_back({"a gang whose second member names no queue", Answer::kRefused, [](Hands& t) {
                    t.pod("half-b", [](json& p) {
                      p["metadata"]["labels"] = {{"berth.dev/gang", "half"}, {"berth.dev/gang-size", "2"}};
                    });
                  }});
  rows.push_back({"places for members that never come", Answer::kTaken, [](Hands& t) {
                    t.pod("fast-0", [](json& p) {
                      p["metadata"]["labels"]["kueue.x-k8s.io/pod-group-name"] = "fast";
                      p["metadata"]["annotations"] = {{"kueue.x-k8s.io/pod-group-total-count", "100000"},
                                                      {"kueue.x-k8s.io/pod-group-fast-admission", "true"}};
                    });
                  }});
  rows.push_back(
      {"a PodGroup with an empty queue, of a user who may make one", Answer::kTaken, [](Hands& t) {
         t.post(Hands::pod_groups(), {{"apiVersion", "scheduling.x-k8s.io/v1alpha1"},
                                      {"kind", "PodGroup"},
                                      {"metadata", {{"name", "pg-empty"}, {"labels", {{kQueueLabel, ""}}}}},
                                      {"spec", {{"minMember", 1}}}});
         t.pod("pg-empty",
               [](json& p) { p["metadata"]["labels"]["scheduling.x-k8s.io/pod-group"] = "pg-empty"; });
       }});
  const auto of_class = [](const std::string& priority_class) {
    return [priority_class](Hands& t) {
      t.post("/apis/scheduling.volcano.sh/v1beta1/namespaces/team-a/podgroups",
             {{"apiVersion", "scheduling.volcano.sh/v1beta1"},
              {"kind", "PodGroup"},
              {"metadata", {{"name", "pg-" + priority_class}}},
              {"spec", {{"minMember", 1}, {"priorityClassName", priority_class}}}});
    };
  };
  rows.push_back({"a PodGroup of a priority class that it may use", Answer::kTaken, of_class("low")});
  rows.push_back({"a PodGroup of a priority class that it may not use", Answer::kRefused, of_class("high")});
  rows.push_back({"a PodGroup in the queue of others", Answer::kTaken, [](Hands& t) {
                    t.post(Hands::pod_groups(),
                           {{"apiVersion", "scheduling.x-k8s.io/v1alpha1"},
                            {"kind", "PodGroup"},
                            {"metadata", {{"name", "pg-theirs"}, {"labels", {{kQueueLabel, "theirs"}}}}},
                            {"spec", {{"minMember", 2147483647}}}});
                    t.pod("pg-theirs", [](json& p) {
                      p["metadata"]["labels"]["scheduling.x-k8s.io/pod-group"] = "pg-theirs";
                    });
                  }});
}

void add_amounts(std::vector<Attempt>& rows) {
  for (const char* share : {"-5", "0", "1", "1000000", "99999999999999999999", "NaN", "0.25"}) {
    rows.push_back(pod_row("a share of " + std::to_string(rows.size()), Answer::kTaken, [share](json& p) {
      first_container(p)["resources"] =
          resources_from(R"({"requests":{"cpu":"1"},"limits":{"nvidia.com/gpu":"1"}})");
      p["metadata"]["annotations"]["berth.dev/gpu-milli"] = share;
    }));
  }
  rows.push_back(pod_row("a share of another resource", Answer::kTaken, [](json& p) {
    p["metadata"]["annotations"] = {{"berth.dev/gpu-milli", "1"}, {"berth.dev/gpu-resource", "cpu"}};
  }));
  rows.push_back(pod_row("devices of its choice", Answer::kRefused, [](json& p) {
    p["metadata"]["annotations"]["berth.dev/devices"] = "0,1,2,3,4,5,6,7";
  }));
  rows.push_back(pod_row("devices as a label", Answer::kTaken,
                         [](json& p) { p["metadata"]["labels"]["berth.dev/devices"] = "0"; }));
  rows.push_back(pod_row("marks of KAI for a part of a GPU", Answer::kTaken, [](json& p) {
    p["metadata"]["annotations"] = {{"gpu-fraction", "0.0001"}, {"gpu-memory", "-1"}};
  }));
  for (const char* amount : {"-1", "0.5", "1e400", "99999999999999999999999999"}) {
    rows.push_back(
        pod_row(std::string("an amount of GPUs, ") + std::to_string(rows.size()), Answer::kEither,
                [amount](json& p) { first_container(p)["resources"]["limits"]["nvidia.com/gpu"] = amount; }));
  }
  rows.push_back(pod_row("nine exbibytes twice", Answer::kTaken, [](json& p) {
    first_container(p)["resources"]["requests"]["memory"] = "7Ei";
    json second = first_container(p);
    second["name"] = "second";
    second["resources"].erase("limits");
    p["spec"]["containers"].push_back(second);
  }));
  rows.push_back(pod_row("a resource claim", Answer::kEither, [](json& p) {
    p["spec"]["resourceClaims"] = json::array({{{"name", "gpu"}, {"resourceClaimName", "none"}}});
    first_container(p)["resources"]["claims"] = json::array({{{"name", "gpu"}}});
    first_container(p)["resources"].erase("limits");
  }));
  rows.push_back(pod_row("pod-level requests smaller than its containers'", Answer::kEither, [](json& p) {
    p["spec"]["resources"] = resources_from(R"({"requests":{"cpu":"100m"}})");
  }));
}

void add_claims(std::vector<Attempt>& rows) {
  rows.push_back({"a pod of the ReplicaSet that runs", Answer::kTaken, [](Hands& t) {
                    const std::string uid = t.uid(Hands::sets("ReplicaSet") + "/set");
                    t.pod("claims-set", [&](json& p) {
                      p["metadata"]["ownerReferences"] = owned_by("apps/v1", "ReplicaSet", "set", uid);
                    });
                  }});
  rows.push_back({"a pod of a Job that is gone", Answer::kTaken, [](Hands& t) {
                    t.pod("claims-gone", [&](json& p) {
                      p["metadata"]["labels"][kQueueLabel] = "none";
                      p["metadata"]["ownerReferences"] =
                          owned_by("batch/v1", "Job", "gone", "00000000-0000-0000-0000-000000000001");
                    });
                  }});
  rows.push_back({"a pod of the Job that runs, in no queue of its own", Answer::kTaken, [](Hands& t) {
                    const std::string uid = t.uid(Hands::jobs() + "/work");
                    for (const char* name : {"claims-work-a", "claims-work-b"}) {
                      t.pod(name, [&](json& p) {
                        p["metadata"]["labels"][kQueueLabel] = "none";
                        p["metadata"]["annotations"]["batch.kubernetes.io/job-completion-index"] = "0";
                        p["metadata"]["ownerReferences"] = owned_by("batch/v1", "Job", "work", uid);
                      });
                    }
                  }});
  rows.push_back({"a pod of a pod, and of a namespace", Answer::kEither, [](Hands& t) {
                    const std::string uid = t.uid(Hands::pods() + "/held-0");
                    t.pod("claims-pod", [&](json& p) {
                      p["metadata"]["ownerReferences"] = owned_by("v1", "Pod", "held-0", uid);
                    });
                    t.pod("claims-node", [&](json& p) {
                      p["metadata"]["ownerReferences"] = owned_by("v1", "Node", "node-0", uid);
                    });
                  }});
  rows.push_back(pod_row("prebuilt, with the Workload of another", Answer::kTaken, [](json& p) {
    p["metadata"]["labels"]["kueue.x-k8s.io/prebuilt-workload-name"] = "pod-held-0";
  }));
  rows.push_back(pod_row("a mirror pod", Answer::kRefused,
                         [](json& p) { p["metadata"]["annotations"]["kubernetes.io/config.mirror"] = "x"; }));
  rows.push_back(pod_row("a mirror pod with a node", Answer::kRefused, [](json& p) {
    p["metadata"]["annotations"]["kubernetes.io/config.mirror"] = "x";
    p["spec"]["nodeName"] = "node-9";
  }));
}

void add_specs(std::vector<Attempt>& rows) {
  rows.push_back(pod_row("a generated name", Answer::kTaken, [](json& p) {
    p["metadata"].erase("name");
    p["metadata"]["generateName"] = "generated-";
  }));
  rows.push_back(pod_row("a finalizer of its own", Answer::kTaken,
                         [](json& p) { p["metadata"]["finalizers"] = json::array({"example.com/stay"}); }));
  rows.push_back(pod_row("the class system-node-critical", Answer::kRefused,
                         [](json& p) { p["spec"]["priorityClassName"] = "system-node-critical"; }));
  rows.push_back(
      pod_row("a priority as a number", Answer::kRefused, [](json& p) { p["spec"]["priority"] = 1000000; }));
  rows.push_back(
      pod_row("another scheduler", Answer::kRefused, [](json& p) { p["spec"]["schedulerName"] = "mine"; }));
  rows.push_back(pod_row("no scheduler", Answer::kTaken, [](json& p) { p["spec"].erase("schedulerName"); }));
  rows.push_back(
      pod_row("bound as it is made", Answer::kRefused, [](json& p) { p["spec"]["nodeName"] = "node-9"; }));
  rows.push_back(pod_row("never a victim", Answer::kRefused,
                         [](json& p) { p["metadata"]["labels"]["berth.dev/preemptible"] = "false"; }));
  rows.push_back(pod_row("an ephemeral container as it is made", Answer::kRefused, [](json& p) {
    p["spec"]["ephemeralContainers"] = json::array({{{"name", "e"}, {"image", "image"}}});
  }));
  rows.push_back(pod_row("too many marks", Answer::kTaken, [](json& p) {
    for (int i = 0; i < 200; ++i) p["metadata"]["annotations"]["berth.dev/x" + std::to_string(i)] = "y";
  }));
  rows.push_back({"a pod under a gate that is opened at once", Answer::kTaken, [](Hands& t) {
                    t.pod("gate", [](json& p) {
                      p["spec"]["schedulingGates"] = json::array({{{"name", "example.com/wait"}}});
                    });
                    t.patch(Hands::pods() + "/gate", {{"spec", {{"schedulingGates", nullptr}}}});
                  }});
  rows.push_back({"bind, status, eviction of a pod that is not there", Answer::kRefused, [](Hands& t) {
                    const json target = {{"kind", "Node"}, {"name", "node-9"}};
                    for (const char* name : {"greedy-0", "greedy-1"}) {
                      t.post(Hands::pods() + "/" + name + "/binding", {{"apiVersion", "v1"},
                                                                       {"kind", "Binding"},
                                                                       {"metadata", {{"name", name}}},
                                                                       {"target", target}});
                    }
                    t.post("/api/v1/namespaces/team-a/bindings", {{"apiVersion", "v1"},
                                                                  {"kind", "Binding"},
                                                                  {"metadata", {{"name", "greedy-0"}}},
                                                                  {"target", target}});
                    t.patch(Hands::pods() + "/greedy-0/status", {{"status", {{"phase", "Running"}}}});
                  }});
}

}  // namespace

std::vector<Attempt> attempts_of_new_pods() {
  std::vector<Attempt> rows;
  add_queues(rows);
  add_gangs(rows);
  add_amounts(rows);
  add_claims(rows);
  add_specs(rows);
  return rows;
}

}  // namespace berth::e2e
