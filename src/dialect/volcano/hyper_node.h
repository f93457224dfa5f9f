// Volcano's HyperNode: a domain of its network, with the nodes and the smaller domains in it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "dialect/base/kind.h"
#include "dialect/base/meta.h"
#include "model/labels.h"

namespace berth::dialect {

inline constexpr std::int64_t kMostTier = 1'000'000;

struct HyperNode {
  static constexpr Kind kKind = Kind::kHyperNode;
  // One of its three ways to choose says which nodes are meant, or which HyperNodes.
  struct Member {
    bool is_node = true;  // else a HyperNode
    std::string name;     // exactly this one
    std::string pattern;  // all whose name matches
    LabelSelector labels{.nothing = true, .requirements = {}};
    bool operator==(const Member&) const = default;
  };
  Meta meta;
  std::int64_t tier = 0;  // the lower, the nearer are its nodes to each other
  std::string tier_name;  // "" = none
  std::vector<Member> members;
  std::string problem;
  bool operator==(const HyperNode&) const = default;
};

}  // namespace berth::dialect
