#include "scheduler/rights_told.h"

#include <fmt/format.h>

#include "scheduler/source_kinds.h"

namespace berth::scheduler {
namespace {

struct Use {
  std::string_view group;
  std::string_view resource;  // "" = any of the group
  std::string_view verb;      // "" = any
  std::string_view lost;
};

// The first that fits counts. deploy/berth.yaml has the rules; a test goes through all of them.
constexpr std::string_view kUnread =
    "none of them is read: a scheduler that starts decides nothing, and one that runs sees no change of them";
constexpr std::string_view kNotReadBack = "one of which the answer to a write was lost is not read back";

constexpr Use kUses[] = {
    {"", "pods/binding", "create", "no pod is bound"},
    {"", "pods/status", "patch", "pods do not say why they wait, and evictions are not announced on them"},
    {"", "pods", "delete", "victims are not ended, and gangs that cannot be completed keep their room"},
    {"", "podtemplates", "create", "no nodes are asked for (provisioning checks)"},
    {"batch", "jobs/status", "patch", "a suspended Job that has run cannot take what admission checks add"},
    {"batch", "jobs", "patch",
     "suspended Jobs are not released, and none is suspended to end it (or --hold-jobs=false)"},
    {"kueue.x-k8s.io", "workloads", "create", "no Workload objects are made (or --kueue-objects=false)"},
    {"kueue.x-k8s.io", "workloads", "delete", "Workload objects of Berth's that lost their owner stay"},
    {"kueue.x-k8s.io", "workloads", "patch", "Workload objects are not kept up to date"},
    {"kueue.x-k8s.io", "workloads/status", "patch",
     "Workload objects do not say how their work stands, and no admission check is asked"},
    {"kueue.x-k8s.io", "clusterqueues/status", "patch", "ClusterQueues do not say what they hold"},
    {"kueue.x-k8s.io", "localqueues/status", "patch", "LocalQueues do not say what they hold"},
    {"kueue.x-k8s.io", "admissionchecks/status", "patch",
     "AdmissionChecks do not say that Berth answers them"},
    {"autoscaling.x-k8s.io", "provisioningrequests", "create",
     "no nodes are asked for (provisioning checks)"},
    {"autoscaling.x-k8s.io", "provisioningrequests", "delete",
     "requests for nodes that no work needs any more stay"},
    {"coordination.k8s.io", "leases", "list",
     "whether Kueue runs here is not known: Berth writes its objects as if it did not"},
    {"coordination.k8s.io", "leases", "",
     "no process leads, and nothing is decided (or --leader-elect=false)"},
    {"berth.dev", "queues/status", "patch", "Queues do not say what they hold"},
    {"events.k8s.io", "events", "create", "no events are written"},
    {"events.k8s.io", "events", "patch", "events that happen again are not counted"},
    {"discovery.k8s.io", "endpointslices", "", "API servers do not find the places in line"},
    {"authentication.k8s.io", "", "", "who asks for places in line cannot be told"},
    {"authorization.k8s.io", "", "", "who may ask for places in line cannot be told"},
};

}  // namespace

std::string_view lost_without(const kube::Right& right) {
  for (const Use& use : kUses) {
    if (use.group == right.group && (use.resource.empty() || use.resource == right.resource) &&
        (use.verb.empty() || use.verb == right.verb))
      return use.lost;
  }
  if (right.verb == "get") return kNotReadBack;
  for (const SourceKind& source : kSourceKinds) {
    if (source.group == right.group && source.resource == right.resource &&
        (right.verb == "list" || right.verb == "watch"))
      return kUnread;
  }
  return {};
}

std::string told(const kube::Right& right) {
  const std::string_view lost = lost_without(right);
  return fmt::format(
      "may not {} {}{}{}. Grant its service account verbs [{}] on resources [{}] of apiGroups [\"{}\"], as "
      "deploy/berth.yaml does",
      right.verb, right.full_resource(), lost.empty() ? "" : ": ", lost, right.verb, right.resource,
      right.group);
}

}  // namespace berth::scheduler
