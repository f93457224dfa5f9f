#include "dialect/owners/template_change.h"

#include <fmt/format.h>

#include <algorithm>

#include "dialect/base/names.h"
#include "dialect/owners/owner.h"

namespace berth::dialect {
namespace {

// Whether it is one of the parts of a text with commas.
bool is_listed(std::string_view list, std::string_view part) {
  while (!list.empty()) {
    const std::string_view first = list.substr(0, list.find(','));
    if (first == part) return true;
    list.remove_prefix(std::min(first.size() + 1, list.size()));
  }
  return false;
}

// Each entry of the map at `path`; where there is no map, it is made.
void add_entries(text::JsonWriter& json, std::string_view path, bool there, const Labels& entries) {
  if (entries.empty()) return;
  if (!there) {
    json.begin_object().field("op", "add").field("path", path).key("value").begin_object();
    for (const auto& [key, value] : entries) json.field(key, value);
    json.end_object().end_object();
    return;
  }
  for (const auto& [key, value] : entries) {
    json.begin_object().field("op", "add").field("path", fmt::format("{}/{}", path, pointer(key)));
    json.field("value", value).end_object();
  }
}

}  // namespace

std::string_view amended_keys(const Meta& owner) {
  return owner.annotation(kPodSetUpdates);
}

std::string pointer(std::string_view key) {
  std::string out;
  for (const char c : key) out += c == '~' ? "~0" : c == '/' ? "~1" : std::string(1, c);
  return out;
}

void write_toleration(text::JsonWriter& json, const PodSetUpdate::Toleration& toleration) {
  json.begin_object();
  if (!toleration.key.empty()) json.field("key", toleration.key);
  if (!toleration.op.empty()) json.field("operator", toleration.op);
  if (!toleration.value.empty()) json.field("value", toleration.value);
  if (!toleration.effect.empty()) json.field("effect", toleration.effect);
  if (toleration.seconds) json.field("tolerationSeconds", *toleration.seconds);
  json.end_object();
}

Toleration to_model(const PodSetUpdate::Toleration& toleration) {
  Toleration out;
  out.key = toleration.key;
  out.exists = toleration.op == "Exists";
  out.bound = enum_parse<TolerationBound>(toleration.op).value_or(TolerationBound::kNone);
  out.value = toleration.value;
  out.effect = enum_parse<TolerationEffect>(toleration.effect).value_or(TolerationEffect::kAll);
  return out;
}

namespace {

const PodSetUpdate kNothing;

// One template. Takes away what the former update of it left, but for what the new one writes again.
void write_template_change(text::JsonWriter& json, const TemplatePatch& patch, std::string_view before) {
  const AskedSet& set = *patch.set;
  const PodSetUpdate& update = patch.update == nullptr ? kNothing : *patch.update;
  const std::string selector = fmt::format("{}/spec/nodeSelector", patch.path);
  const std::string tolerations = fmt::format("{}/spec/tolerations", patch.path);
  Labels left = set.pod->node_selector;
  std::string_view rest = before;
  while (!rest.empty()) {
    const std::string key(rest.substr(0, rest.find(',')));
    rest.remove_prefix(std::min(key.size() + 1, rest.size()));
    if (update.node_selector.contains(key) || left.erase(key) == 0) continue;
    json.begin_object().field("op", "remove");
    json.field("path", fmt::format("{}/{}", selector, pointer(key))).end_object();
  }
  add_entries(json, fmt::format("{}/metadata/labels", patch.path), !set.marks->labels.empty(), update.labels);
  add_entries(json, fmt::format("{}/metadata/annotations", patch.path), set.annotated, update.annotations);
  add_entries(json, selector, !set.pod->node_selector.empty(), update.node_selector);
  bool there = !set.pod->tolerations.empty();
  for (const auto& toleration : update.tolerations) {
    const auto& has = set.pod->tolerations;
    if (std::find(has.begin(), has.end(), to_model(toleration)) != has.end()) continue;
    json.begin_object().field("op", "add");
    json.field("path", there ? tolerations + "/-" : tolerations);
    json.key("value");
    if (!there) json.begin_array();
    write_toleration(json, toleration);
    if (!there) json.end_array();
    json.end_object();
    there = true;
  }
}

}  // namespace

void write_changes(text::JsonWriter& json, std::span<const TemplatePatch> templates, const Meta& owner,
                   bool annotated) {
  const std::string_view before = amended_keys(owner);
  // A key that the owner has always had is its own.
  std::string keys;
  for (const TemplatePatch& patch : templates) {
    write_template_change(json, patch, before);
    if (patch.update == nullptr) continue;
    for (const auto& [key, value] : patch.update->node_selector) {
      const bool own = patch.set->pod->node_selector->contains(key) && !is_listed(before, key);
      if (!own && !is_listed(keys, key)) keys += fmt::format("{}{}", keys.empty() ? "" : ",", key);
    }
  }
  if (keys == before) return;
  json.begin_object().field("op", keys.empty() ? "remove" : "add");
  if (!keys.empty() && !annotated) {
    json.field("path", "/metadata/annotations").key("value").begin_object().field(kPodSetUpdates, keys);
    json.end_object().end_object();
    return;
  }
  json.field("path", fmt::format("/metadata/annotations/{}", pointer(kPodSetUpdates)));
  if (!keys.empty()) json.field("value", keys);
  json.end_object();
}

}  // namespace berth::dialect
