#include "dialect/intake/prebuilt_claims.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "dialect/base/names.h"
#include "dialect/intake/object_drafts.h"
#include "dialect/owners/template_change.h"

namespace berth::dialect {
namespace {

bool same_needs(const std::shared_ptr<const PodNeeds>& a, const std::shared_ptr<const PodNeeds>& b) {
  return a == b || (a != nullptr && b != nullptr && *a == *b);
}

bool is_whole(const Draft& draft) {
  std::int64_t slots = 0;
  for (const auto& role : draft.roles) {
    if (role.holes.size() != role.expected.size() && draft.kind != GangKind::kOwner) return false;
    slots += static_cast<std::int64_t>(role.slots.size());
  }
  return slots >= draft.size;
}

// Between an owner and the spec of its Workload.
std::string difference_of(const Draft& draft, const Ask& ask, const KueueWorkload& object,
                          std::vector<std::size_t>& sets) {
  if (std::any_of(ask.sets.begin(), ask.sets.end(), [](const AskedSet& set) { return set.continues; }))
    return fmt::format("is none for a {} with a pod set for each Job", ask.kind->word());
  if (object.pod_sets.size() != ask.sets.size())
    return ask.sets.size() == 1 ? "it has more than one pod set"
                                : fmt::format("it has {} pod sets, the {} has {}", object.pod_sets.size(),
                                              ask.kind->word(), ask.sets.size());
  for (std::size_t s = 0; s < ask.sets.size(); ++s) sets.push_back(s);
  for (std::size_t s = 0; s < ask.sets.size(); ++s) {
    const AskedSet& asks = ask.sets[s];
    const auto& set = object.pod_sets[s];
    // While it shrinks, one follows the other; it may keep its places until then.
    const bool shrinks = ask.elastic && draft.prebuilt->object != nullptr &&
                         (asks.asked < set.count || asks.asked <= draft.bound);
    if (set.count != asks.asked && !shrinks)
      return fmt::format("it has {} pods, the {} has {}", set.count, ask.kind->word(), asks.asked);
    if (draft.prebuilt->object != nullptr)
      continue;  // what admission wrote into the template since is no difference
    if (set.min_count.value_or(set.count) != asks.least.value_or(asks.asked))
      return "the minimum number of pods differs";
    if (object.most_seconds != seconds_of(ask.meta->mark(kKueueMaxSeconds)))
      return "the maximum execution time differs";
    if (amended_keys(*ask.meta).empty() &&
        (!(*set.spec.pod == *asks.pod) || !same_needs(set.needs, asks.needs)))
      return "the pod template differs";
  }
  return {};
}

}  // namespace

bool same_sets(const KueueWorkload& a, const KueueWorkload& b) {
  return std::equal(a.pod_sets.begin(), a.pod_sets.end(), b.pod_sets.begin(), b.pod_sets.end(),
                    [](const auto& x, const auto& y) {
                      return x.name == y.name && x.count == y.count && x.min_count == y.min_count &&
                             x.spec == y.spec && x.topology == y.topology && x.group == y.group &&
                             same_needs(x.needs, y.needs);
                    });
}

bool same(const KueueWorkload& a, const KueueWorkload& b) {
  return a.meta == b.meta && a.queue == b.queue && a.priority == b.priority &&
         a.priority_class == b.priority_class && a.workload_priority == b.workload_priority &&
         a.active == b.active && a.finished == b.finished && a.most_seconds == b.most_seconds &&
         a.owners == b.owners && same_sets(a, b);
}

std::optional<std::int64_t> seconds_of(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  if (value < 1 || value > 2'147'483'647) return std::nullopt;
  return value;
}

void PrebuiltClaims::use(Draft& draft, std::string_view name, Settings& settings,
                         std::vector<std::string>& depends) {
  const bool may_name = has_object(draft) && !books_.config.quota_only;
  std::string key = may_name && !name.empty() ? key_of(draft.ns, name) : std::string();
  const bool names_another = draft.prebuilt->key != key;
  if (names_another) {
    unclaim(draft, {});
    // Its own is its own again, though nothing else about it may have changed.
    if (!draft.prebuilt->key.empty()) book_.hand_over({"", draft.uid, {}});
    draft.prebuilt.edit().key = std::move(key);
  }
  if (draft.prebuilt->key.empty()) return;
  depends.push_back("wl:" + draft.prebuilt->key);
  const auto wait = [&](std::string why) {
    Reason reason;
    reason.code = ReasonCode::kInvalid;
    reason.detail = fmt::format("the Workload {} that it names ({}) {}", name, kKueuePrebuilt, why);
    unclaim(draft, reason.detail);
    // It runs with its own, which stands for it no more.
    if (names_another && draft.emitted && books_.reads_prebuilt()) draft.prebuilt.edit().lost = reason.detail;
    if (!settings.blocked) settings.blocked = std::move(reason);
  };
  // Work that owns one already keeps it.
  if (!books_.reads_prebuilt() && draft.prebuilt->object == nullptr)
    return wait("is ignored, because Berth keeps no Workload objects here");
  const auto object = book_.find(draft.prebuilt->key);
  // A slice whose successor is there may go before its owner names that.
  if (object == nullptr && draft.prebuilt->object != nullptr && rules_.may_grow(draft) &&
      book_.has_successor(draft.prebuilt->key)) {
    if (draft.prebuilt->object->meta.created != 0) settings.created = draft.prebuilt->object->meta.created;
    settings.priority = priority_of_object(books_, *draft.prebuilt->object, settings.may_preempt, depends);
    return;
  }
  if (object == nullptr) return wait("does not exist");
  if (const auto* owner = book_.owner_of(draft.prebuilt->key); owner != nullptr && *owner != draft.uid)
    return wait("is another's");
  if (!object->meta.controller->kind.empty() && object->meta.controller->uid != draft.uid)
    return wait(
        fmt::format("belongs to {} {}", object->meta.controller->kind, object->meta.controller->name));
  if (object->finished && draft.prebuilt->object == nullptr) return wait("is finished");
  if (key_of(draft.ns, object->queue) != (settings.lane.empty() ? settings.queue : settings.lane))
    return wait(fmt::format("is in LocalQueue {}, but the work is in another", object->queue));
  std::vector<std::size_t> sets;
  if (draft.kind == GangKind::kOwner || (draft.prebuilt->object == nullptr && is_whole(draft))) {
    if (const std::string other = difference(draft, *object, sets); !other.empty()) {
      book_.finish(draft.prebuilt->key);
      return wait("does not match: " + other);
    }
    claim(draft, object, std::move(sets));
  }
  if (draft.prebuilt->object == nullptr) return;  // others of its group are still to come
  if (object->meta.created != 0) settings.created = object->meta.created;
  settings.priority = priority_of_object(books_, *object, settings.may_preempt, depends);
}

std::string PrebuiltClaims::difference(const Draft& draft, const KueueWorkload& object,
                                       std::vector<std::size_t>& sets) const {
  if (draft.kind == GangKind::kOwner) {
    const OwnerRecord* record = books_.owner_of(draft);
    return record == nullptr ? std::string() : difference_of(draft, record->ask, object, sets);
  }
  if (object.pod_sets.size() != draft.roles.size())
    return fmt::format("it has {} pod sets, the work has {}", object.pod_sets.size(), draft.roles.size());
  std::vector<bool> used(object.pod_sets.size(), false);
  for (const auto& role : draft.roles) {
    std::size_t found = used.size();
    for (std::size_t s = 0; s < used.size() && found == used.size(); ++s) {
      const auto& set = object.pod_sets[s];
      if (used[s] || set.count != static_cast<std::int64_t>(role.slots.size())) continue;
      if (suits(*role.shape, templates_.taken(set.spec, set.needs.get(), set.marks, false).pod)) found = s;
    }
    if (found == used.size())
      return fmt::format("none of its pod sets matches {} such pods", role.slots.size());
    used[found] = true;
    sets.push_back(found);
  }
  return {};
}

HandOver PrebuiltClaims::hand_over(const Draft& from, const Draft& to) const {
  HandOver out{from.uid, to.uid, {}};
  if (to.given->blocked || to.given->queue != from.given->queue || to.given->lane != from.given->lane)
    return out;
  const auto& sets = from.object->pod_sets;
  std::vector<std::int64_t> pairs(sets.size(), -1);
  std::vector<std::int64_t> first(from.grows != nullptr ? sets.size() : 0);
  for (std::size_t r = 0; r < to.roles.size(); ++r) {
    const std::size_t s = to.prebuilt->sets[r];
    if (from.grows != nullptr) first[s] = from.grows->pod_sets[s].count;
    const std::int64_t has = from.grows != nullptr ? first[s] : 0;
    const std::int64_t asks = from.grows != nullptr ? to.given->counts[r].count
                                                    : static_cast<std::int64_t>(to.roles[r].slots.size());
    const bool alike = has + sets[s].count == asks && suits(*to.roles[r].shape, *sets[s].spec.pod) &&
                       same_volumes(*to.roles[r].shape, *sets[s].spec.pod) &&
                       sets[s].topology == to.roles[r].topology->request;
    if (!alike) return out;
    pairs[s] = static_cast<std::int64_t>(r);
  }
  if (std::find(pairs.begin(), pairs.end(), -1) != pairs.end()) return out;
  out.sets = std::move(pairs);
  out.first = std::move(first);
  return out;
}

void PrebuiltClaims::claim(Draft& draft, std::shared_ptr<const KueueWorkload> object,
                           std::vector<std::size_t> sets) {
  Prebuilt& prebuilt = draft.prebuilt.edit();
  if (prebuilt.object == nullptr) {
    book_.claim(prebuilt.key, draft.uid);
    prebuilt.sets = std::move(sets);
  }
  prebuilt.object = std::move(object);
  prebuilt.lost.clear();
  book_.unsettle_successors(prebuilt.key);
}

void PrebuiltClaims::unclaim(Draft& draft, std::string why) {
  if (draft.prebuilt->object == nullptr) return;
  Prebuilt& prebuilt = draft.prebuilt.edit();
  prebuilt.object.reset();
  book_.release(prebuilt.key);
  book_.unsettle_successors(prebuilt.key);
  prebuilt.lost = std::move(why);
}

std::shared_ptr<const KueueWorkload> PrebuiltClaims::slice_before(const KueueWorkload& object) const {
  const std::string key(object.meta.annotation(kKueueSliceFor));
  const auto* owner = key.empty() ? nullptr : book_.owner_of(key);
  if (owner == nullptr || !key.starts_with(object.meta.ns + "/")) return nullptr;
  const Draft& draft = books_.drafts[books_.drafts.find(*owner)];
  const OwnerRecord* record = books_.owner_of(draft);
  const auto& former = draft.prebuilt->object;
  if (!rules_.may_grow(draft) || record->ask.suspended || former == nullptr || former->queue != object.queue)
    return nullptr;
  const bool grows = std::equal(
      former->pod_sets.begin(), former->pod_sets.end(), object.pod_sets.begin(), object.pod_sets.end(),
      [](const auto& has, const auto& wants) { return has.name == wants.name && has.count <= wants.count; });
  const auto sum = [](const KueueWorkload& of) {
    std::int64_t out = 0;
    for (const auto& set : of.pod_sets) out += set.count;
    return out;
  };
  return grows && sum(object) > sum(*former) ? former : nullptr;
}

}  // namespace berth::dialect
