// Decoder of the levels of a Topology: Kueue's and KAI's have one form. Included by decoders only.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "dialect/base/fields.h"
#include "dialect/base/names.h"

namespace berth::dialect {

// The keys of node labels in spec.levels, widest first.
template <class V>
std::vector<std::string> read_levels(FieldReader<V>& f, const V& object) {
  std::vector<std::string> out;
  const V spec = f.map(object, "spec");
  f.list(spec, "levels", [&](const V& level) { out.emplace_back(f.string(level, "nodeLabel")); });
  if (out.empty() || out.size() > 16)
    f.error(spec.present() ? spec : object, "levels", "a topology has 1 to 16 levels");
  for (auto level = out.begin(); level != out.end(); ++level) {
    if (std::find(out.begin(), level, *level) != level)
      f.error(spec, "levels", fmt::format("level {} appears twice", *level));
    if (level->empty()) f.error(spec, "levels", "a level must have a nodeLabel");
    if (*level == kHostname && level + 1 != out.end())
      f.error(spec, "levels", fmt::format("{} may only be the last level", kHostname));
  }
  return out;
}

}  // namespace berth::dialect
