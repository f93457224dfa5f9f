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
    group_.least = std::max(group_.least, visit(root, 0, group_.needs));
  }

 private:
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

  // Makes parts and rings of the subgroups in it, and `needs` the number of these that it needs. The fewest pods of it.
  std::int64_t visit(const KaiSubgroup& subgroup, std::size_t depth, std::optional<std::int64_t>& needs) {
    if (depth > all_.size()) return 0;  // a cycle has no way from the top
    std::vector<std::int64_t> leasts;
    for (const KaiSubgroup* child : children_of(subgroup.name))
      leasts.push_back(enter(*alone_in(child), depth, subgroup.name));
    const auto have = static_cast<std::int64_t>(leasts.size());
    const std::int64_t parts = subgroup.parts.value_or(have);
    if (parts > have) {
      group_.wrong = fmt::format("it needs {} subgroups{}, and has {}", parts,
                                 subgroup.name.empty() ? "" : " in " + subgroup.name, have);
    } else if (parts < have) {
      needs = parts;
    }
    std::sort(leasts.begin(), leasts.end());
    return std::accumulate(leasts.begin(), leasts.begin() + std::min(parts, have), std::int64_t{0});
  }

  std::int64_t enter(const KaiSubgroup& subgroup, std::size_t depth, const std::string& ring) {
    if (children_of(subgroup.name).empty()) {
      group_.parts.push_back({subgroup.name, subgroup.least, subgroup.topology, ring});
      return subgroup.least;
    }
    const std::size_t at = group_.rings.size();
    group_.rings.push_back({subgroup.name, ring, subgroup.topology});
    std::optional<std::int64_t> needs;
    const std::int64_t least = visit(subgroup, depth + 1, needs);
    group_.rings[at].needs = needs;
    return least;
  }

  KaiPodGroup& group_;
  const std::vector<KaiSubgroup>& all_;
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
