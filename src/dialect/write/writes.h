// Berth's writes onto pods, from the engine's reasons. Pure; the requests themselves are kube/writes.h.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "dialect/base/message.h"
#include "dialect/intake/intake_view.h"
#include "dialect/volumes/claim_step.h"
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

// Why a pod is ended for `beneficiary` (a workload's name; "": it is withdrawn), in words.
std::string eviction_text(const Reason& reason, std::string_view beneficiary);
// Condition DisruptionTarget=True of a pod that is about to be deleted for `beneficiary` (a workload's name), or withdrawn.
kube::PodCondition disruption_target(const Reason& reason, std::string_view beneficiary, std::int64_t now_ms);

// The reason with names of workloads (namespace/name) in the place of their uids.
Reason readable(Reason reason, const IntakeView& intake);

// Binds the pod, and writes on it in the same request which of the node's devices it has (names.h kDevices), so that they are known
// after a restart.
kube::Write bind(std::string_view ns, std::string_view name, std::string_view uid, std::string_view node,
                 std::span<const std::int64_t> devices, const Labels& annotations = {});
// "0,3"
std::string devices_text(std::span<const std::int64_t> devices);

// Writes the node on a claim, for which its volume is to be made (kSelectedNode). Refused where the claim is another than is known.
kube::Write select_node(const ClaimStep& claim, std::string_view node);
// Writes the claim on its volume (claimRef), with which Kubernetes binds them then. Refused where the volume is another than is known.
kube::Write bind_volume(const ClaimStep& claim);

kube::ObjectRef reference_to(const PodView& pod);

// Events, as kube-scheduler words them, from the scheduler name that the pod asked for.
kube::EventNote scheduled_event(const PodView& pod, std::string_view node, std::string_view instance,
                                std::int64_t time_us);
kube::EventNote failed_event(const PodView& pod, const Reason& reason, std::string_view instance,
                             std::int64_t time_us);
// For an owner that waits, is released, or is suspended to evict it.
kube::EventNote owner_event(const Ask& owner, std::string_view reason, std::string note,
                            std::string_view instance, std::int64_t time_us);
// For an owner of a kind that Berth does not read, whose pods wait one by one.
kube::EventNote unread_owner_event(const OwnerName& owner, std::string_view instance, std::int64_t time_us);
// For a finding of the self-audit about an object.
kube::EventNote audit_event(kube::ObjectRef regarding, std::string text, std::string_view instance,
                            std::int64_t time_us);
kube::EventNote preempted_event(const PodView& victim, const Reason& reason, std::string_view beneficiary,
                                std::string_view instance, std::int64_t time_us);

}  // namespace berth::dialect
