#include "dialect/intake/role_counts.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace berth::dialect {
namespace {

std::int64_t pods_of(const Role& role) {
  return static_cast<std::int64_t>(role.slots.size() - role.holes.size());
}

std::int64_t pods_of_part(const std::vector<Role>& roles, std::string_view part) {
  std::int64_t out = 0;
  for (const Role& role : roles) {
    if (role.part == part) out += pods_of(role);
  }
  return out;
}

// A subgroup of a gang.
struct Subgroup {
  const GangSplit* split;
  std::string_view name;
  std::int64_t pods = 0;
  std::int64_t bound = 0;
  bool chosen = false;
  bool next = false;

  std::int64_t least() const { return split->least_of(name); }
  bool whole() const { return pods >= least(); }
  // One that has begun gets the pods that it lacks.
  std::int64_t counts() const { return std::max(pods, least()); }
};

// In the order in which they came. `others`: pods that are of none.
std::vector<Subgroup> subgroups_of(const std::vector<Role>& roles, const GangObject& object,
                                   const std::vector<std::int64_t>& bound, std::int64_t& others) {
  std::vector<Subgroup> out;
  others = 0;
  for (std::size_t r = 0; r < roles.size(); ++r) {
    const Role& role = roles[r];
    const GangSplit* split = object.split_of(role.part);
    if (split == nullptr) {
      others += pods_of(role);
      continue;
    }
    auto it = std::find_if(out.begin(), out.end(), [&](const Subgroup& s) { return s.name == role.part; });
    if (it == out.end()) it = out.insert(out.end(), Subgroup{split, role.part});
    it->pods += pods_of(role);
    it->bound += bound.empty() ? 0 : bound[r];
    it->chosen =
        it->chosen || role.turn == Turn::kNow || role.turn == Turn::kNext || role.turn == Turn::kShort;
  }
  return out;
}

// Whether the subgroups that `counts` takes are enough.
template <class Counts>
bool are_enough(const std::vector<Subgroup>& subgroups, const GangObject& object, std::int64_t pods,
                std::int64_t size, Counts&& counts) {
  for (const GangSplit& split : object.splits) {
    std::int64_t parts = 0;
    for (const Subgroup& s : subgroups) parts += s.split == &split && counts(s) ? 1 : 0;
    if (parts < split.parts) return false;
  }
  for (const Subgroup& s : subgroups) pods += counts(s) ? s.counts() : 0;
  return pods >= size;
}

// Those that have begun, and of the others no more than are needed: first those whose turn it was.
void choose_anew(std::vector<Subgroup>& subgroups, const GangObject& object, std::int64_t others,
                 std::int64_t size) {
  std::vector<Subgroup*> waiting;
  std::int64_t pods = others;
  for (Subgroup& s : subgroups) {
    if (s.bound == 0 && s.whole()) waiting.push_back(&s);
    pods += s.bound > 0 ? s.counts() : 0;
  }
  std::stable_partition(waiting.begin(), waiting.end(), [](const Subgroup* s) { return s->chosen; });
  for (Subgroup& s : subgroups) s.chosen = s.bound > 0;
  const auto take = [&](Subgroup& s) {
    s.chosen = true;
    pods += s.counts();
  };
  for (const GangSplit& split : object.splits) {
    std::int64_t parts = std::count_if(subgroups.begin(), subgroups.end(),
                                       [&](const Subgroup& s) { return s.split == &split && s.chosen; });
    for (Subgroup* s : waiting) {
      if (s->split != &split || parts >= split.parts) continue;
      take(*s);
      ++parts;
    }
  }
  for (Subgroup* s : waiting) {
    if (!s->chosen && pods < size) take(*s);
  }
}

void choose(std::vector<Subgroup>& subgroups, const GangObject& object, std::int64_t others,
            std::int64_t size) {
  bool begun = false;
  bool steady = true;  // those that have begun have all their pods on nodes
  for (Subgroup& s : subgroups) {
    begun = begun || s.bound > 0;
    steady = steady && (s.bound == 0 || s.bound >= s.least());
    s.chosen = s.bound > 0 || (s.chosen && s.whole());
  }
  const auto runs = [](const Subgroup& s) { return s.bound > 0; };
  if (begun && are_enough(subgroups, object, others, size, runs)) {
    for (Subgroup& s : subgroups) s.next = s.chosen && s.bound == 0;
    const bool asks = std::any_of(subgroups.begin(), subgroups.end(), [](const auto& s) { return s.next; });
    if (asks || !steady) return;
    const auto it = std::find_if(subgroups.begin(), subgroups.end(),
                                 [](const Subgroup& s) { return !s.chosen && s.whole(); });
    if (it != subgroups.end()) it->chosen = it->next = true;
    return;
  }
  choose_anew(subgroups, object, others, size);
}

class RoleCounts {
 public:
  RoleCounts(const std::vector<Role>& roles, const GangObject* object) : roles_(roles), object_(object) {
    for (const auto& role : roles) {
      const auto slots = static_cast<std::int64_t>(role.slots.size());
      const std::int64_t there = role.turn == Turn::kShort ? pods_of(role) : slots;
      out_.push_back({slots, role.turn == Turn::kLater ? 0 : there});
    }
  }

  std::vector<RoleCount> count(std::int64_t size) {
    if (out_.empty()) return {};
    std::size_t last = out_.size() - 1;
    std::int64_t total = 0;
    for (std::size_t i = 0; i < out_.size(); ++i) {
      if (roles_[i].turn == Turn::kLater || roles_[i].turn == Turn::kShort) continue;
      lack(i, -spare_of(roles_[i].part));
      if (roles_[i].turn == Turn::kNext)
        (void)cut(spare_of(roles_[i].part), [&](const Role& r) { return r.part == roles_[i].part; });
    }
    for (std::size_t i = 0; i < out_.size(); ++i) {
      if (!is_needed(roles_[i])) continue;
      total += out_[i].least;
      last = i;
    }
    lack(last, size - total);
    // Those beyond the gang's size may be evicted one by one: rather such as may be victims at all.
    const auto rest = cut(total - size, [](const Role& role) { return is_needed(role) && !role.kept; });
    (void)cut(rest, is_needed);
    return std::move(out_);
  }

 private:
  static bool is_needed(const Role& role) { return role.turn != Turn::kLater && role.turn != Turn::kNext; }

  // How many of the part are needed no more than others; below 0: it lacks some.
  std::int64_t spare_of(const std::string& part) const {
    std::int64_t least = object_ == nullptr ? 0 : object_->least_of(part);
    // A part by labels is there as long as pods of it are.
    if (least > 0 && object_->split_of(part) != nullptr && pods_of_part(roles_, part) == 0) least = 0;
    std::int64_t has = 0;
    for (std::size_t i = 0; i < out_.size(); ++i) has += roles_[i].part == part ? out_[i].least : 0;
    return has - least;
  }

  void lack(std::size_t role, std::int64_t pods) {
    if (pods <= 0) return;
    out_[role].count += pods;
    out_[role].least += pods;
  }

  // Takes from the roles that `of` says, and gives what they do not have.
  template <class Of>
  std::int64_t cut(std::int64_t surplus, Of&& of) {
    for (std::size_t i = 0; i < out_.size() && surplus > 0; ++i) {  // slots without a pod first
      if (!of(roles_[i])) continue;
      const auto off = std::min({surplus, static_cast<std::int64_t>(roles_[i].holes.size()),
                                 std::max<std::int64_t>(0, spare_of(roles_[i].part))});
      out_[i].least -= off;
      surplus -= off;
    }
    while (surplus > 0) {
      std::size_t largest = out_.size();
      std::int64_t second = 0;
      for (std::size_t i = 0; i < out_.size(); ++i) {
        if (!of(roles_[i]) || out_[i].least == 0 || spare_of(roles_[i].part) <= 0) continue;
        if (largest == out_.size() || out_[i].least > out_[largest].least) {
          second = largest == out_.size() ? 0 : out_[largest].least;
          largest = i;
        } else {
          second = std::max(second, out_[i].least);
        }
      }
      if (largest == out_.size()) return surplus;
      const auto off = std::min(
          {surplus, spare_of(roles_[largest].part), std::max<std::int64_t>(1, out_[largest].least - second)});
      out_[largest].least -= off;
      surplus -= off;
    }
    return surplus;
  }

  const std::vector<Role>& roles_;
  const GangObject* object_;
  std::vector<RoleCount> out_;
};

Reason lacks(std::string subject, std::int64_t need, std::int64_t have) {
  Reason out;
  out.code = ReasonCode::kIncompleteGang;
  out.subject = std::move(subject);
  out.need = need;
  out.have = have;
  return out;
}

// That one subgroup lacks pods, or that there are too few subgroups.
std::optional<Reason> lacks_subgroups(const GangObject& object, const std::vector<Role>& roles,
                                      std::int64_t size) {
  std::int64_t others = 0;
  const std::vector<Subgroup> subgroups = subgroups_of(roles, object, {}, others);
  if (are_enough(subgroups, object, others, size, [](const Subgroup& s) { return s.chosen; }))
    return std::nullopt;
  for (const Subgroup& s : subgroups) {
    if (!s.whole() && s.pods > 0) return lacks(std::string(s.name), s.least(), s.pods);
  }
  for (const GangSplit& split : object.splits) {
    const auto have = std::count_if(subgroups.begin(), subgroups.end(),
                                    [&](const Subgroup& s) { return s.split == &split && s.chosen; });
    if (have < split.parts) return lacks(split.name + " (subgroups)", split.parts, have);
  }
  return std::nullopt;  // too few pods: the engine says so
}

}  // namespace

bool choose_turns(std::vector<Role>& roles, const GangObject& object, std::int64_t size,
                  const std::vector<std::int64_t>& bound) {
  std::int64_t others = 0;
  std::vector<Subgroup> subgroups = subgroups_of(roles, object, bound, others);
  choose(subgroups, object, others, size);
  const bool enough_without = are_enough(subgroups, object, others, size,
                                         [](const Subgroup& s) { return s.chosen && !s.next && s.whole(); });
  for (Role& role : roles) {
    const auto it = std::find_if(subgroups.begin(), subgroups.end(),
                                 [&](const Subgroup& s) { return s.name == role.part; });
    if (it == subgroups.end()) {
      role.turn = Turn::kAny;
    } else if (!it->chosen) {
      role.turn = Turn::kLater;
    } else {
      role.turn = it->next ? Turn::kNext : !it->whole() && enough_without ? Turn::kShort : Turn::kNow;
    }
  }
  return are_enough(subgroups, object, others, size, [](const Subgroup& s) { return s.bound >= s.least(); });
}

std::vector<RoleCount> count_roles(const std::vector<Role>& roles, std::int64_t size,
                                   const GangObject* object) {
  return RoleCounts(roles, object).count(size);
}

std::optional<Reason> lacks_parts(const GangObject& object, const GangSystem* system,
                                  const std::vector<Role>& roles, std::int64_t size) {
  for (const GangPart& part : object.parts) {
    const std::int64_t have = pods_of_part(roles, part.name);
    if (have < part.least) return lacks(part.name, part.least, have);
  }
  if (auto reason = lacks_subgroups(object, roles, size)) return reason;
  if (system == nullptr || !system->parts_are_named) return std::nullopt;
  for (const Role& role : roles) {
    const bool has_parts = !object.parts.empty() || !object.splits.empty();
    if (!has_parts || pods_of_part(roles, role.part) == 0) continue;
    if (!object.has_part(role.part))
      return reason_of(ReasonCode::kInvalid,
                       fmt::format("its PodGroup has no subgroup {}, which the label {} of a pod names",
                                   role.part.empty() ? "\"\"" : role.part, system->part));
  }
  return std::nullopt;
}

void count_sets(const Draft& draft, const Ask& ask, std::vector<RoleCount>& counts) {
  if (ask.sets.size() < 2 || ask.sets.size() != draft.roles.size()) return;
  for (std::size_t s = 0; s < counts.size(); ++s) {
    const auto slots = static_cast<std::int64_t>(draft.roles[s].slots.size());
    counts[s] = {std::max(slots, ask.sets[s].size), ask.sets[s].size};
  }
}

void need_enough(const Ask& ask, std::vector<RoleCount>& counts) {
  if (ask.sets.size() != counts.size()) return;
  std::int64_t total = 0;
  for (std::size_t s = 0; s < counts.size(); ++s) {
    if (const auto enough = ask.sets[s].enough) counts[s].least = std::min(counts[s].least, *enough);
    total += counts[s].least;
  }
  for (; ask.enough && total > std::max<std::int64_t>(1, *ask.enough); --total) {
    const auto largest =
        std::max_element(counts.begin(), counts.end(),
                         [](const RoleCount& a, const RoleCount& b) { return a.least < b.least; });
    --largest->least;
  }
}

Reason why_later(const GangObject& object, const std::vector<Role>& roles, const Role& role) {
  const std::int64_t have = pods_of_part(roles, role.part);
  const std::int64_t need = object.least_of(role.part);
  if (have < need) return lacks(role.part, need, have);
  return reason_of(
      ReasonCode::kInactive,
      fmt::format("subgroup {} starts after those before it: the PodGroup has as many as it needs",
                  role.part));
}

}  // namespace berth::dialect
