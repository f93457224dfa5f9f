#include "sim/trace.h"

#include <algorithm>
#include <utility>

#include "base/checked.h"

namespace berth::sim {
namespace {

void add_selector(Group& group, const std::string& key, const std::string& value) {
  for (PodSet& set : group.pod_sets) set.pod.node_selector[key] = value;
  for (Group& child : group.groups) add_selector(child, key, value);
}

}  // namespace

Status TraceBuilder::add(Job job, std::string_view queue_name, const JobRules& rules,
                         const SourcePlace& place) {
  if (job.submit < rules.from || job.submit >= rules.to) {
    ++outside_window_;
    return {};
  }
  std::string_view queue = rules.queue.empty() ? queue_name : std::string_view(rules.queue);
  if (queue.empty()) {
    if (rules.drop_without_tenant) {
      ++without_queue_;
      return {};
    }
    queue = rules.no_tenant_queue;
    if (queue.empty()) {
      return fail_at(place,
                     "job '{}' has no queue; say in the scenario where such jobs go: queue: NAME for all "
                     "jobs, no_tenant_queue: NAME for these, or drop_without_tenant: true",
                     job.name);
    }
  }
  if (++source_jobs_ > rules.max_jobs) {
    return fail_at(place, "more than {} jobs; raise max_jobs, or choose fewer with from and to",
                   rules.max_jobs);
  }
  if (!checked_add(job.submit, job.duration)) return fail_at(place, "submission and duration leave 64 bits");
  job.queue = trace_.queues.intern(queue);
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
  trace_.jobs.push_back(std::move(job));
  return {};
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
  Workload probe;
  probe.uid = probe.name = probe.queue = "probe";
  probe.root = shape.root;
  BERTH_TRY(check(probe));
  const auto index = static_cast<std::uint32_t>(trace_.shapes.size());
  trace_.shapes.push_back(std::move(shape));
  shape_index_.emplace(key, index);
  return index;
}

std::uint32_t TraceBuilder::restart(const Restart& restart) {
  auto& known = trace_.restarts;
  // Few kinds exist, and the latest is the likely one.
  for (std::size_t i = known.size(); i > 0; --i) {
    if (known[i - 1] == restart) return static_cast<std::uint32_t>(i - 1);
  }
  known.push_back(restart);
  return static_cast<std::uint32_t>(known.size() - 1);
}

Trace TraceBuilder::finish() {
  std::stable_sort(trace_.jobs.begin(), trace_.jobs.end(),
                   [](const Job& a, const Job& b) { return a.submit < b.submit; });
  return std::move(trace_);
}

Group gang_of(std::int64_t gpus, std::int64_t gpus_per_task, const Labels& node_selector) {
  const auto tasks = [&](std::string name, std::int64_t count, std::int64_t gpus_each) {
    PodSet set;
    set.name = std::move(name);
    set.count = count;
    set.pod.node_selector = node_selector;
    set.pod.claim.requests.push_back({std::string(kGpu), gpus_each, 1000});
    return set;
  };
  Group root;
  root.name = "job";
  const std::int64_t full = gpus / gpus_per_task;
  const std::int64_t rest = gpus % gpus_per_task;
  if (full > 0) root.pod_sets.push_back(tasks("worker", full, gpus_per_task));
  if (rest > 0) root.pod_sets.push_back(tasks(full > 0 ? "rest" : "worker", 1, rest));
  return root;
}

void require_models(PodTemplate& pod, const std::vector<std::string>& models) {
  if (models.empty()) return;
  SelectorTerm term;
  term.labels.push_back({std::string(kGpuModelLabel), SelectorOp::kIn, models});
  pod.required_affinity.push_back(std::move(term));
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
