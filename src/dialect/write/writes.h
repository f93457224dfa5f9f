// Berth's writes onto pods, from the engine's reasons. Pure; the requests themselves are kube/writes.h.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "dialect/base/message.h"
#include "dialect/intake/intake.h"
#include "dialect/owners/partial_jobs.h"
#include "kube/writes.h"
#include "model/decision.h"

namespace berth::dialect {

// to_text(); for gated work with the names of its controllers, if the reason has them.
std::string text_of(const Reason& reason);
// The same in short, for a line of a table (model/decision.h).
std::string brief_of(const Reason& reason);

// Condition PodScheduled=False of a pod that waits. Reason "Unschedulable" (the word that autoscalers look for), or
// "SchedulingGated" never: the API server writes that one. The message is text_of(reason), at most 1 KiB.
kube::PodCondition unschedulable(const Reason& reason, std::int64_t now_ms);

// Condition DisruptionTarget=True of a pod that is about to be deleted for `beneficiary` (a workload's name), or withdrawn.
kube::PodCondition disruption_target(const Reason& reason, std::string_view beneficiary, std::int64_t now_ms);

// The reason with names of workloads (namespace/name) in the place of their uids.
Reason readable(Reason reason, const Intake& intake);

// Binds the pod, and writes on it in the same request which of the node's devices it has (names.h kDevices), so that they are known
// after a restart.
kube::Write bind(std::string_view ns, std::string_view name, std::string_view uid, std::string_view node,
                 std::span<const std::int64_t> devices, const Labels& annotations = {});
// "0,3"
std::string devices_text(std::span<const std::int64_t> devices);

// Unsuspends the Job (with `size`: with fewer pods, or all of them again), if it is still the one of this uid, suspended, with this
// generation of its spec (422 otherwise: other writes, of its status for example, do not matter). `change`: what goes into its pod
// template in the same write; it takes away what a former one put there. `elastic_gate`: PodSpec::elastic_gate of its template,
// which is taken away: Berth binds no pod before its turn, and no other controller would take it off the pods.
struct TemplateChange {
  const PodSetUpdate* update = nullptr;  // none: only takes away
  const Job* job = nullptr;              // as it is written
  const PodTemplate* pod = nullptr;
};
kube::Write release_job(std::string_view ns, std::string_view name, std::string_view uid,
                        std::int64_t generation, const std::optional<TemplateChange>& change = {},
                        const std::optional<JobSize>& size = {},
                        std::optional<std::int64_t> elastic_gate = {});
// Forgets when a suspended Job was started: before Kubernetes 1.35 the template of one that has ever run cannot be changed.
kube::Write forget_start(std::string_view ns, std::string_view name, std::string_view uid);

// Suspends the Job of this uid; the Job controller deletes its pods. `size`: what its owner wrote, where it was released with fewer pods.
kube::Write suspend_job(std::string_view ns, std::string_view name, std::string_view uid,
                        const std::optional<JobSize>& size = {});

kube::ObjectRef reference_to(const PodView& pod);

// Events, as kube-scheduler words them, from the scheduler name that the pod asked for.
kube::EventNote scheduled_event(const PodView& pod, std::string_view node, std::string_view instance,
                                std::int64_t time_us);
kube::EventNote failed_event(const PodView& pod, const Reason& reason, std::string_view instance,
                             std::int64_t time_us);
// For a Job that waits, is released, or is suspended to evict it.
kube::EventNote job_event(const WorkloadInfo& job, std::string_view reason, std::string note,
                          std::string_view instance, std::int64_t time_us);
// For a finding of the self-audit about an object.
kube::EventNote audit_event(kube::ObjectRef regarding, std::string text, std::string_view instance,
                            std::int64_t time_us);
kube::EventNote preempted_event(const PodView& victim, const Reason& reason, std::string_view beneficiary,
                                std::string_view instance, std::int64_t time_us);

}  // namespace berth::dialect
