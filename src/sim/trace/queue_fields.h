// Queues as scenario files and Berth traces write them (docs/simulator.md, "queues").
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/queue.h"
#include "text/fields.h"

namespace berth::sim {

// "gpu" stands for nvidia.com/gpu; every other resource has its own name.
std::string resource_name(std::string_view written);

// One of an enumeration's names (base/enums.h).
template <NamedEnum E>
E enum_or(text::Fields& f, std::string_view key, E otherwise) {
  constexpr std::size_t kCount = EnumNames<E>::names.size();
  text::Choice<E> choices[kCount];
  for (std::size_t i = 0; i < kCount; ++i) choices[i] = {EnumNames<E>::names[i], static_cast<E>(i)};
  return f.choice_or(key, choices, otherwise);
}

// Tenants of a file become queues below the queue that says `tenants`: reads their names and nodes. Only
// scenario files have it; Berth traces pass none.
using TenantReader =
    std::function<Result<std::vector<std::pair<std::string, std::int64_t>>>(const std::string& path)>;

// Reads the queue entry `f` and its children, and appends them to `out`, parents first, and to `places` where each of them stands.
void read_queue(text::Fields& f, const std::string& parent, const TenantReader& tenants,
                std::vector<Queue>& out, std::vector<SourcePlace>* places = nullptr);

// Gives every queue its resource group over all flavors that any quota names, with a quota of 0 for flavors without one. Refuses
// duplicate names, cycles, unknown parents and children of a leaf. `places`: of each queue; the last one stands for all that
// follow.
Status complete_queues(std::vector<Queue>& queues, const std::vector<SourcePlace>& places);

// Refuses queues that take workloads and have no quota for any.
Status check_quotas(const std::vector<Queue>& queues, const std::vector<SourcePlace>& places);

}  // namespace berth::sim
