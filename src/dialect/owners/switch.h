// The writes of owners that a boolean field of their own suspends: `spec.suspend` of a JobSet, `spec.runPolicy.suspend` of a PyTorchJob.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "dialect/owners/owner.h"

namespace berth::dialect {

struct Switch {
  std::string_view pointer;            // JSON pointer of the field
  std::vector<std::string> templates;  // those of the pod templates of its sets; "": it cannot be changed
  bool annotated = false;              // the owner has annotations
};

// As OwnerKind::release and OwnerKind::suspend say.
ReleaseWrite release_by(const Switch& by, const Ask& ask, const Release& how);
kube::Write suspend_by(const Switch& by, const Ask& ask);
// The switch alone (OwnerKind::set_switch).
kube::Write set_by(std::string_view pointer, const Ask& ask, bool suspended);

}  // namespace berth::dialect
