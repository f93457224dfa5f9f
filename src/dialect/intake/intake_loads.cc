// Workloads in the making: their settings, the queue and priority that they resolve to, and the values that the engine gets.
#include <fmt/format.h>

#include <algorithm>

#include "dialect/base/names.h"
#include "dialect/intake/intake_state.h"
#include "dialect/kueue/kueue_workload.h"
#include "model/bounds.h"

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

// Counts and least counts of the roles of a gang that needs `size` pods: see intake.h.
std::vector<RoleCount> count_roles(const std::vector<Role>& roles, std::int64_t size) {
  std::vector<RoleCount> out;
  std::int64_t total = 0;
  for (const auto& role : roles) {
    const auto slots = static_cast<std::int64_t>(role.slots.size());
    out.push_back({slots, slots});
    total += slots;
  }
  if (out.empty()) return out;
  if (total < size) {
    out.back().count += size - total;
    out.back().least += size - total;
    return out;
  }
  std::int64_t surplus = total - size;
  for (std::size_t i = 0; i < out.size() && surplus > 0; ++i) {  // slots without a pod first
    const auto cut = std::min(surplus, static_cast<std::int64_t>(roles[i].holes.size()));
    out[i].least -= cut;
    surplus -= cut;
  }
  while (surplus > 0) {
    const auto largest = std::max_element(
        out.begin(), out.end(), [](const RoleCount& a, const RoleCount& b) { return a.least < b.least; });
    std::int64_t second = 0;
    for (auto it = out.begin(); it != out.end(); ++it) {
      if (it != largest) second = std::max(second, it->least);
    }
    const auto cut = std::min(surplus, std::max<std::int64_t>(1, largest->least - second));
    largest->least -= cut;
    surplus -= cut;
  }
  return out;
}

WorkloadKind kind_of_work(const Load& load, std::string_view controller) {
  if (load.kind == GangKind::kPodGroup || load.kind == GangKind::kSized) return WorkloadKind::kTraining;
  if (controller == "ReplicaSet" || controller == "StatefulSet" || controller == "DaemonSet") {
    return WorkloadKind::kService;
  }
  return WorkloadKind::kBatch;
}

}  // namespace

std::uint32_t Intake::Impl::load_for(const PodRecord& record) {
  const Membership& m = record.membership;
  if (const auto known = find_load(m.uid); known != kNoIx) return known;
  const std::uint32_t ix = new_load(m, record.pod.meta.ns);
  Load& load = loads[ix];
  if (m.kind == GangKind::kJob) {
    if (const Job* job = job_of(record.pod)) load.size = size_of_job(load, *job);
  }
  if (record.pod.meta.controller.kind == "Job") load.object_key = "job:" + record.pod.meta.controller.uid;
  return ix;
}

std::uint32_t Intake::Impl::new_load(const Membership& m, const std::string& ns) {
  std::uint32_t ix = 0;
  if (free_loads.empty()) {
    ix = static_cast<std::uint32_t>(loads.size());
    loads.emplace_back();
  } else {
    ix = free_loads.back();
    free_loads.pop_back();
    loads[ix] = Load{};
  }
  Load& load = loads[ix];
  load.used = true;
  load.kind = m.kind;
  load.uid = m.uid;
  load.ns = ns;
  load.name = key_of(load.ns, m.name);
  load.size_key = m.size_key;
  load.size = 1;
  if (m.kind == GangKind::kPodGroup) load.object_key = "pg:" + load.name;
  load_by_uid.emplace(load.uid, ix);
  return ix;
}

void Intake::Impl::free_load(std::uint32_t ix) {
  Load& load = loads[ix];
  const std::string named = std::exchange(load.prebuilt_key, {});
  if (load.prebuilt != nullptr) {
    claimed.erase(named);
    unsettled_prebuilt.insert(named);
  }
  if (load.emitted) work.push_back(WorkloadRemove{load.uid});
  place_budget.give_back(load.ns, load.uid);
  supplied.erase(load.uid);
  set_depends(ix, {});
  load_by_uid.erase(load.uid);
  load = Load{};
  free_loads.push_back(ix);
}

void Intake::Impl::set_depends(std::uint32_t ix, std::vector<std::string> depends) {
  Load& load = loads[ix];
  if (load.depends == depends) return;
  for (const auto& key : load.depends) {
    const auto it = dependents.find(key);
    it->second.erase(ix);
    if (it->second.empty()) dependents.erase(it);
  }
  for (const auto& key : depends) dependents[key].insert(ix);
  load.depends = std::move(depends);
}

std::int64_t Intake::Impl::priority_of(const PriorityKey& key, bool& may_preempt) const {
  may_preempt = !key.never;
  if (key.value) return *key.value;
  if (key.klass == "system-node-critical") return 2'000'001'000;
  if (key.klass == "system-cluster-critical") return 2'000'000'000;
  const PriorityClass* found = nullptr;
  if (!key.klass.empty()) {
    if (const auto it = priority_classes.find(key.klass); it != priority_classes.end()) found = &it->second;
  } else {
    for (const auto& [name, value] : priority_classes) {
      if (value.global_default && (found == nullptr || value.value < found->value)) found = &value;
    }
  }
  if (found == nullptr) return 0;
  may_preempt = may_preempt && found->may_preempt;
  return found->value;
}

const std::string* Intake::Impl::unreadable_object(Kind kind, const std::string& key) const {
  const auto it = unreadable.find({kind, key});
  return it == unreadable.end() ? nullptr : &it->second;
}

// In the order of the slots. There is one.
std::uint32_t Intake::Impl::first_unreadable(const Load& load) const {
  for (const auto& role : load.roles) {
    for (const auto ix : role.slots) {
      if (ix != kNoIx && !pods[ix].pod.problem.empty()) return ix;
    }
  }
  return kNoIx;
}

// Size = the members asked for minus the members that succeeded, as for a Job (size_of_job). Exception: a gang that ran whole and
// lost no running pod keeps its full size. Otherwise its pods would become surplus, and could be preempted one by one. The
// exception does not hold while a replacement pod waits or is to come: the gang would wait for members that have ended.
std::int64_t Intake::Impl::size_of_group(Load& load, std::int64_t asked) const {
  if (load.bound == 0) load.whole = 0;
  const std::int64_t ended = ended_members.count(load.uid, load.first_created, load.bound > 0);
  std::int64_t size = ended == 0 ? asked : std::min(asked, std::max(load.pods, asked - ended));
  const bool waits = load.bound < load.pods || (!load.roles.empty() && !load.roles.front().expected.empty());
  if (!waits) size = std::max(size, std::min(asked, load.whole));
  if (load.bound >= size) load.whole = size;
  return size;
}

// The controllers that still prepare it (kKueueGatedBy), while it has nothing; "": none. Kueue reads it of a Job's own object, not
// of its template, and refuses to have it added to what is there.
std::string_view Intake::Impl::gates_of(const Load& load) const {
  if (load.bound > 0 || load.released) return {};
  if (load.kind == GangKind::kJob) {
    const JobRecord* job = job_record(load.uid);
    return job == nullptr ? std::string_view() : job->job.meta.annotation(kKueueGatedBy);
  }
  if (load.gated == 0) return {};
  for (const auto& role : load.roles) {
    for (const auto ix : role.slots) {
      if (ix != kNoIx && pods[ix].gated) return pods[ix].pod.meta.annotation(kKueueGatedBy);
    }
  }
  return {};
}

Settings Intake::Impl::settings_of(Load& load, std::vector<std::string>& depends) {
  if (load.object) return settings_of_object(load, depends);
  Settings out;
  const PodRecord* first = nullptr;
  for (const auto& role : load.roles) {
    for (const auto pod : role.slots) {
      if (pod == kNoIx) continue;
      first = &pods[pod];
      break;
    }
    if (first != nullptr) break;
  }
  // A Job that is held has no pods yet: its template speaks for them.
  const JobRecord* job_record_of_load = load.kind == GangKind::kJob ? job_record(load.uid) : nullptr;
  Pod from_template;
  if (first == nullptr && job_record_of_load != nullptr) {
    from_template.meta = job_record_of_load->job.template_meta;
    from_template.meta.controller = {"Job", job_record_of_load->job.meta.name, load.uid};
    from_template.spec = job_record_of_load->job.spec;
  }
  const Pod& pod = first != nullptr ? first->pod : from_template;
  std::vector<const Meta*> sources;
  out.created = load.first_created;
  if (!load.object_key.empty()) depends.push_back(load.object_key);

  switch (load.kind) {
    case GangKind::kSingle:
      load.size = 1;
      if (const Job* job = job_of(pod)) {
        sources.push_back(&job->meta);
        wait_for_end(load, *job, out);
        if (!job->problem.empty())
          out.blocked = invalid(fmt::format("its Job {} cannot be read: {}", job->meta.name, job->problem));
      } else if (pod.meta.controller.kind == "Job") {
        const std::string job_key = key_of(load.ns, pod.meta.controller.name);
        depends.push_back("jobname:" + job_key);
        if (const auto* wrong = unreadable_object(Kind::kJob, job_key)) {
          out.blocked =
              invalid(fmt::format("its Job {} cannot be read: {}", pod.meta.controller.name, *wrong));
        } else if (config.wait_for_jobs && !first->own) {
          out.blocked = invalid(fmt::format("its Job {} has not been seen yet", pod.meta.controller.name));
        }
      }
      if (first->state == SlotState::kAbsent) {  // scheduling gates
        out.blocked = Reason{};
        out.blocked->code = ReasonCode::kInactive;
      }
      break;
    case GangKind::kPodGroup:
      if (const auto it = pod_groups.find(load.name); it != pod_groups.end()) {
        load.size = size_of_group(load, it->second.min_member);
        sources.push_back(&it->second.meta);
        if (it->second.meta.created != 0) out.created = it->second.meta.created;
      } else if (const auto* wrong = unreadable_object(Kind::kPodGroup, load.name)) {
        out.blocked = invalid(fmt::format("PodGroup {} cannot be read: {}", load.name, *wrong));
      } else {
        out.blocked = invalid(fmt::format("PodGroup {} does not exist", load.name));
      }
      break;
    case GangKind::kSized: {
      load.size = size_of_group(load, load.sizes.rbegin()->first);
      if (load.sizes.begin()->first == 0) {
        out.blocked = invalid(fmt::format("{} is required: an integer from 1 to 1000000", load.size_key));
      } else if (load.too_many) {
        out.blocked = invalid(too_many_places(load.sizes.begin()->first));
      } else if (load.sizes.size() > 1) {
        out.blocked = invalid(fmt::format("members disagree about {}: {} and {}", load.size_key,
                                          load.sizes.begin()->first, load.sizes.rbegin()->first));
      }
      break;
    }
    case GangKind::kKueueWorkload:
      break;
    case GangKind::kJob:
      if (job_record_of_load != nullptr) {
        const Job& job = job_record_of_load->job;
        load.size = size_of_job(load, job);
        end_growth(load, job.suspend ? 0 : load.size);
        sources.push_back(&job.meta);
        if (job.meta.created != 0) out.created = job.meta.created;
      }
      if (const auto it = rests.find(load.uid); it != rests.end()) out.blocked = it->second;
      if (job_record_of_load != nullptr && !job_record_of_load->refused.empty() && first == nullptr &&
          holds(load))
        out.blocked = invalid(job_record_of_load->refused);
      if (job_record_of_load != nullptr && !job_record_of_load->job.partial_problem.empty() && holds(load))
        out.blocked = invalid(job_record_of_load->job.partial_problem);
      if (job_record_of_load != nullptr) wait_for_end(load, job_record_of_load->job, out);
      if (job_record_of_load != nullptr && load.too_many && holds(load))
        out.blocked = invalid(too_many_places(job_record_of_load->job.size()));
      if (job_record_of_load != nullptr && !job_record_of_load->job.problem.empty())
        out.blocked = invalid(fmt::format("its Job {} cannot be read: {}", job_record_of_load->job.meta.name,
                                          job_record_of_load->job.problem));
      break;
  }
  load.size = std::max<std::int64_t>(load.size, 1);
  out.counts = count_roles(load.roles, load.size);
  if (job_record_of_load != nullptr && is_offered_less(load, job_record_of_load->job)) {
    out.counts.front().least = *job_record_of_load->job.least_pods;
    out.most_at_once = load.offer == Offer::kMostFree;
  }
  sources.push_back(&pod.meta);

  // Topology: the owner's mark, or the members' where it is meant for the whole gang.
  for (const Meta* meta : sources) {
    const TopologyMarks marks = topology_of(*meta);
    if (marks.request.empty()) continue;
    if (marks.per_pod_set && meta == &pod.meta && load.roles.size() > 1) continue;
    out.topology = marks.request;
    break;
  }

  bool first_priority = true;
  std::map<PriorityKey, std::int64_t> priorities;
  std::vector<PriorityKey> classes;
  if (first == nullptr) priorities[priority_key(pod)] = 1;
  for (const auto& [key, number] : first != nullptr ? load.priorities : priorities) {
    bool may_preempt = true;
    const std::int64_t value = priority_of(key, may_preempt);
    out.priority = first_priority ? value : std::min(out.priority, value);
    out.may_preempt = out.may_preempt && may_preempt;
    first_priority = false;
    classes.push_back(key);
    if (!key.value) depends.push_back("pc:" + key.klass);
  }
  if (const auto klass = mark_of(sources, kKueuePriorityClass); !klass.empty()) {
    depends.push_back(fmt::format("wpc:{}", klass));
    if (const auto it = workload_priorities.find(klass); it != workload_priorities.end())
      out.priority = it->second;
  }
  out.may_preempt = out.may_preempt && !out.most_at_once;
  out.preemptible = mark_of(sources, kPreemptible) != "false" && pod.meta.controller.kind != "DaemonSet";
  for (const Meta* meta : sources) {
    if (out.restart == Restart{}) out.restart = restart_of(*meta, 0);
    if (!out.expected) out.expected = duration_of(*meta, std::nullopt);
  }
  out.restart.grace = pod.spec.grace;
  if (!out.expected) out.expected = pod.spec.deadline;
  out.kind = kind_of_work(load, pod.meta.controller.kind);

  const std::string_view prebuilt_name = job_record_of_load != nullptr
                                             ? job_record_of_load->job.meta.mark(kKueuePrebuilt)
                                             : pod.meta.mark(kKueuePrebuilt);
  std::optional<Reason> own = std::move(out.blocked);
  out.blocked.reset();
  choose_queue(load, sources);
  resolve_queue(load, load.queue_mark->first, load.queue_mark->second, out, depends);
  out.admitted = is_held(out.queue) && is_admitted(load);
  require_checks(load, out);
  use_prebuilt(load, prebuilt_name, out, depends);
  await_nodes(load, out);
  if (own) out.blocked = std::move(own);
  refuse(load, pod, sources, classes, out, depends);
  if (load.kind == GangKind::kSingle && pod.spec.gated && out.blocked &&
      out.blocked->code == ReasonCode::kInactive && out.blocked->detail.empty())
    say_gates(load, pod, out);
  if (const auto gates = gates_of(load); !gates.empty() && !out.blocked) {
    out.gates = gates;
    out.blocked = held_back(fmt::format("Admission is gated by: {}", gates));
  }
  if (!standings.empty()) apply_standing(load, out);
  if (load.unreadable > 0) {
    const PodRecord& wrong = pods[first_unreadable(load)];
    out.blocked = invalid(load.kind == GangKind::kSingle
                              ? wrong.pod.problem
                              : fmt::format("pod {}: {}", wrong.pod.meta.name, wrong.pod.problem));
  }
  if (load.repelled > 0 && !out.blocked) {
    for (const auto& role : load.roles) {
      for (const auto at : role.slots) {
        if (at == kNoIx || pods[at].repelled_by.empty() || out.blocked) continue;
        out.blocked = Reason{};
        out.blocked->code = ReasonCode::kUnsupported;
        out.blocked->detail =
            fmt::format("it matches the required pod anti-affinity of {}, which runs", pods[at].repelled_by);
      }
    }
  }
  if (!load.refused.empty()) {
    out.blocked = invalid(load.refused);
    out.invalid = true;
  }
  std::sort(depends.begin(), depends.end());
  depends.erase(std::unique(depends.begin(), depends.end()), depends.end());
  return out;
}

// The amounts that quota counts for its pods, if they differ from the requests.
void Intake::Impl::count_for_quota(Group& group) const {
  for (PodSet& set : group.pod_sets) config.counts.apply(set.pod);
  for (Group& child : group.groups) count_for_quota(child);
}

Workload Intake::Impl::build(const Load& load, const Settings& settings) const {
  Workload w = build_asked(load, settings);
  if (!config.counts.empty()) count_for_quota(w.root);
  return w;
}

Workload Intake::Impl::build_asked(const Load& load, const Settings& settings) const {
  Workload w;
  w.uid = load.uid;
  w.name = load.name;
  w.queue = settings.queue;
  w.lane = settings.lane;
  w.kind = settings.kind;
  w.priority = settings.priority;
  w.may_preempt = settings.may_preempt;
  w.preemptible = settings.preemptible;
  w.active = !settings.blocked;
  w.admitted = settings.admitted;
  w.created = settings.created;
  if (may_grow(load) || load.former != nullptr)
    w.asks_more_since = std::max(settings.created, settings.asks_more_since);
  w.expected_duration = settings.expected;
  w.restart = settings.restart;
  w.root.topology = settings.topology;
  if (load.object) {
    w.root = root_of(*load.object);
    std::size_t at = 0;
    const auto finish = [&](PodSet& set) {
      if (settings.invalid) set.pod = {};
      if (settings.most_at_once && set.least_count() < set.count)
        set.bands.push_back({.count = set.count, .protected_from_reclaim = false});
      if (at < settings.awaited.size()) set.pod.awaited_flavors = settings.awaited[at];
      ++at;
    };
    for (PodSet& set : w.root.pod_sets) finish(set);
    for (Group& group : w.root.groups) {
      for (PodSet& set : group.pod_sets) finish(set);
    }
    return w;
  }
  bool grouped = false;  // some role has a topology request of its own
  for (const auto& role : load.roles) {
    grouped |= settings.topology.empty() && role.topology.per_pod_set && load.roles.size() > 1;
  }
  for (std::size_t i = 0; i < load.roles.size(); ++i) {
    const Role& role = load.roles[i];
    PodSet set;
    set.name = load.roles.size() == 1 ? "main" : fmt::format("role-{}", i);
    if (!settings.invalid) set.pod = *role.shape;
    if (i < settings.awaited.size()) set.pod.awaited_flavors = settings.awaited[i];
    set.count = settings.counts[i].count;
    set.least = settings.counts[i].least;
    if (settings.most_at_once) set.bands.push_back({.count = set.count, .protected_from_reclaim = false});
    // Slots are told one by one, but for those that have no pod and wait.
    set.present = load.waits || !role.expected.empty() ? set.count : 0;
    if (!grouped) {
      w.root.pod_sets.push_back(std::move(set));
      continue;
    }
    Group group;
    group.name = set.name;
    group.topology = role.topology.request;
    group.pod_sets.push_back(std::move(set));
    w.root.groups.push_back(std::move(group));
  }
  return w;
}

void Intake::Impl::refresh(std::uint32_t ix) {
  const std::vector<SlotUpdate> members = expect_members(loads[ix]);
  const auto tell_members = [&] { work.insert(work.end(), members.begin(), members.end()); };
  std::vector<std::string> depends;
  Settings settings = settings_of(loads[ix], depends);
  set_depends(ix, std::move(depends));
  Load& load = loads[ix];
  if (load.emitted && !load.remade && load.given == settings) return tell_members();
  const bool fresh = !load.emitted || load.remade || load.given.queue != settings.queue;
  if (fresh) load.waits = holds(load);
  Workload workload = build(load, settings);
  if (!settings.invalid) {
    if (const auto status = check(workload); !status) {
      settings.blocked = invalid(status.error().message);
      settings.invalid = true;
      if (load.emitted && !load.remade && load.given == settings) return tell_members();
      workload = build(load, settings);
    }
  }
  // A queue cannot change under slots that have places, and what the engine did not know it must be told again.
  const bool again = load.emitted && (load.remade || load.given.queue != settings.queue ||
                                      load.given.invalid != settings.invalid);
  load.remade = false;
  const bool drains = settings.drain && (!load.emitted || !load.given.drain);
  if (load.first_told_in == 0) load.first_told_in = batch;
  if (again) {
    retold = true;
    load.retold_in = batch;
    load.retold_at = work.size();
    work.push_back(WorkloadRemove{load.uid});
  }
  if (load.kind == GangKind::kSingle && settings.blocked) {
    const auto pod = load.roles.front().slots.front();
    const bool waits_for_job = config.wait_for_jobs && pod != kNoIx && !pods[pod].own && !load.emitted;
    if (waits_for_job && pods[pod].pod.meta.controller.kind == "Job") {
      const auto& job = pods[pod].pod.meta.controller;
      missing_jobs.try_emplace(job.uid, JobName{load.ns, job.name, job.uid});
    }
  }
  load.emitted = true;
  load.given = std::move(settings);
  keep_bounds(workload);  // no annotation may make the engine refuse what runs
  work.push_back(WorkloadUpsert{std::move(workload)});
  if (!load.lost.empty()) work.push_back(Withdraw{load.uid, std::exchange(load.lost, {})});
  if (load.object) return again ? emit_admission(load) : void();
  if (!again) tell_members();
  tell_unexpected(load);
  bool running = false;
  for (const auto& role : load.roles) {
    for (const auto pod : role.slots) {
      if (pod == kNoIx) continue;
      running |= pods[pod].state == SlotState::kRunning;
      if (!again) continue;
      uncharge_foreign(pods[pod]);
      if (pods[pod].state == SlotState::kAbsent && load.waits) emit_slot(pods[pod], SlotState::kGone);
      adopt(pods[pod]);
    }
  }
  if (drains && running) {
    work.push_back(Withdraw{load.uid, fmt::format("its LocalQueue was stopped with HoldAndDrain ({})",
                                                  load.given.blocked ? load.given.blocked->subject : "")});
  }
}

}  // namespace berth::dialect
