#include "dialect/owners/switch.h"

#include "kube/writes.h"
#include "text/json.h"

namespace berth::dialect {
namespace {

// The API server stores a template of a custom resource as it was written, also without metadata.
void add_metadata(text::JsonWriter& json, const TemplatePatch& patch) {
  const bool has_some = patch.set->annotated || !patch.set->marks->labels.empty();
  if (has_some || patch.update == nullptr ||
      (patch.update->labels.empty() && patch.update->annotations.empty()))
    return;
  json.begin_object().field("op", "add").field("path", patch.path + "/metadata");
  json.key("value").begin_object().end_object().end_object();
}

}  // namespace

ReleaseWrite release_by(const Switch& by, const Ask& ask, const Release& how) {
  const Meta& meta = *ask.meta;
  ReleaseWrite out;
  text::JsonWriter json;
  const auto test = [&](std::string_view path, const auto& value) {
    json.begin_object().field("op", "test").field("path", path).field("value", value).end_object();
  };
  json.begin_array();
  test("/metadata/uid", std::string_view(meta.uid));
  if (how.generation != 0) test("/metadata/generation", how.generation);
  test(by.pointer, true);
  json.begin_object().field("op", "replace").field("path", by.pointer).field("value", false).end_object();
  if (!how.updates.empty() || !amended_keys(meta).empty()) {
    out.changes_template = true;
    std::vector<TemplatePatch> patches;
    for (std::size_t s = 0; s < ask.sets.size(); ++s) {
      if (by.templates[s].empty()) continue;
      patches.push_back({by.templates[s], &ask.sets[s], update_of(ask, s, how.updates)});
      add_metadata(json, patches.back());
    }
    write_changes(json, patches, meta, by.annotated);
  }
  json.end_array();
  out.write = kube::patch_object(ask.kind->path().object(meta.ns, meta.name), json.take(),
                                 kube::BodyType::kJsonPatch);
  out.write.write_class = kube::WriteClass::kBind;
  return out;
}

kube::Write suspend_by(const Switch& by, const Ask& ask) {
  return set_by(by.pointer, ask, true);
}

kube::Write set_by(std::string_view pointer, const Ask& ask, bool suspended) {
  text::JsonWriter json;
  json.begin_object().key("metadata").begin_object().field("uid", ask.meta->uid).end_object();
  int depth = 0;
  std::string_view rest = pointer.substr(1);
  for (auto end = rest.find('/'); end != std::string_view::npos; end = rest.find('/')) {
    json.key(rest.substr(0, end)).begin_object();
    rest.remove_prefix(end + 1);
    ++depth;
  }
  json.field(rest, suspended);
  for (; depth > 0; --depth) json.end_object();
  json.end_object();
  kube::Write write = kube::patch_object(ask.kind->path().object(ask.meta->ns, ask.meta->name), json.take(),
                                         kube::BodyType::kMergePatch);
  write.write_class = kube::WriteClass::kBind;  // room is waiting for it
  write.idempotent = true;
  return write;
}

}  // namespace berth::dialect
