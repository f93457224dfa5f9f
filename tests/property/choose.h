// Choices that stay the same when other things are left out of a history: of the candidates the one whose hash with the seed
// is least. And looks at the ledger that several parts of the tests need.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "property/ledger.h"

namespace berth::property {

struct SlotName {
  std::string workload;
  std::int64_t set = 0;
  std::int64_t index = 0;
};

std::uint64_t mixed(std::uint64_t seed, std::string_view name);
std::optional<std::string> pick(std::uint64_t seed, const std::vector<std::string>& candidates);

std::vector<SlotName> slots_in(const Ledger& ledger, SlotState state);
std::uint64_t hash_of(std::uint64_t seed, const SlotName& s);
std::optional<SlotName> pick_slot(std::uint64_t seed, const Ledger& ledger, SlotState state);
std::vector<std::string> workloads_where(const Ledger& ledger,
                                         const std::function<bool(const WorkloadRecord&)>& is);

template <class Map>
std::vector<std::string> names_of(const Map& map) {
  std::vector<std::string> out;
  for (const auto& [name, value] : map) out.push_back(name);
  return out;
}

// The slot was seen in this state.
SlotUpdate seen(const SlotName& s, SlotState state, std::string node = {});
const SlotRecord& record(const Ledger& ledger, const SlotName& s);
// Whether a pod that is gone comes back: its owner still wants so many.
bool wanted(const Ledger& ledger, const SlotName& s);

}  // namespace berth::property
