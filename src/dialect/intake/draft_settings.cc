#include "dialect/intake/draft_settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "dialect/base/names.h"
#include "dialect/books/place_budget.h"
#include "dialect/intake/gang_nearness.h"
#include "dialect/intake/gang_turns.h"
#include "dialect/intake/named_selectors.h"
#include "dialect/intake/queue_choice.h"
#include "dialect/intake/role_counts.h"

namespace berth::dialect {
namespace {

Reason invalid(std::string detail) {
  return reason_of(ReasonCode::kInvalid, std::move(detail));
}

std::string too_many_places(std::int64_t pods) {
  return fmt::format(
      "it asks for {} pods, but Berth reserves at most {} slots per namespace for pods that do not exist yet",
      pods, PlaceBudget::kMost);
}

Reason held_back(std::string detail) {
  return reason_of(ReasonCode::kInactive, std::move(detail));
}

WorkloadKind kind_of_work(const Draft& draft, const Owner& controller) {
  if (draft.kind == GangKind::kPodGroup || draft.kind == GangKind::kSized) return WorkloadKind::kTraining;
  if (const OwnerKind* kind = owner_kind(controller)) return kind->work;
  if (controller.kind == "DaemonSet") return WorkloadKind::kService;
  return WorkloadKind::kBatch;
}

}  // namespace

// One draft, step by step. Later steps may overwrite what earlier ones blocked it for: the order is the ranking.
class DraftSettings::OfPods {
 public:
  OfPods(const DraftSettings& of, Draft& draft, std::vector<std::string>& depends)
      : of_(of),
        books_(of.books_),
        draft_(draft),
        depends_(depends),
        first_(first_pod()),
        owner_(books_.owner_of(draft)),
        template_(pod_of_template()),
        pod_(first_ != nullptr ? first_->pod : template_) {}

  Settings run() {
    out_.created = draft_.first_created;
    if (auto key = draft_.object_key(); !key.empty()) depends_.push_back(std::move(key));
    for (auto& key : books_.owners.keys_of(pod_.meta)) depends_.push_back(std::move(key));
    ask_owner();
    count();
    differs_ = name_selectors(books_, draft_, books_.asker_of(draft_), out_);
    sources_.push_back(&pod_.meta);
    find_topology();
    find_priority();
    find_course();
    find_queue();
    apply_refusals();
    apply_members();
    std::sort(depends_.begin(), depends_.end());
    depends_.erase(std::unique(depends_.begin(), depends_.end()), depends_.end());
    return std::move(out_);
  }

 private:
  // In the order of the slots; nullptr: there is none.
  template <class F>
  const PodRecord* first_of(F&& condition) const {
    for (const auto& role : draft_.roles) {
      for (const auto pod : role.slots) {
        if (pod != kNoIx && condition(books_.pods[pod])) return &books_.pods[pod];
      }
    }
    return nullptr;
  }
  const PodRecord* first_pod() const {
    return first_of([](const PodRecord&) { return true; });
  }

  // An owner that is held has no pods yet: its first template speaks for them.
  Pod pod_of_template() const {
    Pod out;
    if (first_ != nullptr || owner_ == nullptr) return out;
    const Ask& ask = owner_->ask;
    out.meta = *ask.sets.front().marks;
    out.meta.controller = Owner{std::string(ask.kind->word()), ask.meta->name, draft_.uid};
    out.spec = *ask.sets.front().spec;
    return out;
  }

  void ask_owner() {
    switch (draft_.kind) {
      case GangKind::kSingle:
        return ask_owner_of_one();
      case GangKind::kPodGroup:
        return ask_pod_group();
      case GangKind::kSized:
        return ask_size();
      case GangKind::kKueueWorkload:
        return;
      case GangKind::kOwner:
        return ask_gang();
    }
  }

  void ask_owner_of_one() {
    draft_.size = 1;
    if (const OwnerRecord* owner = books_.owners.top_of(pod_.meta)) {
      const Ask& ask = owner->ask;
      add_chain();
      of_.wait_for_end(draft_, ask, out_);
      if (!ask.problem.empty()) out_.blocked = unreadable(ask);
    }
    if (const Owner* missing = books_.owners.missing_of(pod_.meta)) {
      const OwnerKind& kind = *owner_kind(*missing);
      depends_.push_back(owner_key(kind.kind, draft_.ns, missing->name));
      if (const auto* wrong = books_.objects.unreadable(kind.kind, key_of(draft_.ns, missing->name))) {
        out_.blocked =
            invalid(fmt::format("its {} {} cannot be read: {}", kind.word(), missing->name, *wrong));
      } else if (books_.config.wait_for_owners && !first_->own) {
        out_.blocked = invalid(fmt::format("its {} {} has not been seen yet", kind.word(), missing->name));
      }
    }
    if (first_->pod.spec.node_name.empty()) {
      if (const auto gangs = several_gangs(pod_.meta); !gangs.empty())
        out_.blocked = invalid(fmt::format("it names two gangs: {}", gangs));
    }
    if (first_->state == SlotState::kAbsent) {  // scheduling gates
      out_.blocked = Reason{};
      out_.blocked->code = ReasonCode::kInactive;
    }
  }

  // The marks of its owners, those of the topmost first.
  void add_chain() {
    for (const Meta* meta : books_.owners.chain_of(pod_.meta)) {
      if (sources_.empty() || sources_.front() != meta) sources_.push_back(meta);
    }
  }

  void ask_pod_group() {
    const Kind kind = draft_.system->kind;
    const std::string_view word = info_of(kind).word;
    group_ = books_.objects.gangs().find(kind, draft_.name);
    if (group_ == nullptr) {
      depends_.push_back(gang_key(kind, object_of_gang(kind, draft_.name)));
      out_.blocked = invalid(why_no_gang(books_.objects, kind, draft_.name));
      return;
    }
    for (const std::string& name : group_->together)
      depends_.push_back(gang_key(kind, key_of(draft_.ns, name)));
    draft_.saw_object = true;
    draft_.size = of_.rules_.size_of_group(
        draft_, group_->as_one ? std::max(group_->least, draft_.bound) : group_->least);
    draft_.as_one = group_->as_one;
    sources_.push_back(&group_->meta);
    if (group_->meta.created != 0) out_.created = group_->meta.created;
    if (!group_->wrong.empty()) {
      out_.blocked = invalid(fmt::format("{} {} cannot be read: {}", word, draft_.name, group_->wrong));
    } else if (!group_->unsupported.empty()) {
      out_.blocked = reason_of(ReasonCode::kUnsupported, fmt::format("{}: {}", word, group_->unsupported));
    } else if (auto wrong = unreadable_beside(books_.objects, kind, *group_); !wrong.empty()) {
      out_.blocked = invalid(std::move(wrong));
    } else {
      take_turns();
      if (draft_.bound == 0) out_.blocked = lacks_parts(*group_, draft_.roles, draft_.size);
    }
  }

  void take_turns() {
    choose_turns();
    set_strays(draft_.roles, *group_, draft_.system);
  }

  // Subgroups start in turn. Where some pods have ended, those that have begun go on, and the rest may start.
  void choose_turns() {
    if (!group_->chooses()) return set_turns(Turn::kAny);
    if (!all_are_there()) return set_turns(Turn::kNow);
    out_.enough = dialect::choose_turns(draft_.roles, *group_, draft_.size, bound_by_role()) &&
                  draft_.bound >= draft_.size;
  }

  std::vector<std::int64_t> bound_by_role() const {
    std::vector<std::int64_t> out;
    for (const Role& role : draft_.roles) {
      out.push_back(std::count_if(role.slots.begin(), role.slots.end(), [&](std::uint32_t pod) {
        return pod != kNoIx && !books_.pods[pod].pod.spec.node_name.empty();
      }));
    }
    return out;
  }

  void set_turns(Turn turn) {
    for (Role& role : draft_.roles) role.turn = turn;
  }

  // None of its pods has ended for good.
  bool all_are_there() const { return draft_.size >= group_->least; }

  // A gang that its pods say by marks alone, with its parts.
  void ask_members() {
    said_ = draft_.said.object(draft_.size_key);
    if (!said_.wrong.empty()) {
      out_.blocked = invalid(said_.wrong);
      return;
    }
    if (draft_.too_many) {
      out_.blocked = invalid(too_many_places(said_.least));
      return;
    }
    if (draft_.loose) {
      draft_.size = draft_.bound;
      return;
    }
    group_ = &said_;
    draft_.size = of_.rules_.size_of_group(draft_, said_.least);
    if (draft_.bound == 0) out_.blocked = lacks_parts(said_, draft_.roles, draft_.size);
  }

  void ask_size() {
    if (draft_.said.any()) return ask_members();
    draft_.size = of_.rules_.size_of_group(draft_, draft_.sizes.rbegin()->first);
    const auto group = books_.owners.group_of(pod_.meta);
    if (group) add_chain();
    if (group && group->record == nullptr) {
      out_.blocked =
          invalid(fmt::format("its {} {} has not been seen yet", enum_name(group->kind), group->named.owner));
    } else if (group && !group->record->ask.problem.empty()) {
      out_.blocked = unreadable(group->record->ask);
    } else if (group && !group->record->ask.unsupported.empty() && draft_.bound == 0) {
      out_.blocked = reason_of(ReasonCode::kUnsupported, group->record->ask.unsupported);
    } else if (draft_.sizes.begin()->first == 0) {
      out_.blocked = invalid(fmt::format("{} is required: an integer from 1 to 1000000", draft_.size_key));
    } else if (draft_.too_many) {
      out_.blocked = invalid(too_many_places(draft_.sizes.begin()->first));
    } else if (draft_.sizes.size() > 1) {
      out_.blocked = invalid(fmt::format("members disagree about {}: {} and {}", draft_.size_key,
                                         draft_.sizes.begin()->first, draft_.sizes.rbegin()->first));
    }
  }

  static Reason unreadable(const Ask& ask) {
    return invalid(
        fmt::format("its {} {} cannot be read: {}", ask.kind->word(), ask.meta->name, ask.problem));
  }

  void ask_gang() {
    const Ask* ask = owner_ != nullptr ? &owner_->ask : nullptr;
    if (ask != nullptr) {
      draft_.size = of_.rules_.size_of_owner(draft_, *ask);
      sources_.push_back(ask->meta);
      add_chain();
      if (ask->meta->created != 0) out_.created = ask->meta->created;
    }
    if (const Reason* rest = books_.promises.rest(draft_.uid)) out_.blocked = *rest;
    if (ask == nullptr) return;
    const bool holds = of_.rules_.holds(draft_);
    if (!owner_->refused().empty() && first_ == nullptr && holds)
      out_.blocked = invalid(std::string(owner_->refused()));
    if (!ask->conflict.empty() && holds) out_.blocked = invalid(std::string(ask->conflict));
    of_.wait_for_end(draft_, *ask, out_);
    if (draft_.too_many && (holds || draft_.bound == 0)) out_.blocked = invalid(too_many_places(ask->size()));
    if (!ask->problem.empty()) out_.blocked = unreadable(*ask);
  }

  void count() {
    draft_.size = std::max<std::int64_t>(draft_.size, 1);
    if (draft_.loose) {
      out_.counts = count_loose(draft_.roles, bound_by_role());
      return;
    }
    // Where some pods have ended, the rest may be of any part.
    const bool whole = group_ != nullptr && all_are_there();
    out_.counts = count_roles(draft_.roles, draft_.size, whole ? group_ : nullptr);
    if (group_ != nullptr) find_growth();
    if (owner_ == nullptr) return;
    count_sets(draft_, owner_->ask, out_.counts);
    if (!of_.rules_.holds(draft_) && !draft_.released) need_enough(owner_->ask, out_.counts);
    if (of_.rules_.starts_with_fewer(draft_, owner_->ask)) {
      out_.counts.front().least = *owner_->ask.least();
      out_.whole_first = books_.config.hold_owners;
    }
  }

  void find_growth() {
    for (std::size_t r = 0; r < draft_.roles.size(); ++r) {
      const Role& role = draft_.roles[r];
      if (role.turn == Turn::kLater) {
        out_.later.resize(draft_.roles.size());
        out_.later[r] = why_later(*group_, draft_.system, draft_.roles, role);
      }
      if (role.turn != Turn::kNext) {
        out_.needs += out_.counts[r].least;
        continue;
      }
      for (const auto pod : role.slots) {
        if (pod != kNoIx) out_.grows_since = std::max(out_.grows_since, books_.pods[pod].pod.meta.created);
      }
    }
    if (out_.enough) out_.needs = std::min(out_.needs, draft_.size);
  }

  void find_topology() {
    // Topology: the owner's mark, or the members' where it is meant for the whole gang.
    for (const Meta* meta : sources_) {
      const TopologyMarks marks = topology_of(*meta);
      if (marks.request.empty()) continue;
      if (marks.per_pod_set && meta == &pod_.meta && draft_.roles.size() > 1) continue;
      out_.topology = marks.request;
      return;
    }
    if (group_ == nullptr) return;
    out_.topology = group_->topology;
    find_nearness();
  }

  void find_nearness() {
    const auto asks = [](const GangSplit& split) { return split.tiers.has_value(); };
    const bool any = group_->tiers || std::any_of(group_->splits.begin(), group_->splits.end(), asks);
    if (!any && !group_->parts_ask_for_topology()) return;
    depends_.emplace_back(kOnHyperNodes);
    GangNearness near = nearness_of(books_.objects.hyper_nodes(), *group_, draft_.roles, draft_.size);
    if (group_->tiers) out_.topology = std::move(near.whole);
    out_.nearness = std::move(near.parts);
    out_.rings = std::move(near.rings);
    if (!out_.blocked) out_.blocked = std::move(near.why_not);
  }

  // An owner without pods: as its pods will say.
  boost::container::flat_map<PriorityKey, std::int64_t> priorities_of_templates() const {
    boost::container::flat_map<PriorityKey, std::int64_t> out;
    if (owner_ == nullptr) return {{priority_key(pod_), 1}};
    for (const AskedSet& set : owner_->ask.sets) {
      const PodSpec& spec = *set.spec;
      out[{spec.priority, spec.priority_class, !spec.may_preempt}] += set.size;
    }
    return out;
  }

  void find_priority() {
    bool first_priority = true;
    boost::container::flat_map<PriorityKey, std::int64_t> priorities;
    if (first_ == nullptr) priorities = priorities_of_templates();
    std::string_view of_all = owner_ != nullptr ? owner_->ask.priority_class : std::string_view();
    if (group_ != nullptr) of_all = class_of_group();
    if (!of_all.empty()) {  // whether they preempt is said by the pods, too
      for (const auto& [key, number] : first_ != nullptr ? draft_.priorities : priorities) {
        bool may_preempt = true;
        (void)books_.objects.priority_of(key, may_preempt);
        out_.may_preempt = out_.may_preempt && may_preempt;
      }
      priorities = {{PriorityKey{std::nullopt, std::string(of_all), false}, 1}};
    }
    const bool by_pods = first_ != nullptr && of_all.empty();
    for (const auto& [key, number] : by_pods ? draft_.priorities : priorities) {
      bool may_preempt = true;
      const std::int64_t value = books_.objects.priority_of(key, may_preempt);
      out_.priority = first_priority ? value : std::min(out_.priority, value);
      out_.may_preempt = out_.may_preempt && may_preempt;
      first_priority = false;
      classes_.push_back(key);
      if (!key.value) depends_.push_back("pc:" + key.klass);
    }
    if (const auto klass = mark_of(sources_, kKueuePriorityClass); !klass.empty()) {
      depends_.push_back(fmt::format("wpc:{}", klass));
      out_.priority = books_.objects.workload_priority(klass).value_or(out_.priority);
    }
  }

  // The API server does not check the class that an object names: one that does not exist counts as none.
  std::string_view class_of_group() {
    const std::string& name = group_->priority_class;
    if (name.empty()) return name;
    depends_.push_back("pc:" + name);
    return books_.objects.missing_class({std::nullopt, name, false}).empty() ? std::string_view(name)
                                                                             : std::string_view();
  }

  // Preemption, restarts, durations and kind of work.
  void find_course() {
    out_.preemptible =
        mark_of(sources_, kPreemptible) != "false" && pod_.meta.controller->kind != "DaemonSet";
    if (group_ != nullptr && (!group_->preemptible || out_.priority >= group_->protected_from))
      out_.preemptible = false;
    if (group_ != nullptr) {
      out_.broken_for = group_->broken_for;
      out_.broken_since = group_->broken_since;
      out_.preempts_after = group_->preempts_after;
    }
    keep();
    for (const Meta* meta : sources_) {
      if (out_.restart == Restart{}) out_.restart = restart_of(*meta, 0);
      if (!out_.expected) out_.expected = duration_of(*meta, std::nullopt);
    }
    out_.restart.grace = pod_.spec.grace;
    if (!out_.expected) out_.expected = pod_.spec.deadline;
    out_.kind = kind_of_work(draft_, pod_.meta.controller);
  }

  // Pods that must not be evicted. In a gang those beside them still may, while all of these have nodes.
  void keep() {
    if (draft_.kind != GangKind::kPodGroup) {
      if (mark_of(sources_, kVolcanoPreemptable) == "false") out_.preemptible = false;
      return;
    }
    bool any = false;
    bool others = false;
    bool whole = true;
    for (const Role& role : draft_.roles) {
      out_.kept.push_back(role.kept ? 1 : 0);
      for (const auto pod : role.slots) {
        if (pod == kNoIx) continue;
        any = any || role.kept;
        others = others || !role.kept;
        whole = whole && (!role.kept || !books_.pods[pod].pod.spec.node_name.empty());
      }
    }
    if (any && (!others || !whole)) out_.preemptible = false;
    if (!any || !out_.preemptible) out_.kept.clear();
  }

  void find_queue() {
    const std::string_view prebuilt_name =
        owner_ != nullptr ? owner_->ask.meta->mark(kKueuePrebuilt) : pod_.meta.mark(kKueuePrebuilt);
    std::optional<Reason> own = std::move(out_.blocked);
    out_.blocked.reset();
    choose_queue();
    if (out_.blocked) own = std::move(out_.blocked);
    out_.blocked.reset();
    QueueChoice(books_.objects, draft_, of_.rules_.is_admitted(draft_), out_, depends_)
        .by_mark(draft_.queue_mark->first, draft_.queue_mark->second);
    name_stranger();
    out_.admitted = books_.objects.is_held(out_.queue) && of_.rules_.is_admitted(draft_);
    of_.require_checks(draft_, out_);
    of_.claims_.use(draft_, prebuilt_name, out_, depends_);
    of_.await_nodes(draft_, out_);
    if (own) out_.blocked = std::move(own);
    // The object may name it, once it is seen: pods that had nodes before that do not fix it.
    const bool may_name = draft_.system != nullptr && !draft_.system->queue_mark.empty();
    if (may_name && !draft_.saw_object && !draft_.charged) draft_.queue_mark.reset();
  }

  // The queue that the object of a gang names counts as its mark does. Its system's default counts where nothing else names one.
  void choose_queue() {
    std::vector<const Meta*> sources = sources_;
    Meta meant;
    std::string_view otherwise;
    if (group_ != nullptr && draft_.system != nullptr && !draft_.system->queue_mark.empty() &&
        !is_tenants()) {
      otherwise = draft_.system->default_queue;
      if (!group_->queue.empty() && group_->queue != otherwise) {
        meant.annotations.emplace(draft_.system->queue_mark, group_->queue);
        sources.insert(sources.begin(), &meant);
      }
    }
    dialect::choose_queue(draft_, sources);
    if (!otherwise.empty() && draft_.queue_mark->second.empty() && !has_default())
      draft_.queue_mark.emplace(draft_.system->queue_mark, otherwise);
  }

  // A tenant may make objects, and uses LocalQueues only: a queue of the cluster that it names there does not count, and is told.
  bool is_tenants() {
    depends_.push_back("ns:" + draft_.ns);
    if (!books_.objects.labels_of_namespace(draft_.ns).contains(kTenant)) return false;
    const bool names = !group_->queue.empty() && group_->queue != draft_.system->default_queue;
    if (names && draft_.bound == 0) {
      out_.blocked =
          invalid(fmt::format("its PodGroup names the queue {}, and namespace {} belongs to a tenant ({}): "
                              "it can use LocalQueues only",
                              group_->queue, draft_.ns, kTenant));
    }
    return true;
  }

  // A LocalQueue for work that names no queue.
  bool has_default() {
    const std::string key = key_of(draft_.ns, kKueueDefaultLocalQueue);
    depends_.push_back("lq:" + key);
    return books_.objects.local_queue(key) != nullptr;
  }

  // A label of an owner that is not read does not count.
  void name_stranger() {
    const Owner* stranger =
        out_.queue.empty() && out_.blocked ? books_.owners.stranger_of(pod_.meta) : nullptr;
    if (stranger == nullptr) return;
    out_.blocked->detail +=
        fmt::format(" to its pod template; Berth does not read its {} {}", stranger->kind, stranger->name);
  }

  void apply_refusals() {
    of_.refuse(draft_, pod_, sources_, classes_, out_, depends_);
    if (draft_.kind == GangKind::kSingle && pod_.spec.gated && out_.blocked &&
        out_.blocked->code == ReasonCode::kInactive && out_.blocked->detail.empty())
      of_.say_gates(draft_, pod_, out_);
    if (const auto gates = of_.rules_.gates_of(draft_); !gates.empty() && !out_.blocked) {
      out_.gates = gates;
      out_.blocked = held_back(fmt::format("Admission is gated by: {}", gates));
    }
    of_.apply_standing(draft_, out_);
  }

  void wait_for_claims() {
    const auto waits = [](const PodRecord& pod) {
      return pod.claim_wait != nullptr && pod.pod.spec.node_name.empty();
    };
    const PodRecord* pod = draft_.claim_waits > 0 ? first_of(waits) : nullptr;
    if (pod != nullptr && !out_.blocked) out_.blocked = *pod->claim_wait;
    if (first_ != nullptr || owner_ == nullptr || !of_.rules_.holds(draft_)) return;
    if (const Reason* wait = owner_->claim_wait(); wait != nullptr && !out_.blocked) out_.blocked = *wait;
  }

  // A single member may rule out the whole.
  void apply_members() {
    if (draft_.unreadable > 0) {
      const PodRecord& wrong = *first_of([](const PodRecord& pod) { return !pod.pod.problem.empty(); });
      out_.blocked = invalid(draft_.kind == GangKind::kSingle
                                 ? wrong.pod.problem
                                 : fmt::format("pod {}: {}", wrong.pod.meta.name, wrong.pod.problem));
    }
    wait_for_claims();
    if (!out_.blocked) out_.blocked = refused_claims(draft_, out_);
    if (!differs_.empty() && draft_.bound < draft_.pods && !out_.blocked) {
      out_.blocked = reason_of(
          ReasonCode::kUnsupported,
          fmt::format("some of its pods, and not all, are selected by a required term: {}", differs_));
    }
    if (!draft_.refused.empty()) {
      out_.blocked = invalid(draft_.refused);
      out_.invalid = true;
    }
  }

  const DraftSettings& of_;
  const IntakeBooks& books_;
  Draft& draft_;
  std::vector<std::string>& depends_;
  Settings out_;
  const PodRecord* first_;  // of its pods
  const OwnerRecord* owner_;
  const GangObject* group_ = nullptr;  // that its pods name, or say
  GangObject said_;
  Pod template_;
  const Pod& pod_;                    // that speaks for all members
  std::vector<const Meta*> sources_;  // of marks, the first that has one decides
  std::vector<PriorityKey> classes_;
  std::string differs_;  // a selector that selects some pods of a role, and not all
};

Settings DraftSettings::of(Draft& draft, std::vector<std::string>& depends) const {
  if (draft.object) return of_object(draft, depends);
  return OfPods(*this, draft, depends).run();
}

}  // namespace berth::dialect
