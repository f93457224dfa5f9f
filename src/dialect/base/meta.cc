#include "dialect/base/meta.h"

#include <algorithm>

namespace berth::dialect {

std::string_view Meta::mark(std::string_view key) const {
  if (const auto it = labels.find(key); it != labels.end() && !it->second.empty()) return it->second;
  if (const auto it = annotations.find(key); it != annotations.end()) return it->second;
  return {};
}

std::string_view Meta::label(std::string_view key) const {
  const auto it = labels.find(key);
  return it == labels.end() ? std::string_view() : std::string_view(it->second);
}

std::string_view Meta::annotation(std::string_view key) const {
  const auto it = annotations.find(key);
  return it == annotations.end() ? std::string_view() : std::string_view(it->second);
}

bool LabelSelector::matches(const Labels& labels) const {
  if (nothing) return false;
  return std::all_of(requirements.begin(), requirements.end(),
                     [&](const Requirement& r) { return r.matches(labels); });
}

}  // namespace berth::dialect
