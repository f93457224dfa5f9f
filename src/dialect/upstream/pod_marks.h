// Marks of other schedulers on pods (base/foreign_marks.h), in words.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "dialect/base/meta.h"
#include "dialect/upstream/objects.h"
#include "dialect/upstream/pod_needs.h"

namespace berth::dialect {

// Gives marks without a domain their full names, where the pod asks for the scheduler that has them so.
void name_in_full(Meta& meta, std::string_view scheduler);

// All marks of a pod (or a template) in words: keys of `meta`, resources of its containers, the kind of its controller.
void add_foreign_marks(const Meta& meta, const PodSpec& spec, const PodNeeds& needs,
                       std::vector<std::string>& out);

}  // namespace berth::dialect
