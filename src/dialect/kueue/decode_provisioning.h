// Decoders of Kueue's ProvisioningRequestConfig (v1beta1, v1beta2) and of Cluster Autoscaler's ProvisioningRequest (v1, v1beta1).
// Templates over the feed (value.h); included by decode.cc only.
#pragma once

#include <utility>

#include "dialect/base/fields.h"
#include "dialect/base/names.h"
#include "dialect/kueue/objects.h"

namespace berth::dialect {

template <class V>
ProvisioningRequestConfig read_provisioning_config(FieldReader<V>& f, const V& object) {
  ProvisioningRequestConfig out;
  out.meta = read_meta(f, object, Kind::kProvisioningRequestConfig, false);
  const V spec = f.map(object, "spec");
  out.provisioning_class = f.string(spec, "provisioningClassName");
  if (out.provisioning_class.empty())
    f.error(spec.present() ? spec : object, "provisioningClassName", "is required");
  out.parameters = f.labels(spec, "parameters");
  out.managed = f.strings(spec, "managedResources");
  const V retries = f.map(spec, "retryStrategy");
  out.most_retries = f.integer(retries, "backoffLimitCount", 3, 0, 2'147'483'647);
  out.first_rest = f.integer(retries, "backoffBaseSeconds", 60, 0, 2'147'483'647) * kSecond;
  out.most_rest = f.integer(retries, "backoffMaxSeconds", 1800, 0, 2'147'483'647) * kSecond;
  f.list(f.map(spec, "podSetUpdates"), "nodeSelector", [&](const V& item) {
    ProvisioningRequestConfig::Selector selector;
    selector.key = f.string(item, "key");
    selector.detail = f.string(item, "valueFromProvisioningClassDetail");
    if (selector.key.empty()) f.error(item, "key", "a node selector must have a key");
    if (selector.detail.empty())
      f.error(item, "valueFromProvisioningClassDetail", "must name one of the class's details");
    out.selectors.push_back(std::move(selector));
  });
  static constexpr std::pair<std::string_view, bool> kMergePolicies[] = {
      {"IdenticalPodTemplates", true}, {"IdenticalWorkloadSchedulingRequirements", true}};
  out.merges_pod_sets = f.choice(spec, "podSetMergePolicy", kMergePolicies, false);
  return out;
}

template <class V>
ProvisioningRequest read_provisioning_request(FieldReader<V>& f, const V& object) {
  ProvisioningRequest out;
  out.meta = read_meta(f, object, Kind::kProvisioningRequest, false);
  f.list(f.map(object, "metadata"), "ownerReferences", [&](const V& owner) {
    if (f.string(owner, "kind") != "Workload") return;
    out.workload = f.string(owner, "name");
    out.workload_uid = f.string(owner, "uid");
  });
  const V status = f.map(object, "status");
  f.list(status, "conditions", [&](const V& item) {
    out.conditions.push_back({std::string(f.string(item, "type")), f.string(item, "status") == "True",
                              std::string(f.string(item, "message"))});
  });
  out.details = f.labels(status, "provisioningClassDetails");
  return out;
}

}  // namespace berth::dialect
