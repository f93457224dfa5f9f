// Kueue's API of pending workloads (visibility.kueue.x-k8s.io, v1beta1 and v1beta2) as text: what a path and a query ask for, and the
// answers. Both versions say the same. Pure.
//
//   GET /apis/visibility.kueue.x-k8s.io/VERSION/clusterqueues/NAME/pendingworkloads
//   GET /apis/visibility.kueue.x-k8s.io/VERSION/namespaces/NAMESPACE/localqueues/NAME/pendingworkloads
//     offset: the first place that is told (0); limit: how many at most (1,000; never more than 100,000)
//
// and what API servers and clients ask for to find these: the group, and its versions' resources.
//
// Source: kubernetes-sigs/kueue, apis/visibility, pkg/visibility; kubernetes, apimachinery's Status and APIResourceList.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"

namespace berth::dialect {

inline constexpr std::string_view kVisibilityGroup = "visibility.kueue.x-k8s.io";

struct PendingQuestion {
  std::string version;
  std::string ns;  // "": `queue` is a ClusterQueue; else a LocalQueue in it
  std::string queue;
  std::int64_t offset = 0;
  std::int64_t limit = 1000;
  bool operator==(const PendingQuestion&) const = default;
};

// A Workload that waits, and where. Places count from 0.
struct PendingPlace {
  struct Owner {
    std::string api_version;
    std::string kind;
    std::string name;
    std::string uid;
  };
  std::string ns;
  std::string name;
  std::vector<Owner> owners;
  TimeMs created = 0;  // of the Workload; 0: it is not there yet
  std::int64_t priority = 0;
  std::string local_queue;
  std::int64_t in_cluster_queue = 0;
  std::int64_t in_local_queue = 0;
};

// The page of discovery at this path: /apis, /apis/GROUP, /apis/GROUP/VERSION; none: it is no such path.
std::optional<std::string> visibility_discovery(std::string_view path);

// NotFound: there is no such page. Invalid: a number that is none; negative ones count as 0, a limit of 0 as none, as in Kueue.
Result<PendingQuestion> read_pending_question(std::string_view path,
                                              const std::map<std::string, std::string>& query);

// A PendingWorkloadsSummary. O(length).
std::string pending_summary(std::string_view version, std::span<const PendingPlace> places);

// The form in which kubectl shows an error: a v1 Status, and the HTTP status that goes with it.
struct ApiError {
  int http_status = 500;
  std::string body;
};
ApiError api_error(const Error& error);

}  // namespace berth::dialect
