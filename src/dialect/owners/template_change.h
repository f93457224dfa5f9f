// Changes of the pod template of an owner, as a JSON patch: those that admission checks want, and taking former ones away. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
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

// One template of an owner, and what it gets in the place of its former update; nullptr: the former one is only taken away.
struct TemplatePatch {
  std::string path;  // "/spec/template"
  const AskedSet* set = nullptr;
  const PodSetUpdate* update = nullptr;
};
// Operations of a JSON patch for all templates of an owner. An annotation of the owner has the keys of node selectors that are not its
// own. `annotated`: the owner has annotations.
void write_changes(text::JsonWriter& json, std::span<const TemplatePatch> templates, const Meta& owner,
                   bool annotated);

}  // namespace berth::dialect
