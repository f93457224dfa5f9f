#include "dialect/kai/pod_group.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
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
    visit(root, 0, {});
    if (choices_.empty()) return add_parts();
    refuse_rings();
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

  // Subgroups that are chosen from others start in turn: each is placed on its own.
  void refuse_rings() {
    for (const GangRing& ring : group_.rings) {
      if (!ring.topology.required.empty())
        group_.unsupported = fmt::format(
            "topologyConstraint of subgroup {}, beside a minSubGroup below the number of subgroups",
            ring.name);
    }
    group_.rings.clear();
  }

  // `ring`: the innermost around it.
  void visit(const KaiSubgroup& subgroup, std::size_t depth, const std::string& ring) {
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
      for (const KaiSubgroup* child : below) enter(*child, depth, ring);
    }
  }

  void enter(const KaiSubgroup& subgroup, std::size_t depth, const std::string& ring) {
    if (children_of(subgroup.name).empty()) {
      leaves_.push_back(subgroup);
      rings_.push_back(ring);
      return;
    }
    if (subgroup.topology.empty()) return visit(subgroup, depth + 1, ring);
    group_.rings.push_back({subgroup.name, ring, subgroup.topology});
    visit(subgroup, depth + 1, subgroup.name);
  }

  void choose(const KaiSubgroup& subgroup, std::vector<const KaiSubgroup*> below) {
    const bool plain = std::all_of(below.begin(), below.end(), [&](const KaiSubgroup* child) {
      return children_of(child->name).empty() && child->least > 0;
    });
    if (!plain) return refuse(subgroup, "minSubGroup");
    choices_.push_back({subgroup.name, std::move(below), *subgroup.parts});
  }

  void add_parts() {
    std::int64_t sum = 0;
    for (std::size_t i = 0; i < leaves_.size(); ++i) {
      const KaiSubgroup& leaf = leaves_[i];
      group_.parts.push_back({leaf.name, leaf.least, leaf.topology, rings_[i]});
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
    std::vector<std::int64_t> leasts;
    for (const KaiSubgroup* subgroup : of) {
      leasts.push_back(std::max<std::int64_t>(1, subgroup->least));
      if (leasts.back() != split.least || subgroup->topology != split.topology)
        split.unlike.push_back({subgroup->name, leasts.back(), subgroup->topology});
    }
    // No fewer than the smallest ones need together.
    std::sort(leasts.begin(), leasts.end());
    sum_ += std::accumulate(leasts.begin(), leasts.begin() + split.parts, std::int64_t{0});
    group_.least = std::max(group_.least, sum_);
    group_.splits.push_back(std::move(split));
  }

  KaiPodGroup& group_;
  const std::vector<KaiSubgroup>& all_;
  std::vector<KaiSubgroup> leaves_;  // all of them are needed
  std::vector<std::string> rings_;   // of each, the innermost around it
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
