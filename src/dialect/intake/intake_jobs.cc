// Jobs that are held suspended (IntakeConfig::hold_jobs): workloads whose slots are made from the Job's template.
#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "dialect/base/names.h"
#include "dialect/intake/intake_state.h"
#include "dialect/owners/job.h"

namespace berth::dialect {

std::size_t hash_of(const PodTemplate& shape) {
  std::size_t hash = shape.node_selector.size() * 31 + shape.tolerations.size();
  const auto mix = [&](std::size_t value) { hash = hash * 1'000'003 + value; };
  for (const auto& [resource, amount] : shape.requests) {
    mix(std::hash<std::string>{}(resource));
    mix(static_cast<std::size_t>(amount));
  }
  for (const auto& request : shape.claim.requests) {
    mix(static_cast<std::size_t>(request.count));
    mix(static_cast<std::size_t>(request.milli));
  }
  for (const auto& [key, value] : shape.node_selector) mix(std::hash<std::string>{}(value));
  return hash;
}

std::size_t hash_of(const PodNeeds& needs) {
  std::size_t hash = std::hash<std::string>{}(needs.runtime_class);
  const auto mix = [&](std::size_t value) { hash = hash * 1'000'003 + value; };
  for (const auto& c : needs.containers) {
    mix(std::hash<std::string>{}(c.name));
    for (const auto& [resource, amount] : c.requests) mix(static_cast<std::size_t>(amount));
  }
  return hash;
}

bool suits(const PodTemplate& pod, const PodTemplate& promised) {
  if (pod == promised) return true;
  if (!(pod.claim == promised.claim) || pod.node_selector != promised.node_selector ||
      !(pod.required_affinity == promised.required_affinity) || pod.placement != promised.placement ||
      pod.unsupported != promised.unsupported) {
    return false;
  }
  for (const auto& [resource, amount] : pod.requests) {
    if (amount > promised.requests.get(resource)) return false;
  }
  return std::all_of(promised.tolerations.begin(), promised.tolerations.end(), [&](const Toleration& t) {
    return std::find(pod.tolerations.begin(), pod.tolerations.end(), t) != pod.tolerations.end();
  });
}

namespace {

bool names_a_queue(const Job& job) {
  for (const Meta* meta : {&job.meta, &job.template_meta}) {
    if (!meta->mark(kKueueQueue).empty() || !meta->mark(kBerthQueue).empty()) return true;
  }
  return false;
}

}  // namespace

const JobRecord* Intake::Impl::job_record(std::string_view uid) const {
  const auto it = jobs.find(std::string(uid));
  return it == jobs.end() ? nullptr : &it->second;
}

JobRecord Intake::Impl::job_record_of(Job&& job) {
  JobRecord out;
  out.written = shapes.share(std::move(job.spec.pod));
  job.spec.pod = {};
  if (job.needs != nullptr) job.needs = needs.share(PodNeeds(*job.needs));
  out.job = std::move(job);
  const JobRecord* before = job_record(out.job.meta.uid);
  const auto load = find_load(out.job.meta.uid);
  if (before != nullptr && load != kNoIx && loads[load].reserved && before->written == out.written &&
      before->job.needs == out.job.needs) {
    // It has quota and places for what it was: nothing but its owner changes that.
    out.taken = before->taken;
    out.refused = before->refused;
  } else {
    take(out);
  }
  out.shape = out.taken;
  // Changes by checks of its last run are not its own wishes.
  const std::string_view left = out.job.suspend ? amended_keys(out.job) : std::string_view();
  const auto amendment = amendments.find(out.job.meta.uid);
  if (left.empty() && amendment == amendments.end()) return out;
  PodTemplate shape = *out.taken;
  for (const auto& key : split_marks(left)) shape.node_selector.edit().erase(key);
  if (amendment != amendments.end()) {
    for (const auto& [key, value] : amendment->second.node_selector)
      shape.node_selector.edit().insert_or_assign(key, value);
    for (const auto& written : amendment->second.tolerations) {
      const Toleration toleration = to_model(written);
      if (std::find(shape.tolerations.begin(), shape.tolerations.end(), toleration) ==
          shape.tolerations.end())
        shape.tolerations.edit().push_back(toleration);
    }
  }
  out.shape = shapes.share(std::move(shape));
  return out;
}

bool Intake::Impl::may_hold(const Job& job) const {
  if (!config.hold_jobs || job.finished || job.meta.deleting || !names_a_queue(job) ||
      job.is_managed_elsewhere() || job.has_owner())
    return false;
  Pod pod;
  pod.meta = job.template_meta;
  pod.meta.controller = {"Job", job.meta.name, job.meta.uid};
  pod.spec.scheduler_name = job.spec.scheduler_name;
  return is_ours(pod) && membership_of(pod, &job).kind == GangKind::kJob;
}

// A pod that has ended well is not made again. While the gang runs, its slot stays part of the gang, so that the others are no surplus
// that may be taken one by one; a gang that must start (again) is made of those that are left.
std::int64_t Intake::Impl::size_of_job(Load& load, const Job& job) const {
  if (load.bound == 0 || job.suspend) load.whole = 0;
  std::int64_t size = job.makes_pods() ? places_of(load, job) : load.pods;
  size = std::max<std::int64_t>(1, std::max(size, std::min(job.parallelism, load.whole)));
  if (load.bound >= size) load.whole = size;
  return size;
}

std::int64_t Intake::Impl::places_of(const Load& load, const Job& job) const {
  if (load.too_many) return 1;
  return load.granted > 0 ? std::min(load.granted, job.size()) : job.size();
}

// If it has pods, some slots do not wait, because these pods are about to end: it would start smaller for that alone.
bool Intake::Impl::may_shrink(const Load& load, const Job& job) const {
  return holds(load) && !load.too_many && load.pods == 0 && load.roles.size() == 1 && load.granted == 0 &&
         !load.reserved && job.least_pods && *job.least_pods < job.size();
}

bool Intake::Impl::is_offered_less(const Load& load, const Job& job) const {
  if (config.hold_jobs) return load.offer != Offer::kWhole && may_shrink(load, job);
  // A plan makes the pods of a suspended Job at once, and offers nothing.
  return job.suspend && job.least_pods && *job.least_pods < load.size && load.bound == 0 &&
         load.roles.size() == 1;
}

bool Intake::Impl::holds(const Load& load) const {
  if (load.kind != GangKind::kJob || load.released) return false;
  const JobRecord* record = job_record(load.uid);
  return record != nullptr && record->job.suspend && record->job.size() > 0 && may_hold(record->job);
}

bool Intake::Impl::keeps(const Load& load) const {
  if (load.kind != GangKind::kJob) return false;
  if (!load.released) return holds(load);
  const JobRecord* record = job_record(load.uid);
  return record != nullptr && may_hold(record->job);
}

bool Intake::Impl::is_held(const std::string& queue) const {
  if (const ClusterQueue* known = book.cluster_queue(queue); known != nullptr)
    return known->stop == StopPolicy::kHold || (known->stop == StopPolicy::kNone && known->meta.deleting);
  const auto own = own_queues.find(queue);
  return own != own_queues.end() && own->second == StopPolicy::kHold;
}

// If all pods of a Job have been replaced, only its status shows that it ran.
bool Intake::Impl::is_admitted(const Load& load) const {
  if (load.object != nullptr) return false;
  const JobRecord* record = load.kind == GangKind::kJob ? job_record(load.uid) : nullptr;
  if (record != nullptr && record->job.suspend) return load.released;
  // More than it was admitted with waits for its turn.
  if (may_grow(load)) return load.bound > 0 && load.size <= load.whole;
  return load.bound > 0 || load.released ||
         (record != nullptr && record->job.succeeded + record->job.failed_pods > 0);
}

void Intake::Impl::wait_for_end(const Load& load, const Job& job, Settings& settings) const {
  const std::string_view why = job.why_over();
  if (why.empty() || load.bound == load.pods || settings.blocked) return;
  settings.blocked = Reason{};
  settings.blocked->code = ReasonCode::kInactive;
  settings.blocked->detail = fmt::format("its Job {} starts no more pods: {}", job.meta.name, why);
}

// The Job changed, or what was decided about it.
void Intake::Impl::sync_job(const std::string& uid) {
  if (!config.hold_jobs) return;
  const JobRecord* record = job_record(uid);
  std::uint32_t ix = find_load(uid);
  if (ix == kNoIx) {
    if (record == nullptr || !record->job.suspend || record->job.size() < 1 || !may_hold(record->job)) return;
    const Meta& meta = record->job.meta;
    ix = new_load({GangKind::kJob, uid, meta.name, std::nullopt, {}}, meta.ns);
    loads[ix].object_key = "job:" + uid;
    loads[ix].first_created = meta.created != 0 ? meta.created : ++arrivals;
  }
  if (loads[ix].pods == 0 && !keeps(loads[ix])) return free_load(ix);
  if (!holds(loads[ix])) {
    loads[ix].offer = Offer::kWhole;
    loads[ix].too_many = false;
  }
  if (holds(loads[ix])) {
    Load& load = loads[ix];
    load.too_many = !place_budget.take(load.ns, uid, record->job.size());
    if (load.roles.empty())
      load.roles.push_back(Role{record->shape, topology_of(record->job.template_meta), {}, true, {}});
    Role& role = load.roles.front();
    role.promised = load.roles.size() == 1;
    if (role.promised && load.pods == 0 && load.job_shape != nullptr && load.job_shape != record->shape) {
      load.remade = load.emitted;
      ++load.revision;
      role.shape = record->shape;
      role.topology = topology_of(record->job.template_meta);
      load.refused.clear();
      load.job_shape = record->shape;
    }
    if (load.job_shape == nullptr) load.job_shape = record->shape;
    const auto size = static_cast<std::size_t>(places_of(load, record->job));
    while (role.slots.size() > size && role.slots.back() == kNoIx) {
      role.slots.pop_back();
      const auto index = static_cast<std::int64_t>(role.slots.size());
      role.holes.erase(index);
      // A place that was kept for it would otherwise stay the engine's for ever.
      if (load.emitted) work.push_back(SlotUpdate{uid, 0, index, SlotState::kGone, "", {}, {}, 0});
    }
    while (role.slots.size() < size) {
      role.holes.insert(static_cast<std::int64_t>(role.slots.size()));
      role.slots.push_back(kNoIx);
    }
  }
  refresh(ix);
  tell_slots(ix);
}

void Intake::Impl::tell_slots(std::uint32_t ix) {
  const bool waits = holds(loads[ix]);
  const bool flips = std::exchange(loads[ix].waits, waits) != waits;
  for (std::size_t r = 0; r < loads[ix].roles.size(); ++r) {
    if (flips) {
      for (const auto hole : loads[ix].roles[r].holes) {
        work.push_back(SlotUpdate{loads[ix].uid,
                                  static_cast<std::int64_t>(r),
                                  hole,
                                  waits ? SlotState::kWaiting : SlotState::kGone,
                                  "",
                                  {},
                                  {},
                                  0});
      }
    }
    const std::vector<std::uint32_t> slots = loads[ix].roles[r].slots;
    for (const auto pod : slots) {
      if (pod == kNoIx || !pods[pod].pod.spec.node_name.empty()) continue;
      set_state(pod, state_without_node(pods[pod]), "");
    }
  }
}

SlotState Intake::Impl::state_without_node(const PodRecord& record) const {
  if (record.pod.spec.gated) return SlotState::kAbsent;
  if (record.membership.kind != GangKind::kJob) return SlotState::kWaiting;
  const auto ix = find_load(record.membership.uid);
  // A suspended Job's pods are about to be deleted.
  return ix != kNoIx && holds(loads[ix]) ? SlotState::kAbsent : SlotState::kWaiting;
}

bool Intake::Impl::join_promised(Load& load, const PodRecord& record) {
  if (load.kind != GangKind::kJob || load.roles.size() != 1 || !load.roles.front().promised) return false;
  Role& role = load.roles.front();
  if (suits(*record.shape, *role.shape)) return true;
  // Its pods are others than the template says (admission changed them): it is decided anew for what they are.
  role.shape = record.shape;
  load.remade = true;
  ++load.revision;
  return true;
}

void Intake::set_released(std::string_view workload, bool released) {
  Impl& s = *impl_;
  const auto ix = s.find_load(workload);
  if (ix == kNoIx || s.loads[ix].kind != GangKind::kJob || s.loads[ix].released == released) return;
  s.loads[ix].released = released;
  s.loads[ix].waits = false;  // the releasing caller knows its slots
  if (!released && !s.loads[ix].reserved) s.loads[ix].granted = 0;
  s.sync_job(std::string(workload));
}

bool Intake::may_offer_less(std::string_view workload) const {
  const Impl& s = *impl_;
  if (s.partial_jobs == 0 && s.workload_by_name.empty()) return false;
  const auto ix = s.find_load(workload);
  if (ix == kNoIx || s.loads[ix].offer == Offer::kAtLeast) return false;
  if (s.loads[ix].object != nullptr) return s.may_shrink(s.loads[ix]);
  if (s.loads[ix].kind != GangKind::kJob) return false;
  const JobRecord* record = s.job_record(workload);
  return record != nullptr && s.may_shrink(s.loads[ix], record->job);
}

bool Intake::offer_less(std::string_view workload) {
  if (!may_offer_less(workload)) return false;
  Impl& s = *impl_;
  const auto ix = s.find_load(workload);
  Load& load = s.loads[ix];
  load.offer = load.offer == Offer::kWhole ? Offer::kMostFree : Offer::kAtLeast;
  if (load.object != nullptr) s.take(load);
  s.refresh(ix);
  return true;
}

bool Intake::is_offered_less(std::string_view workload) const {
  const auto ix = impl_->find_load(workload);
  return ix != kNoIx && impl_->loads[ix].offer != Offer::kWhole;
}

void Intake::grant(std::string_view workload, std::int64_t pods) {
  Impl& s = *impl_;
  const auto ix = s.find_load(workload);
  if (ix == kNoIx || (s.loads[ix].offer == Offer::kWhole && (s.is_live() || s.loads[ix].object == nullptr)))
    return;
  if (s.loads[ix].object != nullptr) {
    s.grant_object(s.loads[ix], pods);
    return s.refresh(ix);
  }
  const JobRecord* record = s.job_record(workload);
  s.loads[ix].offer = Offer::kWhole;
  s.loads[ix].granted = record != nullptr && pods < record->job.size() ? pods : 0;
  s.sync_job(std::string(workload));
}

bool Intake::starts_once(std::string_view workload) const {
  const Impl& s = *impl_;
  const auto ix = s.find_load(workload);
  if (ix == kNoIx) return false;
  const Load& load = s.loads[ix];
  if (load.object != nullptr) return load.former == nullptr && s.shrinks(load);
  const JobRecord* record = load.kind == GangKind::kJob ? s.job_record(workload) : nullptr;
  return record != nullptr && record->job.suspend && record->job.least_pods && load.roles.size() == 1;
}

std::int64_t Intake::granted(std::string_view workload) const {
  const auto ix = impl_->find_load(workload);
  return ix == kNoIx ? 0 : impl_->loads[ix].granted;
}

bool Intake::amend(std::string_view workload, const PodSetUpdate* update) {
  Impl& s = *impl_;
  const std::string uid(workload);
  const auto known = s.amendments.find(uid);
  const bool was = known != s.amendments.end();
  if (update == nullptr ? !was : was && known->second == *update) return false;
  if (update == nullptr) {
    s.amendments.erase(known);
  } else if (!s.jobs.contains(uid)) {
    return false;
  } else {
    s.amendments.insert_or_assign(uid, *update);
  }
  const auto record = s.jobs.find(uid);
  if (record == s.jobs.end()) return false;
  Job job = record->second.job;
  job.spec.pod = *record->second.written;
  const auto before = record->second.shape;
  record->second = s.job_record_of(std::move(job));
  if (record->second.shape == before) return false;
  s.sync_job(uid);
  const auto ix = s.find_load(uid);
  return ix != kNoIx && s.holds(s.loads[ix]) && s.loads[ix].roles.size() == 1 && s.loads[ix].pods == 0;
}

bool Intake::is_released(std::string_view workload) const {
  const auto ix = impl_->find_load(workload);
  return ix != kNoIx && impl_->loads[ix].released;
}

void Intake::renew(std::string_view workload) {
  Impl& s = *impl_;
  const auto ix = s.find_load(workload);
  if (ix == kNoIx) return;
  const Load& load = s.loads[ix];
  const SlotState without_pod = s.holds(load) ? SlotState::kWaiting : SlotState::kGone;
  for (std::size_t r = 0; r < load.roles.size(); ++r) {
    for (std::size_t i = 0; i < load.roles[r].slots.size(); ++i) {
      const auto pod = load.roles[r].slots[i];
      if (pod == kNoIx) {
        s.work.push_back(SlotUpdate{load.uid,
                                    static_cast<std::int64_t>(r),
                                    static_cast<std::int64_t>(i),
                                    without_pod,
                                    "",
                                    {},
                                    {},
                                    0});
      } else if (s.pods[pod].pod.spec.node_name.empty()) {
        const SlotState state = s.pods[pod].state;
        s.emit_slot(s.pods[pod], state == SlotState::kAbsent ? SlotState::kGone : state);
      }
    }
  }
}

void Intake::set_rest(std::string_view workload, std::optional<Reason> why) {
  const std::string uid(workload);
  if (why) {
    impl_->rests.insert_or_assign(uid, std::move(*why));
  } else if (impl_->rests.erase(uid) == 0) {
    return;
  }
  if (const auto ix = impl_->find_load(uid); ix != kNoIx) impl_->refresh(ix);
}

}  // namespace berth::dialect
