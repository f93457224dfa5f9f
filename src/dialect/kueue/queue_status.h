// The status of a queue: Kueue's LocalQueue and ClusterQueue as Kueue's API has it, and Berth's own Queue; and of an AdmissionCheck that
// Berth answers itself, which is the condition Active and nothing else.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "dialect/kueue/objects.h"
#include "kube/writer.h"

namespace berth::dialect {

struct PastUse {
  std::map<std::string, std::int64_t> used;  // by resource, base units
  TimeMs as_of = 0;
};

struct QueueStatus {
  struct Use {
    std::string flavor;
    std::string resource;
    struct Sum {
      std::int64_t total = 0;     // base units
      std::int64_t borrowed = 0;  // of the total; a LocalQueue's is not said
    };
    Sum reserved;
    Sum admitted;  // of what is reserved
  };
  std::int64_t pending = 0;
  std::int64_t reserving = 0;  // have quota (and places)
  std::int64_t admitted =
      0;  // of these, those that nothing keeps from starting: admission checks, blockAdmission
  std::vector<Use> uses;  // by flavor, then resource
  // For a ClusterQueue, if queues share by dominant shares: its share (fairSharing.weightedShare).
  std::optional<std::int64_t> share;
  // For a LocalQueue whose line goes by recent use: that use (fairSharing.admissionFairSharingStatus).
  std::optional<PastUse> past;
  bool active = true;
  std::string reason;  // of the condition Active, in Kueue's words
  std::string message;
  TimeMs since = 0;  // of `active`
};

// The state of a queue by its objects alone: the status without numbers.
struct QueueState {
  Kind kind = Kind::kClusterQueue;  // or kLocalQueue, kQueue, kAdmissionCheck
  std::string ns;
  std::string name;
  std::string engine_name;  // of the queue in the engine; of a LocalQueue its lane; of a check ""
  QueueStatus status;
};

// For one of QueueState's kinds. `version`: of Kueue's API. Without times: a text by which two statuses that say the same can be
// told to be the same.
std::string to_json(Kind kind, std::string_view version, const QueueStatus& status, bool with_times);
kube::Write write_queue_status(Kind kind, std::string_view version, std::string_view ns,
                               std::string_view name, const QueueStatus& status);
// As it stands in an object of the watch (or an answer).
Result<QueueStatus> read_queue_status(Kind kind, std::string_view object);

}  // namespace berth::dialect
