#include "sim/trace/trace.h"

#include <algorithm>
#include <utility>

#include "base/checked.h"

namespace berth::sim {
namespace {

void add_selector(Group& group, const std::string& key, const std::string& value) {
  for (PodSet& set : group.pod_sets) set.pod.node_selector.edit()[key] = value;
  for (Group& child : group.groups) add_selector(child, key, value);
}

// The place of `entry` in the table, which gets it where it is new. `key()` is what equal entries have in common. The
// latest is the likely one.
template <class Entry, class Index, class Key>
std::uint32_t known(std::vector<Entry>& table, Index& index, const Entry& entry, Key&& key) {
  if (!table.empty() && table.back() == entry) return static_cast<std::uint32_t>(table.size() - 1);
  const auto [it, fresh] = index.try_emplace(key(), static_cast<std::uint32_t>(table.size()));
  if (fresh) table.push_back(entry);
  return it->second;
}

}  // namespace

Status TraceBuilder::add(Job job, std::string_view queue_name, const JobRules& rules,
                         const SourcePlace& place) {
  if (job.submit < rules.from || job.submit >= rules.to) {
    ++outside_window_;
    return within_limits(place);
  }
  std::string_view queue = rules.queue.empty() ? queue_name : std::string_view(rules.queue);
  if (queue.empty()) {
    if (rules.drop_without_tenant) {
      ++without_queue_;
      return within_limits(place);
    }
    queue = rules.no_tenant_queue;
    if (queue.empty() && !rules.as_given) {
      return fail_at(place,
                     "job '{}' has no queue; say in the scenario where such jobs go: queue: NAME for all "
                     "jobs, no_tenant_queue: NAME for these, or drop_without_tenant: true",
                     job.name);
    }
  }
  if (++source_jobs_ > rules.max_jobs) {
    return fail_at(place, "more than {} jobs; raise {}, or choose fewer with from and to", rules.max_jobs,
                   rules.as_given ? "--max-jobs" : "max_jobs");
  }
  if (job.name.size() > kMostNameBytes) {
    return fail_at(place, "the name of job '{}...' is longer than {} bytes", job.name.substr(0, 40),
                   kMostNameBytes);
  }
  if (!checked_add(job.submit, job.duration)) return fail_at(place, "submission and duration leave 64 bits");
  const std::size_t queues = trace_.queues.size();
  job.queue = trace_.queues.intern(queue);
  if (trace_.queues.size() > queues) bytes_ += queue.size();
  if (!rules.queue_label.empty()) {
    const auto [it, fresh] = labelled_.try_emplace({job.shape, job.queue}, 0u);
    if (fresh) {
      JobShape labelled = trace_.shapes[job.shape];
      add_selector(labelled.root, rules.queue_label, std::string(queue));
      it->second = static_cast<std::uint32_t>(trace_.shapes.size());
      trace_.shapes.push_back(std::move(labelled));
    }
    job.shape = it->second;
  }
  const std::int64_t gpu_milli = trace_.shapes[job.shape].gpu_milli;
  for (const JobRules::Overhead& size : rules.overheads) {
    if (gpu_milli > saturating_mul(size.up_to_gpus, 1000)) continue;
    Restart by_size = trace_.restarts[job.restart];
    by_size.overhead = size.overhead;
    job.restart = restart(by_size);
    break;
  }
  BERTH_TRY(apply(rules, queue, place, job));
  BERTH_TRY(within_limits(place));
  if (sink_ != nullptr) return sink_(job);
  trace_.jobs.push_back(std::move(job));
  return {};
}

// Applies the source's rules about a job's course, unless the reader has set it.
Status TraceBuilder::apply(const JobRules& rules, std::string_view queue, const SourcePlace& place,
                           Job& job) {
  const std::optional<DurationMs> given =
      job.expected == kNotSaid ? std::nullopt : std::optional(job.expected);
  if (!rules.as_given)
    job.expected = expected_duration(rules.estimate, job.name, job.duration, given).value_or(kNotSaid);
  if (job.costs == kOfRules) {
    job.costs = costs(rules.costs, rules.image.empty() ? queue : std::string_view(rules.image));
  }
  if (trace_.shapes[job.shape].slots > 1 && !trace_.shapes[job.shape].elastic &&
      made_elastic(rules.elastic, job.name)) {
    job.shape = elastic_shape(job.shape, rules.elastic);
  }
  if (!trace_.shapes[job.shape].elastic) return {};
  if (job.scaling == kOfRules) job.scaling = scaling(rules.scaling);
  const std::int64_t speed = trace_.scalings[job.scaling].speed(trace_.shapes[job.shape].slots);
  if (!checked_mul(job.duration, speed)) {
    return fail_at(place, "the work of elastic job '{}', its duration times its slots, leaves 64 bits",
                   job.name);
  }
  return {};
}

std::uint32_t TraceBuilder::elastic_shape(std::uint32_t rigid, const ElasticRules& rules) {
  const auto [it, fresh] = elastic_.try_emplace({rigid, rules.least_milli}, 0u);
  if (fresh) {
    JobShape shape = trace_.shapes[rigid];
    make_elastic(rules, shape.root);
    shape.elastic = is_elastic(shape.root);
    it->second = static_cast<std::uint32_t>(trace_.shapes.size());
    trace_.shapes.push_back(std::move(shape));
  }
  return it->second;
}

Result<std::uint32_t> TraceBuilder::new_shape(const std::string& key, Group root) {
  JobShape shape;
  for (const PodSet* set : pod_sets_of(root)) {
    BERTH_ASSIGN(const ResourceList total, set->pod.total());
    const auto gpus = checked_mul(total.get(kGpu), set->count);
    const auto cpus = checked_mul(total.get("cpu"), set->count);
    if (!gpus || !cpus) return fail(ErrorCode::kInvalid, "the requests of all pods leave 64 bits");
    shape.gpu_milli = saturating_add(shape.gpu_milli, *gpus);
    shape.cpu_milli = saturating_add(shape.cpu_milli, *cpus);
    shape.slots = saturating_add(shape.slots, set->count);
  }
  shape.root = std::move(root);
  shape.elastic = is_elastic(shape.root);
  Workload probe;
  probe.uid = probe.name = probe.queue = "probe";
  probe.root = shape.root;
  BERTH_TRY(check(probe));
  const auto index = static_cast<std::uint32_t>(trace_.shapes.size());
  trace_.shapes.push_back(std::move(shape));
  shape_index_.emplace(key, index);
  bytes_ += key.size();
  return index;
}

std::uint32_t TraceBuilder::restart(const Restart& restart) {
  return known(trace_.restarts, restart_index_, restart, [&] {
    return std::vector<std::int64_t>{restart.checkpoint_every, restart.last_checkpoint.value_or(kInt64Min),
                                     restart.overhead, restart.grace};
  });
}
std::uint32_t TraceBuilder::costs(StartCosts costs, std::string_view image) {
  if (costs.image_pull > 0) costs.image = this->image(image);
  return known(trace_.costs, costs_index_, costs, [&] {
    return std::vector<std::int64_t>{
        costs.pod_start, costs.pod_start_spread_milli, costs.image, costs.image_pull,
        costs.warm_up,   costs.checkpoint_time,        costs.resize};
  });
}
std::uint32_t TraceBuilder::scaling(const Scaling& scaling) {
  const std::size_t tables = trace_.scalings.size();
  const std::uint32_t index = known(trace_.scalings, scaling_index_, scaling, [&] {
    std::vector<std::int64_t> key;
    for (const EfficiencyPoint& point : scaling.points()) key.insert(key.end(), {point.slots, point.milli});
    return key;
  });
  if (trace_.scalings.size() > tables) bytes_ += scaling.points().size() * sizeof(EfficiencyPoint);
  return index;
}
std::uint32_t TraceBuilder::image(std::string_view name) {
  const std::size_t images = trace_.images.size();
  const std::uint32_t index = trace_.images.intern(name);
  if (trace_.images.size() > images) bytes_ += name.size();
  return index;
}

Status TraceBuilder::within_limits(const SourcePlace& place) const {
  if (trace_.queues.size() > limits_.queues) {
    return fail_at(place, "more than {} queues; put all jobs into one with queue: NAME (--queue NAME)",
                   limits_.queues);
  }
  const auto most = [&](std::size_t kinds, std::string_view what) -> Status {
    if (kinds <= limits_.kinds) return {};
    return fail_at(place, "more than {} different {}; split the file", limits_.kinds, what);
  };
  BERTH_TRY(most(trace_.shapes.size(), "kinds of jobs by their pods"));
  BERTH_TRY(most(trace_.images.size(), "images"));
  BERTH_TRY(most(trace_.restarts.size(), "costs of a restart"));
  BERTH_TRY(most(trace_.costs.size(), "costs of a start"));
  BERTH_TRY(most(trace_.scalings.size(), "tables of efficiency"));
  if (bytes_ > limits_.bytes) {
    return fail_at(
        place, "the names of queues and images and the pods of jobs take more than {} bytes; split the file",
        limits_.bytes);
  }
  return {};
}

Trace TraceBuilder::finish() {
  std::stable_sort(trace_.jobs.begin(), trace_.jobs.end(),
                   [](const Job& a, const Job& b) { return a.submit < b.submit; });
  return std::move(trace_);
}

DemandMix demand_mix(const Trace& trace) {
  std::vector<std::int64_t> jobs(trace.shapes.size(), 0);
  for (const Job& job : trace.jobs) ++jobs[job.shape];
  DemandMix mix;
  for (std::size_t s = 0; s < trace.shapes.size(); ++s) {
    const std::int64_t count = trace.shapes[s].listed > 0 ? trace.shapes[s].listed : jobs[s];
    for (const PodSet* set : pod_sets_of(trace.shapes[s].root)) {
      const std::int64_t weight = saturating_mul(count, set->count);
      if (weight > 0) mix.kinds.push_back({set->pod, weight});
    }
  }
  return mix;
}

std::string shape_rules_key(const JobRules& rules) {
  std::string key = fmt::format("{} {} {} {} {}", rules.gpus_per_task, rules.cpus_per_task,
                                rules.topology.required, rules.topology.preferred, rules.topology.segment);
  for (const auto& [label, value] : rules.node_selector) key += fmt::format("\n{}={}", label, value);
  return key;
}

namespace {

// `amount` in tasks of `per_task` and one for the rest; `ask` puts an amount on a pod.
template <class Ask>
Group tasks_of(std::int64_t amount, std::int64_t per_task, const JobRules& rules, Ask&& ask) {
  const auto tasks = [&](std::string name, std::int64_t count, std::int64_t each) {
    PodSet set;
    set.name = std::move(name);
    set.count = count;
    set.pod.node_selector = rules.node_selector;
    ask(set.pod, each);
    return set;
  };
  Group root;
  root.name = "job";
  const std::int64_t full = amount / per_task;
  const std::int64_t rest = amount % per_task;
  if (full > 0) root.pod_sets.push_back(tasks("worker", full, per_task));
  if (rest > 0) root.pod_sets.push_back(tasks(full > 0 ? "rest" : "worker", 1, rest));
  if (amount > per_task) root.topology = rules.topology;
  return root;
}

}  // namespace

Group gang_of(std::int64_t gpus, const JobRules& rules) {
  return tasks_of(gpus, rules.gpus_per_task, rules, [](PodTemplate& pod, std::int64_t each) {
    pod.claim.requests.push_back({std::string(kGpu), each, 1000});
  });
}

Group cpu_gang_of(std::int64_t cpus, const JobRules& rules) {
  return tasks_of(cpus, rules.cpus_per_task, rules,
                  [](PodTemplate& pod, std::int64_t each) { pod.requests.set("cpu", each * 1000); });
}

Result<std::uint32_t> gang_shape(std::int64_t gpus, const JobRules& rules, TraceBuilder& out) {
  return out.shape(fmt::format("gang {} {}", gpus, shape_rules_key(rules)),
                   [&] { return gang_of(gpus, rules); });
}

void require_models(PodTemplate& pod, const std::vector<std::string>& models) {
  if (models.empty()) return;
  SelectorTerm term;
  term.labels.push_back({std::string(kGpuModelLabel), SelectorOp::kIn, models});
  pod.required_affinity.edit().push_back(std::move(term));
}

SizeClass size_class(std::int64_t gpu_milli) {
  if (gpu_milli <= 0) return SizeClass::kNoGpu;
  if (gpu_milli < 1000) return SizeClass::kShared;
  if (gpu_milli < 2000) return SizeClass::k1;
  if (gpu_milli <= 4000) return SizeClass::k2To4;
  if (gpu_milli <= 8000) return SizeClass::k5To8;
  if (gpu_milli <= 16'000) return SizeClass::k9To16;
  if (gpu_milli < 32'000) return SizeClass::k17To31;
  if (gpu_milli < 64'000) return SizeClass::k32To63;
  return SizeClass::k64Up;
}

std::string_view size_class_name(SizeClass size) {
  static constexpr std::array<std::string_view, kSizeClasses> kNames{"no GPU",     "shared GPU", "1 GPU",
                                                                     "2-4 GPUs",   "5-8 GPUs",   "9-16 GPUs",
                                                                     "17-31 GPUs", "32-63 GPUs", "64+ GPUs"};
  return kNames[static_cast<std::size_t>(size)];
}

}  // namespace berth::sim
