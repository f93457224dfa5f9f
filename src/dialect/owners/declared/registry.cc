#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>

#include "dialect/owners/declared/built_in.h"
#include "dialect/owners/declared/declaration.h"
#include "dialect/owners/declared/declared.h"

namespace berth::dialect {
namespace {

struct Registry {
  std::vector<std::unique_ptr<const Declaration>> all;  // in the order of their numbers
  std::vector<const Declaration*> views;
  std::vector<const Declaration*> grouped;
  std::vector<const Declaration*> naming;  // with named_by
};

Status add(Registry& registry, std::vector<Declaration> declarations) {
  std::erase_if(declarations, [&](const Declaration& one) {
    return std::any_of(registry.views.begin(), registry.views.end(),
                       [&](const Declaration* known) { return known->source == one.source; });
  });
  for (std::size_t i = 0; i < declarations.size(); ++i) {
    const Declaration& one = declarations[i];
    const auto has_word = [&](const Declaration& other) { return other.word == one.word; };
    const auto known = kind_named(one.word);
    const bool twice =
        std::any_of(declarations.begin(), declarations.begin() + static_cast<std::ptrdiff_t>(i), has_word);
    if (known || twice) {
      const std::string_view group = twice ? std::string_view(one.group) : info_of(*known).group;
      return fail(ErrorCode::kInvalid, "kind {} of {}: Berth reads {} {} already: take it out of the file",
                  one.word, one.group, one.word,
                  group.empty() ? "of the core group" : fmt::format("of {}", group));
    }
  }
  if (kinds().size() + declarations.size() > kMostKinds)
    return fail(ErrorCode::kExhausted, "Berth reads no more than {} kinds", kMostKinds - kKinds.size());
  for (Declaration& one : declarations) {
    auto kept = std::make_unique<Declaration>(std::move(one));
    const auto kind = add_kind({.kind = {},
                                .word = kept->word,
                                .group = kept->group,
                                .resource = kept->resource,
                                .namespaced = true});
    kept->row = declared_row(*kept, *kind);
    registry.views.push_back(kept.get());
    if (kept->groups.any()) registry.grouped.push_back(kept.get());
    if (!kept->named_by.empty()) registry.naming.push_back(kept.get());
    registry.all.push_back(std::move(kept));
  }
  return {};
}

// A mistake in a text that ships is a defect of ours, which every test of kinds shows.
void add_text(Registry& registry, std::string_view text, std::string_view file) {
  auto document = text::parse_document(std::string(text), std::string(file));
  Status status;
  if (!document) {
    status = tl::unexpected<Error>(document.error());
  } else if (auto read = read_declarations(std::make_shared<const text::Document>(std::move(*document)));
             !read) {
    status = tl::unexpected<Error>(read.error());
  } else {
    status = add(registry, std::move(*read));
  }
  if (status) return;
  fmt::print(stderr, "{}\n", status.error().str());
  std::abort();
}

Registry& registry() {
  static Registry all = [] {
    Registry out;
    add_text(out, declared_ray(), "ray.cc");
    add_text(out, declared_kubeflow(), "kubeflow.cc");
    add_text(out, declared_mpi(), "mpi.cc");
    add_text(out, declared_leader_worker(), "leader_worker.cc");
    add_text(out, declared_app_wrapper(), "app_wrapper.cc");
    add_text(out, declared_spark(), "spark.cc");
    return out;
  }();
  return all;
}

// Before main(), so that the table of kinds is whole.
[[maybe_unused]] const Registry& kBuiltIn = registry();

}  // namespace

Status declare(std::vector<Declaration> declarations) {
  return add(registry(), std::move(declarations));
}

const Declaration* declaration_of(Kind kind) {
  const auto& all = registry().all;
  const std::size_t number = static_cast<std::size_t>(kind) - kKinds.size();
  return is_declared(kind) && number < all.size() ? all[number].get() : nullptr;
}

std::span<const Declaration* const> declarations() {
  return registry().views;
}

std::optional<NamedGroup> group_named_by(const Meta& pod) {
  for (const Declaration* declared : registry().grouped) {
    const auto owner = pod.labels.find(declared->groups.owner);
    const auto number = pod.labels.find(declared->groups.group);
    if (owner == pod.labels.end() || number == pod.labels.end() || pod.controller->kind.empty()) continue;
    return NamedGroup{declared, owner->second, number->second};
  }
  return std::nullopt;
}

std::optional<NamedOwner> owner_named_by(const Meta& pod) {
  if (pod.controller->kind != "Pod") return std::nullopt;
  for (const Declaration* declared : registry().naming) {
    const auto name = pod.labels.find(declared->named_by);
    if (name != pod.labels.end()) return NamedOwner{declared->row.kind, name->second};
  }
  return std::nullopt;
}

}  // namespace berth::dialect
