// The statuses of queues, as Kueue's API has them (ObjectBooks::queue_states()).
#include <fmt/format.h>

#include <functional>

#include "dialect/base/message.h"
#include "dialect/books/object_books.h"

namespace berth::dialect {
namespace {

using ProblemOf = std::map<std::string, std::string, std::less<>>;  // by object

QueueState state_of(Kind kind, std::string_view ns, std::string_view name, std::string engine_name) {
  return {kind, std::string(ns), std::string(name), std::move(engine_name), {}};
}

void active(QueueStatus& status, std::string_view reason, std::string message) {
  status.reason = reason;
  status.message = std::move(message);
}

void inactive(QueueStatus& status, std::string_view reason, std::string message) {
  status.active = false;
  status.reason = reason;
  status.message = bounded(std::move(message));
}

// `missing`: its ResourceFlavors that do not exist, with commas.
QueueStatus status_of(const ClusterQueue& object, const std::string& missing,
                      const QueueBook::CheckProblems& checks, const std::string* problem) {
  QueueStatus out;
  active(out, "Ready", "Can admit new workloads");
  const auto cannot = [&](std::string_view reason, std::string_view why) {
    inactive(out, reason, fmt::format("Can't admit new workloads: {}.", why));
  };
  if (object.meta.deleting) {
    inactive(out, "Terminating", "Can't admit new workloads; clusterQueue is terminating");
  } else if (object.stop != StopPolicy::kNone) {
    cannot("Stopped", "is stopped");
  } else if (!missing.empty()) {
    cannot("FlavorNotFound", fmt::format("references missing ResourceFlavor(s): {}", missing));
  } else if (!checks.missing.empty()) {
    cannot("AdmissionCheckNotFound", fmt::format("references missing AdmissionCheck(s): {}", checks.missing));
  } else if (!checks.inactive.empty()) {
    cannot("AdmissionCheckInactive",
           fmt::format("references inactive AdmissionCheck(s): {}", checks.inactive));
  } else if (problem != nullptr) {
    cannot("Misconfigured", *problem);
  }
  return out;
}

// `above`: whether its ClusterQueue is active; nullptr: there is none.
QueueStatus status_of(const LocalQueue& object, const bool* above) {
  QueueStatus out;
  active(out, "Ready", "Can submit new workloads to localQueue");
  if (object.stop != StopPolicy::kNone) {
    inactive(out, "Stopped", "LocalQueue is stopped");
  } else if (above == nullptr) {
    inactive(out, "ClusterQueueDoesNotExist", "Can't submit new workloads to clusterQueue");
  } else if (!*above) {
    inactive(out, "ClusterQueueIsInactive", "Can't submit new workloads to clusterQueue");
  }
  return out;
}

QueueStatus status_of(StopPolicy stop, const std::string* problem) {
  QueueStatus out;
  active(out, "Ready", "Starts new work");
  if (problem != nullptr) {
    inactive(out, "Misconfigured", *problem);
  } else if (stop != StopPolicy::kNone) {
    inactive(out, "Stopped", "It is stopped (stopPolicy)");
  }
  return out;
}

const std::string* problem_of(const ProblemOf& problems, Kind kind, std::string_view name) {
  const auto it = problems.find(describe(kind, "", name));
  return it == problems.end() ? nullptr : &it->second;
}

}  // namespace

std::vector<QueueState> ObjectBooks::queue_states() const {
  ProblemOf problems;
  for (const auto& problem : queues_.problems()) problems.emplace(problem.object, problem.message);
  std::vector<QueueState> out;
  std::map<std::string, bool, std::less<>> is_active;  // ClusterQueues
  for (const auto& [name, object] : queues_.cluster_queues()) {
    std::string missing;
    for (const auto& group : object.groups) {
      for (const auto& flavor : group.flavors) {
        if (!flavors_.contains(flavor)) missing += fmt::format("{}{}", missing.empty() ? "" : ",", flavor);
      }
    }
    out.push_back(state_of(Kind::kClusterQueue, "", name, name));
    out.back().status = status_of(object, missing, queues_.check_problems(object),
                                  problem_of(problems, Kind::kClusterQueue, name));
    is_active.emplace(name, out.back().status.active);
  }
  for (const auto& [key, object] : local_queues_) {
    const auto above = is_active.find(object.cluster_queue);
    out.push_back(state_of(Kind::kLocalQueue, object.meta.ns, object.meta.name, key));
    out.back().status = status_of(object, above == is_active.end() ? nullptr : &above->second);
  }
  for (const auto& [name, stop] : own_queues_) {
    out.push_back(state_of(Kind::kQueue, "", name, tree_queue_name(Kind::kQueue, name)));
    out.back().status = status_of(stop, problem_of(problems, Kind::kQueue, name));
  }
  for (const auto& [name, check] : queues_.checks()) {
    if (!queues_.is_own(check)) continue;
    out.push_back(state_of(Kind::kAdmissionCheck, "", name, ""));
    QueueStatus& status = out.back().status;
    active(status, "Active", "The admission check is active: Berth answers it");
    if (auto problem = queues_.own_problem(check); !problem.empty())
      inactive(status, "BadParametersRef", std::move(problem));
  }
  return out;
}

}  // namespace berth::dialect
