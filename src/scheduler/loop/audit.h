// The self-audit: every few minutes the model is compared with what the API says, differences are said, and Berth's own are mended.
//
//   kind        what is compared                                                        what is done
//   places      pods with nodes against the engine's slots, and slots against pods      the engine is told anew
//   usage       what a queue has in use against the sum over its pods                   its workloads are told anew
//   accounts    the engine's accounts against a recount from its slots                  Berth starts over
//   workloads   Workloads that Berth made against their Jobs and pods                   those without an owner are deleted
//
// Pods and Workloads are as the watches show them. Changes in flight differ for a moment, so a difference counts only if it is
// there again after `confirm_after`. Places that are kept for pods which are still to come have no pods: queues of such work are
// compared when they have come.
//
// A Workload loses its owner when that is deleted with --cascade=orphan, or when it is edited; the garbage collector leaves it
// then. One that says that it is Berth's, has no owner, and has been so for `stale_after` is deleted. Where its work is still there,
// it gets another one.
//
// Accounts that differ from their recount are a fault of the engine itself, and no event puts them right: the leader gives its lease
// back and ends, and its successor reads everything from the API. Work of a queue is told anew only where no bind of it is on its way.
//
// Lives on the decision thread. Cost: O(pods + slots + nodes) per look, none in between.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/enums.h"
#include "base/time.h"
#include "dialect/intake/intake_promises.h"
#include "dialect/kueue/quota_counts.h"
#include "engine/engine.h"
#include "kube/writes.h"
#include "scheduler/wire/inbox.h"
#include "scheduler/wire/outbox.h"

namespace berth::scheduler {

enum class AuditKind : std::uint8_t { kPlaces, kUsage, kAccounts, kWorkloads };

}  // namespace berth::scheduler

template <>
struct berth::EnumNames<berth::scheduler::AuditKind> {
  static constexpr std::array names{"places"sv, "usage"sv, "accounts"sv, "workloads"sv};
};

namespace berth::scheduler {

struct AuditOptions {
  DurationMs every = 5 * kMinute;
  DurationMs confirm_after = 15 * kSecond;
  DurationMs stale_after = 2 * kMinute;
  std::size_t most_told = 20;  // of one look, by the log and events
  // Of the engine's accounts, from its slots; a test may give another.
  std::function<Status(const engine::Engine&)> recount = [](const engine::Engine& e) { return e.audit(); };
};

struct AuditDifference {
  AuditKind kind = AuditKind::kPlaces;
  std::string text;                 // for people, with the object's name
  kube::ObjectRef regarding;        // without a kind: no object of the API
  std::vector<Event> mend;          // to be told to the engine
  std::vector<std::string> anew{};  // workloads that the intake tells it anew
  bool starts_over = false;         // nothing less than a new engine mends it
};

class Audit {
 public:
  Audit(const dialect::IntakePromises& intake, const engine::Engine& engine, dialect::QuotaCounts counts,
        Outbox& outbox, AuditOptions options);

  // The watch of Workloads.
  void workload_seen(const dialect::KueueWorkload& object, TimeMs now);
  // The workload whose it said that it was, where it had no owner; else "".
  std::string workload_gone(std::string_view ns, std::string_view name);
  // In which version Workloads are ("v1beta2"); empty: they are not Berth's to write, and none is deleted.
  void set_version(std::string_view version) { version_ = version; }

  TimeMs next_due() const { return next_; }
  // Looks where it is due. Differences that are there for the second time are the result.
  std::vector<AuditDifference> work(TimeMs now);
  // By kind, as of the last look of which the result is known.
  std::size_t count(AuditKind kind) const { return counts_[static_cast<std::size_t>(kind)]; }
  std::size_t looks() const { return looks_; }

 private:
  using Found = std::map<std::string, AuditDifference>;  // by what tells it again
  struct Ownerless {
    std::string ns, name, uid, workload;
    TimeMs since = 0;
  };
  using Amounts = std::map<std::pair<std::string, std::string>, std::int64_t>;  // by queue and resource

  void look_at_places(Found& found, Amounts& used, std::set<std::string>& unsettled) const;
  void look_at_pod(const dialect::PodView& pod, const engine::SlotView& slot, Found& found) const;
  void look_at_lone_slots(const engine::WorkloadView& workload, Found& found) const;
  void look_at_usage(const Amounts& used, const std::set<std::string>& unsettled, Found& found) const;
  void look_at_workloads(Found& found, TimeMs now) const;
  // Workloads of a queue that can be told anew.
  std::vector<std::string> at_rest_in(std::string_view queue) const;
  void add_usage(const dialect::PodView& pod, std::string_view queue, Amounts& used) const;

  const dialect::IntakePromises& intake_;
  const engine::Engine& engine_;
  const dialect::QuotaCounts quota_counts_;
  Outbox& outbox_;
  const AuditOptions options_;
  std::string version_;
  std::map<std::string, Ownerless> ownerless_;  // by namespace/name
  Found suspected_;
  bool confirms_ = false;  // the next look is the second of two
  TimeMs next_ = 0;
  std::array<std::size_t, EnumNames<AuditKind>::names.size()> counts_{};
  std::size_t looks_ = 0;
};

}  // namespace berth::scheduler
