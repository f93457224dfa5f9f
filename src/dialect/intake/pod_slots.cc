#include "dialect/intake/pod_slots.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>

#include "dialect/base/names.h"
#include "dialect/books/template_book.h"
#include "dialect/intake/queue_choice.h"
#include "dialect/upstream/core.h"

namespace berth::dialect {
namespace {

template <class Map, class Key>
void count(Map& map, const Key& key, std::int64_t delta) {
  const auto it = map.try_emplace(key, 0).first;
  it->second += delta;
  if (it->second == 0) map.erase(it);
}

// Two pods of one role: what both say is held once.
void share(PodRecord& record, const PodRecord& other) {
  if (record.membership == other.membership) record.membership = other.membership;
  Meta& meta = record.pod.meta;
  if (meta.controller == other.pod.meta.controller) meta.controller = other.pod.meta.controller;
}

}  // namespace

std::optional<std::size_t> PodSlots::promised_role(Draft& draft, const PodRecord& record,
                                                   const OwnedPlace& place) {
  const bool held = (draft.kind == GangKind::kOwner || draft.kind == GangKind::kSized) &&
                    !draft.roles.empty() && draft.roles.front().promised;
  if (!held || draft.roles.size() != draft.held_shapes.size() || place.set >= draft.roles.size())
    return std::nullopt;
  Role& role = draft.roles[place.set];
  const auto as_asked = books_.owners.as_asked(record.membership, place.set, record.pod, *record.shape);
  const PodTemplate& asks = as_asked ? as_asked->shape : *record.shape;
  std::shared_ptr<const PodTemplate> now;
  // Its pods are others than the template says (admission changed them): it is decided anew for what they are.
  if (!suits(asks, *role.shape) || !same_volumes(asks, *role.shape))
    now = as_asked ? std::make_shared<const PodTemplate>(asks) : record.shape;
  if (as_asked) now = in_its_domain(draft, role, record, *as_asked, std::move(now));
  if (now == nullptr) return place.set;
  const auto names = [](const PodTemplate& pod, const std::string& level) {
    return pod.node_selector->contains(level);
  };
  role.narrowed = as_asked && names(*now, as_asked->level) && !names(asks, as_asked->level);
  role.shape = std::move(now);
  draft.remade = true;
  ++draft.revision;
  return place.set;
}

// The controller has named the domain of some pods of the role. Its places lie there where a pod of it stands there already. Otherwise all
// of it is placed there from now on. `shape`: what it asks for; nullptr: as before. Gives the same where that is right.
std::shared_ptr<const PodTemplate> PodSlots::in_its_domain(const Draft& draft, const Role& role,
                                                           const PodRecord& record, const AskedPod& asked,
                                                           std::shared_ptr<const PodTemplate> shape) const {
  const auto value_of = [&](const Labels& labels) {
    const auto it = labels.find(asked.level);
    return it == labels.end() ? std::string() : it->second;
  };
  std::string domain = asked.domain;
  for (const Role& of : draft.roles) {
    if (!asked.whole && &of != &role) continue;
    for (std::size_t s = 0; s < of.slots.size() && domain.empty(); ++s) {
      if (of.slots[s] == kNoIx || record.shape->node_selector->contains(asked.level)) continue;
      const PodRecord& other = books_.pods[of.slots[s]];
      if (other.pod.spec.node_name.empty()) domain = value_of(other.shape->node_selector);
    }
  }
  if (domain.empty()) return shape;
  const PodTemplate& now = shape != nullptr ? *shape : *role.shape;
  const std::string bound_to = value_of(now.node_selector);
  const auto stands_there = [&](const PodRecord& pod) {
    const Node* node = books_.objects.node(pod.pod.spec.node_name);
    return node != nullptr && value_of(node->labels) == domain;
  };
  const auto has_one_there = [&](const Role& of) {
    return (asked.whole || &of == &role) &&
           std::any_of(of.slots.begin(), of.slots.end(),
                       [&](const std::uint32_t ix) { return ix != kNoIx && stands_there(books_.pods[ix]); });
  };
  const bool is_there =
      bound_to.empty() &&
      (stands_there(record) || std::any_of(draft.roles.begin(), draft.roles.end(), has_one_there));
  if (bound_to == domain || is_there) return shape;
  PodTemplate narrow = now;
  narrow.node_selector.edit().insert_or_assign(asked.level, domain);
  return std::make_shared<const PodTemplate>(std::move(narrow));
}

// Pods of a group name the domain of all of it.
void PodSlots::widen(Draft& draft) const {
  for (std::size_t r = 0; r < std::min(draft.roles.size(), draft.held_shapes.size()); ++r) {
    Role& role = draft.roles[r];
    if (!role.narrowed || draft.held_shapes[r] == nullptr) continue;
    Labels named = role.shape->node_selector;  // beside what the template says
    for (const auto& [key, value] : draft.held_shapes[r]->node_selector) named.erase(key);
    const auto names = [&](const std::uint32_t ix) {
      return ix != kNoIx && std::any_of(named.begin(), named.end(), [&](const auto& label) {
               return books_.pods[ix].shape->node_selector->contains(label.first);
             });
    };
    const bool some = std::any_of(draft.roles.begin(), draft.roles.end(), [&](const Role& of) {
      return (draft.kind == GangKind::kSized || &of == &role) &&
             std::any_of(of.slots.begin(), of.slots.end(), names);
    });
    if (some) continue;
    PodTemplate wide = *role.shape;
    for (const auto& [key, value] : named) wide.node_selector.edit().erase(key);
    role.shape = std::make_shared<const PodTemplate>(std::move(wide));
    role.narrowed = false;
    draft.remade = true;
    ++draft.revision;
  }
}

std::int64_t PodSlots::take_index(const Draft& draft, Role& role, const Membership& membership,
                                  std::optional<std::int64_t> wanted) {
  const auto have = static_cast<std::int64_t>(role.slots.size());
  if (wanted && *wanted >= have && *wanted < std::max(draft.size, membership.size.value_or(0))) {
    role.slots.resize(static_cast<std::size_t>(*wanted) + 1, kNoIx);
    for (std::int64_t at = have; at <= *wanted; ++at) role.holes.edit().insert(at);
  }
  std::int64_t index = static_cast<std::int64_t>(role.slots.size());
  if (wanted && role.holes->contains(*wanted)) {
    index = *wanted;
  } else if (!role.expected.empty()) {  // it is one of those that were to come
    index = *role.expected->begin();
  } else if (!role.holes.empty()) {
    index = *role.holes->begin();
  } else {
    role.slots.push_back(kNoIx);
  }
  if (!role.holes.empty()) role.holes.edit().erase(index);
  return index;
}

// The size of a gang, as a member says it.
void PodSlots::count_said(Draft& draft, const Membership& membership, std::int64_t delta) {
  if (membership.kind != GangKind::kSized) return;
  if (membership.said->name.empty()) {
    count(draft.sizes, membership.size.value_or(0), delta);
  } else {
    draft.said.count(*membership.said, delta);
  }
}

void PodSlots::join(std::uint32_t ix, std::uint32_t draft_ix) {
  PodRecord& record = books_.pods[ix];
  Draft& draft = books_.drafts[draft_ix];
  const OwnedPlace place = books_.owners.place_of(record.membership, record.pod);
  auto role = draft.roles.begin();
  if (const auto promised = promised_role(draft, record, place)) {
    role += static_cast<std::ptrdiff_t>(*promised);
  } else {
    role = std::find_if(draft.roles.begin(), draft.roles.end(), [&](const Role& r) {
      return r.topology == record.topology && *r.shape == *record.shape &&
             r.part == record.membership->part && r.kept == record.membership->kept;
    });
  }
  if (role == draft.roles.end()) {  // one of those that its gang expects
    role = std::find_if(draft.roles.begin(), draft.roles.end(), [&](const Role& r) {
      return r.declared && !r.expected.empty() && r.topology == record.topology &&
             r.part == record.membership->part && suits(*record.shape, *r.shape) &&
             same_volumes(*record.shape, *r.shape);
    });
  }
  if (role == draft.roles.end()) {
    draft.roles.push_back(Role{.shape = record.shape,
                               .topology = record.topology,
                               .part = record.membership->part,
                               .kept = record.membership->kept});
    role = std::prev(draft.roles.end());
  }
  record.draft = draft_ix;
  record.role = static_cast<std::uint32_t>(role - draft.roles.begin());
  if (record.pod.spec.node_name.empty()) record.state = rules_.state_without_node(record);

  if (!role->slots.empty() && role->slots.front() != kNoIx) share(record, books_.pods[role->slots.front()]);
  record.index = take_index(draft, *role, record.membership, place.index);
  if (!role->expected.empty()) role->expected.edit().erase(record.index);
  role->slots[static_cast<std::size_t>(record.index)] = ix;
  ++draft.pods;
  if (!record.pod.spec.node_name.empty()) ++draft.bound;
  note_charged_queue(draft, record.pod);
  if (!record.pod.problem.empty()) ++draft.unreadable;
  if (record.claim_wait != nullptr) ++draft.claim_waits;
  draft.refused.clear();
  count(draft.priorities, priority_key(record.pod), +1);
  count_said(draft, record.membership, +1);
  for (const auto number : record.selected) count(role->selected, number, +1);
  weigh(ix);
  draft.first_created =
      draft.pods == 1 ? record.pod.meta.created : std::min(draft.first_created, record.pod.meta.created);
}

void PodSlots::leave(std::uint32_t ix) {
  PodRecord& record = books_.pods[ix];
  Draft& draft = books_.drafts[record.draft];
  Role& role = draft.roles[record.role];
  role.slots[static_cast<std::size_t>(record.index)] = kNoIx;
  role.holes.edit().insert(record.index);
  --draft.pods;
  if (!record.pod.spec.node_name.empty()) --draft.bound;
  if (!record.pod.problem.empty()) --draft.unreadable;
  if (record.claim_wait != nullptr) --draft.claim_waits;
  for (const auto number : record.selected) count(role.selected, number, -1);
  if (std::exchange(record.gated, false)) --draft.gated;
  if (std::exchange(record.fast, false)) --draft.fast;
  count(draft.priorities, priority_key(record.pod), -1);
  count_said(draft, record.membership, -1);
  widen(draft);
}

// Tells the engine of a slot that it knows nothing of yet. One that is ending must have been running first.
void PodSlots::tell_first(const PodRecord& record) {
  if (record.state == SlotState::kAbsent) return;
  if (record.state == SlotState::kReleasing) tell(record, SlotState::kRunning);
  tell(record, record.state);
}

void PodSlots::tell(const PodRecord& record, SlotState state) {
  const Draft& draft = books_.drafts[record.draft];
  const bool takes_room = state == SlotState::kRunning || state == SlotState::kReleasing;
  if (draft.given->invalid) {  // the engine does not know what it asks for
    PodRecord& pod = books_.pods[draft.roles[record.role].slots[static_cast<std::size_t>(record.index)]];
    if (takes_room && !pod.charged_as_foreign) charge_foreign(pod);
    return;
  }
  events_.add(SlotUpdate{draft.uid,
                         static_cast<std::int64_t>(record.role),
                         record.index,
                         state,
                         takes_room ? record.pod.spec.node_name : std::string(),
                         takes_room ? record.pod.devices : std::vector<std::int64_t>(),
                         {},
                         takes_room ? start_of(record) : 0});
}

// Its owner's is the start of the run that it belongs to.
TimeMs PodSlots::start_of(const PodRecord& record) const {
  if (record.pod.started > 0) return record.pod.started;
  const OwnerRecord* owner = books_.owners.top_of(record.pod.meta);
  return owner != nullptr ? owner->ask.started : 0;
}

bool PodSlots::set_claim_wait(PodRecord& record, std::shared_ptr<const Reason> wait) {
  const auto before = std::exchange(record.claim_wait, std::move(wait));
  const auto& now = record.claim_wait;
  if (record.draft != kNoIx)
    books_.drafts[record.draft].claim_waits += (now != nullptr ? 1 : 0) - (before != nullptr ? 1 : 0);
  return (before == nullptr) != (now == nullptr) || (now != nullptr && *now != *before);
}

void PodSlots::charge_foreign(PodRecord& record) {
  ForeignPod foreign = to_foreign(record.pod.spec, record.pod.meta.uid);
  foreign.requests = record.shape->requests;
  foreign.devices = record.shape->claim.requests;
  foreign.ports = record.shape->ports;
  foreign.attaches = record.shape->attaches;
  foreign.mounts = record.shape->mounts;
  foreign.terms = *record.shape->terms;
  foreign.preferred_terms = record.shape->preferred_terms;
  foreign.selected = *record.shape->selected;
  const SelectorBook& book = books_.pods.selectors();
  for (const auto number : record.selected) {
    if (!book.is_budget(number)) foreign.selected.push_back(book.name(number));
  }
  foreign.ending = record.pod.meta.deleting && !record.selected.empty();
  record.charged_as_foreign = true;
  events_.add(ForeignPodUpsert{std::move(foreign)});
}

void PodSlots::uncharge_foreign(PodRecord& record) {
  if (!record.charged_as_foreign) return;
  record.charged_as_foreign = false;
  events_.add(ForeignPodRemove{record.pod.meta.uid});
}

// Terms with these selectors came (+1) or went (-1). The pods of a selector that is in use from now on, or no longer, are weighed again.
void PodSlots::use_selectors(const std::vector<PodSelector>& selectors, int delta) {
  const std::vector<PodSelector> all = selectors;  // of a pod, perhaps, that is weighed itself
  for (const PodSelector& selector : all) {
    const auto number = books_.pods.selectors().use(selector, delta);
    if (!number) continue;
    for (const std::uint32_t ix : books_.pods.candidates_of(*number)) weigh(ix);
  }
}

// Which selectors select a pod, whether a controller still prepares it, and whether it starts before the others of its group exist. The
// draft's settings follow at its next refresh; for selectors alone at the next drain().
void PodSlots::weigh(std::uint32_t ix) {
  PodRecord& record = books_.pods[ix];
  const Meta& meta = record.pod.meta;
  auto selected = books_.pods.selectors().selecting(
      meta.ns, meta.labels, [&] { return books_.objects.labels_of_namespace(meta.ns); });
  if (selected != record.selected) {
    if (record.draft != kNoIx) {
      auto& of_role = books_.drafts[record.draft].roles[record.role].selected;
      for (const auto number : record.selected) count(of_role, number, -1);
      for (const auto number : selected) count(of_role, number, +1);
      books_.pods.selectors().note(record.draft);
    }
    record.selected = std::move(selected);
    if (record.charged_as_foreign) charge_foreign(record);
  }
  if (record.draft == kNoIx) return;
  const bool gated = !meta.annotation(kKueueGatedBy).empty();
  if (gated != record.gated) books_.drafts[record.draft].gated += gated ? 1 : -1;
  record.gated = gated;
  const bool fast = meta.annotation(kKueueFastAdmission) == "true";
  if (fast != record.fast) books_.drafts[record.draft].fast += fast ? 1 : -1;
  record.fast = fast;
}

PodView PodSlots::view(const PodRecord& record) const {
  const Draft& draft = books_.drafts[record.draft];
  const auto& later = draft.given->later;
  return {record.pod.meta.ns,
          record.pod.meta.name,
          record.pod.meta.uid,
          record.pod.spec.node_name,
          record.pod.spec.scheduler_name,
          draft.uid,
          static_cast<std::int64_t>(record.role),
          record.index,
          record.state,
          is_recreated(record.pod.meta),
          record.pod.meta.controller->kind,
          record.pod.eviction,
          record.pod.nominated,
          record.pod.devices,
          draft.roles[record.role].shape.get(),
          record.pod.bytes,
          record.role < later.size() && later[record.role] ? &*later[record.role] : nullptr};
}

}  // namespace berth::dialect
