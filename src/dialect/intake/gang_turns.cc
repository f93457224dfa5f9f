#include "dialect/intake/gang_turns.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <string_view>

namespace berth::dialect {
namespace {

struct Subgroup {
  std::string name;
  std::int64_t least = 1;  // 0: it is as good as there
  std::int64_t pods = 0;
  std::int64_t bound = 0;
  bool begun = false;  // its turn has come before
  bool chosen = false;
  bool next = false;

  bool whole() const { return pods > 0 && pods >= least; }
  // One that has begun gets the pods that it lacks.
  std::int64_t counts() const { return std::max(pods, least); }
};

bool is_chosen(const Subgroup& s) {
  return s.chosen;
}
bool runs(const Subgroup& s) {
  return s.bound > 0;
}

class Turns {
 public:
  // `bound` may be empty: no pod has a node.
  Turns(const std::vector<Role>& roles, const GangObject& object, const std::vector<std::int64_t>& bound) {
    nodes_.push_back({"", object.needs, {}, {}});
    std::map<std::string_view, std::size_t> at{{"", 0}};
    for (const GangRing& ring : object.rings)
      at[ring.name] = add_node(at[ring.inside], {ring.name, ring.needs, {}, {}});
    for (const GangPart& part : object.parts)
      subgroup_of_[part.name] = add_subgroup(at[part.inside], part.name, part.least);
    for (const GangSplit& split : object.splits)
      at[split.name] = add_node(0, {split.name, split.parts, {}, {}});
    for (std::size_t r = 0; r < roles.size(); ++r) {
      const Role& role = roles[r];
      const GangSplit* split = object.split_of(role.part);
      if (split != nullptr && !subgroup_of_.contains(role.part))
        subgroup_of_[role.part] = add_subgroup(at[split->name], role.part, split->least);
      const auto it = subgroup_of_.find(role.part);
      if (it == subgroup_of_.end()) {
        if (object.parts.empty()) others_ += pods_of(role);
        continue;
      }
      Subgroup& subgroup = subgroups_[it->second];
      subgroup.pods += pods_of(role);
      subgroup.bound += bound.empty() ? 0 : bound[r];
      subgroup.chosen =
          subgroup.chosen || role.turn == Turn::kNow || role.turn == Turn::kNext || role.turn == Turn::kShort;
    }
  }

  void choose(std::int64_t size) {
    bool begun = false;
    bool steady = true;  // those that have begun have all their pods on nodes
    for (Subgroup& s : subgroups_) {
      begun = begun || s.bound > 0;
      steady = steady && (s.bound == 0 || s.bound >= s.least);
      s.chosen = s.begun = s.bound > 0 || (s.chosen && s.whole());
    }
    if (!begun || !are_enough(size, runs)) return choose_anew(size);
    for (Subgroup& s : subgroups_) s.next = s.chosen && s.bound == 0;
    if (!steady || std::any_of(subgroups_.begin(), subgroups_.end(), [](const auto& s) { return s.next; }))
      return;
    (void)take_further();
    for (Subgroup& s : subgroups_) s.next = s.chosen && s.bound == 0;
  }

  // Whether the subgroups that `counts` takes are enough.
  template <class Counts>
  bool are_enough(std::int64_t size, Counts&& counts) const {
    return pods_of_those(counts) >= size && is_satisfied(0, counts);
  }

  // nullptr: such pods are of none.
  const Subgroup* of(const std::string& part) const {
    const auto it = subgroup_of_.find(part);
    return it == subgroup_of_.end() ? nullptr : &subgroups_[it->second];
  }

  std::optional<Reason> lacking(std::int64_t size) const {
    if (are_enough(size, is_chosen)) return std::nullopt;
    for (const Subgroup& s : subgroups_) {
      if (!s.whole() && s.pods > 0) return lacks(s.name, s.least, s.pods);
    }
    return lacking_in(0);
  }

 private:
  struct Node {
    std::string_view name;
    std::optional<std::int64_t> needs;  // so many of those in it; none: all
    std::vector<std::size_t> in;
    std::optional<std::size_t> subgroup;  // it is this one
  };

  std::size_t add_node(std::size_t parent, Node node) {
    nodes_[parent].in.push_back(nodes_.size());
    nodes_.push_back(std::move(node));
    return nodes_.size() - 1;
  }

  std::size_t add_subgroup(std::size_t parent, const std::string& name, std::int64_t least) {
    (void)add_node(parent, {"", {}, {}, subgroups_.size()});
    subgroups_.push_back({name, least});
    return subgroups_.size() - 1;
  }

  template <class Counts>
  std::int64_t pods_of_those(Counts&& counts) const {
    std::int64_t pods = others_;
    for (const Subgroup& s : subgroups_) pods += counts(s) ? s.counts() : 0;
    return pods;
  }

  static std::int64_t needs_of(const Node& node) {
    return node.needs.value_or(static_cast<std::int64_t>(node.in.size()));
  }

  template <class Condition>
  std::int64_t count_in(const Node& node, Condition&& condition) const {
    return std::count_if(node.in.begin(), node.in.end(), condition);
  }

  template <class Counts>
  bool is_satisfied(std::size_t at, Counts&& counts) const {
    const Node& node = nodes_[at];
    if (node.subgroup) return subgroups_[*node.subgroup].least == 0 || counts(subgroups_[*node.subgroup]);
    return count_in(node, [&](std::size_t child) { return is_satisfied(child, counts); }) >= needs_of(node);
  }

  // It has the pods for it.
  bool could(std::size_t at) const {
    return is_satisfied(at, [](const Subgroup& s) { return s.chosen || s.whole(); });
  }

  // The first of its subgroups, and whether a turn of one has begun.
  std::size_t first_of(std::size_t at) const {
    const Node& node = nodes_[at];
    if (node.subgroup) return *node.subgroup;
    std::size_t out = subgroups_.size();
    for (const std::size_t child : node.in) out = std::min(out, first_of(child));
    return out;
  }
  bool has_begun(std::size_t at) const {
    const Node& node = nodes_[at];
    if (node.subgroup) return subgroups_[*node.subgroup].begun;
    return std::any_of(node.in.begin(), node.in.end(), [&](std::size_t child) { return has_begun(child); });
  }

  // Those that have begun first, then in their order.
  std::vector<std::size_t> in_turn(std::vector<std::size_t> nodes) const {
    std::sort(nodes.begin(), nodes.end(), [&](std::size_t a, std::size_t b) {
      const bool first = has_begun(a);
      return first != has_begun(b) ? first : first_of(a) < first_of(b);
    });
    return nodes;
  }

  // Takes as many of the subgroups in it as it needs, where it has these.
  void take(std::size_t at) {
    const Node& node = nodes_[at];
    if (node.subgroup) {
      Subgroup& subgroup = subgroups_[*node.subgroup];
      subgroup.chosen = subgroup.chosen || subgroup.whole();
      return;
    }
    std::int64_t have = count_in(node, [&](std::size_t child) { return is_satisfied(child, is_chosen); });
    for (const std::size_t child : in_turn(node.in)) {
      if (have >= needs_of(node)) return;
      if (is_satisfied(child, is_chosen) || !could(child)) continue;
      take(child);
      ++have;
    }
  }

  // Adds the nodes in it that it could take beyond its need.
  void further_in(std::size_t at, std::vector<std::size_t>& out) const {
    const Node& node = nodes_[at];
    if (node.subgroup) {
      const Subgroup& subgroup = subgroups_[*node.subgroup];
      if (!subgroup.chosen && subgroup.whole()) out.push_back(at);
      return;
    }
    for (const std::size_t child : node.in) {
      if (is_satisfied(child, is_chosen)) {
        further_in(child, out);
      } else if (could(child)) {
        out.push_back(child);
      }
    }
  }

  bool take_further() {
    std::vector<std::size_t> further;
    further_in(0, further);
    if (further.empty()) return false;
    take(in_turn(std::move(further)).front());
    return true;
  }

  // Those that have begun, and of the others no more than are needed.
  void choose_anew(std::int64_t size) {
    for (Subgroup& s : subgroups_) s.chosen = s.bound > 0;
    take(0);
    while (pods_of_those(is_chosen) < size && take_further()) continue;
  }

  std::optional<Reason> lacking_in(std::size_t at) const {
    const Node& node = nodes_[at];
    if (is_satisfied(at, is_chosen)) return std::nullopt;
    if (node.subgroup) {
      const Subgroup& subgroup = subgroups_[*node.subgroup];
      return lacks(subgroup.name, subgroup.least, subgroup.pods);
    }
    const auto have = count_in(node, [&](std::size_t child) { return is_satisfied(child, is_chosen); });
    if (node.needs)
      return lacks(node.name.empty() ? "subgroups" : fmt::format("{} (subgroups)", node.name), *node.needs,
                   have);
    for (const std::size_t child : node.in) {
      if (auto reason = lacking_in(child)) return reason;
    }
    return std::nullopt;
  }

  std::vector<Node> nodes_;  // the gang is the first
  std::vector<Subgroup> subgroups_;
  std::map<std::string, std::size_t, std::less<>> subgroup_of_;  // by part
  std::int64_t others_ = 0;                                      // pods that are of none
};

bool is_stray(const GangObject& object, const GangSystem* system, const Role& role) {
  return system != nullptr && system->parts_are_named && !(object.parts.empty() && object.splits.empty()) &&
         !object.has_part(role.part);
}

}  // namespace

bool choose_turns(std::vector<Role>& roles, const GangObject& object, std::int64_t size,
                  const std::vector<std::int64_t>& bound) {
  Turns turns(roles, object, bound);
  turns.choose(size);
  const bool enough_without =
      turns.are_enough(size, [](const Subgroup& s) { return s.chosen && !s.next && s.whole(); });
  for (Role& role : roles) {
    const Subgroup* subgroup = turns.of(role.part);
    if (subgroup == nullptr) {
      role.turn = Turn::kAny;
    } else if (!subgroup->chosen) {
      role.turn = Turn::kLater;
    } else if (subgroup->next) {
      role.turn = Turn::kNext;
    } else {
      role.turn = !subgroup->whole() && enough_without ? Turn::kShort : Turn::kNow;
    }
  }
  return turns.are_enough(size, [](const Subgroup& s) { return s.bound > 0 && s.bound >= s.least; });
}

std::optional<Reason> lacks_subgroups(const GangObject& object, const std::vector<Role>& roles,
                                      std::int64_t size) {
  return Turns(roles, object, {}).lacking(size);
}

void set_strays(std::vector<Role>& roles, const GangObject& object, const GangSystem* system) {
  for (Role& role : roles) {
    if (is_stray(object, system, role)) role.turn = Turn::kLater;
  }
}

Reason why_later(const GangObject& object, const GangSystem* system, const std::vector<Role>& roles,
                 const Role& role) {
  if (is_stray(object, system, role)) {
    return reason_of(ReasonCode::kInvalid,
                     fmt::format("its PodGroup has no subgroup {}, which the label {} of the pod names",
                                 role.part.empty() ? "\"\"" : role.part, system->part));
  }
  const std::int64_t have = pods_of_part(roles, role.part);
  const std::int64_t need = object.least_of(role.part);
  if (have < need) return lacks(role.part, need, have);
  return reason_of(
      ReasonCode::kInactive,
      fmt::format("subgroup {} starts after those before it: the PodGroup has as many as it needs",
                  role.part));
}

std::int64_t pods_of(const Role& role) {
  return static_cast<std::int64_t>(role.slots.size() - role.holes.size() + role.expected.size());
}

std::int64_t pods_of_part(const std::vector<Role>& roles, std::string_view part) {
  std::int64_t out = 0;
  for (const Role& role : roles) {
    if (role.part == part) out += pods_of(role);
  }
  return out;
}

Reason lacks(std::string subject, std::int64_t need, std::int64_t have) {
  Reason out;
  out.code = ReasonCode::kIncompleteGang;
  out.subject = std::move(subject);
  out.need = need;
  out.have = have;
  return out;
}

}  // namespace berth::dialect
