// The contents of each system's objects: kinds with their versions, fields, and the labels and annotations of its prefixes. So that
// a misspelt one can be named (misspelt.h). Complete for what users write, whether Berth reads it or not; fields of all versions
// that were ever served stand together, so that no real field is taken for a mistake.
//
// A table of fields is text: a type a paragraph, "PodSpec: affinity=Affinity nodeName ...". A field with a type is looked into, also
// where it is a list of it; of one without a type anything goes. The type Keys is a map of labels or annotations. A type that a
// system does not have is one of Kubernetes.
//
// Sources: the API types of Kubernetes 1.33 to 1.37, Kueue 0.10 to 0.19, Volcano, KAI, scheduler-plugins, Cluster Autoscaler and JobSet. And the
// schemas of KubeRay 0.6 to 1.7, training-operator 1.3 to 1.9, MPI operator 0.4 to 0.8, Trainer 2, Spark operator 2, LeaderWorkerSet and
// AppWrapper. Tests compare the tables with deploy/crds, and with Kubernetes' own descriptions where they are at hand (tests/dialect/known/known_test.cc).
#pragma once

#include <span>
#include <string_view>

namespace berth::dialect {

struct KnownKind {
  std::string_view group;  // "" = Kubernetes' core
  std::string_view kind;
  std::string_view versions;  // newest first: "v1beta2 v1beta1"; "" = whichever
  std::string_view type;      // of its fields; "" = they are not looked into
};

struct KnownSystem {
  std::string_view name;
  std::span<const KnownKind> kinds;
  std::string_view fields;
  std::span<const std::string_view> prefixes;  // of labels and annotations: "kueue.x-k8s.io/"
  std::span<const std::string_view>
      keys;  // all that have one of the prefixes, so that any other is a mistake
};

KnownSystem known_upstream();
KnownSystem known_kueue();
KnownSystem known_volcano();
KnownSystem known_kai();
KnownSystem known_coscheduling();
KnownSystem known_koordinator();
KnownSystem known_yunikorn();
KnownSystem known_autoscaler();
KnownSystem known_jobset();
KnownSystem known_ray();
KnownSystem known_kubeflow();
KnownSystem known_spark();
KnownSystem known_leader_worker();
KnownSystem known_app_wrapper();
KnownSystem known_berth();

}  // namespace berth::dialect
