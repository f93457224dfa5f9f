// The writes of a scheduler, as requests: what goes into a path and a body, and nothing else. Give them to a Writer.
// Every function is pure; deadlines and fence tokens are the caller's to set.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kube/writer.h"

namespace berth::kube {

struct ObjectRef {
  std::string api_version = "v1";
  std::string kind = "Pod";
  std::string ns;
  std::string name;
  std::string uid;
};

// Binds a pod to a node. Not idempotent: after kUnknown read the pod back. See bind_outcome(). The API server adds the
// annotations to the pod's in the same write.
Write bind_pod(std::string_view ns, std::string_view name, std::string_view uid, std::string_view node,
               const std::vector<std::pair<std::string, std::string>>& annotations = {});
// The result of a bind with one correction: a conflict that says that the pod is already assigned to `node` is a success.
WriteResult bind_outcome(WriteResult result, std::string_view node);

// Deletes with a uid precondition, so it is idempotent. Grace below 0: the pod's own.
Write delete_pod(std::string_view ns, std::string_view name, std::string_view uid,
                 std::int64_t grace_seconds = -1);

struct PodCondition {
  std::string type;    // "PodScheduled", "DisruptionTarget"
  std::string status;  // "True", "False", "Unknown"
  std::string reason;
  std::string message;
  std::int64_t last_transition_ms = 0;  // since 1970; 0: left as it is on the server
};
// Strategic merge patch of a pod's status; with the uid, so that a pod of the same name made later is left alone (409).
// nominated_node: unset: untouched; empty: cleared.
Write patch_pod_status(std::string_view ns, std::string_view name, std::string_view uid,
                       const std::vector<PodCondition>& conditions,
                       const std::optional<std::string>& nominated_node = std::nullopt);

struct EventNote {
  std::string type = "Normal";  // or "Warning"
  std::string reason;           // "Scheduled", "FailedScheduling", "Preempted"
  std::string action;           // "Binding", "Scheduling", "Preempting"
  std::string note;             // cut to 1 KiB at a character's boundary
  ObjectRef regarding;
  std::optional<ObjectRef> related;
  std::string controller;    // the scheduler's name
  std::string instance;      // at most 128 bytes
  std::int64_t time_us = 0;  // since 1970
};
// Name of an event: "<object>.<hex nanoseconds>", made from its time and a number that tells events of one moment apart.
std::string event_name(const EventNote& event, std::uint32_t number);
Write create_event(const EventNote& event, std::string_view name);

// Any object: body is JSON (an object for create and update).
Write create_object(std::string path, std::string body);
Write update_object(std::string path, std::string body);
Write patch_object(std::string path, std::string body, BodyType type);
// Behind binds, and idempotent: what tells (statuses) and what Berth keeps its books in (Workloads).
Write status_write(Write write);
// With a uid precondition, so it is idempotent.
Write delete_object(std::string path, std::string_view uid);

}  // namespace berth::kube
