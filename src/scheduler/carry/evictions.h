// Ends pods: first the condition DisruptionTarget on all pods of a workload that are to end. Only when the server has accepted all of
// these, the deletes follow, with the uid. So after a crash the remaining pods carry the mark, and resume() completes the eviction.
// No pod of a gang is gone while another is unmarked. A bind in flight is awaited; if it failed, there is nothing to delete. Lives on
// the decision thread; the carrier says what is to end. The requests are in the book of places (places.h).
//
// Cost: O(1) per pod and answer, O(log n) per timer.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/time.h"
#include "dialect/intake/intake_view.h"
#include "model/decision.h"
#include "scheduler/carry/listener.h"
#include "scheduler/carry/places.h"
#include "scheduler/wire/inbox.h"
#include "scheduler/wire/outbox.h"

namespace berth::scheduler {

class Evictions {
 public:
  // The rest after a failed request doubles from `first_rest` up to `most_rest`.
  Evictions(const dialect::IntakeView& intake, Places& places, Outbox& outbox, CarrierListener& listener,
            DurationMs first_rest, DurationMs most_rest)
      : intake_(intake),
        places_(places),
        outbox_(outbox),
        listener_(listener),
        first_rest_(first_rest),
        most_rest_(most_rest) {}

  void begin(const dialect::PodView& pod, const Reason& reason, std::string_view beneficiary, TimeMs now);
  // The pod is to end as soon as its bind is known.
  void await(const std::string& workload, const std::string& uid) { endings_[workload].unmarked.insert(uid); }
  // There is nothing to end of this pod: its bind has failed, or it is gone.
  void settle(const std::string& workload, const std::string& uid) { marked(workload, uid, false); }
  void gone(std::string_view uid);
  // Carrier::resume_eviction(); appends what the engine must know.
  bool resume(std::string_view workload, const std::vector<std::int64_t>& least, TimeMs now,
              std::vector<Event>& events);
  // The eviction whose pod the API server does not know any more; nullptr: it knows it, as far as is known.
  const Eviction* answered(const Answer& answer, TimeMs now);
  void tick(TimeMs now);
  TimeMs next_due() const { return timers_.empty() ? kEndOfTime : timers_.begin()->first; }

 private:
  // The pods of one workload that are to end.
  struct Ending {
    std::set<std::string> unmarked;   // the condition is not on the server yet, or its bind is on its way
    std::vector<std::string> marked;  // deleted when there is no unmarked one
  };
  Eviction& add(const dialect::PodView& pod, kube::PodCondition condition);
  // The pod is marked, or will not be; when all of its workload are, those that are marked are deleted.
  void marked(const std::string& workload, const std::string& uid, bool is_marked);
  void send(Eviction& eviction);

  const dialect::IntakeView& intake_;
  Places& places_;
  Outbox& outbox_;
  CarrierListener& listener_;
  const DurationMs first_rest_;
  const DurationMs most_rest_;
  std::unordered_map<std::string, Ending> endings_;  // by workload
  std::multimap<TimeMs, std::string> timers_;        // by pod: when its request is sent again
};

}  // namespace berth::scheduler
