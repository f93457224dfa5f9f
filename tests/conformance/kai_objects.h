// The objects that a case of KAI's suites stands for, as manifests in JSON. They are nodes, Topologies, Queues, priority classes, and a
// PodGroup with its pods for each job. Format of a case: README of the shared conformance folder.
//
// Times: kKaiNow is the time of the first round. Jobs and queues are a day old, in the order of their ages.
#pragma once

#include <string>
#include <vector>

#include "base/time.h"
#include "dialect/base/kind.h"
#include "text/document.h"

namespace berth::conformance {

inline constexpr TimeMs kKaiNow = 1'800'000'000'000;

struct KaiManifest {
  dialect::Kind kind;
  std::string json;
};

// All of them but the pods.
std::vector<KaiManifest> kai_objects(const text::Node& the_case);
std::string kai_namespace(const text::Node& job);
// A pod for a task of a job. `life`: how many pods the task has had before.
std::string kai_pod(const text::Node& job, const text::Node& task, int life);

}  // namespace berth::conformance
