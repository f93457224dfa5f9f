// Kubernetes' StatefulSet: an object that makes pods with ordinals, "<name>-<ordinal>". It cannot be suspended.
//
// With podManagementPolicy Parallel it makes all pods at once. They are a gang of `replicas` where the StatefulSet itself names a queue, or
// a gang. With OrderedReady, the default, it makes a pod when the one before is ready: a gang would wait for pods that never come. So
// each pod is a workload of its own, with the queue and the other marks of the StatefulSet.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "dialect/upstream/objects.h"

namespace berth::dialect {

struct OwnerKind;

struct StatefulSet {
  static constexpr Kind kKind = Kind::kStatefulSet;
  static const OwnerKind kOwner;
  Meta meta;
  std::int64_t replicas = 1;
  std::int64_t start = 0;           // the first ordinal
  bool parallel = false;            // podManagementPolicy
  std::vector<std::string> claims;  // each pod gets such claims of its own (volumeClaimTemplates)
  std::int64_t ready = 0;           // pods that are ready, as the status counts them
  std::int64_t generation = 0;
  Meta template_meta;
  PodSpec spec;
  std::shared_ptr<const PodNeeds> needs;
  std::string problem;  // a field that cannot be read, and has its default here: none of its pods is to start

  void keep_status(const StatefulSet& there) {
    ready = there.ready;
    generation = there.generation;
  }
};

}  // namespace berth::dialect
