// The use of each right, and reports about missing ones: on /readyz, in the log and as a metric.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "kube/rights.h"

namespace berth::scheduler {

// The loss without the right; "" for one that Berth does not use.
std::string_view lost_without(const kube::Right& right);

// "may not create pods/binding: no pod is bound. Grant verbs [create] on resources [pods/binding] of apiGroups [""] ..."
std::string told(const kube::Right& right);

}  // namespace berth::scheduler
