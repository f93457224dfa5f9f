#include "model/decision.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "model/resources.h"

namespace berth {
namespace {

std::string plural(std::int64_t n, std::string_view one, std::string_view many) {
  return fmt::format("{} {}", n, n == 1 ? one : many);
}

std::string size_text(const Reason& r) {
  return fmt::format("asks for {} {} on one node, but the largest node has {}",
                     format_amount(r.subject, r.need), r.subject, format_amount(r.subject, r.have));
}

std::string node_text(const Reason& r) {
  const std::string nodes = plural(r.nodes, "node", "nodes");
  const bool one = r.nodes == 1;
  switch (r.code) {
    case ReasonCode::kNodeUnschedulable:
      return fmt::format("{} {} cordoned", nodes, one ? "is" : "are");
    case ReasonCode::kNodeTaint:
      return fmt::format("{} {} the untolerated taint {}", nodes, one ? "has" : "have", r.subject);
    case ReasonCode::kNodeSelector:
      return fmt::format("{} {} not match the node selector or affinity", nodes, one ? "does" : "do");
    case ReasonCode::kNodeVolume:
      return fmt::format("{} {} ruled out by {}", nodes, one ? "is" : "are", r.subject);
    case ReasonCode::kNodeFlavor:
      if (r.subject.empty()) return r.detail;  // of the workload, whatever the nodes
      return fmt::format("{} {} not of flavor {}", nodes, one ? "is" : "are", r.subject);
    case ReasonCode::kNodeResource:
      return fmt::format("{} {} {}", nodes, one ? "lacks" : "lack", r.subject);
    case ReasonCode::kNodeDevice:
      return fmt::format("{} {} free {}", nodes, one ? "lacks" : "lack", r.subject);
    case ReasonCode::kNodePort:
      return fmt::format("{} {} no free {}", nodes, one ? "has" : "have", r.subject);
    case ReasonCode::kNodeHeld:
      return fmt::format("{} {} room that is held for other workloads", nodes, one ? "has" : "have");
    case ReasonCode::kNodeApart:
    case ReasonCode::kNodeNear:
      if (r.detail.empty()) return fmt::format("{} is in use by another pod (ReadWriteOncePod)", r.subject);
      return fmt::format("{} {} ruled out by required {} ({}, per {})", nodes, one ? "is" : "are",
                         r.code == ReasonCode::kNodeApart ? "anti-affinity" : "affinity", r.subject,
                         r.detail);
    case ReasonCode::kNodeSpread:
      if (r.subject.empty())
        return fmt::format("{} {} the label {}, by which pods must be spread", nodes, one ? "lacks" : "lack",
                           r.detail);
      return fmt::format("{} {} ruled out by topology spread ({}, {})", nodes, one ? "is" : "are", r.subject,
                         r.detail);
    case ReasonCode::kNodeRoom:
      return fmt::format("{} {} room for {} and then {} {}", nodes, one ? "has" : "have", r.have,
                         one ? "lacks" : "lack", r.subject);
    case ReasonCode::kNodeSize:
      return size_text(r);
    default:
      return fmt::format("{}: {}", nodes, enum_name(r.code));
  }
}

std::string topology_text(const Reason& r) {
  const std::string pods = plural(r.need, "pod", "pods");
  return r.detail.empty()
             ? fmt::format("{} must share one {}, the best has room for {}", pods, r.subject, r.have)
             : fmt::format("{} must share one {}: {}", pods, r.subject, r.detail);
}

std::string children_text(const Reason& r) {
  std::string out;
  for (const auto& child : r.children) {
    if (!out.empty()) out += ", ";
    out += to_text(child);
  }
  return out;
}

// More that would help, or that victims do not.
std::string help_text(const Reason& r) {
  if (r.code == ReasonCode::kNoVictims) return fmt::format("preemption does not help ({})", r.detail);
  if (r.subject.empty())
    return fmt::format("room for {} would be enough", plural(r.need, "more pod", "more pods"));
  return fmt::format("{} more {} of quota{} would be enough", format_amount(r.subject, r.need), r.subject,
                     r.detail.empty() ? "" : fmt::format(" in flavor {}", r.detail));
}

// The reason that stands for the whole tree: the first that says what is short.
const Reason& leading(const Reason& r) {
  if (r.code != ReasonCode::kNone) return r;
  for (const Reason& child : r.children) {
    const Reason& found = leading(child);
    const bool says = found.code != ReasonCode::kNone && found.code != ReasonCode::kNoVictims &&
                      found.code != ReasonCode::kEnough;
    if (says) return found;
  }
  return r.children.empty() ? r : leading(r.children.front());
}

std::string quota_text(const Reason& r) {
  const std::string flavor = r.detail.empty() ? "" : fmt::format(" in flavor {}", r.detail);
  if (r.code == ReasonCode::kQuotaMax) {
    return fmt::format(
        "asks for {} {}{}, more than its queue can ever have ({}): ask for less or raise the quota",
        format_amount(r.subject, r.need), r.subject, flavor, format_amount(r.subject, r.have));
  }
  const std::string over =
      r.have < 0 ? fmt::format(" (overdrawn by {})", format_amount(r.subject, -r.have)) : "";
  return fmt::format("needs {} {}{}, quota left for it: {}{}", format_amount(r.subject, r.need), r.subject,
                     flavor, format_amount(r.subject, std::max<std::int64_t>(0, r.have)), over);
}

}  // namespace

namespace {

// About the queue: whether it takes the workload, and what quota it has left for it.
std::string queue_text(const Reason& r) {
  switch (r.code) {
    case ReasonCode::kQueueMissing:
      return fmt::format("queue {} does not exist: create it or correct the name", r.subject);
    case ReasonCode::kQueueDisabled:
      return fmt::format("queue {} is misconfigured: {}", r.subject, r.detail);
    case ReasonCode::kQueueStopped:
      return fmt::format("queue {} is stopped: its workloads wait until it is resumed", r.subject);
    case ReasonCode::kBehindHead:
      return fmt::format("waits behind {}, the first workload of its strict queue", r.subject);
    case ReasonCode::kQuota:
    case ReasonCode::kQuotaMax:
      return quota_text(r);
    case ReasonCode::kQuotaKept:
      return fmt::format("quota is reserved for {}, which waits first in the strict queue {}", r.subject,
                         r.detail);
    case ReasonCode::kReserved:
      return fmt::format("room is reserved for {}, which has waited longer than the age limit{}", r.subject,
                         r.detail.empty() ? "" : fmt::format(" of queue {}", r.detail));
    case ReasonCode::kQuotaUncovered:
      return fmt::format("the queue has no quota for {}: add it to the queue, or remove the request",
                         r.subject);
    case ReasonCode::kLaneLimit:
      return fmt::format("needs {} {}, but {} may use only {} more in this queue (limit per user)",
                         format_amount(r.detail, r.need), r.detail,
                         r.subject.empty() ? "its user" : r.subject,
                         format_amount(r.detail, std::max<std::int64_t>(0, r.have)));
    case ReasonCode::kFirmLimit:
      return fmt::format("needs {} {}, but work that is not preemptible may use only {} more in queue {}",
                         format_amount(r.detail, r.need), r.detail,
                         format_amount(r.detail, std::max<std::int64_t>(0, r.have)), r.subject);
    default:
      return {};
  }
}

// About the places that its pods need together. `below`: the reasons of the parts.
std::string places_text(const Reason& r, const std::string& below) {
  const auto with_below = [&](std::string text) {
    return below.empty() ? text : fmt::format("{}: {}", text, below);
  };
  switch (r.code) {
    case ReasonCode::kNodes:
      return with_below(fmt::format("{}{} {}, there is room for {}", plural(r.need, "pod", "pods"),
                                    r.subject.empty() ? "" : fmt::format(" ({})", r.subject),
                                    r.need == 1 ? "needs a node" : "need nodes", r.have));
    case ReasonCode::kTopology:
      return r.detail.empty() ? with_below(topology_text(r)) : topology_text(r);
    case ReasonCode::kDomain:
      return below.empty() ? fmt::format("the best is {}", r.subject)
                           : fmt::format("in {}, {}", r.subject, below);
    case ReasonCode::kTogether:
      return fmt::format("each pod set fits alone, but not all of them together: {}", below);
    default:
      return below;
  }
}

// The disruption budget that did not allow the eviction; nothing within budgets would have helped.
std::string beyond_text(const Reason& r) {
  return r.detail.empty() ? "" : fmt::format(" ({} allowed no more, and nothing else would do)", r.detail);
}

// About a workload that lost its place, or holds one.
std::string change_text(const Reason& r) {
  switch (r.code) {
    case ReasonCode::kPreempted:
      return fmt::format("preempted by {}, which ranks higher{}", r.subject, beyond_text(r));
    case ReasonCode::kReclaimed:
      return fmt::format("ran on borrowed quota, which {} reclaims{}", r.subject, beyond_text(r));
    case ReasonCode::kReclaimedWhileBorrowing:
      return fmt::format("ran on borrowed quota; {}, which ranks higher, borrows it now{}", r.subject,
                         beyond_text(r));
    case ReasonCode::kReclaimedFairly:
      return fmt::format("its queue used more than its fair share; {} gets the quota{}", r.subject,
                         beyond_text(r));
    case ReasonCode::kWithdrawn:
      return fmt::format("withdrawn: {}", r.detail);
    case ReasonCode::kDrained:
      return fmt::format("queue {} was stopped and drained", r.subject);
    case ReasonCode::kBroken:
      return fmt::format("its gang lacked pods that it needs for {}", r.detail);
    case ReasonCode::kPreemptor:
      return "holds the room that its victims leave";
    case ReasonCode::kReleasingRoom:
      return "holds room that running pods are about to leave";
    case ReasonCode::kHoldOvertaken:
      return fmt::format("the room that was held for it passed to {}, which ranks higher", r.subject);
    case ReasonCode::kHoldBroken:
      return fmt::format("the room that was held for it is gone: {}", r.detail);
    default:
      return {};
  }
}

}  // namespace

std::string to_text(const Reason& r) {
  switch (r.code) {
    case ReasonCode::kNone:
      return children_text(r);
    case ReasonCode::kInvalid:
      return fmt::format("invalid: {}", r.detail);
    case ReasonCode::kUnsupported:
      return fmt::format("cannot be honoured: {}", r.detail);
    case ReasonCode::kInactive:
      return "suspended or inactive: it waits until its owner resumes it";
    case ReasonCode::kClaim:
      return r.detail;
    case ReasonCode::kIncompleteGang:
      return fmt::format("waiting for pods: {} of the gang's {} exist{}", r.have, r.need,
                         r.subject.empty() ? "" : fmt::format(" in {}", r.subject));
    case ReasonCode::kSearchBudget:
      return "the search reached its step limit; Berth tries again when something changes";
    case ReasonCode::kQueueMissing:
    case ReasonCode::kQueueDisabled:
    case ReasonCode::kQueueStopped:
    case ReasonCode::kBehindHead:
    case ReasonCode::kQuota:
    case ReasonCode::kQuotaMax:
    case ReasonCode::kQuotaKept:
    case ReasonCode::kReserved:
    case ReasonCode::kQuotaUncovered:
    case ReasonCode::kLaneLimit:
    case ReasonCode::kFirmLimit:
      return queue_text(r);
    case ReasonCode::kNodes:
    case ReasonCode::kTopology:
    case ReasonCode::kDomain:
    case ReasonCode::kTogether:
      return places_text(r, children_text(r));
    case ReasonCode::kEnough:
    case ReasonCode::kNoVictims:
      return help_text(r);
    case ReasonCode::kNodeUnschedulable:
    case ReasonCode::kNodeTaint:
    case ReasonCode::kNodeSelector:
    case ReasonCode::kNodeVolume:
    case ReasonCode::kNodeFlavor:
    case ReasonCode::kNodeResource:
    case ReasonCode::kNodeDevice:
    case ReasonCode::kNodePort:
    case ReasonCode::kNodeHeld:
    case ReasonCode::kNodeRoom:
    case ReasonCode::kNodeSize:
    case ReasonCode::kNodeApart:
    case ReasonCode::kNodeNear:
    case ReasonCode::kNodeSpread:
      return node_text(r);
    case ReasonCode::kWaitingForRoom:
      return fmt::format("has its nodes; {} {} when the pods that are ending there are gone",
                         plural(r.need, "pod", "pods"), r.need == 1 ? "starts" : "start");
    case ReasonCode::kPreempted:
    case ReasonCode::kReclaimed:
    case ReasonCode::kReclaimedWhileBorrowing:
    case ReasonCode::kReclaimedFairly:
    case ReasonCode::kWithdrawn:
    case ReasonCode::kDrained:
    case ReasonCode::kBroken:
    case ReasonCode::kPreemptor:
    case ReasonCode::kReleasingRoom:
    case ReasonCode::kHoldOvertaken:
    case ReasonCode::kHoldBroken:
      return change_text(r);
    case ReasonCode::kFits:
      return "placed";
  }
  return children_text(r);
}

namespace {

// The budget comes first: a table cuts the end of what it has no room for.
std::string brief_beyond(const Reason& r) {
  const char* how = r.code == ReasonCode::kPreempted ? "preempted by" : "its quota goes to";
  const std::string budget = r.detail.substr(r.detail.rfind(' ') + 1);  // without its kind
  return fmt::format("beyond budget {}: {} {}", budget, how, r.subject);
}

}  // namespace

std::string brief(const Reason& reason) {
  Reason r = leading(reason);
  const bool of_eviction = r.code == ReasonCode::kPreempted || r.code == ReasonCode::kReclaimed ||
                           r.code == ReasonCode::kReclaimedWhileBorrowing ||
                           r.code == ReasonCode::kReclaimedFairly;
  if (of_eviction && !r.detail.empty()) return brief_beyond(r);
  if (r.code == ReasonCode::kTogether && !r.children.empty()) {
    return fmt::format("each pod set fits alone, but not all together: {}", brief(r.children.front()));
  }
  std::vector<Reason> below = std::exchange(r.children, {});
  if (r.code != ReasonCode::kNodes || below.empty()) return to_text(r);
  if (below.front().code == ReasonCode::kNodeSize) return "never: " + size_text(below.front());
  const auto most = std::max_element(below.begin(), below.end(),
                                     [](const Reason& a, const Reason& b) { return a.nodes < b.nodes; });
  r.children = {*most};
  return to_text(r);
}

}  // namespace berth
