// Kubernetes' Deployment and ReplicaSet: objects that keep a number of pods alike, with names that say nothing. They cannot be suspended.
//
// A Deployment makes ReplicaSets, one for each version of its template, and these make the pods. The pods are work of the queue that the
// Deployment names, one by one, since a service needs no more. With berth.dev/gang on the object itself they are a gang of `replicas`.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "dialect/upstream/objects.h"

namespace berth::dialect {

struct OwnerKind;

struct Replicas {
  Meta meta;
  std::int64_t replicas = 1;
  std::int64_t ready = 0;  // pods that are ready, as the status counts them
  std::int64_t generation = 0;
  Meta template_meta;  // none of a ReplicaSet without pods: of a former version, there are many of these
  PodSpec spec;
  std::shared_ptr<const PodNeeds> needs;
  std::string problem;  // a field that cannot be read, and has its default here: none of its pods is to start

  void keep_status(const Replicas& there) {
    ready = there.ready;
    generation = there.generation;
  }
};

struct ReplicaSet : Replicas {
  static constexpr Kind kKind = Kind::kReplicaSet;
  static const OwnerKind kOwner;
};

struct Deployment : Replicas {
  static constexpr Kind kKind = Kind::kDeployment;
  static const OwnerKind kOwner;
};

}  // namespace berth::dialect
