// The books of Intake (intake.h): pods, loads (workloads in the making) and what they depend on. Private to intake*.cc.
#pragma once

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
#include "dialect/intake/intake.h"
#include "dialect/intake/object_books.h"
#include "dialect/intake/owner_book.h"
#include "dialect/intake/place_budget.h"
#include "dialect/upstream/core.h"
#include "dialect/upstream/template_effects.h"

namespace berth::dialect {

inline constexpr std::uint32_t kNoIx = 0xffffffffu;
struct PodRecord {
  bool used = false;
  Pod pod;  // without the template
  std::shared_ptr<const PodTemplate> shape;
  Membership membership;
  TopologyMarks topology;
  std::uint32_t load = kNoIx;  // none: foreign
  std::uint32_t role = 0;
  std::int64_t index = 0;
  SlotState state = SlotState::kAbsent;
  bool charged_as_foreign = false;
  bool own = false;         // no longer waits for its owner
  bool saw_owner = false;   // its membership was found with its owner at hand
  bool gated = false;       // it says kKueueGatedBy
  bool fast = false;        // it says kKueueFastAdmission
  std::string repelled_by;  // the running pod whose anti-affinity matches it; "" = none
};

struct Role {
  std::shared_ptr<const PodTemplate> shape;
  TopologyMarks topology;
  std::vector<std::uint32_t> slots;  // pods
  bool promised = false;             // made from an owner's template, not from a pod
  std::set<std::int64_t> holes;      // slots without a pod
  std::set<std::int64_t> expected;   // of these, those that wait for members which are to come
};

struct RoleCount {
  std::int64_t count = 0;
  std::int64_t least = 0;
  bool operator==(const RoleCount&) const = default;
};

// All of a workload that may change while its pods stay the same.
struct Settings {
  std::string queue;
  std::string lane;  // ns/name of its LocalQueue; of a queue that limits its users, the namespace; "" = none
  std::int64_t priority = 0;
  bool may_preempt = true;
  bool preemptible = true;
  bool drain = false;
  TimeMs created = 0;
  TimeMs asks_more_since = 0;  // Standing
  WorkloadKind kind = WorkloadKind::kTraining;
  Restart restart;
  std::optional<DurationMs> expected;
  TopologyRequest topology;  // of the gang as a whole
  std::vector<RoleCount> counts;
  std::optional<Reason> blocked;
  std::string gates;          // kKueueGatedBy, where that is why it waits
  std::int64_t boost = 0;     // part of the priority
  bool invalid = false;       // the engine gets it without its requests
  bool admitted = false;      // Workload::admitted
  bool most_at_once = false;  // Offer::kMostFree
  bool offers_less = false;   // of a Workload that waits alone
  std::int64_t granted = 0;   // of that, too (Load)
  std::vector<std::vector<std::string>>
      awaited;  // by role (pod set of its object): flavors whose nodes are to be provisioned; empty: none
  bool operator==(const Settings&) const = default;
};

// How work that may start with fewer pods, an owner or a Workload that waits alone, is told to the engine.
enum class Offer : std::uint8_t {
  kWhole,     // all of its pods, with victims if needed
  kMostFree,  // as many as find free room, its least number or more
  kAtLeast,   // its least number, with victims if needed, and more in free room
};

struct Load {
  bool used = false;
  GangKind kind = GangKind::kSingle;
  std::string uid;
  std::string ns;
  std::string name;  // of the gang or pod
  std::string size_key;
  std::string object_key;  // of its PodGroup or owner
  TimeMs first_created = 0;
  std::int64_t size = 0;
  std::vector<Role> roles;
  std::int64_t pods = 0;
  std::int64_t bound = 0;  // of `pods`
  // The name of its queue, and the kind of name. It is fixed while the load holds places: otherwise a new label on its owner would
  // move them to another queue.
  std::optional<std::pair<std::string_view, std::string>> queue_mark;
  bool charged = false;  // it comes from the bind of one of its pods
  std::map<PriorityKey, std::int64_t> priorities;
  std::map<std::int64_t, std::int64_t> sizes;  // as members say; 0 = unreadable
  std::vector<std::string> depends;
  std::string refused;                           // the engine's message
  std::int64_t repelled = 0;                     // pods with repelled_by
  std::int64_t gated = 0;                        // pods that are
  std::int64_t fast = 0;                         // and pods that say kKueueFastAdmission
  std::int64_t unreadable = 0;                   // pods with a problem
  std::shared_ptr<const KueueWorkload> object;   // kKueueWorkload: it has slots, and no pods
  std::shared_ptr<const KueueWorkload> written;  // of that, as it was read
  std::shared_ptr<const KueueWorkload> former;   // the slice whose places it has, and which it replaces
  std::shared_ptr<const KueueWorkload> grows;    // the slice of an owner that runs, of which it asks for more
  std::string inadmissible;                      // the reason for which the API server would refuse its pods
  std::int64_t whole = 0;  // its size when all its pods had nodes; 0: none has one since
  // For an owner (intake_owners.cc).
  std::vector<std::shared_ptr<const PodTemplate>> held_shapes;  // of its templates, when its slots were made
  bool released = false;                                        // being unsuspended: its slots are kept
  bool reserved = false;                                        // Intake::set_reserved()
  Offer offer = Offer::kWhole;
  std::int64_t granted =
      0;  // it has places for so many pods (of a Workload: of one set), fewer than it asked for; 0: no matter
  bool waits = false;     // the engine was told that slots without a pod wait
  bool too_many = false;  // places before its pods are there: PlaceBudget has turned it away
  bool remade = false;    // its role has another shape: it is told whole
  // For work that names a Workload which another client made for it (intake_prebuilt.cc).
  std::string prebuilt_key;                       // ns/name of that; "" = it names none
  std::shared_ptr<const KueueWorkload> prebuilt;  // it belongs to this one alone
  std::vector<std::size_t> prebuilt_sets;         // its pod set, of each role
  std::string lost;                               // why it does not belong to it any more
  std::uint64_t revision = 0;                     // of its role's shape
  bool emitted = false;
  // Batches (drain()) in which the engine was told of it first, and was told the whole of it again, from this place of `work` on.
  std::uint64_t first_told_in = 0;
  std::uint64_t retold_in = 0;
  std::size_t retold_at = 0;
  Settings given;
};

// Whether a pod may use a place that was found for `promised`: it asks for no more, and its constraints allow at least the same
// nodes. The API server adds tolerations to pods which their template does not have.
bool suits(const PodTemplate& pod, const PodTemplate& promised);

// The value of kKueueMaxSeconds; nothing if it is invalid.
std::optional<std::int64_t> seconds_of(std::string_view text);

// For a pod that is bound, or can never be placed: drops its constraints, to save memory.
void clear_constraints(PodTemplate& pod);

std::size_t hash_of(const PodTemplate& shape);
std::size_t hash_of(const PodNeeds& needs);

struct Intake::Impl {
  explicit Impl(IntakeConfig intake_config)
      : config(std::move(intake_config)), objects(config), book(objects.queues()) {}

  // intake.cc: objects
  void upsert_owner(Ask&& ask);
  void remove_owner(Kind kind, std::string_view ns, std::string_view name);
  void drop_outdated();
  std::uint32_t first_unreadable(const Load& load) const;
  template <class F>
  void each_dependent(const std::string& key, F&& f);
  void refresh_dependents(const std::string& key);
  void refresh_dependents(const ObjectBooks::Keys& keys);
  void reroute_dependents(const std::string& key);

  // intake_pods.cc: pods and slots
  bool is_ours(const Pod& pod) const;
  void upsert_pod(Pod&& pod);
  void drop(std::uint32_t ix);
  void attach(std::uint32_t ix);
  void detach(std::uint32_t ix);
  void reroute(std::uint32_t ix);
  void set_state(std::uint32_t ix, SlotState state, const std::string& node);
  void adopt(const PodRecord& record);
  void emit_slot(const PodRecord& record, SlotState state);
  TimeMs start_of(const PodRecord& record) const;
  void repel(const PodRecord& record, int delta);
  void weigh(PodRecord& record);
  void charge_foreign(PodRecord& record);
  void uncharge_foreign(PodRecord& record);
  std::uint32_t find_pod(std::string_view uid) const;
  std::uint32_t find_load(std::string_view uid) const;
  PodView view(const PodRecord& record) const;

  // intake_loads.cc: workloads
  std::uint32_t load_for(const PodRecord& record);
  std::string_view gates_of(const Load& load) const;
  // It was started before, and that was not revoked: it may replace lost pods, even in a queue that is held.
  bool is_admitted(const Load& load) const;
  std::uint32_t new_load(const Membership& m, const std::string& ns);
  void free_load(std::uint32_t ix);
  WorkloadInfo info_of(const Load& load) const;
  void refresh(std::uint32_t ix);
  class SettingsOfPods;  // intake_settings.cc
  Settings settings_of(Load& load, std::vector<std::string>& depends);
  // By a mark and its value.
  static void note_charged_queue(Load& load, const Pod& pod);
  void choose_queue(Load& load, const std::vector<const Meta*>& sources) const;
  void resolve_queue(const Load& load, std::string_view key, const std::string& name, Settings& settings,
                     std::vector<std::string>& depends) const;
  // By the name of a LocalQueue.
  void resolve_queue(const Load& load, const std::string& local_queue, Settings& settings,
                     std::vector<std::string>& depends) const;
  void use_cluster_queue(const Load& load, const std::string& name, std::string_view shown,
                         Settings& settings, std::vector<std::string>& depends) const;
  void use_tree_queue(const Load& load, Kind kind, std::string_view name, Settings& settings,
                      std::vector<std::string>& depends) const;
  bool use_local_queue(const Load& load, std::string_view name, Settings& settings,
                       std::vector<std::string>& depends) const;
  // Waiting pods of an owner that is over are about to be deleted.
  void wait_for_end(const Load& load, const Ask& ask, Settings& settings) const;
  Workload build(const Load& load, const Settings& settings) const;
  Workload build_asked(const Load& load, const Settings& settings) const;
  void count_for_quota(Group& group) const;
  void set_depends(std::uint32_t ix, std::vector<std::string> depends);

  // Members that a gang of pods needs now which asks for `asked`.
  std::int64_t size_of_group(Load& load, std::int64_t asked) const;
  // A pod has ended: its gang no longer waits for it. `record`: its former state, if known.
  void note_ended(const Pod& pod, const PodRecord* record);
  void forget_ended(const std::string& name);

  // intake_refusals.cc: work that waits because of its own fields or those of its owner
  bool has_queue(const Load& load, const Settings& settings) const;
  void refuse(const Load& load, const Pod& pod, const std::vector<const Meta*>& sources,
              const std::vector<PriorityKey>& priorities, Settings& settings,
              std::vector<std::string>& depends) const;
  void say_gates(const Load& load, const Pod& pod, Settings& settings) const;

  // intake_members.cc: groups that start before all of their members are there
  // Makes slots for future members. Returns the updates of known slots, which the engine gets after the workload.
  std::vector<SlotUpdate> expect_members(Load& load);
  // For a workload that was reported with all of its slots waiting: slots without a future pod do not wait.
  void tell_unexpected(const Load& load);

  // intake_owners.cc: owners, and those that are held suspended.
  // The owner whose gang the load is; nullptr: there is none, or it is not known.
  const OwnerRecord* owner_record(const Load& load) const;
  bool may_hold(const Ask& ask) const;
  // Members that an owner's gang needs now.
  std::int64_t size_of_owner(Load& load, const Ask& ask) const;
  // intake_elastic.cc: owners whose size may change while they run
  bool may_grow(const Load& load) const;
  // And whose slices Berth makes itself.
  bool is_elastic(const Load& load) const;
  // The slice that this Workload is to replace, where that is the one of an elastic owner that runs; else nullptr.
  std::shared_ptr<const KueueWorkload> slice_before(const KueueWorkload& object) const;
  // Slices that are to replace this one (ns/name) are looked at again.
  void unsettle_slices(const std::string& key);
  // Places for the pods that a slice adds to its owner are kept until they come.
  void expect_growth(Load& load, const HandOver& what);
  // And places that are not wanted any more are freed.
  void end_growth(Load& load, std::int64_t size);

  // It may start with fewer, and has no pods yet.
  bool may_shrink(const Load& load, const Ask& ask) const;
  bool is_offered_less(const Load& load, const Ask& ask) const;
  // Its slots without a pod wait.
  bool holds(const Load& load) const;
  // It stays although it has no pods.
  bool keeps(const Load& load) const;
  void sync_owner(const std::string& uid);
  // The slots of its sets, while it is held.
  void sync_slots(Load& load, const OwnerRecord& record);
  OwnerRecord owner_record_of(Ask&& ask);
  void tell_slots(std::uint32_t ix);
  SlotState state_without_node(const PodRecord& record) const;
  // The role of its owner's template, which the pod belongs to whatever its shape; none where the owner is not held.
  std::optional<std::size_t> join_promised(Load& load, const PodRecord& record, const OwnedPlace& place);

  // intake_effects.cc: changes that the API server makes to templates
  TakenTemplate taken(const PodSpec& spec, const PodNeeds* needs, const Meta& meta, bool of_pods) const;
  void take(OwnerRecord& record);
  // True: the pods of this owner will be others than they were to be.
  bool take_anew(std::string_view uid);
  void take(Load& load);
  // Updates waiting work after changes of LimitRanges or RuntimeClasses.
  void settle_effects();

  // intake_sketch.cc: state of workloads from other controllers, and for them
  void apply_standing(const Load& load, Settings& settings) const;
  static bool has_object(const Load& load);
  // Work of a queue with admission checks waits if no controller can be asked.
  void require_checks(const Load& load, Settings& settings) const;
  // In which flavors it gets quota first.
  void await_nodes(const Load& load, Settings& settings) const;

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
  void use_prebuilt(Load& load, std::string_view name, Settings& settings, std::vector<std::string>& depends);
  // The difference between the work and the spec of its Workload; "": none, and `sets` has the pod set of each of its roles.
  std::string difference(const Load& load, const KueueWorkload& object, std::vector<std::size_t>& sets) const;
  HandOver hand_over(const Load& from, const Load& to) const;
  void hand_over_to(Load& from, const std::string& to);
  void claim(Load& load, const std::string& key, std::shared_ptr<const KueueWorkload> object,
             std::vector<std::size_t> sets);
  void unclaim(Load& load, std::string why);
  // One that waits alone, and may start with fewer pods (minCount): at all, and as of now.
  bool shrinks(const Load& load) const;
  bool may_shrink(const Load& load) const;
  void fit(KueueWorkload& object, const Load& load) const;
  void grant_object(Load& load, std::int64_t granted);
  std::int64_t priority_of_object(const KueueWorkload& object, Settings& settings,
                                  std::vector<std::string>& depends) const;

  // intake_workloads.cc: Kueue's Workload objects
  void upsert_workload(KueueWorkload&& object);
  void remove_workload(std::string_view ns, std::string_view name);
  // nullptr: it is gone.
  void change_planned(const std::string& key, std::shared_ptr<const KueueWorkload> object);
  const KueueWorkload* next_slice(const KueueWorkload& of) const;
  void tell_planned(const std::string& key);
  Settings settings_of_object(const Load& load, std::vector<std::string>& depends) const;
  void emit_admission(const Load& load);
  // Queues or flavors have changed: the engine may accept running work that it refused before.
  void tell_untold();

  IntakeConfig config;
  std::vector<Event> work;
  std::uint64_t batch = 1;
  bool retold = false;  // some workload is told whole again in this batch
  ObjectBooks objects;
  QueueBook& book;  // of `objects`
  std::vector<PodRecord> pods;
  std::vector<std::uint32_t> free_pods;
  std::size_t live_pods = 0;
  std::vector<Load> loads;
  std::vector<std::uint32_t> free_loads;
  std::unordered_map<std::string, std::uint32_t> pod_by_uid;
  std::unordered_map<std::string, std::uint32_t> pod_by_name;  // ns/name
  std::unordered_map<std::string, std::uint32_t> load_by_uid;
  std::unordered_map<std::string, std::set<std::uint32_t>> dependents;
  OwnerBook owners;
  PlaceBudget place_budget;
  Pool<PodTemplate, hash_of> shapes;
  Pool<PodNeeds, hash_of> needs;
  // reasons for which an owner is not tried again yet, by uid
  std::unordered_map<std::string, Reason> rests;
  std::unordered_map<std::string, Standing> standings;            // by uid of the workload
  std::unordered_map<std::string, PodSetUpdate> amendments;       // by uid of the owner
  std::unordered_set<std::string> supplied;                       // workloads: Intake::set_nodes_came()
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
  // Anti-affinity of bound pods: the term as text -> its parsed form, the number of pods, and the first pod.
  struct Repeller {
    Repulsion what;
    std::int64_t pods = 0;
    std::string who;
  };
  std::map<std::string, Repeller> repellers;
  TimeMs arrivals = 0;  // stands in for creation times that are not there
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

inline std::string key_of(std::string_view ns, std::string_view name) {
  std::string out;
  out.reserve(ns.size() + name.size() + 1);
  out.append(ns).append("/").append(name);
  return out;
}

template <class F>
void Intake::Impl::each_dependent(const std::string& key, F&& f) {
  const auto it = dependents.find(key);
  if (it == dependents.end()) return;
  const std::vector<std::uint32_t> list(it->second.begin(), it->second.end());  // f changes the set
  for (const auto ix : list) {
    if (loads[ix].used) f(ix);
  }
}

Reason reason_of(ReasonCode code, std::string detail);

// The first of these that has the mark with a value.
std::string_view mark_of(const std::vector<const Meta*>& sources, std::string_view key);

}  // namespace berth::dialect
