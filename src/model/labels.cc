#include "model/labels.h"

#include <algorithm>
#include <optional>

#include "base/integers.h"

namespace berth {
namespace {

// Kubernetes takes no leading zeros in the values of taints that are compared.
std::optional<std::int64_t> to_plain_integer(std::string_view text) {
  const std::string_view digits = text.substr(text.starts_with('-') ? 1 : 0);
  if (digits.starts_with('0') && text != "0") return std::nullopt;
  return to_integer(text);
}

bool matches_value(const Requirement& requirement, const std::string* value) {
  const auto listed = [&] {
    return std::find(requirement.values.begin(), requirement.values.end(), *value) !=
           requirement.values.end();
  };
  switch (requirement.op) {
    case SelectorOp::kIn:
      return value != nullptr && listed();
    case SelectorOp::kNotIn:
      return value == nullptr || !listed();
    case SelectorOp::kExists:
      return value != nullptr;
    case SelectorOp::kDoesNotExist:
      return value == nullptr;
    case SelectorOp::kGt:
    case SelectorOp::kLt: {
      if (value == nullptr || requirement.values.size() != 1) return false;
      const auto have = to_integer(*value);
      const auto bound = to_integer(requirement.values.front());
      if (!have || !bound) return false;
      return requirement.op == SelectorOp::kGt ? *have > *bound : *have < *bound;
    }
  }
  return false;
}

}  // namespace

bool Requirement::matches(const Labels& labels) const {
  const auto it = labels.find(key);
  return matches_value(*this, it == labels.end() ? nullptr : &it->second);
}

bool SelectorTerm::matches(const Labels& node_labels, const std::string& name) const {
  if (labels.empty() && node_name.empty()) return false;
  return std::all_of(labels.begin(), labels.end(), [&](const auto& r) { return r.matches(node_labels); }) &&
         std::all_of(node_name.begin(), node_name.end(),
                     [&](const auto& r) { return matches_value(r, &name); });
}

bool any_matches(const std::vector<SelectorTerm>& terms, const Labels& node_labels, const std::string& name) {
  return std::any_of(terms.begin(), terms.end(),
                     [&](const SelectorTerm& term) { return term.matches(node_labels, name); });
}

bool Toleration::tolerates(const Taint& taint) const {
  if (effect != TolerationEffect::kAll && enum_name(effect) != enum_name(taint.effect)) return false;
  if (key.empty()) return exists;
  if (key != taint.key) return false;
  if (bound == TolerationBound::kNone) return exists || value == taint.value;
  const auto limit = to_plain_integer(value);
  const auto have = to_plain_integer(taint.value);
  if (!limit || !have) return false;
  return bound == TolerationBound::kAbove ? *have > *limit : *have < *limit;
}

std::string_view Toleration::op() const {
  if (bound != TolerationBound::kNone) return enum_name(bound);
  return exists ? "Exists" : "Equal";
}

}  // namespace berth
