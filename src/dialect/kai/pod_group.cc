#include "dialect/kai/pod_group.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "dialect/base/names.h"

namespace berth::dialect {
namespace {

class Arranger {
 public:
  Arranger(KaiPodGroup& group, const std::vector<KaiSubgroup>& all) : group_(group), all_(all) {}

  void run(std::optional<std::int64_t> parts) {
    KaiSubgroup root;
    root.parts = parts;
    visit(root, 0);
    if (choices_.empty()) return add_parts();
    for (const KaiSubgroup& leaf : leaves_) add_split(leaf.name, {&leaf}, 1);
    for (const auto& [name, of, needs] : choices_) add_split(name, of, needs);
  }

 private:
  struct Choice {
    std::string name;
    std::vector<const KaiSubgroup*> of;
    std::int64_t parts = 0;
  };

  std::vector<const KaiSubgroup*> children_of(std::string_view name) const {
    std::vector<const KaiSubgroup*> out;
    for (const KaiSubgroup& subgroup : all_) {
      if (subgroup.parent == name) out.push_back(&subgroup);
    }
    return out;
  }

  // A subgroup of one subgroup is that one.
  const KaiSubgroup* alone_in(const KaiSubgroup* subgroup) const {
    for (std::size_t depth = 0; depth < all_.size(); ++depth) {
      const auto below = children_of(subgroup->name);
      if (below.size() != 1 || !subgroup->topology.empty()) break;
      subgroup = below.front();
    }
    return subgroup;
  }

  void refuse(const KaiSubgroup& subgroup, std::string_view field) {
    group_.unsupported = subgroup.name.empty() ? fmt::format("spec.{}", field)
                                               : fmt::format("{} of subgroup {}", field, subgroup.name);
  }

  void visit(const KaiSubgroup& subgroup, std::size_t depth) {
    if (depth > all_.size()) return;  // a cycle has no way from the top
    std::vector<const KaiSubgroup*> below = children_of(subgroup.name);
    for (const KaiSubgroup*& child : below) child = alone_in(child);
    const auto have = static_cast<std::int64_t>(below.size());
    if (subgroup.parts.value_or(have) > have) {
      group_.wrong = fmt::format("it needs {} subgroups{}, and has {}", *subgroup.parts,
                                 subgroup.name.empty() ? "" : " in " + subgroup.name, have);
    } else if (subgroup.parts.value_or(have) < have) {
      choose(subgroup, std::move(below));
    } else {
      for (const KaiSubgroup* child : below) enter(*child, depth);
    }
  }

  void enter(const KaiSubgroup& subgroup, std::size_t depth) {
    if (children_of(subgroup.name).empty()) {
      leaves_.push_back(subgroup);
      return;
    }
    if (!subgroup.topology.required.empty()) refuse(subgroup, "topologyConstraint");
    visit(subgroup, depth + 1);
  }

  void choose(const KaiSubgroup& subgroup, std::vector<const KaiSubgroup*> below) {
    const bool alike = std::all_of(below.begin(), below.end(), [&](const KaiSubgroup* child) {
      return children_of(child->name).empty() && child->least == below.front()->least &&
             child->topology == below.front()->topology;
    });
    if (!alike || below.front()->least == 0) return refuse(subgroup, "minSubGroup");
    choices_.push_back({subgroup.name, std::move(below), *subgroup.parts});
  }

  void add_parts() {
    std::int64_t sum = 0;
    for (const KaiSubgroup& leaf : leaves_) {
      group_.parts.push_back({leaf.name, leaf.least, leaf.topology});
      sum += leaf.least;
    }
    group_.least = std::max(group_.least, sum);
  }

  void add_split(const std::string& name, const std::vector<const KaiSubgroup*>& of, std::int64_t parts) {
    GangSplit split;
    split.name = name.empty() ? "subGroups" : name;
    Requirement among{std::string(kKaiSubgroup), SelectorOp::kIn, {}};
    for (const KaiSubgroup* subgroup : of) among.values.push_back(subgroup->name);
    split.selector = LabelSelector{false, {std::move(among)}};
    split.keys = {std::string(kKaiSubgroup)};
    split.least = std::max<std::int64_t>(1, of.front()->least);
    split.parts = of.front()->least == 0 ? 0 : parts;
    split.topology = of.front()->topology;
    sum_ += split.least * split.parts;
    group_.least = std::max(group_.least, sum_);
    group_.splits.push_back(std::move(split));
  }

  KaiPodGroup& group_;
  const std::vector<KaiSubgroup>& all_;
  std::vector<KaiSubgroup> leaves_;  // all of them are needed
  std::vector<Choice> choices_;
  std::int64_t sum_ = 0;
};

}  // namespace

void arrange(KaiPodGroup& group, const std::vector<KaiSubgroup>& subgroups,
             std::optional<std::int64_t> parts) {
  Arranger(group, subgroups).run(parts);
}

const GangSystem KaiPodGroup::kGang{.kind = Kind::kKaiPodGroup,
                                    .name = "KAI",
                                    .names = {kKaiGroupName, {}},
                                    .labels_count = false,
                                    .part = kKaiSubgroup,
                                    .parts_are_named = true,
                                    .surplus_preempts = true,
                                    .queue_mark = kKaiQueueName};

}  // namespace berth::dialect
