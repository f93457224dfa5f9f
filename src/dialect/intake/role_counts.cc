#include "dialect/intake/role_counts.h"

#include <algorithm>

#include "dialect/intake/gang_turns.h"

namespace berth::dialect {
namespace {

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
    lack_parts(last);
    return std::move(out_);
  }

 private:
  static bool is_needed(const Role& role) { return role.turn != Turn::kLater && role.turn != Turn::kNext; }

  // How many of the part are needed no more than others; below 0: it lacks some.
  std::int64_t spare_of(const std::string& part) const {
    std::int64_t least = object_ == nullptr ? 0 : object_->least_of(part);
    // One of which others may take the place is there as long as pods of it are.
    if (least > 0 && object_->chooses() && pods_of_part(roles_, part) == 0) least = 0;
    std::int64_t has = 0;
    for (std::size_t i = 0; i < out_.size(); ++i) has += roles_[i].part == part ? out_[i].least : 0;
    return has - least;
  }

  void lack(std::size_t role, std::int64_t pods) {
    if (pods <= 0) return;
    out_[role].count += pods;
    out_[role].least += pods;
  }

  // Parts of which no pod has been seen. The gang is not whole without them, so all of the role that stands for them is needed.
  void lack_parts(std::size_t role) {
    if (object_ == nullptr || object_->chooses()) return;
    for (const GangPart& part : object_->parts) {
      const bool seen =
          std::any_of(roles_.begin(), roles_.end(), [&](const Role& r) { return r.part == part.name; });
      if (seen || part.least == 0) continue;
      out_[role].count += part.least;
      out_[role].least = out_[role].count;
    }
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

}  // namespace

std::vector<RoleCount> count_roles(const std::vector<Role>& roles, std::int64_t size,
                                   const GangObject* object) {
  return RoleCounts(roles, object).count(size);
}

std::vector<RoleCount> count_loose(const std::vector<Role>& roles, const std::vector<std::int64_t>& bound) {
  std::vector<RoleCount> out;
  for (std::size_t r = 0; r < roles.size(); ++r)
    out.push_back({static_cast<std::int64_t>(roles[r].slots.size()), bound[r]});
  if (std::any_of(bound.begin(), bound.end(), [](std::int64_t pods) { return pods > 0; })) return out;
  const auto first = std::find_if(roles.begin(), roles.end(), [](const Role& r) { return pods_of(r) > 0; });
  if (first != roles.end()) out[static_cast<std::size_t>(first - roles.begin())].least = 1;
  return out;
}

std::optional<Reason> lacks_parts(const GangObject& object, const std::vector<Role>& roles,
                                  std::int64_t size) {
  if (object.chooses()) return lacks_subgroups(object, roles, size);
  for (const GangPart& part : object.parts) {
    const std::int64_t have = pods_of_part(roles, part.name);
    if (have < part.least) return lacks(part.name, part.least, have);
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

}  // namespace berth::dialect
