#include "dialect/owners/owner.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "base/integers.h"
#include "dialect/base/names.h"

namespace berth::dialect {
namespace {

std::int64_t sum(const std::vector<AskedSet>& sets, std::int64_t AskedSet::*number) {
  std::int64_t out = 0;
  for (const AskedSet& set : sets) out += set.*number;
  return out;
}

// Also where both have none.
template <class Pointer>
bool equal(const Pointer& a, const Pointer& b) {
  return a == b || (a != nullptr && b != nullptr && *a == *b);
}

bool equal_sets(const AskedSet& a, const AskedSet& b) {
  const auto amounts = [](const AskedSet& set) {
    return std::tie(set.name, set.annotated, set.size, set.most, set.asked, set.reclaimable, set.least,
                    set.enough, set.later, set.after_first, set.continues);
  };
  return amounts(a) == amounts(b) && equal(a.marks, b.marks) && equal(a.spec, b.spec) &&
         equal(a.pod, b.pod) && equal(a.needs, b.needs);
}

}  // namespace

bool Ask::says_as(const Ask& before) const {
  const auto words = [](const Ask& ask) {
    return std::tie(ask.kind, *ask.meta, ask.generation, ask.succeeded, ask.started, ask.over, ask.conflict,
                    ask.ending, ask.problem, ask.unsupported, ask.priority_class, ask.enough, ask.gang,
                    ask.suspended, ask.makes_pods, ask.has_run, ask.finished, ask.failed, ask.elastic,
                    ask.is_led, ask.of_below);
  };
  return words(*this) == words(before) &&
         std::equal(sets.begin(), sets.end(), before.sets.begin(), before.sets.end(), equal_sets);
}

std::int64_t Ask::size() const {
  return sum(sets, &AskedSet::size);
}

std::int64_t Ask::most() const {
  return sum(sets, &AskedSet::most);
}

std::int64_t Ask::asked() const {
  return sum(sets, &AskedSet::asked);
}

std::int64_t Ask::reclaimable() const {
  return sum(sets, &AskedSet::reclaimable);
}

bool Ask::has_later_pods() const {
  return std::any_of(sets.begin(), sets.end(),
                     [](const AskedSet& set) { return set.later || set.after_first; });
}

std::optional<std::int64_t> Ask::least() const {
  return sets.size() == 1 ? sets.front().least : std::nullopt;
}

std::string OwnerKind::api_version() const {
  const std::string_view group = info().group;
  return group.empty() ? std::string(version) : fmt::format("{}/{}", group, version);
}

std::string set_name(const Ask& ask, std::size_t set) {
  if (set < ask.sets.size() && !ask.sets[set].name.empty()) return std::string(ask.sets[set].name);
  return ask.sets.size() == 1 ? "main" : fmt::format("role-{}", set);
}

const PodSetUpdate* update_of(const Ask& ask, std::size_t set, std::span<const PodSetUpdate> updates) {
  if (ask.sets.size() == 1) return updates.empty() ? nullptr : &updates.front();
  const std::string name = set_name(ask, set);
  const auto it =
      std::find_if(updates.begin(), updates.end(), [&](const auto& update) { return update.name == name; });
  return it == updates.end() ? nullptr : &*it;
}

bool names_a_queue(const Meta& owner, const Meta& marks) {
  for (const Meta* meta : {&owner, &marks}) {
    if (!meta->mark(kKueueQueue).empty() || !meta->mark(kBerthQueue).empty()) return true;
  }
  return false;
}

bool is_for_kai(const Meta& owner, const Meta& marks, std::string_view scheduler) {
  if (scheduler == kKaiScheduler) return true;
  for (const Meta* meta : {&owner, &marks}) {
    if (!meta->mark(kKaiQueueName).empty() || !meta->mark(kOlderKaiQueueName).empty()) return true;
  }
  return false;
}

bool names_a_gang(const Meta& owner, const Meta& marks) {
  return names_a_queue(owner, marks) || !owner.mark(kGang).empty() || !marks.mark(kGang).empty();
}

std::optional<std::int64_t> index_of(const Pod& pod) {
  for (const std::string_view key : {kJobIndex, kKueuePodIndex}) {
    if (const auto index = to_integer(pod.meta.mark(key), 0)) return index;
  }
  return std::nullopt;
}

Pod pod_of(const Ask& ask, const AskedSet& set) {
  Pod pod;
  pod.meta.ns = ask.meta->ns;
  pod.meta.created = ask.meta->created;
  pod.meta.controller = Owner{std::string(ask.kind->word()), ask.meta->name, ask.meta->uid};
  pod.meta.labels = set.marks->labels;
  pod.meta.annotations = set.marks->annotations;
  pod.spec = *set.spec;
  pod.spec.pod = *set.pod;
  pod.needs = set.needs;
  return pod;
}

}  // namespace berth::dialect
