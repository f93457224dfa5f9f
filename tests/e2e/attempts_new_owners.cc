// Objects of a tenant that make pods for it, and objects that Berth reads, while its queue is full.
#include "e2e/tenant_attempts.h"

namespace berth::e2e {
namespace {

using nlohmann::json;
using Hands = TenantHands;

json& spec_of(json& object) {
  return object["spec"]["template"]["spec"];
}
json& marks_of(json& object) {
  return object["spec"]["template"]["metadata"];
}

Attempt job_row(const std::string& name, Answer answer, const Hands::Change& change) {
  const std::string job_name = name_from("job-" + name);
  return {"a Job: " + name, answer, [job_name, change](Hands& t) { t.job(job_name, change); }};
}

// The object is taken; what its controller makes of it is refused or waits.
Attempt set_row(const std::string& kind, const std::string& name, const Hands::Change& change) {
  const std::string set_name = name_from(name);
  return {"a " + kind + ": " + name, Answer::kTaken,
          [kind, set_name, change](Hands& t) { t.set(kind, set_name, change); }};
}

void add_controllers(std::vector<Attempt>& rows) {
  for (const char* kind : {"DaemonSet", "ReplicaSet", "StatefulSet", "Deployment"}) {
    const std::string lower = name_from(kind);
    rows.push_back(set_row(kind, lower + " in its queue", {}));
    rows.push_back(set_row(kind, lower + " on a node", [](json& o) { spec_of(o)["nodeName"] = "node-8"; }));
    rows.push_back(
        set_row(kind, lower + " in no queue", [](json& o) { marks_of(o)["labels"].erase(kQueueLabel); }));
    rows.push_back(set_row(kind, lower + " of the default scheduler",
                           [](json& o) { spec_of(o).erase("schedulerName"); }));
  }
  rows.push_back(set_row("DaemonSet", "daemons of another scheduler",
                         [](json& o) { spec_of(o)["schedulerName"] = "mine"; }));
  rows.push_back(set_row("DaemonSet", "daemons that call themselves mirror pods", [](json& o) {
    spec_of(o)["nodeName"] = "node-7";
    marks_of(o)["annotations"]["kubernetes.io/config.mirror"] = "x";
  }));
  rows.push_back(
      {"replicas by the scale subresource", Answer::kTaken, [](Hands& t) {
         for (const char* path : {"/replicaset-in-its-queue", "/set"})
           t.patch(Hands::sets("ReplicaSet") + path + "/scale", {{"spec", {{"replicas", 6}}}});
         t.patch(Hands::sets("StatefulSet") + "/statefulset-in-its-queue/scale",
                 {{"spec", {{"replicas", 6}}}});
         t.patch(Hands::sets("Deployment") + "/deployment-in-its-queue/scale", {{"spec", {{"replicas", 6}}}});
       }});
  rows.push_back(
      {"a ReplicationController", Answer::kTaken, [](Hands& t) {
         json body = {
             {"apiVersion", "v1"}, {"kind", "ReplicationController"}, {"metadata", {{"name", "rc"}}}};
         body["spec"] = {
             {"replicas", 3}, {"selector", {{"app", "rc"}}}, {"template", Hands::template_of_pods("rc")}};
         t.post("/api/v1/namespaces/team-a/replicationcontrollers", body);
       }});
  rows.push_back({"a HorizontalPodAutoscaler of the ReplicaSet that runs", Answer::kTaken, [](Hands& t) {
                    t.post("/apis/autoscaling/v2/namespaces/team-a/horizontalpodautoscalers",
                           json::parse(R"({"apiVersion":"autoscaling/v2","kind":"HorizontalPodAutoscaler",
                             "metadata":{"name":"set"},"spec":{"scaleTargetRef":{"apiVersion":"apps/v1","kind":"ReplicaSet",
                             "name":"replicaset-in-its-queue"},"minReplicas":7,"maxReplicas":9}})"));
                  }});
  rows.push_back(
      {"a CronJob, every minute", Answer::kTaken, [](Hands& t) {
         for (const bool named : {true, false}) {
           json template_of_job = {
               {"spec",
                {{"parallelism", 2}, {"completions", 2}, {"template", Hands::template_of_pods("cron")}}}};
           template_of_job["spec"]["template"]["spec"]["restartPolicy"] = "Never";
           if (named) template_of_job["metadata"]["labels"][kQueueLabel] = "main";
           t.post("/apis/batch/v1/namespaces/team-a/cronjobs",
                  {{"apiVersion", "batch/v1"},
                   {"kind", "CronJob"},
                   {"metadata", {{"name", named ? "cron" : "cron-no-queue"}}},
                   {"spec", {{"schedule", "* * * * *"}, {"jobTemplate", template_of_job}}}});
         }
       }});
}

void add_jobs(std::vector<Attempt>& rows) {
  rows.push_back(job_row("not suspended", Answer::kTaken, [](json& j) { j["spec"].erase("suspend"); }));
  rows.push_back(job_row("owned by a JobSet, not suspended", Answer::kEither, [](json& j) {
    j["spec"].erase("suspend");
    j["metadata"]["ownerReferences"] = json::array({{{"apiVersion", "jobset.x-k8s.io/v1"},
                                                     {"kind", "JobSet"},
                                                     {"name", "none"},
                                                     {"uid", "00000000-0000-0000-0000-000000000002"},
                                                     {"controller", true}}});
  }));
  rows.push_back(job_row("run by another controller", Answer::kEither,
                         [](json& j) { j["spec"]["managedBy"] = "example.com/mine"; }));
  rows.push_back(job_row("no queue", Answer::kRefused, [](json& j) { j["metadata"].erase("labels"); }));
  rows.push_back(job_row("an empty queue", Answer::kRefused,
                         [](json& j) { j["metadata"]["labels"][kQueueLabel] = ""; }));
  rows.push_back(job_row("the queue of others, by its template", Answer::kTaken, [](json& j) {
    marks_of(j)["labels"][kQueueLabel] = "theirs";
    marks_of(j)["annotations"]["berth.dev/queue"] = "team-b";
  }));
  rows.push_back(job_row("a gang of its pods' own, in no queue", Answer::kTaken, [](json& j) {
    j["spec"].erase("suspend");
    marks_of(j)["labels"]["berth.dev/gang"] = "mine";
    marks_of(j)["annotations"]["berth.dev/gang-size"] = "1";
  }));
  rows.push_back(job_row("a PodGroup that is not there", Answer::kTaken,
                         [](json& j) { marks_of(j)["labels"]["scheduling.x-k8s.io/pod-group"] = "none"; }));
  rows.push_back(job_row("its pods charged elsewhere", Answer::kTaken, [](json& j) {
    marks_of(j)["annotations"]["berth.dev/charged-to"] = "kueue.x-k8s.io/queue-name=theirs";
    j["spec"].erase("suspend");
  }));
  rows.push_back(job_row("2147483647 pods", Answer::kTaken, [](json& j) {
    j["spec"]["parallelism"] = 2147483647;
    j["spec"].erase("completions");
  }));
  rows.push_back(job_row("fewer pods at first", Answer::kTaken, [](json& j) {
    j["metadata"]["annotations"]["kueue.x-k8s.io/job-min-parallelism"] = "0";
    j["spec"]["parallelism"] = 12;
    j["spec"]["completions"] = 12;
  }));
  rows.push_back(job_row("elastic", Answer::kTaken, [](json& j) {
    j["metadata"]["annotations"]["kueue.x-k8s.io/elastic-job"] = "true";
    j["spec"]["completionMode"] = "Indexed";
  }));
  rows.push_back(
      {"an elastic Job that grows while it waits, and is released by its user", Answer::kTaken, [](Hands& t) {
         t.patch(Hands::jobs() + "/job-elastic", {{"spec", {{"parallelism", 12}, {"completions", 12}}}});
         t.patch(Hands::jobs() + "/job-elastic", {{"spec", {{"suspend", false}}}});
       }});
  rows.push_back(job_row("prebuilt, with the Workload that Berth keeps", Answer::kTaken, [](json& j) {
    j["metadata"]["labels"]["kueue.x-k8s.io/prebuilt-workload-name"] = "job-work";
  }));
  rows.push_back(
      {"a waiting Job that asks for less while it is suspended, and for more as it is released",
       Answer::kEither, [](Hands& t) {
         t.job("job-shrinks");
         json resources = json::parse(
             R"({"spec":{"template":{"spec":{"containers":[{"name":"main","image":"image","resources":
                            {"requests":{"cpu":"1"},"limits":{"nvidia.com/gpu":"0"}}}]}}}})");
         t.patch(Hands::jobs() + "/job-shrinks", resources);
         resources["spec"]["template"]["spec"]["containers"][0]["resources"]["limits"]["nvidia.com/gpu"] =
             "4";
         resources["spec"]["suspend"] = false;
         t.patch(Hands::jobs() + "/job-shrinks", resources);
       }});
  rows.push_back(
      {"a waiting Job that changes its queue to none, one of others, and back", Answer::kEither,
       [](Hands& t) {
         t.job("job-moves");
         for (const char* queue : {"theirs", "none", "", "main"})
           t.patch(Hands::jobs() + "/job-moves", {{"metadata", {{"labels", {{kQueueLabel, queue}}}}}});
         t.patch(Hands::jobs() + "/job-moves",
                 {{"metadata", {{"labels", {{kQueueLabel, "none"}}}}}, {"spec", {{"suspend", false}}}});
       }});
  rows.push_back({"the status of its Jobs", Answer::kRefused, [](Hands& t) {
                    t.patch(Hands::jobs() + "/work/status", {{"status", {{"active", 0}, {"succeeded", 3}}}});
                  }});
  rows.push_back({"a Job that takes over pods that run", Answer::kTaken, [](Hands& t) {
                    t.job("job-adopts", [](json& j) {
                      j["spec"]["manualSelector"] = true;
                      j["spec"]["selector"]["matchLabels"] = {{"app", "greedy-9"}};
                      marks_of(j)["labels"]["app"] = "greedy-9";
                      j["spec"]["suspend"] = false;
                    });
                  }});
}

void add_objects(std::vector<Attempt>& rows) {
  rows.push_back({"Workloads, of its own and Berth's", Answer::kRefused, [](Hands& t) {
                    t.post(Hands::workloads(), {{"apiVersion", "kueue.x-k8s.io/v1beta2"},
                                                {"kind", "Workload"},
                                                {"metadata", {{"name", "mine"}}},
                                                {"spec", json::object()}});
                    t.del(Hands::workloads());
                    const std::string path = Hands::workloads() + "/pod-held-0";
                    t.patch(path, {{"spec", {{"active", false}, {"priority", 1000000}}}});
                    t.patch(
                        path + "/status",
                        {{"status", {{"reclaimablePods", json::array({{{"name", "main"}, {"count", 3}}})}}}});
                  }});
  rows.push_back(
      {"queues, flavors, classes", Answer::kRefused, [](Hands& t) {
         const std::string kueue = "/apis/kueue.x-k8s.io/v1beta2";
         t.patch(kueue + "/namespaces/team-a/localqueues/main", {{"spec", {{"stopPolicy", "None"}}}});
         t.del(kueue + "/namespaces/team-a/localqueues/main");
         t.post(kueue + "/namespaces/team-a/localqueues", {{"apiVersion", "kueue.x-k8s.io/v1beta2"},
                                                           {"kind", "LocalQueue"},
                                                           {"metadata", {{"name", "default"}}},
                                                           {"spec", {{"clusterQueue", "shared"}}}});
         t.patch(kueue + "/clusterqueues/team-a", {{"spec", {{"cohortName", "all"}}}});
         t.patch(kueue + "/clusterqueues/team-a/status", {{"status", json::object()}});
         t.post("/apis/scheduling.k8s.io/v1/priorityclasses", {{"apiVersion", "scheduling.k8s.io/v1"},
                                                               {"kind", "PriorityClass"},
                                                               {"metadata", {{"name", "mine"}}},
                                                               {"value", 1000000}});
         t.patch("/api/v1/namespaces/team-a", {{"metadata", {{"labels", {{"berth.dev/tenant", nullptr}}}}}});
         t.patch("/api/v1/nodes/node-0", {{"spec", {{"unschedulable", true}}}});
       }});
  rows.push_back({"Kueue's lease, in its own namespace", Answer::kEither, [](Hands& t) {
                    t.post("/apis/coordination.k8s.io/v1/namespaces/team-a/leases",
                           {{"apiVersion", "coordination.k8s.io/v1"},
                            {"kind", "Lease"},
                            {"metadata", {{"name", "c1f6bfd2.kueue.x-k8s.io"}}},
                            {"spec",
                             {{"holderIdentity", "mallory"},
                              {"leaseDurationSeconds", 2147483647},
                              {"renewTime", "2099-01-01T00:00:00.000000Z"}}}});
                  }});
  rows.push_back({"Berth's lease", Answer::kRefused, [](Hands& t) {
                    t.del("/apis/coordination.k8s.io/v1/namespaces/berth-system/leases/berth");
                  }});
  rows.push_back(
      {"a token of its service account, and what it may do", Answer::kEither, [](Hands& t) {
         t.post(
             "/api/v1/namespaces/team-a/serviceaccounts",
             {{"apiVersion", "v1"}, {"kind", "ServiceAccount"}, {"metadata", {{"name", "job-controller"}}}});
         t.post("/api/v1/namespaces/team-a/serviceaccounts/job-controller/token",
                {{"apiVersion", "authentication.k8s.io/v1"},
                 {"kind", "TokenRequest"},
                 {"spec", json::object()}});
       }});
}

}  // namespace

std::vector<Attempt> attempts_of_new_owners() {
  std::vector<Attempt> rows;
  add_controllers(rows);
  add_jobs(rows);
  add_objects(rows);
  return rows;
}

}  // namespace berth::e2e
