// Nodes that are alike, counted: what depends only on that is found out once for all of them.
//
// Two nodes are alike where three things are: a set of bits, a state, and an amount of CPU. Groups stand in the order in which
// the first node of each came. Cost: O(1) a node.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace berth::engine {

class AlikeNodes {
 public:
  struct Group {
    std::uint64_t bits = 0;
    std::uint32_t state = 0;
    std::int64_t cpu = 0;
    std::int64_t nodes = 0;
  };

  // Begins anew, for so many nodes at most.
  void begin(std::size_t most);
  void add(std::uint64_t bits, std::uint32_t state, std::int64_t cpu);
  std::span<const Group> groups() const { return groups_; }

 private:
  static constexpr std::uint32_t kNone = 0xffffffffu;

  std::vector<Group> groups_;
  std::vector<std::uint32_t> table_;  // by hash: index of a group; its size is a power of two
};

}  // namespace berth::engine
