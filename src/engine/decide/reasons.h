// Reason trees of waiting work.
#pragma once

#include <utility>
#include <vector>

#include "model/decision.h"

namespace berth::engine {

// One reason for several: itself if it is one, else their parent.
inline Reason as_one(std::vector<Reason> reasons) {
  if (reasons.size() == 1) return std::move(reasons.front());
  Reason out;
  out.children = std::move(reasons);
  return out;
}

// Adds a reason beside those that are there.
inline void add_child(Reason& reason, Reason more) {
  if (reason.code != ReasonCode::kNone) reason = Reason{ReasonCode::kNone, "", "", 0, 0, 0, {reason}};
  reason.children.push_back(std::move(more));
}

// The same codes and subjects, whatever the numbers.
inline bool same_kind(const Reason& a, const Reason& b) {
  if (a.code != b.code || a.subject != b.subject || a.children.size() != b.children.size()) return false;
  for (std::size_t i = 0; i < a.children.size(); ++i) {
    if (!same_kind(a.children[i], b.children[i])) return false;
  }
  return true;
}

}  // namespace berth::engine
