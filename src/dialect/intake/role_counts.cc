#include "dialect/intake/role_counts.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace berth::dialect {
namespace {

std::int64_t pods_of_part(const std::vector<Role>& roles, std::string_view part) {
  std::int64_t out = 0;
  for (const Role& role : roles) {
    if (role.part == part) out += static_cast<std::int64_t>(role.slots.size() - role.holes.size());
  }
  return out;
}

class RoleCounts {
 public:
  RoleCounts(const std::vector<Role>& roles, const GangObject* object) : roles_(roles), object_(object) {
    for (const auto& role : roles) {
      const auto slots = static_cast<std::int64_t>(role.slots.size());
      out_.push_back({slots, slots});
    }
  }

  std::vector<RoleCount> count(std::int64_t size) {
    if (out_.empty()) return {};
    for (std::size_t i = 0; i < out_.size(); ++i) lack(i, -spare_of(roles_[i].part));
    std::int64_t total = 0;
    for (const RoleCount& count : out_) total += count.least;
    lack(out_.size() - 1, size - total);
    cut(total - size);
    return std::move(out_);
  }

 private:
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

  void cut(std::int64_t surplus) {
    for (std::size_t i = 0; i < out_.size() && surplus > 0; ++i) {  // slots without a pod first
      const auto off = std::min({surplus, static_cast<std::int64_t>(roles_[i].holes.size()),
                                 std::max<std::int64_t>(0, spare_of(roles_[i].part))});
      out_[i].least -= off;
      surplus -= off;
    }
    while (surplus > 0) {
      std::size_t largest = out_.size();
      std::int64_t second = 0;
      for (std::size_t i = 0; i < out_.size(); ++i) {
        if (out_[i].least == 0 || spare_of(roles_[i].part) <= 0) continue;
        if (largest == out_.size() || out_[i].least > out_[largest].least) {
          second = largest == out_.size() ? 0 : out_[largest].least;
          largest = i;
        } else {
          second = std::max(second, out_[i].least);
        }
      }
      if (largest == out_.size()) return;
      const auto off = std::min(
          {surplus, spare_of(roles_[largest].part), std::max<std::int64_t>(1, out_[largest].least - second)});
      out_[largest].least -= off;
      surplus -= off;
    }
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

std::optional<Reason> lacks_parts(const GangObject& object, const GangSystem& system,
                                  const std::vector<Role>& roles) {
  const auto lacks = [](std::string subject, std::int64_t need, std::int64_t have) {
    Reason out;
    out.code = ReasonCode::kIncompleteGang;
    out.subject = std::move(subject);
    out.need = need;
    out.have = have;
    return out;
  };
  for (const GangPart& part : object.parts) {
    const std::int64_t have = pods_of_part(roles, part.name);
    if (have < part.least) return lacks(part.name, part.least, have);
  }
  for (const GangSplit& split : object.splits) {
    std::set<std::string_view> parts;
    for (const Role& role : roles) {
      if (split.has(role.part) && pods_of_part(roles, role.part) > 0) parts.insert(role.part);
    }
    const auto have = static_cast<std::int64_t>(parts.size());
    if (have < split.parts) return lacks(split.name + " (subgroups)", split.parts, have);
  }
  for (const Role& role : roles) {
    if (!system.parts_are_named || object.parts.empty() || pods_of_part(roles, role.part) == 0) continue;
    if (object.least_of(role.part) == 0)
      return reason_of(ReasonCode::kInvalid,
                       fmt::format("its PodGroup has no subgroup {}, which the label {} of a pod names",
                                   role.part.empty() ? "\"\"" : role.part, system.part));
  }
  return std::nullopt;
}

}  // namespace berth::dialect
