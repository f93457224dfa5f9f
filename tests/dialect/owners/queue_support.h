// A world that holds owners, and a LocalQueue "team" with so many CPUs of one flavor.
#pragma once

#include <string>

#include "dialect/dialect_support.h"
#include "dialect/intake/intake.h"

namespace berth::dialect::testing {

struct WorldThatHolds : World {
  WorldThatHolds() : World(config()) {}
  static IntakeConfig config() {
    IntakeConfig out;
    out.hold_owners = true;
    return out;
  }
};

// `memory`: its quota of that, such as "1Gi"; "": it has none.
inline std::string queue_of_cpus(int cpus, const std::string& memory = "") {
  return "apiVersion: kueue.x-k8s.io/v1beta2\nkind: ResourceFlavor\nmetadata: {name: any}\n---\n"
         "apiVersion: kueue.x-k8s.io/v1beta2\nkind: ClusterQueue\nmetadata: {name: cq}\n"
         "spec: {namespaceSelector: {}, resourceGroups: [{coveredResources: [cpu" +
         std::string(memory.empty() ? "" : ", memory") +
         "], flavors: [{name: any, "
         "resources: [{name: cpu, nominalQuota: '" +
         std::to_string(cpus) + "'}" +
         (memory.empty() ? "" : ", {name: memory, nominalQuota: '" + memory + "'}") +
         "]}]}]}\n---\napiVersion: kueue.x-k8s.io/v1beta2\nkind: LocalQueue\nmetadata: {name: team}\n"
         "spec: {clusterQueue: cq}\n---\n";
}

}  // namespace berth::dialect::testing
