// Koordinator: its marks of gangs and quotas.
#include "dialect/known/known.h"

namespace berth::dialect {
namespace {

constexpr std::string_view kKoordinatorPrefixes[] = {"gang.scheduling.koordinator.sh/"};

constexpr std::string_view kKoordinatorKeys[] = {
    "gang.scheduling.koordinator.sh/groups",
    "gang.scheduling.koordinator.sh/match-policy",
    "gang.scheduling.koordinator.sh/min-available",
    "gang.scheduling.koordinator.sh/mode",
    "gang.scheduling.koordinator.sh/name",
    "gang.scheduling.koordinator.sh/network-topology-index",
    "gang.scheduling.koordinator.sh/network-topology-spec",
    "gang.scheduling.koordinator.sh/timeout",
    "gang.scheduling.koordinator.sh/total-number",
    "gang.scheduling.koordinator.sh/waiting-time",
};

}  // namespace

KnownSystem known_koordinator() {
  return {"Koordinator", {}, {}, kKoordinatorPrefixes, kKoordinatorKeys};
}

}  // namespace berth::dialect
