#include "engine/nodes/alike.h"

#include <bit>

namespace berth::engine {

void AlikeNodes::begin(std::size_t most) {
  groups_.clear();
  table_.assign(std::bit_ceil(2 * most + 2), kNone);
}

void AlikeNodes::add(std::uint64_t bits, std::uint32_t state, std::int64_t cpu) {
  const std::size_t mask = table_.size() - 1;
  std::uint64_t hash = (bits ^ state) * 0x9e3779b97f4a7c15u + static_cast<std::uint64_t>(cpu);
  hash = (hash ^ hash >> 32) * 0xd6e8feb86659fd93u;
  for (std::size_t at = (hash ^ hash >> 32) & mask;; at = (at + 1) & mask) {
    if (table_[at] == kNone) {
      table_[at] = static_cast<std::uint32_t>(groups_.size());
      groups_.push_back({bits, state, cpu, 1});
      return;
    }
    Group& group = groups_[table_[at]];
    if (group.bits != bits || group.state != state || group.cpu != cpu) continue;
    ++group.nodes;
    return;
  }
}

}  // namespace berth::engine
