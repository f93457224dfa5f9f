// KAI's Topology: levels of node labels, as Kueue's. Both stand beside each other in the engine, each under its own name.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "dialect/base/kind.h"
#include "dialect/base/meta.h"

namespace berth::dialect {

inline constexpr std::string_view kKaiTopologyPrefix = "kai:";  // of its name in the engine

struct KaiTopology {
  static constexpr Kind kKind = Kind::kKaiTopology;
  Meta meta;
  std::vector<std::string> levels;  // widest first
};

}  // namespace berth::dialect
