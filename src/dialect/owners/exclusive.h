// Exclusive topology: pods that lie together in one domain of a node label, where no others of their kind lie. Included by the kinds of
// owners only.
//
// A label of the pods (the key) says which of them lie together. Their controller gives the first of them two required terms about pods.
// It is near to pods with the same key, and apart from those with another one. The others come when that pod has a node, and have the
// domain of it in their node selector.
//
// So the template of each such pod set has both terms here, for all of its pods. The places of those that come later are kept in the
// domain of the first (AskedSet::later, AskedSet::after_first).
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "dialect/owners/owner.h"

namespace berth::dialect {

struct ExclusiveBy {
  std::string_view key;  // the label
  std::string level;     // the node label
  std::string ns;        // only pods of this namespace count; "": those of all
};

// Whether a template must be near to pods itself. Its controller's terms would stand beside that.
bool is_near_to_pods(const PodTemplate& pod);

// Gives a template of pods with this value of the key the terms, and `spec` their selectors.
void add_exclusive_terms(const ExclusiveBy& by, const std::string& value, PodSpec& spec, PodTemplate& pod);

// As OwnerKind::as_asked says, for a pod of a set with such a template.
std::optional<AskedPod> as_exclusive(const ExclusiveBy& by, const AskedSet& set, const Pod& pod,
                                     const PodTemplate& shape);

}  // namespace berth::dialect
