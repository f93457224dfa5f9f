// The coordination of the parts of Intake (intake.h). A change of an object, a pod or an owner changes drafts (workloads in the making).
// Changes of drafts become events for the engine. Private to intake*.cc.
//
//   books      what is known, each book by itself            (intake_books.h, template_book.h, prebuilt_book.h, planned_book.h)
//   rules      what follows from the books, read only        (draft_rules.h, draft_settings.h, draft_workload.h)
//   parts      what changes drafts, each in one way          (pod_slots.h, future_slots.h, object_drafts.h, prebuilt_claims.h)
//   events     what the engine is told at the next drain()   (engine_events.h)
//
// refresh() is the only way from a draft to the engine: it settles what the draft says, and tells what has changed.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <unordered_map>

#include "dialect/books/intake_books.h"
#include "dialect/books/planned_book.h"
#include "dialect/books/prebuilt_book.h"
#include "dialect/books/template_book.h"
#include "dialect/intake/draft_rules.h"
#include "dialect/intake/draft_settings.h"
#include "dialect/intake/engine_events.h"
#include "dialect/intake/future_slots.h"
#include "dialect/intake/intake.h"
#include "dialect/intake/member_ends.h"
#include "dialect/intake/object_drafts.h"
#include "dialect/intake/pod_slots.h"
#include "dialect/intake/prebuilt_claims.h"

namespace berth::dialect {

// Which pods go to another gang, where what they belong to has changed.
enum class Moves : std::uint8_t {
  kWaiting,  // one with a node stays where it was started
  kOrphans,  // the same; the owner that they wait for does not exist
  kAll,      // also those with nodes: they have become another part of the same owner
};

struct IntakeView::Impl {
  explicit Impl(IntakeConfig config) : books(std::move(config)) {}

  // intake.cc: objects that drafts depend on
  void refresh_dependents(const std::string& key, bool also_single_pods = true);
  void take_budget(BudgetBook::Change&& change);
  void refresh_dependents(const ObjectBooks::Keys& keys);
  void reroute_dependents(const std::string& key, Moves moves);

  // intake_claims.cc: a volume claim (namespace/name) is another than before, or what it is bound to
  void claim_changed(const std::string& claim);
  void settle_claims();
  // Which volumes a pod has on its node.
  void note_volumes(std::uint32_t ix);
  bool reshape(std::uint32_t draft_ix, std::uint32_t role_ix, const std::vector<std::uint32_t>& of_role);

  // intake_pods.cc: pods
  void upsert_pod(Pod&& pod);
  void drop(std::uint32_t ix);
  void attach(std::uint32_t ix);
  void detach(std::uint32_t ix);
  void reroute(std::uint32_t ix, Moves moves);
  void set_state(std::uint32_t ix, SlotState state, const std::string& node);
  // A pod has ended: its gang no longer waits for it. `record`: its former state, if known.
  void note_ended(const Pod& pod, const PodRecord* record);
  void forget_ended(const std::string& name);

  // intake_drafts.cc: drafts
  std::uint32_t draft_for(const Membership& membership, const std::string& ns);
  void free_draft(std::uint32_t ix);
  WorkloadInfo info_of(const Draft& draft) const;
  void refresh(std::uint32_t ix);
  void use_template_selectors(std::uint32_t ix);
  void note_owners(const Draft& draft);
  void tell_pods(const Draft& draft, bool again, bool drains);
  void take_turns(std::uint32_t ix, bool had_later);
  // Queues or flavors have changed: the engine may accept running work that it refused before.
  void tell_untold();

  // intake_owners.cc: owners
  void upsert_owner(Ask&& ask);
  void remove_owner(Kind kind, std::string_view ns, std::string_view name);
  // An owner below this one has changed.
  void recount(const std::string& uid);
  OwnerRecord record_of(Ask&& ask);
  // True: the pods of this owner will be others than they were to be.
  bool take_anew(std::string_view uid);
  // The owner changed, or what was decided about it.
  void sync_owner(const std::string& uid);
  void tell_slots(std::uint32_t ix);
  // Updates waiting work after changes of LimitRanges or RuntimeClasses.
  void settle_effects();
  // A Workload that waits by itself is taken in anew.
  void take_again(std::uint32_t ix);

  // intake_workloads.cc: Kueue's Workload objects
  void upsert_workload(KueueWorkload&& object);
  void remove_workload(std::string_view ns, std::string_view name);
  void tell_planned(const std::string& key);
  void upsert_prebuilt(KueueWorkload&& object);
  void remove_prebuilt(const std::string& key);
  // It waits by itself until work comes that names it. Makes and frees drafts: must not be called while one is in use.
  void settle_prebuilt(const std::string& key);
  void settle_prebuilt();
  void let_wait(const std::string& key, const KueueWorkload& object);
  void end_waiting(const std::string& uid, const std::string& claimed_by);
  // Whether Workloads count has changed.
  void renew_prebuilt();

  IntakeBooks books;
  PrebuiltBook prebuilt;
  PlannedBook planned;
  TemplateBook templates{books.objects, books.config};
  EngineEvents events;
  DraftRules rules{books};
  PodSlots slots{books, rules, events};
  MemberEnds ends{books, rules};
  FutureSlots future{books, rules, templates, events};
  ObjectDrafts object_drafts{books, templates, events};
  PrebuiltClaims claims{books, rules, templates, prebuilt};
  DraftSettings settings{books, rules, object_drafts, claims};
  std::unordered_map<std::string, std::string> workload_by_name;  // uids of drafts of Workloads, by ns/name
  std::set<std::string>
      untold;  // by uid: it runs, and the engine did not know its queue, or a flavor of that
  std::map<std::string, OwnerName> missing_owners;  // by uid
  std::set<std::string> changed_claims;             // namespace/name
  TimeMs arrivals = 0;                              // stands in for creation times that are not there
};

}  // namespace berth::dialect
