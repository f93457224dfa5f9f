// The coordination of the books of Intake (intake.h): objects, owners, pods, drafts (workloads in the making) and promises. Private to
// intake*.cc.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "dialect/base/pool.h"
#include "dialect/gangs/ended_members.h"
#include "dialect/gangs/gangs.h"
#include "dialect/intake/draft_book.h"
#include "dialect/intake/intake.h"
#include "dialect/intake/object_books.h"
#include "dialect/intake/owner_book.h"
#include "dialect/intake/place_budget.h"
#include "dialect/intake/pod_book.h"
#include "dialect/intake/promises.h"
#include "dialect/intake/queue_choice.h"
#include "dialect/upstream/core.h"
#include "dialect/upstream/template_effects.h"

namespace berth::dialect {

// Whether a pod may use a place that was found for `promised`: it asks for no more, and its constraints allow at least the same
// nodes. The API server adds tolerations to pods which their template does not have.
bool suits(const PodTemplate& pod, const PodTemplate& promised);

// The value of kKueueMaxSeconds; nothing if it is invalid.
std::optional<std::int64_t> seconds_of(std::string_view text);

// For a pod that is bound, or can never be placed: drops its constraints, to save memory.
void clear_constraints(PodTemplate& pod);

std::size_t hash_of(const PodTemplate& shape);
std::size_t hash_of(const PodNeeds& needs);

// The pod set of a role: named as its owner names it.
inline std::string role_name(const Draft& draft, const OwnerRecord* owner, std::size_t role) {
  if (owner != nullptr && owner->ask.sets.size() == draft.roles.size()) return set_name(owner->ask, role);
  return draft.roles.size() == 1 ? "main" : fmt::format("role-{}", role);
}

// Makes a role for each set of an owner, in their order, where the draft has none yet.
void promise_roles(Draft& draft, const OwnerRecord& owner);

// Whether Kueue's API has a Workload for work of this kind.
bool has_object(const Draft& draft);

struct Intake::Impl {
  explicit Impl(IntakeConfig intake_config)
      : config(std::move(intake_config)), objects(config), book(objects.queues()) {}

  // intake.cc: objects
  void upsert_owner(Ask&& ask);
  void remove_owner(Kind kind, std::string_view ns, std::string_view name);
  // An owner below this one has changed.
  void recount(const std::string& uid);
  void drop_outdated();
  std::uint32_t first_unreadable(const Draft& draft) const;
  void refresh_dependents(const std::string& key);
  void refresh_dependents(const ObjectBooks::Keys& keys);
  // `as_orphans`: the owner that they wait for does not exist.
  void reroute_dependents(const std::string& key, bool as_orphans);

  // intake_pods.cc: pods and slots
  bool is_ours(const Pod& pod) const;
  void upsert_pod(Pod&& pod);
  void drop(std::uint32_t ix);
  void attach(std::uint32_t ix);
  void detach(std::uint32_t ix);
  void reroute(std::uint32_t ix, bool as_orphan);
  void set_state(std::uint32_t ix, SlotState state, const std::string& node);
  void adopt(const PodRecord& record);
  void emit_slot(const PodRecord& record, SlotState state);
  TimeMs start_of(const PodRecord& record) const;
  void use_selectors(const std::vector<PodSelector>& selectors, int delta);
  void weigh(std::uint32_t ix);
  void charge_foreign(PodRecord& record);
  void uncharge_foreign(PodRecord& record);
  PodView view(const PodRecord& record) const;

  // intake_drafts.cc: workloads
  std::uint32_t draft_for(const PodRecord& record);
  std::string_view gates_of(const Draft& draft) const;
  // It was started before, and that was not revoked: it may replace lost pods, even in a queue that is held.
  bool is_admitted(const Draft& draft) const;
  void free_draft(std::uint32_t ix);
  WorkloadInfo info_of(const Draft& draft) const;
  void refresh(std::uint32_t ix);
  class SettingsOfPods;  // intake_settings.cc
  Settings settings_of(Draft& draft, std::vector<std::string>& depends);
  // Waiting pods of an owner that is over are about to be deleted.
  void wait_for_end(const Draft& draft, const Ask& ask, Settings& settings) const;
  Workload build(const Draft& draft, const Settings& settings) const;
  Workload build_asked(const Draft& draft, const Settings& settings) const;
  void count_for_quota(Group& group) const;

  // Members that a gang of pods needs now which asks for `asked`.
  std::int64_t size_of_group(Draft& draft, std::int64_t asked) const;
  // A pod has ended: its gang no longer waits for it. `record`: its former state, if known.
  void note_ended(const Pod& pod, const PodRecord* record);
  void forget_ended(const std::string& name);

  // intake_refusals.cc: work that waits because of its own fields or those of its owner
  bool has_queue(const Draft& draft, const Settings& settings) const;
  void refuse(const Draft& draft, const Pod& pod, const std::vector<const Meta*>& sources,
              const std::vector<PriorityKey>& priorities, Settings& settings,
              std::vector<std::string>& depends) const;
  void say_gates(const Draft& draft, const Pod& pod, Settings& settings) const;

  // intake_members.cc: groups that start before all of their members are there
  // Makes slots for future members. Returns the updates of known slots, which the engine gets after the workload.
  std::vector<SlotUpdate> expect_members(Draft& draft);
  void expect_later_sets(Draft& draft, std::vector<SlotUpdate>& out);
  // The same for a group of an owner.
  void expect_later_sets(Draft& draft, const Ask& ask, std::vector<SlotUpdate>& out);
  // For a workload that was reported with all of its slots waiting: slots without a future pod do not wait.
  void tell_unexpected(const Draft& draft);

  // intake_owners.cc: owners, and those that are held suspended.
  // The owner whose gang the draft is; nullptr: there is none, or it is not known.
  const OwnerRecord* owner_record(const Draft& draft) const;
  bool may_hold(const Ask& ask) const;
  // Members that an owner's gang needs now.
  std::int64_t size_of_owner(Draft& draft, const Ask& ask) const;
  // intake_elastic.cc: owners whose size may change while they run
  bool may_grow(const Draft& draft) const;
  // And whose slices Berth makes itself.
  bool is_elastic(const Draft& draft) const;
  // The slice that this Workload is to replace, where that is the one of an elastic owner that runs; else nullptr.
  std::shared_ptr<const KueueWorkload> slice_before(const KueueWorkload& object) const;
  // Slices that are to replace this one (ns/name) are looked at again.
  void unsettle_slices(const std::string& key);
  // Places for the pods that a slice adds to its owner are kept until they come.
  void expect_growth(Draft& draft, const HandOver& what);
  // And places that are not wanted any more are freed.
  void end_growth(Draft& draft, std::int64_t size);

  // It may start with fewer, and has no pods yet.
  bool may_shrink(const Draft& draft, const Ask& ask) const;
  // The engine may start it with fewer pods than it asks for.
  bool starts_with_fewer(const Draft& draft, const Ask& ask) const;
  // Its slots without a pod wait.
  bool holds(const Draft& draft) const;
  // It stays although it has no pods.
  bool keeps(const Draft& draft) const;
  void sync_owner(const std::string& uid);
  // The slots of its sets, while it is held.
  void sync_slots(Draft& draft, const OwnerRecord& record);
  OwnerRecord owner_record_of(Ask&& ask);
  void tell_slots(std::uint32_t ix);
  SlotState state_without_node(const PodRecord& record) const;
  // The role of its owner's template, which the pod belongs to whatever its shape; none where the owner is not held.
  std::optional<std::size_t> join_promised(Draft& draft, const PodRecord& record, const OwnedPlace& place);

  // intake_effects.cc: changes that the API server makes to templates
  TakenTemplate taken(const PodSpec& spec, const PodNeeds* needs, const Meta& meta, bool of_pods) const;
  void take(OwnerRecord& record);
  // True: the pods of this owner will be others than they were to be.
  bool take_anew(std::string_view uid);
  void take(Draft& draft);
  // Updates waiting work after changes of LimitRanges or RuntimeClasses.
  void settle_effects();

  // intake_sketch.cc: state of workloads from other controllers, and for them
  void apply_standing(const Draft& draft, Settings& settings) const;
  // Work of a queue with admission checks waits if no controller can be asked.
  void require_checks(const Draft& draft, Settings& settings) const;
  // In which flavors it gets quota first.
  void await_nodes(const Draft& draft, Settings& settings) const;

  // intake_prebuilt.cc: Workloads that others have made
  bool is_live() const { return !config.quota_only && book.check_mode() == CheckMode::kLive; }
  // Workloads of other clients are work, or belong to the work that names them.
  bool reads_prebuilt() const { return !config.quota_only && book.check_mode() != CheckMode::kNone; }
  void upsert_prebuilt(KueueWorkload&& object);
  void remove_prebuilt(const std::string& key);
  // It waits by itself until work comes that names it. Makes and frees workloads: must not be called while one is in use.
  void settle_prebuilt(const std::string& key);
  void settle_prebuilt();
  // Whether Workloads count has changed.
  void renew_prebuilt();
  // Checks the Workload that the work names, and whether it may own it; otherwise the work waits.
  void use_prebuilt(Draft& draft, std::string_view name, Settings& settings,
                    std::vector<std::string>& depends);
  // The difference between the work and the spec of its Workload; "": none, and `sets` has the pod set of each of its roles.
  std::string difference(const Draft& draft, const KueueWorkload& object,
                         std::vector<std::size_t>& sets) const;
  HandOver hand_over(const Draft& from, const Draft& to) const;
  void hand_over_to(Draft& from, const std::string& to);
  void claim(Draft& draft, const std::string& key, std::shared_ptr<const KueueWorkload> object,
             std::vector<std::size_t> sets);
  void unclaim(Draft& draft, std::string why);
  // One that waits alone, and may start with fewer pods (minCount): at all, and as of now.
  bool shrinks(const Draft& draft) const;
  bool may_shrink(const Draft& draft) const;
  void fit(KueueWorkload& object, const Draft& draft) const;
  void grant_object(Draft& draft, std::int64_t granted);
  std::int64_t priority_of_object(const KueueWorkload& object, Settings& settings,
                                  std::vector<std::string>& depends) const;

  // intake_workloads.cc: Kueue's Workload objects
  void upsert_workload(KueueWorkload&& object);
  void remove_workload(std::string_view ns, std::string_view name);
  // nullptr: it is gone.
  void change_planned(const std::string& key, std::shared_ptr<const KueueWorkload> object);
  const KueueWorkload* next_slice(const KueueWorkload& of) const;
  void tell_planned(const std::string& key);
  Settings settings_of_object(const Draft& draft, std::vector<std::string>& depends) const;
  void emit_admission(const Draft& draft);
  // Queues or flavors have changed: the engine may accept running work that it refused before.
  void tell_untold();

  IntakeConfig config;
  std::vector<Event> work;
  std::uint64_t batch = 1;
  bool retold = false;  // some workload is told whole again in this batch
  ObjectBooks objects;
  QueueBook& book;  // of `objects`
  PodBook pods;
  DraftBook drafts;
  OwnerBook owners;
  Promises promises;
  PlaceBudget place_budget;
  Pool<PodTemplate, hash_of> shapes;
  Pool<PodNeeds, hash_of> needs;
  std::unordered_map<std::string, std::string> workload_by_name;  // the same of Kueue's Workloads
  // IntakeConfig::quota_only: those that are not finished, by ns/name; and which of them replace which.
  std::map<std::string, std::shared_ptr<const KueueWorkload>, std::less<>> planned;
  std::map<std::string, std::set<std::string>, std::less<>> next_slices;
  std::set<std::string>
      untold;  // by uid: it runs, and the engine did not know its queue, or a flavor of that
  std::map<std::string, std::shared_ptr<const KueueWorkload>, std::less<>> prebuilt;  // ns/name: of others
  std::map<std::string, std::set<std::string>, std::less<>> prebuilt_slices;  // which of them replace which
  std::unordered_map<std::string, std::string> claimed;                       // and their owners, by uid
  std::set<std::string> new_claims;          // of these, those not reported yet
  std::set<std::string> unsettled_prebuilt;  // ns/name, until the next drain()
  std::vector<HandOver> hand_overs;
  std::set<std::string> out_of_sync;  // ns/name
  EndedMembers ended_members;
  std::map<std::string, OwnerName> missing_owners;  // by uid
  TimeMs arrivals = 0;                              // stands in for creation times that are not there
};

inline PriorityKey priority_key(const Pod& pod) {
  return {pod.spec.priority, pod.spec.priority_class, !pod.spec.may_preempt};
}

// The parts of a text with commas.
inline std::vector<std::string> split_marks(std::string_view text) {
  std::vector<std::string> out;
  while (!text.empty()) {
    const auto end = std::min(text.find(','), text.size());
    if (end > 0) out.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

}  // namespace berth::dialect
