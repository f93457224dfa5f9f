// Objects that make pods, whatever their kind: what one asks for (Ask), and how its kind is placed, started and ended (OwnerKind).
//
// A kind of owners is a folder below this one, which no other folder there includes. Nothing outside that folder names the kind,
// except its rows in the tables of all kinds (docs/contributors/adding-a-dialect.md). Everything else works with the Ask.
//
// Several pod sets: one AskedSet each, in the order of the object; the pod sets of the workload have the same order.
// Chains of owners (a pod, its Job, a JobSet above it): the topmost owner that Berth reads stands for all below it. Its marks, its size
// and its functions count, and only it is suspended or released. Where it names no queue, the owners below it are asked, from the top.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "dialect/owners/template_change.h"
#include "dialect/upstream/objects.h"
#include "kube/paths.h"
#include "kube/writer.h"

namespace berth::dialect {

struct OwnerKind;

// The pods of one template. Views into Ask::own.
struct AskedSet {
  std::string_view name;          // of the pod set, where the kind has one (set_name())
  const Meta* marks = nullptr;    // labels and annotations of the template
  const PodSpec* spec = nullptr;  // of the template, without its `pod`
  bool annotated = false;         // the template has annotations, whichever
  std::shared_ptr<const PodTemplate> pod;
  std::shared_ptr<const PodNeeds> needs;  // of its containers, as they are written
  std::int64_t size = 0;                  // pods that run at once from now on; 0: it makes none any more
  std::int64_t most = 0;                  // the same, whatever has ended
  std::int64_t asked = 0;                 // at first, as its user asked for them
  std::int64_t reclaimable = 0;           // of those at first: ended well, and not made again
  std::optional<std::int64_t> least;  // with so many it may start where not all have room; none: all or none
  std::optional<std::int64_t>
      enough;  // with so many pods its gang starts, and the others join it; none: with all
  bool later =
      false;  // its pods are made when those of other sets run or have ended: their places are kept until then
  bool after_first =
      false;  // so are all but its first pod, which comes alone: the others when it has its node
  // It goes on with the pod set before it: their template is one, and so is their pod set in a Workload of Kueue. They have one name.
  bool continues = false;

  // The place of this slot is kept for a pod that is made later.
  bool comes_later(std::int64_t index) const { return later || (after_first && index > 0); }
  std::int64_t later_pods() const {
    return later ? size : after_first ? std::max<std::int64_t>(0, size - 1) : 0;
  }
};

// The request of an owner, as of its last change. Copies share the object.
struct Ask {
  const OwnerKind* kind = nullptr;
  std::shared_ptr<const void> own;     // the object; only the functions of its kind look into it
  const Meta* meta = nullptr;          // of the object
  std::vector<AskedSet> sets;          // one or more
  std::int64_t generation = 0;         // of the spec; 0 = unknown
  std::int64_t succeeded = 0;          // pods that have ended well
  std::int64_t ready = 0;              // pods that are ready
  TimeMs started = 0;                  // of its present run
  std::string_view over;               // why its controller takes away what waits of it; "": it does not
  std::string_view conflict;           // marks that contradict each other: it is not held while it has them
  std::string_view ending;             // `finished`: what it says about that
  std::string problem;                 // a field that cannot be read: no pod of it is to start
  std::string unsupported;             // a mark that Berth does not honour: none of its groups is to start
  std::string_view priority_class;     // speaks for all of its pods, whatever class they have; "": none does
  std::optional<std::int64_t> enough;  // as that of a set, of all pods together
  bool gang = false;                   // its pods start together
  bool suspended = false;
  bool makes_pods = false;  // its controller makes pods where some are missing, and it is not suspended
  bool is_ready = false;    // all of its pods are ready, or have ended well
  bool has_run = false;     // some pod of it has ended
  bool finished = false;
  bool failed = false;                  // `finished`, and not well
  bool elastic = false;                 // what it grows by waits, and it runs on (prebuilt_claims.h)
  bool is_led = false;                  // another controller makes its pods, or suspends and releases it
  std::shared_ptr<const Ask> of_below;  // the owner whose sets it has (OwnerKind::adopt)

  // Sums of all sets.
  std::int64_t size() const;
  std::int64_t most() const;
  std::int64_t asked() const;
  std::int64_t reclaimable() const;
  // Some pods of it are made when others run, whether or not they have ended.
  bool has_later_pods() const;
  // Whether it says what `before` said, but for how many pods are ready. Compares by value; O(its sets).
  bool says_as(const Ask& before) const;
  // The least of the only set. An owner of several is never smaller.
  std::optional<std::int64_t> least() const;
};

// The slot of a pod among those of its owner: the index of its pod set, and its own within it where it has one.
struct OwnedPlace {
  std::size_t set = 0;
  std::optional<std::int64_t> index;
};

// A pod as the template of its owner has it: places are chosen by that.
struct AskedPod {
  PodTemplate shape;   // of the pod, without what the controller has added to the template
  std::string level;   // where it names the nodes for the pod: by the value of this node label
  std::string domain;  // that value; "": any
  bool whole = false;  // all pods of its owner or group lie in that domain, and not those of its set alone
};

// How a suspended owner is to run.
struct Release {
  std::int64_t generation = 0;            // only if its spec still has this one; 0: whichever
  std::int64_t pods = 0;                  // with so many; 0: with all that its user asked for
  std::span<const PodSetUpdate> updates;  // go into its templates (update_of())
};
struct ReleaseWrite {
  kube::Write write;
  bool changes_template = false;
  bool reduces = false;  // its user's size is written beside, and suspend() writes it back
};

// `berth plan`: the pods that its controller would make now, beside those that it has.
struct MadePods {
  std::int64_t missing = 0;
  std::vector<Pod> pods;  // none where more are missing than may be made
  std::string none;       // why another controller makes them, or releases the owner first; "": none does
};

// The functions of a kind. Pure.
struct OwnerKind {
  Kind kind;
  std::string_view version;  // of its group, for writes and references
  WorkloadKind work;         // what its pods are, where no gang of pods says otherwise

  // Takes an object of the kind apart.
  Ask (*ask)(std::shared_ptr<void> object);
  // Its numbers, where the owners below it that are known (the Jobs of a JobSet) say them better. nullptr: they do not.
  void (*count)(Ask& ask, const std::vector<const Ask*>& below);
  // Takes over the pod sets of the owner below it, which has them (the JobSet of a TrainJob). False: nothing is new. nullptr: it has its own.
  bool (*adopt)(Ask& ask, const std::vector<const Ask*>& below) = nullptr;
  OwnedPlace (*place_of)(const Ask& ask, const Pod& pod);
  // A pod of one of its sets, which asks for `shape`, as the template has it. nullptr, or nothing: the controller adds no conditions.
  std::optional<AskedPod> (*as_asked)(const Ask& ask, std::size_t set, const Pod& pod,
                                      const PodTemplate& shape) = nullptr;
  // The request of one of its groups, by its number, where each group is a gang of its own. nullptr, or nothing: it is that of each.
  std::optional<Ask> (*of_group)(const Ask& ask, std::string_view number) = nullptr;

  // Unsuspends it if it is still suspended, of its uid and generation (422 otherwise). nullptr: the kind cannot be held, and its pods are
  // scheduled as they come, and deleted to end them. Then the others below are nullptr too.
  ReleaseWrite (*release)(const Ask& ask, const Release& how);
  // Suspends the one of its uid: its controller deletes its pods. `reduced`: a release has reduced it, whether or not that was seen yet.
  kube::Write (*suspend)(const Ask& ask, bool reduced);
  // Makes a template changeable that the API server has refused to change. nullptr: nothing does.
  kube::Write (*make_changeable)(const Ask& ask);

  // On paper, for `berth plan`: the pods that its controller makes, and what release() (with so many pods; 0: all) and suspend() make of it.
  MadePods (*make_pods)(const Ask& ask, const std::vector<const Pod*>& has, std::int64_t most);
  Ask (*released)(const Ask& ask, std::int64_t pods);
  Ask (*suspended)(const Ask& ask);

  // Its controller may take so long to make the first pod after its release; 0: as long as any (--gang-deadline).
  DurationMs pods_within = 0;
  // The oldest of the owners below it is part of it. Each further one is a gang of its own (the second RayCluster of a RayService). Its
  // switch reaches the newest alone, so while there are several its pods are deleted to end it.
  bool further_are_gangs = false;
  // Its controller may read its switch only when it makes the owner below it. So the newest of these, by its own switch, is to be suspended
  // exactly while this one is.
  bool suspends_below = false;
  // Sets its switch, and nothing else. nullptr: its switch never follows another.
  kube::Write (*set_switch)(const Ask& ask, bool suspended) = nullptr;

  bool can_be_held() const { return release != nullptr; }
  const KindInfo& info() const { return info_of(kind); }
  std::string_view word() const { return info().word; }
  std::string api_version() const;  // "batch/v1"
  kube::ResourcePath path() const { return {info().group, version, info().resource}; }
};

// The name of one of its pod sets: its own, "main" of a single one, "role-<number>".
std::string set_name(const Ask& ask, std::size_t set);
// The update for one of its pod sets; nullptr: none.
const PodSetUpdate* update_of(const Ask& ask, std::size_t set, std::span<const PodSetUpdate> updates);

// Whether it names a queue that Berth starts work of: itself, or its template.
bool names_a_queue(const Meta& owner, const Meta& marks);
// Whether it names a queue of KAI, or its pods ask for KAI's scheduler. KAI makes gangs of the owners that run as one, and none of a Job or a
// Deployment.
bool is_for_kai(const Meta& owner, const Meta& marks, std::string_view scheduler);
// Whether its pods are a gang without a size of their own: it names a queue, or a gang.
bool names_a_gang(const Meta& owner, const Meta& marks);

// The index that a pod says by a mark: its completion index, or its index in a group. Nothing where it says none.
std::optional<std::int64_t> index_of(const Pod& pod);

// A pod of this set, as the owner's controller makes it. The caller gives it name and uid.
Pod pod_of(const Ask& ask, const AskedSet& set);

}  // namespace berth::dialect
