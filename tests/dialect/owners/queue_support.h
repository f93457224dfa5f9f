// A LocalQueue "team" with so many CPUs of one flavor.
#pragma once

#include <string>

namespace berth::dialect::testing {

inline std::string queue_of_cpus(int cpus) {
  return "apiVersion: kueue.x-k8s.io/v1beta2\nkind: ResourceFlavor\nmetadata: {name: any}\n---\n"
         "apiVersion: kueue.x-k8s.io/v1beta2\nkind: ClusterQueue\nmetadata: {name: cq}\n"
         "spec: {namespaceSelector: {}, resourceGroups: [{coveredResources: [cpu], flavors: [{name: any, "
         "resources: [{name: cpu, nominalQuota: '" +
         std::to_string(cpus) +
         "'}]}]}]}\n---\napiVersion: kueue.x-k8s.io/v1beta2\nkind: LocalQueue\nmetadata: {name: team}\n"
         "spec: {clusterQueue: cq}\n---\n";
}

}  // namespace berth::dialect::testing
