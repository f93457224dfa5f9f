#include "property/reasons.h"

#include <fmt/format.h>

#include <algorithm>

#include "property/relief.h"

namespace berth::property {
namespace {

constexpr int kMostReliefs =
    40;  // every pod set may lack quota of every flavor, nodes, and a domain, one after the other

bool has_amount(const Reason& reason) {
  return reason.code == ReasonCode::kQuota || reason.code == ReasonCode::kQuotaMax ||
         reason.code == ReasonCode::kLaneLimit || reason.code == ReasonCode::kFirmLimit ||
         reason.code == ReasonCode::kNodes;
}

bool same(const Reason& a, const Reason& b) {
  return a.code == b.code && a.subject == b.subject && a.detail == b.detail;
}

bool names(const Reason& reason, const Reason& what) {
  return same(reason, what) || std::any_of(reason.children.begin(), reason.children.end(),
                                           [&](const Reason& child) { return names(child, what); });
}

// It would borrow by force, or take room in its own queue while it borrows, and does not while certain work waits, which stepped
// aside for the trial (engine/preempt/rights/force.h).
bool waits_for_other(const Reason& reason) {
  return (reason.code == ReasonCode::kNoVictims && reason.detail.ends_with(" starts") &&
          reason.detail.find("not to borrow until ") != std::string::npos) ||
         std::any_of(reason.children.begin(), reason.children.end(), waits_for_other);
}

class Question {
 public:
  Question(const engine::EngineConfig& config, const Tape& tape, const Checker& checker, std::string uid,
           Coverage& coverage)
      : trial_(config, tape, checker),
        uid_(std::move(uid)),
        relief_(trial_.ledger(), uid_),
        coverage_(coverage) {}

  std::string run() {
    const Reason told = verdict().reason;
    if (auto wrong = step_forward(); !wrong.empty()) return wrong;
    if (started()) {
      if (contains(told, ReasonCode::kBehindHead)) {
        ++coverage_["freed BehindHead"];
        return "";
      }
      if (contains(told, ReasonCode::kReserved)) {
        ++coverage_["freed Reserved"];
        return "";
      }
      if (contains(told, ReasonCode::kQuotaKept)) {
        ++coverage_["freed QuotaKept"];
        return "";
      }
      if (waits_for_other(told)) {
        ++coverage_["freed who would take back what is borrowed by force"];
        return "";
      }
      if (contains(told, ReasonCode::kSearchBudget) || came_by_time()) return "";
      return fmt::format("{} waits ({}), and starts as soon as it is looked at again", uid_, to_text(told));
    }
    for (int i = 0; i < kMostReliefs && !started(); ++i) {
      if (auto wrong = look_again(); !wrong.empty() || started()) return wrong;
      const Reason now = verdict().reason;
      std::vector<Reason> what = named(now);
      if (what.empty() || contains(now, ReasonCode::kSearchBudget)) {
        ++coverage_["names nothing to free"];
        return "";
      }
      // For one pod set one relief after the other, exactly. Several pod sets compete for freed room, so all reliefs at once. So do
      // the flavors where a segment must share a domain: one lacks nodes, and the other a domain.
      if (one_set() && !relief_.in_segments()) what.resize(1);
      bool any = false;
      for (const Reason& reason : what) {
        if (started()) return "";
        if (auto wrong = compare(reason); !wrong.empty()) return wrong;
        bool freed = false;
        if (auto wrong = free(reason, freed); !wrong.empty()) return wrong;
        any = any || freed;
      }
      if (!any) {
        ++coverage_["names what cannot be made"];
        return "";
      }
    }
    if (started()) return "";
    // The search for places is no exhaustive one where several shapes compete.
    if (!one_set()) {
      ++coverage_["freed in vain: several pod sets"];
      return "";
    }
    return fmt::format("{} does not start however much is freed of what its reason names: {}", uid_,
                       to_text(verdict().reason));
  }

  const Tape& told() const { return trial_.told(); }

 private:
  Verdict verdict() const { return trial_.engine().verdict(uid_).value(); }
  bool started() const { return trial_.ledger().workloads.at(uid_).active() > 0; }
  bool one_set() const { return pod_sets_of(trial_.ledger().workloads.at(uid_).spec.root).size() == 1; }

  bool came_by_time() {
    if (trial_.time_passed()) ++coverage_["started as time went on"];
    return trial_.time_passed();
  }

  // It may preempt nothing, so its missing room can only come from freed room.
  bool alone() const {
    const Workload& w = trial_.ledger().workloads.at(uid_).spec;
    if (!w.may_preempt) return true;
    const auto queue = trial_.ledger().queues.find(w.queue);
    return queue != trial_.ledger().queues.end() && queue->second.preemption.within == WithinQueue::kNever &&
           queue->second.preemption.reclaim == Reclaim::kNever;
  }

  // All others that wait step aside, and it is looked at anew.
  std::string step_forward() {
    std::vector<Workload> others;
    for (const auto& [uid, w] : trial_.ledger().workloads) {
      const bool waits = w.count(SlotState::kWaiting) > 0 || w.awaits_nodes();
      if (uid != uid_ && w.spec.active && waits) others.push_back(w.spec);
    }
    for (Workload& other : others) {
      other.active = false;
      trial_.tell(WorkloadUpsert{other});
    }
    trial_.tell(WorkloadUpsert{Workload(trial_.ledger().workloads.at(uid_).spec)});
    return trial_.settle();
  }

  // Later decisions of the same round may have taken some of the room that its reason counts.
  std::string look_again() {
    trial_.tell(WorkloadUpsert{Workload(trial_.ledger().workloads.at(uid_).spec)});
    auto wrong = trial_.settle();
    if (!wrong.empty() || !started() || came_by_time()) return wrong;
    return fmt::format("{} starts only when it is looked at once more", uid_);
  }

  std::string compare(const Reason& what) {
    const auto expected = relief_.numbers(what);
    if (!expected || (expected->need == what.need && expected->have == what.have)) return "";
    // Where work takes turns with time, others may take of what it counts after it was looked at.
    if (trial_.time_passed()) return "";
    return fmt::format("{}: its reason ({}) says need {}, have {}; by the ledger it is {}, {}", uid_,
                       to_text(what), what.need, what.have, expected->need, expected->have);
  }

  std::string tell_all(const std::vector<Event>& events) {
    for (const Event& event : events) {
      if (!trial_.tell(event)) return fmt::format("{}: the engine refuses a relief", uid_);
    }
    return trial_.settle();
  }

  std::string free(const Reason& what, bool& freed) {
    const Reason reason = what;
    std::int64_t amount = has_amount(reason) ? reason.need - reason.have : 0;
    if (has_amount(reason) && amount <= 0) {
      return fmt::format("{}: its reason ({}) names nothing that is short", uid_, to_text(reason));
    }
    const bool exact =
        one_set() && has_amount(reason) && (reason.code != ReasonCode::kNodes || relief_.room_is_known());
    // The reason of a limit names no flavor: more is made in all of them, and another one may need less of it. Firm work may meet
    // several limits, one above the other, of which the reason names the tightest.
    const bool of_several =
        (reason.code == ReasonCode::kLaneLimit && relief_.lane_limits(reason.detail) > 1) ||
        (reason.code == ReasonCode::kFirmLimit && relief_.firm_limits(reason.detail) > 1);
    // More quota below a limit of a subtree raises both: the queue gets its own part beside what it borrows.
    const bool limit =
        exact && !of_several && !relief_.is_cut(reason) && (reason.code == ReasonCode::kQuotaMax || alone());
    if (limit && amount > 1) {
      const auto less = relief_.events(reason, amount - 1, 1);
      if (less.empty()) return "";
      if (auto wrong = tell_all(less); !wrong.empty()) return wrong;
      if (started()) {
        if (came_by_time()) return "";
        return fmt::format("{} starts with less than its reason names ({})", uid_, to_text(reason));
      }
      amount = 1;
    }
    const auto events = relief_.events(reason, amount);
    freed = !events.empty();
    if (!freed) return "";
    if (auto wrong = tell_all(events); !wrong.empty()) return wrong;
    // Where it now finds nodes, and no domain among them, the reason may still tell of what other flavors lack.
    const Reason now = verdict().reason;
    const bool elsewhere =
        of_several || (reason.code == ReasonCode::kNodes && contains(now, ReasonCode::kTopology));
    const bool cut = contains(now, ReasonCode::kSearchBudget);
    if (exact && !started() && names(now, reason) && !elsewhere && !cut && !trial_.time_passed()) {
      return fmt::format("{} is still held up by what was freed: {}; before: {}", uid_, to_text(now),
                         to_text(reason));
    }
    ++coverage_[fmt::format("freed {}", enum_name(reason.code))];
    if (limit) ++coverage_[fmt::format("freed {}, and not by less", enum_name(reason.code))];
    return "";
  }

  Trial trial_;
  std::string uid_;
  Relief relief_;
  Coverage& coverage_;
};

}  // namespace

std::string check_reason(const engine::EngineConfig& config, const Tape& tape, const Checker& checker,
                         const std::string& uid, Coverage& coverage, Tape& told) {
  Question question(config, tape, checker, uid, coverage);
  std::string wrong = question.run();
  if (!wrong.empty()) told = question.told();
  return wrong;
}

}  // namespace berth::property
