// Changes of the pod template of an owner, as a JSON patch: those that admission checks want, and taking former ones away. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "dialect/base/meta.h"
#include "model/labels.h"
#include "model/workload.h"
#include "text/json.h"

namespace berth::dialect {

struct AskedSet;

// The changes of a check to the pods of a pod set.
struct PodSetUpdate {
  struct Toleration {  // as it is written
    std::string key, op, value, effect;
    std::optional<std::int64_t> seconds;
    bool operator==(const Toleration&) const = default;
  };
  std::string name;  // of the pod set
  Labels labels, annotations, node_selector;
  std::vector<Toleration> tolerations;
  bool operator==(const PodSetUpdate&) const = default;
};

void write_toleration(text::JsonWriter& json, const PodSetUpdate::Toleration& toleration);
Toleration to_model(const PodSetUpdate::Toleration& toleration);

// The keys, with commas, of the node selectors of its templates that admission checks wanted (kPodSetUpdates).
std::string_view amended_keys(const Meta& owner);

// A key as a part of a JSON pointer.
std::string pointer(std::string_view key);

// Operations of a JSON patch, for a template at `path` ("/spec/template"): it gets `update` in the place of the former one. An annotation
// of the owner says so. nullptr: the former one is only taken away. `annotated`: the owner has annotations.
void write_change(text::JsonWriter& json, std::string_view path, const AskedSet& set, const Meta& owner,
                  bool annotated, const PodSetUpdate* update);

}  // namespace berth::dialect
