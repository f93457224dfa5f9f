// The labels by which volumes and nodes say their zones and regions, today's names and older ones.
#pragma once

#include <array>
#include <string_view>

namespace berth::dialect {

inline constexpr std::string_view kZone = "topology.kubernetes.io/zone";
inline constexpr std::string_view kRegion = "topology.kubernetes.io/region";
inline constexpr std::string_view kOlderZone = "failure-domain.beta.kubernetes.io/zone";
inline constexpr std::string_view kOlderRegion = "failure-domain.beta.kubernetes.io/region";
inline constexpr std::array kZoneLabels{kZone, kRegion, kOlderZone, kOlderRegion};

}  // namespace berth::dialect
