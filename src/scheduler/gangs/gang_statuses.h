// The status of the objects that gangs' pods name (dialect/gangs/gang_system.h), in the words of the system that they come from.
// Volcano's Job controller waits for it: it makes no pods before the phase of its PodGroup says so. Lives on the decision thread.
//
// An object is looked at when it, its gang or its verdict changed, a moment later, and again while it waits. It is written where the
// object of the watch differs. So a restart writes nothing that is there already. A status that another client changed is corrected,
// after a pause that doubles each time. One write per object is in flight at a time. Nothing that stands in a status decides anything.
// The budget of writes is shared with the Workloads and the queues.
//
// Cost: O(log objects) per change, and one explanation per look at a gang that waits.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "base/time.h"
#include "dialect/intake/intake_view.h"
#include "engine/engine.h"
#include "scheduler/wire/allowance.h"
#include "scheduler/wire/due.h"
#include "scheduler/wire/inbox.h"
#include "scheduler/wire/outbox.h"

namespace berth::scheduler {

struct GangStatusOptions {
  DurationMs settle = kSecond;        // after a change
  DurationMs without_pods = kSecond;  // between two looks at a gang that may not have pods yet
  DurationMs refresh =
      30 * kSecond;  // between two looks at one that waits, and two texts that differ in numbers only
  DurationMs unseen = 10 * kSecond;  // for which the watch may not show what was written
  DurationMs first_rest = kSecond;   // after a failed write, or a correction; doubled up to most_rest
  DurationMs most_rest = 10 * kMinute;
};

class GangStatuses {
 public:
  GangStatuses(const dialect::IntakeView& intake, const engine::Engine& engine, Outbox& outbox,
               GangStatusOptions options)
      : intake_(intake), engine_(engine), outbox_(outbox), options_(options) {}

  // An object of the watch, after the intake has it.
  void seen(dialect::Kind kind, std::string_view ns, std::string_view name, TimeMs now);
  void gone(dialect::Kind kind, std::string_view ns, std::string_view name);
  // Something about this workload.
  void changed(const std::string& workload, TimeMs now);
  // Pods of this workload are ended for another.
  void displaced(const std::string& workload, std::string why);
  // In which versions the kinds are served (GangReport::version).
  void set_versions(std::shared_ptr<const std::map<dialect::Kind, std::string>> served) {
    served_ = std::move(served);
  }
  void answered(const Answer& answer, TimeMs now);

  // Writes what may be written. False: nothing is due now.
  bool work(TimeMs now, Allowance& allowance);
  TimeMs next_due() const { return next_due_; }
  std::size_t backlog() const { return due_.size(); }

 private:
  struct Record {
    dialect::Kind kind{};
    std::string name;  // namespace/name
    bool flying = false;
    std::string sent;    // last, without times; until the watch shows something else
    bool stood = false;  // the watch has shown it
    TimeMs sent_at = 0;
    TimeMs quiet = 0;  // nothing is written before
    int corrections = 0;
    std::string displaced;  // GangReport::displaced
    bool left = false;      // its pods have begun to go since
  };
  // False: there is no such object.
  bool look(const std::string& key, Record& record, TimeMs now, Allowance& allowance);
  dialect::GangReport report_of(const dialect::GangView& view, Record& record) const;
  void write(const std::string& key, Record& record, const dialect::GangView& view,
             const dialect::GangReport& report, TimeMs now);

  const dialect::IntakeView& intake_;
  const engine::Engine& engine_;
  Outbox& outbox_;
  const GangStatusOptions options_;
  std::unordered_map<std::string, Record> records_;  // by the workload that it is
  std::shared_ptr<const std::map<dialect::Kind, std::string>> served_;
  Due due_;
  TimeMs next_due_ = kEndOfTime;
};

}  // namespace berth::scheduler
