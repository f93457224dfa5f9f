// ProvisioningRequests (autoscaling.x-k8s.io v1) for Kueue's admission checks of kProvisioningController: their names, what they say,
// what their pods are given. Pure functions; scheduler/kueue/provisioner.h creates them.
//
// Source: Cluster Autoscaler's proposal provisioning-request.md, Kueue's page "Provisioning Admission Check" (facts in
// research/kueue.md 1.14, research/kubernetes.md 6.2).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "dialect/kueue/admission_checks.h"
#include "dialect/kueue/objects.h"
#include "kube/writer.h"
#include "model/workload.h"

namespace berth::dialect {

// The request of one workload. Views and pointers are the caller's.
struct NodeAsk {
  struct Set {
    std::string name;
    std::int64_t count = 0;
    const PodTemplate* pod = nullptr;
    std::vector<const ResourceFlavor*> flavors;  // that it has quota in: their nodes are asked for
  };
  std::string_view ns;
  std::string_view workload;  // the Workload object that owns the request
  std::string_view workload_uid;
  std::string_view kueue_version;  // of its API
  std::string_view check;
  std::vector<Set> sets;
  Labels parameters;  // on top of those of the config
};

// As Kueue names them: <Workload>-<check>-<attempt>, ppt-<request>-<pod set>; longer than 247 bytes: cut there, with 5 digits of its SHA-1.
std::string request_name(std::string_view workload, std::string_view check, std::int64_t attempt);
std::string pod_template_name(std::string_view request, std::string_view pod_set);

// `version`: of autoscaling.x-k8s.io, "v1" or "v1beta1".
kube::Write create_request(std::string_view version, std::string_view name, const NodeAsk& ask,
                           const ProvisioningRequestConfig& config);
// The pods that it is about; owned by the request, and gone with it.
std::vector<kube::Write> create_pod_templates(std::string_view version, const ProvisioningRequest& request,
                                              const NodeAsk& ask, const ProvisioningRequestConfig& config);
kube::Write delete_request(std::string_view version, const ProvisioningRequest& request);

// The annotations of pods that use the request, so that no autoscaler provisions nodes for them again, and the node selectors that
// the config wants from its details; details that are not there are left out.
std::vector<PodSetUpdate> updates_of(const ProvisioningRequest& request, const NodeAsk& ask,
                                     const ProvisioningRequestConfig& config);
// Before the attempt that follows this one (from 1): base, doubled with each attempt, at most the config's most.
DurationMs rest_after(const ProvisioningRequestConfig& config, std::int64_t attempt);

}  // namespace berth::dialect
