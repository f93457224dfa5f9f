// The status of Kueue's LocalQueues and ClusterQueues, and of Berth's own Queues: waiting and running work, used quota, and the
// condition Active. Also the condition Active of the AdmissionChecks that Berth answers itself. Lives on the decision thread.
//
// Looked at when something changed, at most once per `every` (`busy_every` while binds are on their way), and written if the object
// of the watch differs. So a restart writes nothing that is there already, and a status that another client changed is corrected,
// after a pause that doubles each time. One write per object is in flight at a time: the API server may execute two in either
// order. Nothing that stands in a status decides anything. The budget of writes is shared with the Workloads (workload_objects.h).
//
// Reserving is what has quota and places; of that, admitted is what no admission check and no blockAdmission keeps from starting. A
// ClusterQueue's numbers are the engine's; a LocalQueue's are sums over its workloads (lane_book.h).
//
// Cost: O(queues) per look.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/time.h"
#include "dialect/intake/intake_view.h"
#include "engine/engine.h"
#include "scheduler/wire/allowance.h"
#include "scheduler/wire/inbox.h"
#include "scheduler/wire/lane_book.h"
#include "scheduler/wire/outbox.h"

namespace berth::scheduler {

struct QueueStatusOptions {
  DurationMs every = kSecond;
  DurationMs busy_every = 10 * kSecond;
  DurationMs past_every = 5 * kMinute;  // what LocalQueues used of late; Kueue's usageSamplingInterval
  DurationMs first_rest = kSecond;      // after a failed write, or a correction; doubled up to most_rest
  DurationMs most_rest = 10 * kMinute;
};

class QueueStatuses {
 public:
  QueueStatuses(const dialect::IntakeView& intake, const engine::Engine& engine, const LaneBook& lanes,
                Outbox& outbox, QueueStatusOptions options)
      : intake_(intake), engine_(engine), lanes_(lanes), outbox_(outbox), options_(options) {}

  // The version of Kueue's API; empty: its queues are left alone.
  void set_version(std::string_view version);
  // Something may be different now.
  void changed() { dirty_ = true; }
  // An object of the watch, as JSON, and its resourceVersion.
  void seen(dialect::Kind kind, std::string_view ns, std::string_view name, std::string_view object,
            std::string_view version);
  void gone(dialect::Kind kind, std::string_view ns, std::string_view name);
  void answered(const Answer& answer, TimeMs now);

  // Writes what may be written. False: nothing is due now.
  bool work(TimeMs now, Load load, Allowance& allowance);
  TimeMs next_due() const { return next_due_; }
  std::size_t backlog() const { return line_.size(); }

 private:
  using Key = std::pair<dialect::Kind, std::string>;  // kind, namespace/name
  struct Record {
    dialect::QueueStatus stands;  // on the server, in this version
    std::uint64_t version = 0;
    dialect::QueueStatus wanted;
    std::optional<dialect::QueueStatus> sent;  // last, unless that failed or was corrected
    bool known = false;                        // what stands on the server
    bool queued = false;
    bool flying = false;
    int corrections = 0;
    TimeMs corrected = 0;
    TimeMs quiet = 0;  // nothing is written before
  };
  using PastUses =
      std::map<std::string, dialect::PastUse, std::less<>>;  // by LocalQueue, as the engine names it
  void look(TimeMs now);
  // Nothing where it is not due.
  PastUses past_uses(const std::vector<engine::QueueView>& views, TimeMs now);
  static void count_lane(const LaneBook::Sum& sum, dialect::QueueStatus& status);
  void count_queue(const engine::QueueView& view, dialect::QueueStatus& status) const;
  // Puts it into the line of those that are written, where it differs from the server's.
  void compare(const Key& key, Record& record, dialect::QueueStatus status, TimeMs now);
  TimeMs past_due() const { return has_past_ ? past_at_ + options_.past_every : kEndOfTime; }
  void write(const Key& key, Record& record);
  bool is_written(dialect::Kind kind) const { return kind == dialect::Kind::kQueue || !version_.empty(); }

  const dialect::IntakeView& intake_;
  const engine::Engine& engine_;
  const LaneBook& lanes_;
  Outbox& outbox_;
  const QueueStatusOptions options_;
  std::string version_;
  std::map<Key, Record> records_;
  std::deque<Key> line_;
  bool dirty_ = true;
  TimeMs looked_ = 0;
  bool has_past_ = false;  // some LocalQueue stands in line by it
  TimeMs past_at_ = 0;     // when what LocalQueues used of late was last looked at
  TimeMs next_due_ = 0;
};

}  // namespace berth::scheduler
