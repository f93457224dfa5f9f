// The marks of Koordinator that stand on pods and on PodGroups alike.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>

#include "dialect/base/meta.h"

namespace berth::dialect {

inline constexpr std::int64_t kMostOfKoordinator = 1'000'000;

// The names of the gangs that start together (kKoordinatorGroups), all of the namespace of `meta`; empty: it says none. `wrong`: why they
// cannot be read.
std::set<std::string> koordinator_groups(const Meta& meta, std::string& wrong);

// Why kKoordinatorTotal is wrong beside a minimum of `least`; "": nothing. nullopt: the minimum cannot be read.
std::string wrong_total(const Meta& meta, std::string_view least_key, std::optional<std::int64_t> least);

std::string not_a_number(std::string_view key, std::string_view text);

}  // namespace berth::dialect
