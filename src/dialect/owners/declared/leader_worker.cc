// LeaderWorkerSet: groups of a leader and its workers. Each group is a gang of its own.
#include "dialect/owners/declared/built_in.h"

namespace berth::dialect {
namespace {

// A LeaderWorkerSet cannot be suspended: its pods are scheduled as they come, a group at once, and deleted to end them. Its controller
// makes the whole group anew then. With startupPolicy LeaderReady the workers come when their leader is ready: the leader starts alone,
// and the places of its workers are kept. The leader has the workers' template where it has none of its own.
//
// With exclusive-topology (dialect/owners/exclusive.h) the workers come when their leader has a node, with a node selector for its domain.
// The webhook gives the terms to the leader alone: its group keeps away all pods of LeaderWorkerSets of its namespace that are of another
// group. With subgroup-exclusive-topology each pod has such terms by its subgroup.
constexpr std::string_view kKindsOfLeaderWorker = R"(
apiVersion: berth.dev/v1alpha1
kind: OwnerKinds
kinds:
  - apiVersion: leaderworkerset.x-k8s.io/v1
    kind: LeaderWorkerSet
    resource: leaderworkersets
    description: Groups of a leader and workers that serve one model.
    work: service
    groups:
      owner: leaderworkerset.sigs.k8s.io/name
      group: leaderworkerset.sigs.k8s.io/group-index
      count: spec.replicas
      exclusive:
        annotation: leaderworkerset.sigs.k8s.io/exclusive-topology
        key: leaderworkerset.sigs.k8s.io/group-key
        unsupported: [leaderworkerset.sigs.k8s.io/subgroup-exclusive-topology]
    pods:
      - name: leader
        count: 1
        template: spec.leaderWorkerTemplate.leaderTemplate
        templateOr: spec.leaderWorkerTemplate.workerTemplate
        labels: {leaderworkerset.sigs.k8s.io/worker-index: '0'}
      - name: worker
        count: {at: spec.leaderWorkerTemplate.size}
        less: 1
        template: spec.leaderWorkerTemplate.workerTemplate
        laterWhen:
          - {at: spec.startupPolicy, words: [LeaderReady]}
          - {annotation: leaderworkerset.sigs.k8s.io/exclusive-topology, present: true}
        labels: {}
)";

}  // namespace

std::string_view declared_leader_worker() {
  return kKindsOfLeaderWorker;
}

}  // namespace berth::dialect
