#include "scheduler/loop/rights_told.h"

#include <fmt/format.h>

#include <initializer_list>

#include "dialect/base/kind.h"
#include "dialect/objects/gang_systems.h"
#include "dialect/objects/object.h"
#include "dialect/owners/owner.h"

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
    "Berth cannot read them: a starting scheduler decides nothing, a running one misses their changes";
constexpr std::string_view kNotReadBack =
    "Berth can neither read an object back after a lost answer nor ask for an owner that it has not seen";

constexpr std::string_view kNotHeld =
    "Berth can neither release them nor suspend running ones (or set --hold-jobs=false)";

constexpr Use kUses[] = {
    {"", "pods/binding", "create", "no pod is bound"},
    {"", "pods/status", "patch", "pods show neither why they wait nor that they are being evicted"},
    {"", "persistentvolumeclaims", "patch",
     "no volume is made for a claim that waits for a pod (WaitForFirstConsumer), and its pods are not bound"},
    {"", "persistentvolumes", "patch",
     "no existing volume is bound to a claim that waits for a pod (local volumes), and its pods are not "
     "bound"},
    {"", "pods", "get",
     "Berth can neither read a pod back after a lost answer nor see how the pods of a Workload ended"},
    {"", "pods", "delete", "Berth cannot evict victims or withdraw incomplete gangs"},
    {"", "podtemplates", "create", "Berth requests no nodes (provisioning checks)"},
    {"batch", "jobs/status", "patch",
     "changes by admission checks do not reach a suspended Job that has run"},
    {"batch", "jobs", "patch",
     "Berth cannot release suspended Jobs or suspend running ones (or set --hold-jobs=false)"},
    {"jobset.x-k8s.io", "jobsets", "patch",
     "Berth cannot release suspended JobSets or suspend running ones (or set --hold-jobs=false)"},
    {"scheduling.k8s.io", "podgroups/status", "patch", "the conditions of PodGroups are not updated"},
    {"scheduling.volcano.sh", "podgroups", "patch",
     "the phase of PodGroups is not updated, for which Volcano's controllers wait"},
    {"kueue.x-k8s.io", "workloads", "get", "prebuilt Workloads are not taken over, and their work waits"},
    {"kueue.x-k8s.io", "workloads", "create", "no Workload objects are made (or set --kueue-objects=false)"},
    {"kueue.x-k8s.io", "workloads", "delete", "Workload objects without an owner are not deleted"},
    {"kueue.x-k8s.io", "workloads", "patch", "Workload objects are not kept up to date"},
    {"kueue.x-k8s.io", "workloads/status", "patch",
     "the status of Workload objects is not updated, and no admission check runs"},
    {"kueue.x-k8s.io", "clusterqueues/status", "patch", "the status of ClusterQueues is not updated"},
    {"kueue.x-k8s.io", "localqueues/status", "patch", "the status of LocalQueues is not updated"},
    {"kueue.x-k8s.io", "admissionchecks/status", "patch", "AdmissionChecks do not become active"},
    {"autoscaling.x-k8s.io", "provisioningrequests", "create",
     "Berth requests no nodes (provisioning checks)"},
    {"autoscaling.x-k8s.io", "provisioningrequests", "delete",
     "ProvisioningRequests that no workload needs are not deleted"},
    {"karpenter.sh", "nodepools", "list",
     "the limits of NodePools are not known, and work may ask for more nodes than they allow"},
    {"coordination.k8s.io", "leases", "list",
     "Berth cannot see whether Kueue runs here, and writes Kueue's objects itself"},
    {"coordination.k8s.io", "leases", "",
     "no replica leads, and nothing is decided (or set --leader-elect=false)"},
    {"berth.dev", "queues/status", "patch", "the status of Queues is not updated"},
    {"events.k8s.io", "events", "create", "no events are written"},
    {"discovery.k8s.io", "endpointslices", "", "API servers cannot find the visibility API"},
    {"authentication.k8s.io", "", "", "the dashboard cannot identify its users"},
    {"authorization.k8s.io", "", "", "the dashboard cannot check the rights of its users"},
};

// Kinds of which Berth gets single objects. It reads one back after a lost answer, and asks for an owner that no watch has shown.
// A prebuilt Workload is read before Berth takes it over.
bool is_read_alone(const dialect::KindInfo& info) {
  return info.kind == dialect::Kind::kPod || info.kind == dialect::Kind::kWorkload ||
         dialect::owner_kind(info.kind) != nullptr;
}

}  // namespace

std::string_view lost_without(const kube::Right& right) {
  for (const Use& use : kUses) {
    if (use.group == right.group && (use.resource.empty() || use.resource == right.resource) &&
        (use.verb.empty() || use.verb == right.verb))
      return use.lost;
  }
  if (right.verb == "get") return kNotReadBack;
  for (const dialect::KindInfo& source : dialect::kinds()) {
    if (source.group == right.group && source.resource == right.resource &&
        (right.verb == "list" || right.verb == "watch"))
      return kUnread;
    if (source.group == right.group && source.resource == right.resource && right.verb == "patch")
      return kNotHeld;
  }
  return {};
}

std::vector<NeededRight> needed_rights(const RightsOf& of) {
  std::vector<NeededRight> out;
  const auto add = [&](std::string_view group, std::string_view resource,
                       std::initializer_list<std::string_view> verbs) {
    if (of.serves && !of.serves(group, resource.substr(0, resource.find('/')))) return;
    for (const auto verb : verbs)
      out.push_back({{std::string(verb), std::string(group), std::string(resource)}, {}, {}});
  };
  for (const dialect::KindInfo& info : dialect::kinds()) {
    if (info.of_workloads && !of.kueue_objects) continue;
    add(info.group, info.resource, {"list", "watch"});
    if (is_read_alone(info)) add(info.group, info.resource, {"get"});
  }
  add("", "pods", {"delete"});
  add("", "pods/binding", {"create"});
  add("", "pods/status", {"patch"});
  add("", "persistentvolumeclaims", {"patch"});
  add("", "persistentvolumes", {"patch"});
  for (const dialect::KindInfo& info : dialect::kinds()) {
    const dialect::GangSystem* system = dialect::gang_system(info.kind);
    if (system == nullptr || system->status == nullptr) continue;
    const std::string_view status = system->status_resource;
    add(info.group, fmt::format("{}{}{}", info.resource, status.empty() ? "" : "/", status), {"patch"});
  }
  if (of.hold_jobs) {
    for (const dialect::KindInfo& info : dialect::kinds()) {
      const dialect::OwnerKind* owner = dialect::owner_kind(info.kind);
      if (owner != nullptr && owner->can_be_held()) add(info.group, info.resource, {"patch"});
    }
    add("batch", "jobs/status", {"patch"});
  }
  if (of.kueue_objects) {
    add(dialect::kKueueGroup, "workloads", {"create", "patch", "delete"});
    for (const std::string_view resource :
         {"workloads/status", "clusterqueues/status", "localqueues/status", "admissionchecks/status"})
      add(dialect::kKueueGroup, resource, {"patch"});
    add(dialect::kAutoscalingGroup, "provisioningrequests", {"create", "delete"});
    add("", "podtemplates", {"create"});
    add("coordination.k8s.io", "leases", {"list"});  // whether Kueue runs here
  }
  add(dialect::kBerthGroup, "queues/status", {"patch"});
  add("karpenter.sh", "nodepools", {"list"});
  add("events.k8s.io", "events", {"create"});
  if (!of.lease_namespace.empty()) {
    const std::string group = "coordination.k8s.io";
    out.push_back({{"create", group, "leases"}, of.lease_namespace, {}});
    for (const char* verb : {"get", "update"})
      out.push_back({{verb, group, "leases"}, of.lease_namespace, of.lease_name});
  }
  return out;
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
