#include "dialect/intake/future_slots.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <utility>
#include <variant>

#include "dialect/base/names.h"
#include "dialect/objects/decode.h"

namespace berth::dialect {
namespace {

// Makes slots of one role for so many pods that are to come. Adds the updates of those that the engine knows to `out`. `but_first`: its
// first slot is for a pod that comes by itself.
void expect(Draft& draft, std::size_t r, std::int64_t to_come, std::vector<SlotUpdate>& out,
            bool but_first = false) {
  Role& role = draft.roles[r];
  if (but_first && to_come > 0 && role.slots.empty()) {
    role.slots.push_back(kNoIx);
    role.holes.edit().insert(0);
  }
  const auto tell = [&](std::int64_t slot, SlotState state) {
    const bool known = draft.emitted && !draft.given->invalid && r < draft.given->counts.size() &&
                       slot < draft.given->counts[r].count;
    if (known) out.push_back(empty_slot(draft, r, slot, state));
  };
  while (static_cast<std::int64_t>(role.expected.size()) > to_come) {
    const std::int64_t last = *role.expected->rbegin();
    tell(last, SlotState::kGone);
    role.expected.edit().erase(last);
  }
  std::int64_t lacks = to_come - static_cast<std::int64_t>(role.expected.size());
  if (role.holes.size() > role.expected.size()) {  // places of members that have left
    for (auto hole = role.holes.begin(); hole != role.holes.end() && lacks > 0; ++hole) {
      if (but_first && *hole == 0) continue;
      if (!role.expected.edit().insert(*hole).second) continue;
      tell(*hole, SlotState::kWaiting);
      --lacks;
    }
  }
  for (; lacks > 0; --lacks) {
    const auto slot = static_cast<std::int64_t>(role.slots.size());
    role.slots.push_back(kNoIx);
    role.holes.edit().insert(slot);
    role.expected.edit().insert(slot);
    tell(slot, SlotState::kWaiting);
  }
}

// The owner of a group of pods that is a gang of its own; nullptr: the draft is none, or the owner is not known.
const OwnerRecord* grouper_of(const Draft& draft, const PodBook& pods, const OwnerBook& owners) {
  if (const OwnerRecord* own = owners.group(draft.uid)) return own;
  for (const Role& role : draft.roles) {
    for (const auto pod : role.slots) {
      if (pod == kNoIx) continue;
      const auto group = owners.group_of(pods[pod].pod.meta);
      return group ? group->record : nullptr;
    }
  }
  return nullptr;
}

// Where a role of a group has no pods, its places are as the group asks for them now.
void follow_templates(Draft& draft, const OwnerRecord& group) {
  for (std::size_t s = 0; s < std::min(draft.roles.size(), group.templates.size()); ++s) {
    Role& role = draft.roles[s];
    const auto& shape = group.templates[s].shape;
    if (!role.promised || role.slots.size() > role.holes.size() || *role.shape == *shape) continue;
    role.shape = shape;
    role.narrowed = false;
    draft.remade = true;
    ++draft.revision;
  }
}

// When the patience of a gang ends; nothing: it has none, or waits for all of its pods.
std::optional<TimeMs> end_of_patience(const Draft& draft, const PodBook& pods) {
  const Patience* patience = draft.said.patience();
  if (patience == nullptr) return std::nullopt;
  std::optional<TimeMs> started;
  for (const Role& role : draft.roles) {
    for (const auto ix : role.slots) {
      if (ix == kNoIx || pods[ix].pod.started == 0 || pods[ix].pod.spec.node_name.empty()) continue;
      started = std::min(started.value_or(pods[ix].pod.started), pods[ix].pod.started);
    }
  }
  const TimeMs waits_until = draft.first_created + patience->time;
  // It has started as a gang.
  if (started && (!patience->soft || *started < waits_until)) return *started + patience->time;
  return patience->soft ? std::optional(waits_until) : std::nullopt;
}

// The same for the pods of a set of an owner that are made later. `comes`: they are made at all.
void expect_later(Draft& draft, const AskedSet& set, std::size_t s, bool comes,
                  std::vector<SlotUpdate>& out) {
  if (!set.later && !set.after_first) return;
  const Role& role = draft.roles[s];
  const auto has = static_cast<std::int64_t>(role.slots.size() - role.holes.size());
  const bool has_first = !role.slots.empty() && role.slots.front() != kNoIx;
  const std::int64_t at_once = set.later || has_first ? 0 : 1;
  expect(draft, s, comes ? std::max<std::int64_t>(0, set.size - at_once - has) : 0, out, !set.later);
}

}  // namespace

void promise_roles(Draft& draft, const OwnerRecord& owner) {
  const std::size_t sets = owner.templates.size();
  while (draft.held_shapes.size() < sets && draft.roles.size() == draft.held_shapes.size()) {
    const std::size_t s = draft.roles.size();
    draft.roles.push_back(Role{.shape = owner.templates[s].shape,
                               .topology = topology_of(*owner.ask.sets[s].marks),
                               .promised = true});
    draft.held_shapes.push_back(owner.templates[s].shape);
  }
}

// While it waits suspended, all of its slots wait anyway.
void FutureSlots::expect_later_sets(Draft& draft, std::vector<SlotUpdate>& out) {
  const OwnerRecord* owner = books_.owner_of(draft);
  if (owner == nullptr || owner->ask.sets.size() != draft.roles.size()) return;
  const Ask& ask = owner->ask;
  const bool comes = ask.makes_pods && (!ask.suspended || draft.released);
  if (!ask.has_later_pods()) return;
  std::int64_t kept = 0;
  for (const AskedSet& set : ask.sets) kept += set.later_pods();
  if (comes && !draft.released) draft.too_many = !budget_.take(draft.ns, draft.uid, kept);
  const bool wanted = comes && (draft.released || !draft.too_many);
  for (std::size_t s = 0; s < ask.sets.size(); ++s) expect_later(draft, ask.sets[s], s, wanted, out);
}

void FutureSlots::expect_later_sets(Draft& draft, const Ask& ask, std::vector<SlotUpdate>& out) {
  if (ask.sets.size() != draft.roles.size() || !ask.has_later_pods()) return;
  draft.too_many = !budget_.take(draft.ns, draft.uid, ask.size());
  const bool wanted = ask.makes_pods && !draft.too_many;
  for (std::size_t s = 0; s < ask.sets.size(); ++s) expect_later(draft, ask.sets[s], s, wanted, out);
}

// Once it is none, it is none until all of its pods have lost their nodes.
void FutureSlots::settle_patience(Draft& draft) {
  const auto end = end_of_patience(draft, books_.pods);
  draft.loose = (end && *end <= now_) || (draft.loose && draft.bound > 0);
  if (end && !draft.loose) ends_.emplace(*end, draft.uid);
}

std::vector<std::string> FutureSlots::pass(TimeMs now) {
  now_ = std::max(now_, now);
  std::vector<std::string> out;
  while (!ends_.empty() && ends_.begin()->first <= now_) {
    out.push_back(ends_.begin()->second);
    ends_.erase(ends_.begin());
  }
  return out;
}

TimeMs FutureSlots::next_end() const {
  return ends_.empty() ? std::numeric_limits<TimeMs>::max() : ends_.begin()->first;
}

// Pods that have ended are not made again: of which part they were is not known.
void FutureSlots::expect_declared(Draft& draft, std::vector<SlotUpdate>& out) {
  const GangObject gang = draft.said.object(draft.size_key);
  std::int64_t ended = books_.ended_members.count(draft.uid, draft.first_created, draft.bound > 0);
  const auto shape_of = [&](const std::string& part) { return declared_shape(draft.said.pod_of(part)); };
  const bool any = std::any_of(gang.parts.begin(), gang.parts.end(),
                               [&](const GangPart& part) { return draft.said.pod_of(part.name) != nullptr; });
  if (draft.loose) budget_.give_back(draft.ns, draft.uid);
  draft.too_many = any && !draft.loose && !budget_.take(draft.ns, draft.uid, gang.least);
  for (const GangPart& part : gang.parts) {
    std::int64_t to_come = part.least;
    for (const Role& role : draft.roles)
      to_come -=
          role.part == part.name ? static_cast<std::int64_t>(role.slots.size() - role.holes.size()) : 0;
    to_come = std::max<std::int64_t>(0, to_come);
    const std::int64_t off = std::min(ended, to_come);
    ended -= off;
    to_come -= off;
    if (draft.too_many || draft.loose || !gang.wrong.empty()) to_come = 0;
    auto role = std::find_if(draft.roles.begin(), draft.roles.end(),
                             [&](const Role& r) { return r.declared && r.part == part.name; });
    if (role == draft.roles.end()) {
      auto shape = to_come > 0 ? shape_of(part.name) : nullptr;
      if (shape == nullptr) continue;
      role = draft.roles.insert(
          draft.roles.end(),
          Role{.shape = std::move(shape), .topology = {}, .declared = true, .part = part.name});
    }
    expect(draft, static_cast<std::size_t>(role - draft.roles.begin()), to_come, out);
  }
}

// nullptr: there is none, or it cannot be read.
std::shared_ptr<const PodTemplate> FutureSlots::declared_shape(const std::string* json) {
  if (json == nullptr) return nullptr;
  auto read = JsonDecoder(books_.config.devices).decode(*json, Kind::kPod);
  if (!read || !std::get<Pod>(*read).problem.empty()) return nullptr;
  return templates_.share(PodTemplate(*std::get<Pod>(*read).spec.pod));
}

std::vector<SlotUpdate> FutureSlots::follow(Draft& draft) {
  std::vector<SlotUpdate> out;
  if (draft.kind == GangKind::kOwner) {
    expect_later_sets(draft, out);
    end_growth(draft);
  }
  if (draft.kind != GangKind::kSized || draft.roles.empty()) return out;
  if (draft.said.any()) {
    settle_patience(draft);
    expect_declared(draft, out);
    return out;
  }
  if (const OwnerRecord* owner = grouper_of(draft, books_.pods, books_.owners)) {
    if (const OwnerRecord* own = books_.asker_of(draft)) follow_templates(draft, *own);
    expect_later_sets(draft, owner->ask, out);
    return out;
  }
  std::int64_t to_come = 0;
  const bool agreed = draft.sizes.size() == 1 && draft.sizes.begin()->first > 0;
  if (draft.fast > 0 && agreed && draft.size_key == kKueuePodGroupSize) {
    const std::int64_t ended = books_.ended_members.count(draft.uid, draft.first_created, draft.bound > 0);
    to_come = std::max<std::int64_t>(0, draft.sizes.begin()->first - ended - draft.pods);
    draft.too_many = !budget_.take(draft.ns, draft.uid, draft.sizes.begin()->first);
    if (draft.too_many) to_come = 0;
  }
  expect(draft, 0, to_come, out);
  return out;
}

void FutureSlots::hold(Draft& draft, const OwnerRecord& record) {
  draft.too_many = !budget_.take(draft.ns, draft.uid, record.ask.size());
  const std::size_t sets = record.templates.size();
  // Its user has changed what its pod sets are.
  if (draft.pods == 0 && draft.roles.size() > sets && draft.roles.size() == draft.held_shapes.size()) {
    draft.remade = draft.emitted;
    ++draft.revision;
    draft.roles.resize(sets);
  }
  promise_roles(draft, record);
  draft.held_shapes.resize(sets);
  for (std::size_t s = 0; s < std::min(sets, draft.roles.size()); ++s) {
    Role& role = draft.roles[s];
    const auto& shape = record.templates[s].shape;
    role.promised = draft.roles.size() == sets;
    const bool narrowed = record.ask.sets[s].after_first && role.shape != shape;  // by pods that are gone
    if (role.promised && draft.pods == 0 && draft.held_shapes[s] != nullptr &&
        (draft.held_shapes[s] != shape || narrowed)) {
      draft.remade = draft.emitted;
      ++draft.revision;
      role.shape = shape;
      role.narrowed = false;
      role.topology = topology_of(*record.ask.sets[s].marks);
      draft.refused.clear();
      draft.held_shapes[s] = shape;
    }
    if (draft.held_shapes[s] == nullptr) draft.held_shapes[s] = shape;
    const auto size = static_cast<std::size_t>(places_of(draft, record.ask, s));
    while (role.slots.size() > size && role.slots.back() == kNoIx) {
      role.slots.pop_back();
      const auto index = static_cast<std::int64_t>(role.slots.size());
      role.holes.edit().erase(index);
      // A place that was kept for it would otherwise stay the engine's for ever.
      if (draft.emitted) events_.add_empty_slot(draft, s, index, SlotState::kGone);
    }
    while (role.slots.size() < size) {
      role.holes.edit().insert(static_cast<std::int64_t>(role.slots.size()));
      role.slots.push_back(kNoIx);
    }
  }
}

void FutureSlots::tell_unexpected(const Draft& draft) {
  if (draft.given->invalid) return;
  for (std::size_t r = 0; r < draft.roles.size(); ++r) {
    const Role& role = draft.roles[r];
    if (role.expected.empty() || role.holes.size() == role.expected.size()) continue;
    for (const auto hole : role.holes) {
      if (!role.expected->contains(hole)) events_.add_empty_slot(draft, r, hole, SlotState::kGone);
    }
  }
}

void FutureSlots::expect_growth(Draft& draft, const HandOver& what) {
  for (std::size_t s = 0; s < what.first.size(); ++s) {
    Role& role = draft.roles[static_cast<std::size_t>(what.sets[s])];
    const auto count = draft.given->counts[static_cast<std::size_t>(what.sets[s])].count;
    while (static_cast<std::int64_t>(role.slots.size()) < count) {
      role.holes.edit().insert(static_cast<std::int64_t>(role.slots.size()));
      role.slots.push_back(kNoIx);
    }
    for (const auto hole : role.holes) {
      if (hole >= what.first[s]) role.expected.edit().insert(hole);
    }
  }
}

void FutureSlots::end_growth(Draft& draft) {
  const OwnerRecord* owner = books_.owner_of(draft);
  if (owner == nullptr) return;
  const std::int64_t size =
      owner->ask.suspended && !draft.released ? 0 : rules_.size_of_owner(draft, owner->ask);
  for (std::size_t r = 0; r < draft.roles.size(); ++r) {
    Role& role = draft.roles[r];
    while (!role.expected.empty() && *role.expected->rbegin() >= size) {
      const std::int64_t last = *role.expected->rbegin();
      role.expected.edit().erase(last);
      if (draft.emitted) events_.add_empty_slot(draft, r, last, SlotState::kGone);
      if (last + 1 != static_cast<std::int64_t>(role.slots.size())) continue;
      role.holes.edit().erase(last);
      role.slots.pop_back();
    }
  }
}

}  // namespace berth::dialect
