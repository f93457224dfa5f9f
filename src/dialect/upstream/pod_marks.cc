#include "dialect/upstream/pod_marks.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "dialect/base/foreign_marks.h"
#include "dialect/base/names.h"

namespace berth::dialect {

namespace {

// Marks of one pod. Several of one system and one sort are named together, so that a line has room for all of them.
class Found {
 public:
  void add(std::string_view what, std::string_view name, const ForeignMark& mark) {
    for (auto& group : groups_) {
      if (group.what != what || group.mark->system != mark.system) continue;
      if (std::find(group.names.begin(), group.names.end(), name) == group.names.end())
        group.names.emplace_back(name);
      return;
    }
    groups_.push_back({what, &mark, {std::string(name)}});
  }
  void texts(std::vector<std::string>& out) const {
    for (const auto& group : groups_) {
      out.push_back(group.names.size() == 1 ? foreign_text(group.what, group.names.front(), *group.mark)
                                            : fmt::format("{}s {} ({})", group.what,
                                                          fmt::join(group.names, ", "), group.mark->system));
    }
  }

 private:
  struct Group {
    std::string_view what;
    const ForeignMark* mark;
    std::vector<std::string> names;
  };
  std::vector<Group> groups_;
};

}  // namespace

void name_in_full(Meta& meta, std::string_view scheduler) {
  if (scheduler != kYuniKornScheduler) return;
  if (const std::string said(meta.label(kOlderYuniKornQueue));
      !said.empty() && meta.mark(kYuniKornQueue).empty())
    meta.annotations.emplace(kYuniKornQueue, said);
}

void add_foreign_marks(const Meta& meta, const PodSpec& spec, const PodNeeds& needs,
                       std::vector<std::string>& out) {
  Found found;
  each_foreign_key(meta, meta, spec.scheduler_name,
                   [&](std::string_view what, std::string_view key, const ForeignMark& mark) {
                     found.add(what, key, mark);
                   });
  for (const auto& container : needs.containers) {
    for (const auto& [resource, amount] : container.requests) {
      const ForeignMark* mark = amount > 0 ? find_foreign(MarkPlace::kResource, resource) : nullptr;
      if (mark != nullptr) found.add("resource", resource, *mark);
    }
  }
  found.texts(out);
  const Owner& owner = meta.controller;
  if (owner.group.empty()) return;
  // A gang that Berth reads of the pod itself is what its owner means too.
  for (const auto key : {kPodGroupLabel, kOlderPodGroupLabel, kOldestPodGroupName, kGang, kKueuePodGroup,
                         kVolcanoGroupName, kKoordinatorGang, kYuniKornGroup, kYuniKornGroups}) {
    if (!meta.mark(key).empty()) return;
  }
  if (!meta.annotation(kSchedulingGroup).empty()) return;  // the field; a label of that name is nothing
  const std::string kind = fmt::format("{}/{}", owner.group, owner.kind.substr(0, owner.kind.find('.')));
  const ForeignMark* mark = find_foreign(MarkPlace::kOwner, kind);
  if (mark != nullptr && counts_for(*mark, meta, spec.scheduler_name))
    out.push_back(foreign_text("owner", kind, *mark));
}

}  // namespace berth::dialect
