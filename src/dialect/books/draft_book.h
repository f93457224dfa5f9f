// Workloads in the making (drafts), by index and uid, and the objects that they depend on. Private to the intake.
//
// An index is stable until erase(), and is used again after that. Cost: O(1) per draft, O(log n) per dependency.
#pragma once

#include <boost/container/flat_map.hpp>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/reused.h"
#include "base/shared.h"
#include "base/text_index.h"
#include "dialect/base/pool.h"
#include "dialect/books/object_books.h"
#include "dialect/books/pod_book.h"
#include "model/workload.h"

namespace berth::dialect {

inline std::string key_of(std::string_view ns, std::string_view name) {
  std::string out;
  out.reserve(ns.size() + name.size() + 1);
  out.append(ns).append("/").append(name);
  return out;
}

Reason reason_of(ReasonCode code, std::string detail);

inline PriorityKey priority_key(const Pod& pod) {
  return {pod.spec.priority, pod.spec.priority_class, !pod.spec.may_preempt};
}

// Whether the pods of a role may start: those of a subgroup (GangSplit) start in turn, as its gang needs them.
enum class Turn : std::uint8_t {
  kAny,    // it is of no subgroup
  kLater,  // not yet: the subgroup lacks pods, or the gang has enough of them and starts the others one by one
  kNow,    // without it the gang is not whole
  kShort,  // it has begun, and lacks pods that are not there; the gang is whole without it
  kNext,   // the gang is whole, and asks for this one more
};

struct Role {
  std::shared_ptr<const PodTemplate> shape;
  Shared<TopologyMarks> topology;
  std::vector<std::uint32_t> slots = {};  // pods
  bool promised = false;                  // made from an owner's template, not from a pod
  bool declared = false;                  // made from what pods of its gang say of this part (SaidGang::pods)
  Shared<std::set<std::int64_t>> holes = {};     // slots without a pod
  Shared<std::set<std::int64_t>> expected = {};  // of these, those that wait for members which are to come
  boost::container::flat_map<SelectorBook::Number, std::int64_t> selected =
      {};                 // how many of its pods each selector selects
  std::string part = {};  // of its gang (Membership::part)
  bool kept = false;      // Membership::kept
  Turn turn = Turn::kAny;
  bool narrowed = false;  // its controller has named a domain for some pods, and so `shape` names it too
};

struct RoleCount {
  std::int64_t count = 0;
  std::int64_t least = 0;
  bool operator==(const RoleCount&) const = default;
};

// All of a workload that may change while its pods stay the same, but for times. Those of many drafts are alike.
struct CommonSettings {
  std::string queue;
  std::string lane;  // ns/name of its LocalQueue; of a queue that limits its users, the namespace; "" = none
  std::int64_t priority = 0;
  bool may_preempt = true;
  bool preemptible = true;
  bool drain = false;
  WorkloadKind kind = WorkloadKind::kTraining;
  Restart restart;
  std::optional<DurationMs> broken_for;  // Workload::broken_for, broken_since, preempts_after
  TimeMs broken_since = 0;
  DurationMs preempts_after = 0;
  std::optional<DurationMs> expected;
  TopologyRequest topology;  // of the gang as a whole
  std::vector<char> kept;    // by role: 1: no victim, others of the gang may be; empty: all are alike
  std::vector<TopologyRequest> nearness;     // by role: of the part that it is of; empty: of none
  std::vector<std::vector<GangRing>> rings;  // the same: around that part, the outermost first
  std::vector<RoleCount> counts;
  std::int64_t needs = 0;  // pods, without which it is no whole gang
  bool enough = false;     // it goes on with the subgroups that run, whatever the others lack
  TimeMs grows_since = 0;  // it is whole, and a further subgroup has been there since; 0: none
  std::vector<std::optional<Reason>> later;  // by role: why its turn has not come (Turn::kLater); empty: none
  std::optional<Reason> blocked;
  std::string gates;         // kKueueGatedBy, where that is why it waits
  std::int64_t boost = 0;    // part of the priority
  bool invalid = false;      // the engine gets it without its requests
  bool admitted = false;     // Workload::admitted
  bool whole_first = false;  // Workload::whole_first
  std::int64_t granted = 0;  // of that, too (Draft)
  std::vector<std::vector<std::string>>
      awaited;  // by role (pod set of its object): flavors whose nodes are to be provisioned; empty: none
  using NamesByRole = Shared<std::vector<std::vector<std::string>>>;
  NamesByRole selected;  // by role: PodTemplate::selected; empty: none
  NamesByRole budgets;   // by role: PodTemplate::budgets; empty: none
  bool operator==(const CommonSettings&) const = default;
};
std::size_t hash_of(const CommonSettings& settings);
std::size_t hash_of(const std::vector<std::string>& keys);

struct NamedSelectors;

struct Settings : CommonSettings {
  TimeMs created = 0;
  TimeMs asks_more_since = 0;  // Standing
};

// The settings that the engine was told. DraftBook::give() holds equal ones once.
struct GivenSettings {
  TimeMs created = 0;
  TimeMs asks_more_since = 0;
  std::shared_ptr<const CommonSettings> common = none();

  const CommonSettings* operator->() const { return common.get(); }
  bool operator==(const Settings& now) const {
    return created == now.created && asks_more_since == now.asks_more_since && *common == now;
  }
  static const std::shared_ptr<const CommonSettings>& none();
};

// The Workload that work names, and which another client made for it (prebuilt_claims.h).
struct Prebuilt {
  std::string key;                              // ns/name of that; "" = it names none
  std::shared_ptr<const KueueWorkload> object;  // it belongs to this one alone
  std::vector<std::size_t> sets;                // its pod set, of each role
  std::string lost;                             // why it does not belong to it any more
  bool operator==(const Prebuilt&) const = default;
};

struct Draft {
  bool used = false;
  GangKind kind = GangKind::kSingle;
  std::string uid;
  std::string ns;
  std::string name;  // of the gang or pod
  std::string size_key;
  const GangSystem* system = nullptr;  // of the object that its pods name
  bool saw_object = false;
  bool as_one = false;  // GangObject::as_one
  TimeMs first_created = 0;
  std::int64_t size = 0;
  std::vector<Role> roles;
  std::int64_t pods = 0;
  std::int64_t bound = 0;  // of `pods`
  // The name of its queue, and the kind of name. It is fixed while the draft holds places: otherwise a new label on its owner would
  // move them to another queue.
  std::optional<std::pair<std::string_view, std::string>> queue_mark;
  bool charged = false;  // it comes from the bind of one of its pods
  boost::container::flat_map<PriorityKey, std::int64_t> priorities;
  boost::container::flat_map<std::int64_t, std::int64_t> sizes;  // as members say; 0 = unreadable
  bool loose = false;                                            // the patience of that has ended
  SaidByPods said;  // the same of a gang with parts (Membership::said)
  std::shared_ptr<const std::vector<std::string>> depends;  // DraftBook::set_depends(); nullptr: on nothing
  std::string refused;                                      // the engine's message
  std::vector<PodSelector> selectors;                       // in use for its templates
  std::shared_ptr<NamedSelectors> named;                    // nullptr: none are known
  std::int64_t gated = 0;                                   // pods that are
  std::int64_t fast = 0;                                    // and pods that say kKueueFastAdmission
  std::int64_t unreadable = 0;                              // pods with a problem
  std::int64_t claim_waits = 0;                             // pods with a claim that cannot be used yet
  std::shared_ptr<const Reason> claim_wait;                 // such a claim of `object`; nullptr: none
  std::shared_ptr<const KueueWorkload> object;              // kKueueWorkload: it has slots, and no pods
  std::shared_ptr<const KueueWorkload> written;             // of that, as it was read
  std::shared_ptr<const KueueWorkload> former;  // the slice whose places it has, and which it replaces
  std::shared_ptr<const KueueWorkload> grows;   // the slice of an owner that runs, of which it asks for more
  std::string inadmissible;                     // the reason for which the API server would refuse its pods
  std::int64_t whole = 0;                       // its size when all its pods had nodes; 0: none has one since
  // For an owner (intake_owners.cc).
  std::vector<std::shared_ptr<const PodTemplate>> held_shapes;  // of its templates, when its slots were made
  bool released = false;                                        // being unsuspended: its slots are kept
  bool reserved = false;                                        // IntakePromises::set_reserved()
  bool sized =
      false;  // a start has fixed its size (IntakePromises::grant()), until it is neither released nor reserved
  std::int64_t granted =
      0;  // it has places for so many pods (of a Workload: of one set), fewer than it asked for; 0: no matter
  bool waits = false;     // the engine was told that slots without a pod wait
  bool too_many = false;  // places before its pods are there: PlaceBudget has turned it away
  bool remade = false;    // its role has another shape: it is told whole
  Shared<Prebuilt> prebuilt;
  std::uint64_t revision = 0;  // of its role's shape
  bool emitted = false;
  // Batches (drain()) in which the engine was told of it first, and was told the whole of it again, from this place of `work` on.
  std::uint64_t first_told_in = 0;
  std::uint64_t retold_in = 0;
  std::uint32_t retold_at = 0;
  std::uint32_t removed_at = 0;  // in that batch: the one removal before
  // A later start may have another size.
  void unsize() {
    sized = false;
    granted = 0;
  }
  GivenSettings given;

  // The key of its PodGroup or owner; "": it has none.
  std::string object_key() const;
};

class DraftBook {
 public:
  // An empty one, of a workload that is not known yet.
  std::uint32_t add(const Membership& membership, const std::string& ns);
  void erase(std::uint32_t ix);
  std::uint32_t find(std::string_view uid) const;  // kNoIx: unknown
  Draft& operator[](std::uint32_t ix) { return drafts_[ix]; }
  const Draft& operator[](std::uint32_t ix) const { return drafts_[ix]; }
  // The indexes of those that hold `condition`, in their order.
  template <class F>
  std::vector<std::uint32_t> where(F&& condition) const {
    std::vector<std::uint32_t> out;
    for (std::uint32_t ix = 0; ix < drafts_.size(); ++ix) {
      if (drafts_[ix].used && condition(drafts_[ix])) out.push_back(ix);
    }
    return out;
  }

  // The engine is told of these.
  void give(std::uint32_t ix, Settings&& settings);
  // The keys of the objects that it depends on, sorted.
  void set_depends(std::uint32_t ix, std::vector<std::string> keys);
  std::vector<std::uint32_t> dependents_of(const std::string& key) const;

 private:
  Reused<Draft, std::deque<Draft>> drafts_;
  TextIndex by_uid_;
  std::unordered_map<std::string, std::set<std::uint32_t>> dependents_;
  Pool<CommonSettings, hash_of> settings_;
  Pool<std::vector<std::string>, hash_of> depends_;  // equal ones are held once
};

}  // namespace berth::dialect
