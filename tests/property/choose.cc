#include "property/choose.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/random.h"

namespace berth::property {

std::uint64_t mixed(std::uint64_t seed, std::string_view name) {
  std::uint64_t h = seed ^ 0xcbf29ce484222325ull;
  for (const char c : name) h = (h ^ static_cast<unsigned char>(c)) * 0x100000001b3ull;
  return Random(h).next();
}

std::optional<std::string> pick(std::uint64_t seed, const std::vector<std::string>& candidates) {
  if (candidates.empty()) return std::nullopt;
  return *std::min_element(candidates.begin(), candidates.end(), [&](const auto& a, const auto& b) {
    return std::make_pair(mixed(seed, a), a) < std::make_pair(mixed(seed, b), b);
  });
}

std::vector<SlotName> slots_in(const Ledger& ledger, SlotState state) {
  std::vector<SlotName> out;
  for (const auto& [uid, w] : ledger.workloads) {
    for (std::size_t s = 0; s < w.sets.size(); ++s) {
      for (std::size_t i = 0; i < w.sets[s].size(); ++i) {
        if (w.sets[s][i].state == state) {
          out.push_back({uid, static_cast<std::int64_t>(s), static_cast<std::int64_t>(i)});
        }
      }
    }
  }
  return out;
}

std::uint64_t hash_of(std::uint64_t seed, const SlotName& s) {
  return mixed(seed, fmt::format("{}/{}/{}", s.workload, s.set, s.index));
}

std::optional<SlotName> pick_slot(std::uint64_t seed, const Ledger& ledger, SlotState state) {
  const auto slots = slots_in(ledger, state);
  if (slots.empty()) return std::nullopt;
  return *std::min_element(slots.begin(), slots.end(),
                           [&](const auto& a, const auto& b) { return hash_of(seed, a) < hash_of(seed, b); });
}

std::vector<std::string> workloads_where(const Ledger& ledger,
                                         const std::function<bool(const WorkloadRecord&)>& is) {
  std::vector<std::string> out;
  for (const auto& [uid, w] : ledger.workloads) {
    if (is(w)) out.push_back(uid);
  }
  return out;
}

SlotUpdate seen(const SlotName& s, SlotState state, std::string node) {
  return SlotUpdate{s.workload, s.set, s.index, state, std::move(node)};
}

const SlotRecord& record(const Ledger& ledger, const SlotName& s) {
  return ledger.workloads.at(s.workload)
      .sets[static_cast<std::size_t>(s.set)][static_cast<std::size_t>(s.index)];
}

bool wanted(const Ledger& ledger, const SlotName& s) {
  const auto sets = pod_sets_of(ledger.workloads.at(s.workload).spec.root);
  const auto set = static_cast<std::size_t>(s.set);
  return set < sets.size() && s.index < sets[set]->count;
}

}  // namespace berth::property
