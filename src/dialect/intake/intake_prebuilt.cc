// Workloads that another client made (kKueuePrebuilt): on the workers of Kueue's MultiKueue the manager makes the Workload first,
// and the owner when that has been admitted. So each is work of its own, without pods, until work comes that names it and asks for
// what it says: then it is that one's, and so are its places (HandOver). Its status is never read.
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "dialect/base/names.h"
#include "dialect/intake/intake_state.h"
#include "dialect/kueue/workload_object.h"

namespace berth::dialect {
namespace {

bool same_needs(const std::shared_ptr<const PodNeeds>& a, const std::shared_ptr<const PodNeeds>& b) {
  return a == b || (a != nullptr && b != nullptr && *a == *b);
}

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

// It was made before its work. One that Berth made had an owner, which was deleted without it (--cascade=orphan): no work comes for it.
bool may_wait_alone(const KueueWorkload& object) {
  return object.owners.empty() && !object.finished && !object.meta.deleting &&
         !object.meta.annotations.contains(kWorkloadOf);
}

// The pod set of which fewer may start (Kueue's API lets one have a minCount); none: all of all.
std::optional<std::size_t> shrinking_set(const KueueWorkload& object) {
  std::optional<std::size_t> out;
  for (std::size_t s = 0; s < object.pod_sets.size(); ++s) {
    const auto& set = object.pod_sets[s];
    if (!set.min_count || *set.min_count >= set.count) continue;
    if (out || *set.min_count < 1) return std::nullopt;
    out = s;
  }
  return out;
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
  if (object.pod_sets.size() != ask.sets.size())
    return ask.sets.size() == 1 ? "it has more than one pod set"
                                : fmt::format("it has {} pod sets, the {} has {}", object.pod_sets.size(),
                                              ask.kind->word(), ask.sets.size());
  for (std::size_t s = 0; s < ask.sets.size(); ++s) sets.push_back(s);
  for (std::size_t s = 0; s < ask.sets.size(); ++s) {
    const AskedSet& asks = ask.sets[s];
    const auto& set = object.pod_sets[s];
    // While it shrinks, one follows the other; it may keep its places until then.
    const bool shrinks =
        ask.elastic && draft.prebuilt != nullptr && (asks.asked < set.count || asks.asked <= draft.bound);
    if (set.count != asks.asked && !shrinks)
      return fmt::format("it has {} pods, the {} has {}", set.count, ask.kind->word(), asks.asked);
    if (draft.prebuilt != nullptr) continue;  // what admission wrote into the template since is no difference
    if (set.min_count.value_or(set.count) != asks.least.value_or(asks.asked))
      return "the minimum number of pods differs";
    if (object.most_seconds != seconds_of(ask.meta->mark(kKueueMaxSeconds)))
      return "the maximum execution time differs";
    if (amended_keys(*ask.meta).empty() &&
        (!(set.spec.pod == *asks.pod) || !same_needs(set.needs, asks.needs)))
      return "the pod template differs";
  }
  return {};
}

}  // namespace

void Intake::Impl::upsert_prebuilt(KueueWorkload&& object) {
  const std::string key = key_of(object.meta.ns, object.meta.name);
  if (!workload_of(object).empty()) return remove_prebuilt(key);  // Berth's own
  object.admitted_to.clear();
  object.assignments.clear();
  object.reserved_at = object.requeued_from = 0;
  object.evicted = false;
  object.status = {};
  for (auto& set : object.pod_sets) set.reclaimable = 0;
  const auto known = prebuilt.find(key);
  if (known != prebuilt.end() && same(*known->second, object)) return;
  if (known != prebuilt.end() && known->second->meta.uid != object.meta.uid) remove_prebuilt(key);
  const auto now = prebuilt.insert_or_assign(key, std::make_shared<const KueueWorkload>(std::move(object)));
  if (const auto former = now.first->second->meta.annotation(kKueueSliceFor); !former.empty())
    prebuilt_slices[std::string(former)].insert(key);
  refresh_dependents("wl:" + key);
  settle_prebuilt(key);
}

void Intake::Impl::remove_prebuilt(const std::string& key) {
  const auto known = prebuilt.find(key);
  if (known == prebuilt.end()) return;
  const std::string former(known->second->meta.annotation(kKueueSliceFor));
  prebuilt.erase(known);
  if (const auto slices = prebuilt_slices.find(former); slices != prebuilt_slices.end()) {
    slices->second.erase(key);
    if (slices->second.empty()) prebuilt_slices.erase(slices);
    refresh_dependents("wl:" + former);
  }
  refresh_dependents("wl:" + key);
  settle_prebuilt(key);
}

void Intake::Impl::renew_prebuilt() {
  std::vector<std::string> keys;
  for (const auto& [key, object] : prebuilt) keys.push_back(key);
  const auto named = drafts.where([](const Draft& draft) { return !draft.prebuilt_key.empty(); });
  for (const auto ix : named) refresh(ix);
  for (const auto& key : keys) settle_prebuilt(key);
}

void Intake::Impl::settle_prebuilt() {
  while (!unsettled_prebuilt.empty()) {
    const std::string key = *unsettled_prebuilt.begin();
    settle_prebuilt(key);
  }
}

void Intake::Impl::settle_prebuilt(const std::string& key) {
  unsettled_prebuilt.erase(key);
  const auto object = prebuilt.find(key);
  const auto owner = claimed.find(key);
  const bool alone = reads_prebuilt() && object != prebuilt.end() && owner == claimed.end() &&
                     may_wait_alone(*object->second);
  auto waits = workload_by_name.find(key);
  const bool is_news = new_claims.erase(key) > 0 && owner != claimed.end();
  if (waits != workload_by_name.end() && (!alone || waits->second != object->second->meta.uid)) {
    const std::uint32_t ix = drafts.find(waits->second);
    if (const std::int64_t granted = drafts[ix].granted;
        is_news && granted > 0 && holds(drafts[drafts.find(owner->second)])) {
      drafts[drafts.find(owner->second)].granted = granted;  // it starts with so many pods, too
      sync_owner(owner->second);
    }
    if (is_news) hand_over_to(drafts[ix], owner->second);
    workload_by_name.erase(waits);
    free_draft(ix);
  } else if (is_news) {
    hand_overs.push_back({"", owner->second, {}});
  }
  if (!alone) return;
  const std::string uid = object->second->meta.uid;
  std::uint32_t ix = drafts.find(uid);
  const bool fresh = ix == kNoIx;
  if (fresh) {
    ix = drafts.add({GangKind::kKueueWorkload, uid, object->second->meta.name, std::nullopt, {}},
                    object->second->meta.ns);
    workload_by_name.insert_or_assign(key, uid);
  }
  Draft& draft = drafts[ix];
  auto whole = std::make_shared<KueueWorkload>(*object->second);
  if (whole->meta.created == 0) whole->meta.created = fresh ? ++arrivals : draft.first_created;
  draft.first_created = whole->meta.created;
  auto grows = slice_before(*whole);
  const bool grows_else = (grows == nullptr) != (draft.grows == nullptr) ||
                          (grows != nullptr && !same_sets(*grows, *draft.grows));
  const bool asks_for_else = !fresh && (grows_else || !same_sets(*draft.written, *whole));
  draft.grows = std::move(grows);
  draft.remade = draft.remade || (asks_for_else && draft.emitted);
  if (asks_for_else) {
    draft.refused.clear();
    draft.unsize();
  }
  draft.written = std::move(whole);
  take(draft);
  refresh(ix);
}

HandOver Intake::Impl::hand_over(const Draft& from, const Draft& to) const {
  HandOver out{from.uid, to.uid, {}};
  if (to.given.blocked || to.given.queue != from.given.queue || to.given.lane != from.given.lane) return out;
  const auto& sets = from.object->pod_sets;
  std::vector<std::int64_t> pairs(sets.size(), -1);
  std::vector<std::int64_t> first(from.grows != nullptr ? sets.size() : 0);
  for (std::size_t r = 0; r < to.roles.size(); ++r) {
    const std::size_t s = to.prebuilt_sets[r];
    if (from.grows != nullptr) first[s] = from.grows->pod_sets[s].count;
    const std::int64_t has = from.grows != nullptr ? first[s] : 0;
    const std::int64_t asks = from.grows != nullptr ? to.given.counts[r].count
                                                    : static_cast<std::int64_t>(to.roles[r].slots.size());
    const bool alike = has + sets[s].count == asks && suits(*to.roles[r].shape, sets[s].spec.pod) &&
                       sets[s].topology == to.roles[r].topology.request;
    if (!alike) return out;
    pairs[s] = static_cast<std::int64_t>(r);
  }
  if (std::find(pairs.begin(), pairs.end(), -1) != pairs.end()) return out;
  out.sets = std::move(pairs);
  out.first = std::move(first);
  return out;
}

void Intake::Impl::hand_over_to(Draft& from, const std::string& to) {
  Draft& draft = drafts[drafts.find(to)];
  HandOver what = hand_over(from, draft);
  expect_growth(draft, what);
  hand_overs.push_back(std::move(what));
}

void Intake::Impl::claim(Draft& draft, const std::string& key, std::shared_ptr<const KueueWorkload> object,
                         std::vector<std::size_t> sets) {
  if (draft.prebuilt == nullptr) {
    claimed.insert_or_assign(key, draft.uid);
    new_claims.insert(key);
    unsettled_prebuilt.insert(key);
    draft.prebuilt_sets = std::move(sets);
  }
  draft.prebuilt = std::move(object);
  draft.lost.clear();
  unsettle_slices(key);
}

void Intake::Impl::unclaim(Draft& draft, std::string why) {
  if (draft.prebuilt == nullptr) return;
  draft.prebuilt.reset();
  claimed.erase(draft.prebuilt_key);
  new_claims.erase(draft.prebuilt_key);
  unsettled_prebuilt.insert(draft.prebuilt_key);
  unsettle_slices(draft.prebuilt_key);
  draft.lost = std::move(why);
}

void Intake::Impl::use_prebuilt(Draft& draft, std::string_view name, Settings& settings,
                                std::vector<std::string>& depends) {
  const bool may_name = has_object(draft) && !config.quota_only;
  std::string key = may_name && !name.empty() ? key_of(draft.ns, name) : std::string();
  const bool names_another = draft.prebuilt_key != key;
  if (names_another) {
    unclaim(draft, {});
    // Its own is its own again, though nothing else about it may have changed.
    if (!draft.prebuilt_key.empty()) hand_overs.push_back({"", draft.uid, {}});
    draft.prebuilt_key = std::move(key);
  }
  if (draft.prebuilt_key.empty()) return;
  depends.push_back("wl:" + draft.prebuilt_key);
  const auto wait = [&](std::string why) {
    Reason reason;
    reason.code = ReasonCode::kInvalid;
    reason.detail = fmt::format("the Workload {} that it names ({}) {}", name, kKueuePrebuilt, why);
    unclaim(draft, reason.detail);
    // It runs with its own, which stands for it no more.
    if (names_another && draft.emitted && reads_prebuilt()) draft.lost = reason.detail;
    if (!settings.blocked) settings.blocked = std::move(reason);
  };
  // Work that owns one already keeps it.
  if (!reads_prebuilt() && draft.prebuilt == nullptr)
    return wait("is ignored, because Berth keeps no Workload objects here");
  const auto it = prebuilt.find(draft.prebuilt_key);
  // A slice whose successor is there may go before its owner names that.
  if (it == prebuilt.end() && draft.prebuilt != nullptr && may_grow(draft) &&
      prebuilt_slices.contains(draft.prebuilt_key)) {
    if (draft.prebuilt->meta.created != 0) settings.created = draft.prebuilt->meta.created;
    settings.priority = priority_of_object(*draft.prebuilt, settings, depends);
    return;
  }
  if (it == prebuilt.end()) return wait("does not exist");
  const auto object = it->second;
  if (const auto owner = claimed.find(draft.prebuilt_key);
      owner != claimed.end() && owner->second != draft.uid)
    return wait("is another's");
  if (!object->meta.controller.kind.empty() && object->meta.controller.uid != draft.uid)
    return wait(fmt::format("belongs to {} {}", object->meta.controller.kind, object->meta.controller.name));
  if (object->finished && draft.prebuilt == nullptr) return wait("is finished");
  if (key_of(draft.ns, object->queue) != (settings.lane.empty() ? settings.queue : settings.lane))
    return wait(fmt::format("is in LocalQueue {}, but the work is in another", object->queue));
  std::vector<std::size_t> sets;
  if (draft.kind == GangKind::kOwner || (draft.prebuilt == nullptr && is_whole(draft))) {
    if (const std::string other = difference(draft, *object, sets); !other.empty()) {
      out_of_sync.insert(draft.prebuilt_key);
      auto over = std::make_shared<KueueWorkload>(*object);
      over->finished = true;
      it->second = std::move(over);
      unsettled_prebuilt.insert(draft.prebuilt_key);
      return wait("does not match: " + other);
    }
    claim(draft, draft.prebuilt_key, object, std::move(sets));
  }
  if (draft.prebuilt == nullptr) return;  // others of its group are still to come
  if (object->meta.created != 0) settings.created = object->meta.created;
  settings.priority = priority_of_object(*object, settings, depends);
}

std::string Intake::Impl::difference(const Draft& draft, const KueueWorkload& object,
                                     std::vector<std::size_t>& sets) const {
  if (draft.kind == GangKind::kOwner) {
    const OwnerRecord* record = owner_record(draft);
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
      if (suits(*role.shape, taken(set.spec, set.needs.get(), set.marks, false).pod)) found = s;
    }
    if (found == used.size())
      return fmt::format("none of its pod sets matches {} such pods", role.slots.size());
    used[found] = true;
    sets.push_back(found);
  }
  return {};
}

// A user with the right to make Workloads could write any number: it counts up to the highest class.
std::int64_t Intake::Impl::priority_of_object(const KueueWorkload& object, Settings& settings,
                                              std::vector<std::string>& depends) const {
  if (object.priority && config.quota_only) return *object.priority;
  if (object.priority) {
    depends.emplace_back(kAllClasses);
    return std::min(*object.priority, objects.highest_priority());
  }
  if (object.workload_priority) {
    depends.push_back("wpc:" + object.priority_class);
    return objects.workload_priority(object.priority_class).value_or(0);
  }
  depends.push_back("pc:" + object.priority_class);
  return objects.priority_of({std::nullopt, object.priority_class, false}, settings.may_preempt);
}

std::string_view Intake::prebuilt_owner(std::string_view ns, std::string_view name) const {
  const Impl& s = *impl_;
  if (s.config.quota_only || s.prebuilt.empty()) return {};
  const std::string key = key_of(ns, name);
  if (const auto it = s.claimed.find(key); it != s.claimed.end()) return it->second;
  const auto it = s.workload_by_name.find(key);
  return it == s.workload_by_name.end() ? std::string_view() : std::string_view(it->second);
}

bool Intake::Impl::shrinks(const Draft& draft) const {
  return draft.written != nullptr && draft.written->admitted_to.empty() && shrinking_set(*draft.written);
}

bool Intake::Impl::may_shrink(const Draft& draft) const {
  return is_live() && draft.object != nullptr && draft.granted == 0 && !draft.sized && !draft.reserved &&
         shrinking_set(*draft.written);
}

// For its set that may start with fewer pods: its minimum until a start has fixed its size, then the number with places.
void Intake::Impl::fit(KueueWorkload& object, const Draft& draft) const {
  const auto shrinking = shrinking_set(object);
  for (std::size_t s = 0; s < object.pod_sets.size(); ++s) {
    auto& set = object.pod_sets[s];
    if (s == shrinking && draft.granted > 0) set.count = draft.granted;
    if (draft.grows != nullptr) set.count -= draft.grows->pod_sets[s].count;
    if (s != shrinking || draft.granted > 0 || draft.grows != nullptr || (is_live() && !may_shrink(draft)))
      set.min_count.reset();
  }
}

void Intake::Impl::grant_object(Draft& draft, std::int64_t granted) {
  const auto& sets = draft.written->pod_sets;
  const auto may_shrink = shrinking_set(*draft.written);
  if (!may_shrink) return;
  const std::size_t shrinking = *may_shrink;
  for (std::size_t s = 0; s < sets.size(); ++s) granted -= s == shrinking ? 0 : sets[s].count;
  draft.sized = true;
  draft.granted = granted < sets[shrinking].count ? granted : 0;
  for (std::int64_t i = granted; i < sets[shrinking].count; ++i)
    work.push_back(
        SlotUpdate{draft.uid, static_cast<std::int64_t>(shrinking), i, SlotState::kGone, "", {}, {}, 0});
  take(draft);
}

bool Intake::is_without_pods(std::string_view workload) const {
  const auto ix = impl_->drafts.find(workload);
  return ix != kNoIx && impl_->drafts[ix].object != nullptr && !impl_->config.quota_only;
}

std::vector<HandOver> Intake::take_hand_overs() {
  return std::exchange(impl_->hand_overs, {});
}

std::vector<std::string> Intake::take_out_of_sync() {
  const auto keys = std::exchange(impl_->out_of_sync, {});
  return {keys.begin(), keys.end()};
}

}  // namespace berth::dialect
