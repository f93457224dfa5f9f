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

bool is_whole(const Load& load) {
  std::int64_t slots = 0;
  for (const auto& role : load.roles) {
    if (role.holes.size() != role.expected.size() && load.kind != GangKind::kOwner) return false;
    slots += static_cast<std::int64_t>(role.slots.size());
  }
  return slots >= load.size;
}

// Between an owner and the spec of its Workload.
std::string difference_of(const Load& load, const Ask& ask, const KueueWorkload& object,
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
        ask.elastic && load.prebuilt != nullptr && (asks.asked < set.count || asks.asked <= load.bound);
    if (set.count != asks.asked && !shrinks)
      return fmt::format("it has {} pods, the {} has {}", set.count, ask.kind->word(), asks.asked);
    if (load.prebuilt != nullptr) continue;  // what admission wrote into the template since is no difference
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
  std::vector<std::uint32_t> named;
  for (std::uint32_t ix = 0; ix < loads.size(); ++ix) {
    if (loads[ix].used && !loads[ix].prebuilt_key.empty()) named.push_back(ix);
  }
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
    const std::uint32_t ix = find_load(waits->second);
    if (const std::int64_t granted = loads[ix].granted;
        is_news && granted > 0 && holds(loads[find_load(owner->second)])) {
      loads[find_load(owner->second)].granted = granted;  // it starts with so many pods, too
      sync_owner(owner->second);
    }
    if (is_news) hand_over_to(loads[ix], owner->second);
    workload_by_name.erase(waits);
    free_load(ix);
  } else if (is_news) {
    hand_overs.push_back({"", owner->second, {}});
  }
  if (!alone) return;
  const std::string uid = object->second->meta.uid;
  std::uint32_t ix = find_load(uid);
  const bool fresh = ix == kNoIx;
  if (fresh) {
    ix = new_load({GangKind::kKueueWorkload, uid, object->second->meta.name, std::nullopt, {}},
                  object->second->meta.ns);
    workload_by_name.insert_or_assign(key, uid);
  }
  Load& load = loads[ix];
  auto whole = std::make_shared<KueueWorkload>(*object->second);
  if (whole->meta.created == 0) whole->meta.created = fresh ? ++arrivals : load.first_created;
  load.first_created = whole->meta.created;
  auto grows = slice_before(*whole);
  const bool grows_else =
      (grows == nullptr) != (load.grows == nullptr) || (grows != nullptr && !same_sets(*grows, *load.grows));
  const bool asks_for_else = !fresh && (grows_else || !same_sets(*load.written, *whole));
  load.grows = std::move(grows);
  load.remade = load.remade || (asks_for_else && load.emitted);
  if (asks_for_else) {
    load.refused.clear();
    load.offer = Offer::kWhole;
    load.granted = 0;
  }
  load.written = std::move(whole);
  take(load);
  refresh(ix);
}

HandOver Intake::Impl::hand_over(const Load& from, const Load& to) const {
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

void Intake::Impl::hand_over_to(Load& from, const std::string& to) {
  Load& load = loads[find_load(to)];
  HandOver what = hand_over(from, load);
  expect_growth(load, what);
  hand_overs.push_back(std::move(what));
}

void Intake::Impl::claim(Load& load, const std::string& key, std::shared_ptr<const KueueWorkload> object,
                         std::vector<std::size_t> sets) {
  if (load.prebuilt == nullptr) {
    claimed.insert_or_assign(key, load.uid);
    new_claims.insert(key);
    unsettled_prebuilt.insert(key);
    load.prebuilt_sets = std::move(sets);
  }
  load.prebuilt = std::move(object);
  load.lost.clear();
  unsettle_slices(key);
}

void Intake::Impl::unclaim(Load& load, std::string why) {
  if (load.prebuilt == nullptr) return;
  load.prebuilt.reset();
  claimed.erase(load.prebuilt_key);
  new_claims.erase(load.prebuilt_key);
  unsettled_prebuilt.insert(load.prebuilt_key);
  unsettle_slices(load.prebuilt_key);
  load.lost = std::move(why);
}

void Intake::Impl::use_prebuilt(Load& load, std::string_view name, Settings& settings,
                                std::vector<std::string>& depends) {
  const bool may_name = has_object(load) && !config.quota_only;
  std::string key = may_name && !name.empty() ? key_of(load.ns, name) : std::string();
  const bool names_another = load.prebuilt_key != key;
  if (names_another) {
    unclaim(load, {});
    // Its own is its own again, though nothing else about it may have changed.
    if (!load.prebuilt_key.empty()) hand_overs.push_back({"", load.uid, {}});
    load.prebuilt_key = std::move(key);
  }
  if (load.prebuilt_key.empty()) return;
  depends.push_back("wl:" + load.prebuilt_key);
  const auto wait = [&](std::string why) {
    Reason reason;
    reason.code = ReasonCode::kInvalid;
    reason.detail = fmt::format("the Workload {} that it names ({}) {}", name, kKueuePrebuilt, why);
    unclaim(load, reason.detail);
    // It runs with its own, which stands for it no more.
    if (names_another && load.emitted && reads_prebuilt()) load.lost = reason.detail;
    if (!settings.blocked) settings.blocked = std::move(reason);
  };
  // Work that owns one already keeps it.
  if (!reads_prebuilt() && load.prebuilt == nullptr)
    return wait("is ignored, because Berth keeps no Workload objects here");
  const auto it = prebuilt.find(load.prebuilt_key);
  // A slice whose successor is there may go before its owner names that.
  if (it == prebuilt.end() && load.prebuilt != nullptr && may_grow(load) &&
      prebuilt_slices.contains(load.prebuilt_key)) {
    if (load.prebuilt->meta.created != 0) settings.created = load.prebuilt->meta.created;
    settings.priority = priority_of_object(*load.prebuilt, settings, depends);
    return;
  }
  if (it == prebuilt.end()) return wait("does not exist");
  const auto object = it->second;
  if (const auto owner = claimed.find(load.prebuilt_key); owner != claimed.end() && owner->second != load.uid)
    return wait("is another's");
  if (!object->meta.controller.kind.empty() && object->meta.controller.uid != load.uid)
    return wait(fmt::format("belongs to {} {}", object->meta.controller.kind, object->meta.controller.name));
  if (object->finished && load.prebuilt == nullptr) return wait("is finished");
  if (key_of(load.ns, object->queue) != (settings.lane.empty() ? settings.queue : settings.lane))
    return wait(fmt::format("is in LocalQueue {}, but the work is in another", object->queue));
  std::vector<std::size_t> sets;
  if (load.kind == GangKind::kOwner || (load.prebuilt == nullptr && is_whole(load))) {
    if (const std::string other = difference(load, *object, sets); !other.empty()) {
      out_of_sync.insert(load.prebuilt_key);
      auto over = std::make_shared<KueueWorkload>(*object);
      over->finished = true;
      it->second = std::move(over);
      unsettled_prebuilt.insert(load.prebuilt_key);
      return wait("does not match: " + other);
    }
    claim(load, load.prebuilt_key, object, std::move(sets));
  }
  if (load.prebuilt == nullptr) return;  // others of its group are still to come
  if (object->meta.created != 0) settings.created = object->meta.created;
  settings.priority = priority_of_object(*object, settings, depends);
}

std::string Intake::Impl::difference(const Load& load, const KueueWorkload& object,
                                     std::vector<std::size_t>& sets) const {
  if (load.kind == GangKind::kOwner) {
    const OwnerRecord* record = owner_record(load);
    return record == nullptr ? std::string() : difference_of(load, record->ask, object, sets);
  }
  if (object.pod_sets.size() != load.roles.size())
    return fmt::format("it has {} pod sets, the work has {}", object.pod_sets.size(), load.roles.size());
  std::vector<bool> used(object.pod_sets.size(), false);
  for (const auto& role : load.roles) {
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

bool Intake::Impl::shrinks(const Load& load) const {
  return load.written != nullptr && load.written->admitted_to.empty() && shrinking_set(*load.written);
}

bool Intake::Impl::may_shrink(const Load& load) const {
  return is_live() && load.object != nullptr && load.granted == 0 && !load.reserved &&
         shrinking_set(*load.written);
}

// For its set that may start with fewer pods: only the offered number, or the number with places. Without offers (berth plan): its
// minimum.
void Intake::Impl::fit(KueueWorkload& object, const Load& load) const {
  const auto shrinking = shrinking_set(object);
  for (std::size_t s = 0; s < object.pod_sets.size(); ++s) {
    auto& set = object.pod_sets[s];
    if (s == shrinking && load.granted > 0) set.count = load.granted;
    if (load.grows != nullptr) set.count -= load.grows->pod_sets[s].count;
    if (s != shrinking || load.granted > 0 || load.grows != nullptr ||
        (load.offer == Offer::kWhole && is_live()))
      set.min_count.reset();
  }
}

void Intake::Impl::grant_object(Load& load, std::int64_t granted) {
  const auto& sets = load.written->pod_sets;
  const auto may_shrink = shrinking_set(*load.written);
  if (!may_shrink) return;
  const std::size_t shrinking = *may_shrink;
  for (std::size_t s = 0; s < sets.size(); ++s) granted -= s == shrinking ? 0 : sets[s].count;
  load.offer = Offer::kWhole;
  load.granted = granted < sets[shrinking].count ? granted : 0;
  for (std::int64_t i = granted; i < sets[shrinking].count; ++i)
    work.push_back(
        SlotUpdate{load.uid, static_cast<std::int64_t>(shrinking), i, SlotState::kGone, "", {}, {}, 0});
  take(load);
}

bool Intake::is_without_pods(std::string_view workload) const {
  const auto ix = impl_->find_load(workload);
  return ix != kNoIx && impl_->loads[ix].object != nullptr && !impl_->config.quota_only;
}

std::vector<HandOver> Intake::take_hand_overs() {
  return std::exchange(impl_->hand_overs, {});
}

std::vector<std::string> Intake::take_out_of_sync() {
  const auto keys = std::exchange(impl_->out_of_sync, {});
  return {keys.begin(), keys.end()};
}

}  // namespace berth::dialect
