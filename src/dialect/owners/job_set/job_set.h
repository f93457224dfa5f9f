// JobSet (jobset.x-k8s.io): a set of replicated Jobs that run as one. Its controller makes the Jobs, and these make the pods:
// pod "<jobset>-<replicated job>-<job>-<index>-xxxxx", of Job "<jobset>-<replicated job>-<job>".
//
// Each replicated job is a pod set of the workload. With startupPolicy InOrder, or dependsOn, the Jobs of a replicated job are made
// when those before it are ready or done. The gang does not wait for their pods, and their places are kept (AskedSet::later).
//
// With exclusive-topology (exclusive_jobs.h) each Job has a pod set of its own.
//
// Suspended, it suspends all of its Jobs: their pods are deleted, completions are kept, and no restart of its failure policy is used.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "dialect/upstream/objects.h"

namespace berth::dialect {

struct OwnerKind;

inline constexpr std::string_view kJobSetController =
    "jobset.sigs.k8s.io/jobset-controller";  // spec.managedBy
inline constexpr std::string_view kExclusiveTopology = "alpha.jobset.sigs.k8s.io/exclusive-topology";
inline constexpr std::string_view kNodeSelectorStrategy = "alpha.jobset.sigs.k8s.io/node-selector";
inline constexpr std::string_view kJobKey = "jobset.sigs.k8s.io/job-key";  // label of its pods

struct ReplicatedJob {
  std::string name;
  std::int64_t replicas = 1;  // Jobs
  std::int64_t parallelism = 1;
  std::optional<std::int64_t> completions;
  bool depends = false;  // dependsOn: its Jobs are made when those of others are ready or done
  std::optional<std::string>
      exclusive;            // kExclusiveTopology: each of its Jobs has a value of this node label for itself
  std::string unsupported;  // the part of that which Berth does not honour; "": none
  std::int64_t ready = 0;   // Jobs that are, by the status
  std::int64_t succeeded = 0;  // and that have ended well
  Meta marks;                  // of its pod template, and below them those of its Job template
  bool annotated = false;      // the pod template has annotations
  PodSpec spec;
  std::shared_ptr<const PodNeeds> needs;

  std::int64_t pods_of_job() const;  // at once
};

// The pods of one pod set: of one Job, or of all Jobs of a replicated job.
struct JobPods {
  std::size_t job = 0;     // of JobSet::jobs
  std::int64_t first = 0;  // the first of its Jobs
  std::int64_t jobs = 0;   // how many they are
  Meta marks;              // of their pods
  PodSpec spec;
};

struct JobSet {
  static constexpr Kind kKind = Kind::kJobSet;
  static const OwnerKind kOwner;
  Meta meta;
  std::vector<ReplicatedJob> jobs;
  std::vector<JobPods> sets;  // in the order of the jobs
  bool suspend = false;
  bool in_order = false;  // startupPolicyOrder
  std::string managed_by;
  bool finished = false;  // condition Completed or Failed
  bool failed = false;    // the latter
  std::string ending;     // what that condition says
  std::int64_t restarts = 0;
  std::int64_t generation = 0;
  bool annotated = false;  // it has annotations, whichever
  std::string problem;  // a field that cannot be read, and has its default here: none of its pods is to start

  void keep_status(const JobSet& there);
};

}  // namespace berth::dialect
