// Marks of other schedulers that Berth does not read: the one table of them. Berth would misread a pod with such a mark, so the pod
// waits with `Unsupported` and the name of the mark, in `berth plan` and live alike. A dialect that learns to read a mark takes its
// row out.
//
// In the table: what defines a gang, names a queue, shares a device, or binds a pod to some nodes or devices. Not in it: what is
// informative, a preference, or about eviction alone. Environment variables are not in it: each system sets them when it binds.
//
// Sources: Volcano's apis (scheduling/v1beta1, batch/v1alpha1), its deviceshare plugin; KAI's pkg/common/constants and podgrouper;
// Koordinator's apis/extension; yunikorn-k8shim's constants; HAMi's device configuration; the Run:ai names that KAI keeps.
// docs/labels.md lists the same rows; a test compares them. Cost: a look-up is O(log rows).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "dialect/base/meta.h"

namespace berth::dialect {

enum class MarkPlace : std::uint8_t {
  kKey,       // a label or an annotation of the pod, its Job or its PodGroup
  kResource,  // a resource that a container asks for
  kOwner,     // the kind of the pod's controller, "group/Kind"
};

struct ForeignMark {
  std::string_view name;
  MarkPlace place = MarkPlace::kKey;
  std::string_view system;     // "KAI"
  std::string_view meaning;    // "a part of a GPU"
  std::string_view dialect;    // the dialect that takes it over
  std::string_view scheduler;  // it counts only for pods with this spec.schedulerName; "" = for all
  // It does not count for a pod with this mark: that names an object which Berth reads, and which says the same.
  std::string_view unless = {};
};

// Sorted by place and name. A name that ends in '*' stands for all names with that beginning.
std::span<const ForeignMark> foreign_marks();

// The row of a name, whatever scheduler it needs; nullptr: it is no foreign mark.
const ForeignMark* find_foreign(MarkPlace place, std::string_view name);

// The text of a reason about a mark: "annotation gpu-fraction (KAI: a part of a GPU)".
std::string foreign_text(std::string_view what, std::string_view name, const ForeignMark& mark);

// Whether the mark counts for a pod of this scheduler.
bool counts_for(const ForeignMark& mark, const Meta& pod, std::string_view scheduler);

// Calls f(what, key, mark) for the marks among the labels and annotations of `meta`, as they count for a pod of this scheduler. `meta` is
// that of `pod`, or of an object above it.
template <class F>
void each_foreign_key(const Meta& meta, const Meta& pod, std::string_view scheduler, F&& f) {
  const auto look = [&](std::string_view what, const Labels& keys) {
    for (const auto& [key, value] : keys) {
      const ForeignMark* mark = find_foreign(MarkPlace::kKey, key);
      if (mark != nullptr && counts_for(*mark, pod, scheduler)) f(what, key, *mark);
    }
  };
  look("label", meta.labels);
  look("annotation", meta.annotations);
}

// The first mark among the labels and annotations of `meta`, in words, for a pod of this scheduler.
std::optional<std::string> foreign_key(const Meta& meta, const Meta& pod, std::string_view scheduler);

}  // namespace berth::dialect
