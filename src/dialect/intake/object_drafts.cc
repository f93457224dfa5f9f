#include "dialect/intake/object_drafts.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "dialect/kueue/kueue_workload.h"

namespace berth::dialect {
namespace {

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

}  // namespace

void ObjectDrafts::take(Draft& draft) const {
  draft.object = draft.written;
  draft.inadmissible.clear();
  draft.claim_wait.reset();
  std::shared_ptr<KueueWorkload> changed;
  for (std::size_t i = 0; i < draft.written->pod_sets.size(); ++i) {
    const auto& set = draft.written->pod_sets[i];
    const bool mounts = !set.spec.claims.empty();
    const bool ruled =
        set.needs != nullptr && books_.objects.rules_for(draft.ns, *set.needs, false).concern(*set.needs);
    if (!mounts && !ruled) continue;
    TakenTemplate as = templates_.taken(set.spec, set.needs.get(), set.marks, false);
    if (changed == nullptr) changed = std::make_shared<KueueWorkload>(*draft.written);
    changed->pod_sets[i].spec.pod = std::move(as.pod);
    changed->pod_sets[i].spec.zero_requests = std::move(as.zero_requests);
    if (draft.inadmissible.empty()) draft.inadmissible = std::move(as.refused);
    if (!mounts) continue;
    auto wait = templates_.mount_in(draft.ns, set.spec, changed->pod_sets[i].spec.pod.edit());
    if (draft.claim_wait == nullptr) draft.claim_wait = std::move(wait);
  }
  const auto says_least = [](const auto& set) { return set.min_count.has_value(); };
  const bool may_fit = (!books_.config.quota_only || draft.granted > 0) &&
                       (draft.grows != nullptr || std::any_of(draft.written->pod_sets.begin(),
                                                              draft.written->pod_sets.end(), says_least));
  if (may_fit && changed == nullptr) changed = std::make_shared<KueueWorkload>(*draft.written);
  if (may_fit) fit(*changed, draft);
  if (changed != nullptr) draft.object = std::move(changed);
}

bool ObjectDrafts::shrinks(const Draft& draft) const {
  return draft.written != nullptr && draft.written->admitted_to.empty() && shrinking_set(*draft.written);
}

bool ObjectDrafts::may_shrink(const Draft& draft) const {
  return books_.is_live() && draft.object != nullptr && draft.granted == 0 && !draft.sized &&
         !draft.reserved && shrinking_set(*draft.written);
}

// For its set that may start with fewer pods: its minimum until a start has fixed its size, then the number with places.
void ObjectDrafts::fit(KueueWorkload& object, const Draft& draft) const {
  const auto shrinking = shrinking_set(object);
  for (std::size_t s = 0; s < object.pod_sets.size(); ++s) {
    auto& set = object.pod_sets[s];
    if (s == shrinking && draft.granted > 0) set.count = draft.granted;
    if (draft.grows != nullptr) set.count -= draft.grows->pod_sets[s].count;
    if (s != shrinking || draft.granted > 0 || draft.grows != nullptr ||
        (books_.is_live() && !may_shrink(draft)))
      set.min_count.reset();
  }
}

void ObjectDrafts::grant(Draft& draft, std::int64_t granted) {
  const auto& sets = draft.written->pod_sets;
  const auto may_shrink = shrinking_set(*draft.written);
  if (!may_shrink) return;
  const std::size_t shrinking = *may_shrink;
  for (std::size_t s = 0; s < sets.size(); ++s) granted -= s == shrinking ? 0 : sets[s].count;
  draft.sized = true;
  draft.granted = granted < sets[shrinking].count ? granted : 0;
  for (std::int64_t i = granted; i < sets[shrinking].count; ++i)
    events_.add_empty_slot(draft, shrinking, i, SlotState::kGone);
  take(draft);
}

void ObjectDrafts::tell_admission(const Draft& draft) {
  const KueueWorkload& object = *draft.object;
  const KueueWorkload& holder = draft.former != nullptr ? *draft.former : object;
  if (holder.admitted_to.empty() || draft.given->invalid) return;
  for (std::size_t set = 0; set < object.pod_sets.size(); ++set) {  // a former slice has the same
    const auto* assignment = assignment_of(holder, set);
    if (assignment == nullptr) continue;
    for (std::int64_t i = 0; i < slots_of(holder, set); ++i) {
      SlotUpdate update{draft.uid, static_cast<std::int64_t>(set), i, SlotState::kRunning, ""};
      update.flavors = assignment->flavors;
      update.since = holder.reserved_at;
      events_.add(update);
      if (!holder.evicted) continue;
      update.state = SlotState::kReleasing;
      events_.add(std::move(update));
    }
  }
}

// A user with the right to make Workloads could write any number: it counts up to the highest class.
std::int64_t priority_of_object(const IntakeBooks& books, const KueueWorkload& object, bool& may_preempt,
                                std::vector<std::string>& depends) {
  if (object.priority && books.config.quota_only) return *object.priority;
  if (object.priority) {
    depends.emplace_back(kAllClasses);
    return std::min(*object.priority, books.objects.highest_priority());
  }
  if (object.workload_priority) {
    depends.push_back("wpc:" + object.priority_class);
    return books.objects.workload_priority(object.priority_class).value_or(0);
  }
  depends.push_back("pc:" + object.priority_class);
  return books.objects.priority_of({std::nullopt, object.priority_class, false}, may_preempt);
}

}  // namespace berth::dialect
