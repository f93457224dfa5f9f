#include "dialect/gangs/gang_object.h"

namespace berth::dialect {

std::string GangSplit::part_of(const Labels& labels) const {
  if (keys.empty() || !selector.matches(labels)) return {};
  std::string out = name + ":";
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const auto it = labels.find(keys[i]);
    if (it == labels.end() || it->second.empty()) return {};
    if (i > 0) out += ",";
    out += it->second;
  }
  return out;
}

bool GangSplit::has(std::string_view part) const {
  return part.starts_with(name) && part.substr(name.size()).starts_with(':');
}

const GangSplit* GangObject::split_of(std::string_view part) const {
  for (const GangSplit& split : splits) {
    if (split.has(part)) return &split;
  }
  return nullptr;
}

std::int64_t GangObject::least_of(std::string_view part) const {
  for (const GangPart& known : parts) {
    if (known.name == part) return known.least;
  }
  const GangSplit* split = split_of(part);
  return split == nullptr ? 0 : split->least;
}

}  // namespace berth::dialect
