// Gangs and domains: which parts of a workload must be together.
#include <fmt/format.h>

#include <algorithm>

#include "property/checker.h"

namespace berth::property {

std::int64_t Checker::started_slots(const WorkloadRecord& w, std::size_t set, bool with_held) const {
  std::int64_t n = w.active(set);
  if (with_held) {
    for (const auto& slot : w.sets[set]) n += slot.state == SlotState::kHeld ? 1 : 0;
  }
  return n;
}

std::string Checker::check_groups(const Decision& d, const WorkloadRecord& w, const GroupView& view,
                                  bool with_held) const {
  const auto sets = pod_sets_of(w.spec.root);
  // A gang broken from outside is no fault of a decision that does not touch it.
  const auto touched = [&](const std::vector<std::size_t>& among) {
    return std::any_of(d.slots.begin(), d.slots.end(), [&](const SlotPlacement& p) {
      return std::count(among.begin(), among.end(), static_cast<std::size_t>(p.pod_set)) > 0;
    });
  };
  std::int64_t started = 0;
  for (const std::size_t s : view.sets) {
    const std::int64_t n = started_slots(w, s, with_held);
    const std::int64_t least = sets[s]->least_count();
    if (n > 0 && n < least && touched({s})) {
      return fmt::format("pod set {} has {} slots, fewer than its least {}", s, n, least);
    }
    started += n >= least ? 1 : 0;
  }
  for (const GroupView& child : view.groups) {
    if (auto wrong = check_groups(d, w, child, with_held); !wrong.empty()) return wrong;
    std::int64_t slots = 0;
    std::int64_t needed = 0;
    for (const std::size_t s : child.all_sets()) {
      slots += started_slots(w, s, with_held);
      needed += sets[s]->least_count();
    }
    started += slots > 0 || needed == 0 ? 1 : 0;
  }
  const auto children = static_cast<std::int64_t>(view.sets.size() + view.groups.size());
  const std::int64_t least = view.group->least.value_or(children);
  if (touched(view.all_sets()) && started < least) {
    return fmt::format("group \"{}\" has {} children started, fewer than its least {}", view.group->name,
                       started, least);
  }
  return "";
}

// Every `segment` of the slots that a decision gives a pod set, in their order, are in one domain. This counts slots that start at
// once: growth is counted anew each time.
std::string Checker::check_segments(const Decision& d, const WorkloadRecord& w, const GroupView& view) const {
  const TopologyRequest& topology = view.group->topology;
  if (topology.segment <= 1 || topology.segment_level.empty()) return "";
  const auto sets = pod_sets_of(w.spec.root);
  for (const std::size_t s : view.sets) {
    if (sets[s]->least_count() < sets[s]->count || !sets[s]->bands.empty()) continue;
    std::int64_t at = 0;
    std::vector<std::string> domain;
    for (const SlotPlacement& p : d.slots) {
      if (p.pod_set != static_cast<std::int64_t>(s) || p.node.empty()) continue;
      const auto here =
          ledger_.domain(w.sets[s].at(static_cast<std::size_t>(p.index)).taken.node, topology.segment_level);
      if (at++ % topology.segment == 0) domain = here;
      if (here.empty() || here != domain)
        return fmt::format("slot {}/{} is not in one {} with its segment", s, p.index,
                           topology.segment_level);
    }
  }
  return "";
}

std::string Checker::check_topology(const Decision& d, const WorkloadRecord& w, const GroupView& view) const {
  const std::string& level = view.group->topology.required;
  if (!level.empty()) {
    const auto is_new = [&](std::size_t set, std::size_t index) {
      return std::any_of(d.slots.begin(), d.slots.end(), [&](const SlotPlacement& p) {
        return p.pod_set == static_cast<std::int64_t>(set) && p.index == static_cast<std::int64_t>(index);
      });
    };
    std::set<std::vector<std::string>> before;
    std::set<std::vector<std::string>> decided;
    for (const std::size_t s : view.all_sets()) {
      for (std::size_t i = 0; i < w.sets[s].size(); ++i) {
        const SlotRecord& slot = w.sets[s][i];
        if ((!is_active(slot.state) && slot.state != SlotState::kHeld) || slot.taken.awaited) continue;
        (is_new(s, i) ? decided : before).insert(ledger_.domain(slot.taken.node, level));
      }
    }
    before.erase(std::vector<std::string>());  // seen on a node that is in no domain
    // Where the outside has torn the group apart already, what is added must at least join one of the parts.
    const bool together = decided.empty() || (decided.size() == 1 && decided.count({}) == 0 &&
                                              (before.empty() || before.count(*decided.begin()) > 0));
    if (!together) {
      return fmt::format("group \"{}\" must share one {}, but gets {} and had {}", view.group->name, level,
                         decided.size(), before.size());
    }
  }
  if (auto wrong = check_segments(d, w, view); !wrong.empty()) return wrong;
  for (const GroupView& child : view.groups) {
    if (auto wrong = check_topology(d, w, child); !wrong.empty()) return wrong;
  }
  return "";
}

// Pod sets of one flavor group get the same flavor for each resource.
std::string Checker::check_flavor_groups(const Decision& d, const WorkloadRecord& w) const {
  const auto sets = pod_sets_of(w.spec.root);
  const auto group = [&](const FlavorChoice& choice) -> const std::string& {
    return sets.at(static_cast<std::size_t>(choice.pod_set))->flavor_group;
  };
  for (const FlavorChoice& a : d.flavors) {
    for (const FlavorChoice& b : d.flavors) {
      if (group(a).empty() || group(a) != group(b) || a.resource != b.resource || a.flavor == b.flavor)
        continue;
      return fmt::format("pod sets {} and {} are of one flavor group, and get {} in {} and {}", a.pod_set,
                         b.pod_set, a.resource, a.flavor, b.flavor);
    }
  }
  return "";
}

}  // namespace berth::property
