#include "property/coverage.h"

#include <fmt/format.h>

#include <string_view>

#include "base/enums.h"
#include "model/decision.h"
#include "model/queue.h"
#include "property/history.h"

namespace berth::property {
namespace {

constexpr std::string_view kCases[] = {
    "start",
    "start (growth)",
    "start of a hold",
    "waits within its own quota beside a new borrower",
    "hold Preemptor",
    "hold ReleasingRoom",
    "evict Preempted",
    "evict Reclaimed",
    "evict ReclaimedFairly",
    "evict ReclaimedWhileBorrowing",
    "evict (a part)",
    "evict after a minimum runtime",
    "evict before a minimum runtime",
    "evict for the growth of a band",
    "evict from a band",
    "evict within a bound",
    "quiet until a time that the engine named",
    "woken by time alone",
    "evict Withdrawn",
    "evict Drained",
    "evict Broken",
    "placed within a limit of firm work",
    "release-hold HoldOvertaken",
    "release-hold HoldBroken",
    "release-hold Withdrawn",
    "placed gangs",
    "placed gangs of several pod sets",
    "placed trees of groups",
    "placed shares of devices",
    "placed in a required zone",
    "placed in a required rack",
    "placed in a required host",
    "placed with a preferred zone",
    "placed with a preferred rack",
    "placed with a preferred host",
    "placed with fewer than all pods",
    "placed with a flavor",
    "given quota only",
    "given quota only: preempted",
    "given quota only: reclaimed",
    "given quota until nodes come",
    "given quota until nodes come in one domain",
    "start (nodes came)",
    "placed in segments",
    "placed in a flavor group",
    "placed while an equal of its queue waits",
    "placed while an equal of another queue waits",
    "placed for the live mix",
    "placed for a given mix",
    "old work asked whether it ever can start",
    "verdict placed",
    "verdict quota-only",
    "verdict held",
    "verdict blocked",
    "verdict refused",
    "reason BehindHead",
    "reason IncompleteGang",
    "reason Inactive",
    "reason NoVictims",
    "reason Nodes",
    "reason Quota",
    "reason QuotaKept",
    "reason Reserved",
    "reason QuotaMax",
    "reason QueueMissing",
    "reason QueueDisabled",
    "reason QueueStopped",
    "reason SearchBudget",
    "reason Topology",
    "reason Unsupported",
    "reason WaitingForRoom",
    // invariant 6 (starvation.h)
    "drained: started while others ended",
    // invariant 7 (reasons.h)
    "freed BehindHead",
    "freed IncompleteGang",
    "freed Inactive",
    "freed Nodes",
    "freed Nodes, and not by less",
    "freed Quota",
    "freed Quota, and not by less",
    "freed QuotaMax",
    "freed QuotaMax, and not by less",
    "freed QueueMissing",
    "freed QueueDisabled",
    "freed QueueStopped",
    "freed Topology",
    "freed Unsupported",
};

template <NamedEnum E>
void add_values(std::vector<std::string>& out, std::string_view what, std::size_t first = 0) {
  for (std::size_t i = first; i < EnumNames<E>::names.size(); ++i) {
    out.push_back(fmt::format("{} {}", what, EnumNames<E>::names[i]));
  }
}

}  // namespace

std::vector<std::string> must_meet() {
  std::vector<std::string> out(std::begin(kCases), std::end(kCases));
  add_values<Placement>(out, "placed by", 1);  // "default" is one of the others
  add_values<TermKind>(out, "placed");
  add_values<QueueOrder>(out, "ordered by");
  add_values<OrderBy>(out, "in the order of");
  add_values<Tiers>(out, "tiers");
  add_values<Sharing>(out, "shared by");
  add_values<WithinQueue>(out, "started under within");
  add_values<WithinQueue>(out, "preempted under", 1);
  add_values<Reclaim>(out, "started under reclaim");
  add_values<Reclaim>(out, "reclaimed under", 1);
  add_values<VictimOrder>(out, "victims by");
  add_values<StopPolicy>(out, "stopped by", 1);
  add_values<StepKind>(out, "step");
  return out;
}

}  // namespace berth::property
