#include "observe/work_metrics.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <mutex>
#include <set>
#include <tuple>
#include <unordered_map>

#include "model/leading.h"
#include "model/resources.h"
#include "observe/gpu_look.h"
#include "observe/series.h"
#include "observe/work_book.h"

namespace berth::observe {
namespace {

using Views = std::span<const engine::WorkloadView>;
using prometheus::Counter;
using prometheus::Family;
using prometheus::Gauge;
using prometheus::Histogram;

Histogram::BucketBoundaries wait_buckets() {
  return {1, 5, 15, 60, 300, 900, 3600, 14'400, 43'200, 86'400, 259'200, 604'800};
}
Histogram::BucketBoundaries size_buckets() {
  return {1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024};
}

std::string size_class(std::int64_t pods) {
  if (pods <= 1) return "1";
  if (pods < 8) return "2-7";
  if (pods < 32) return "8-31";
  if (pods < 128) return "32-127";
  return pods < 512 ? "128-511" : "512+";
}

double seconds(DurationMs time) {
  return static_cast<double>(time) / 1000.0;
}

// Names of pods, by workload and slot. Thread-safe.
class PodNames {
 public:
  using Slot = std::pair<std::int64_t, std::int64_t>;
  using Name = std::pair<std::string, std::string>;

  void set(std::string_view workload, Slot slot, Name name) {
    const std::lock_guard lock(mutex_);
    names_[std::string(workload)].insert_or_assign(slot, std::move(name));
  }
  void forget(std::string_view workload, Slot slot) {
    const std::lock_guard lock(mutex_);
    const auto of = names_.find(std::string(workload));
    if (of == names_.end()) return;
    of->second.erase(slot);
    if (of->second.empty()) names_.erase(of);
  }
  void forget(std::string_view workload) {
    const std::lock_guard lock(mutex_);
    names_.erase(std::string(workload));
  }
  std::map<Slot, Name> of(std::string_view workload) const {
    const std::lock_guard lock(mutex_);
    const auto of = names_.find(std::string(workload));
    return of == names_.end() ? std::map<Slot, Name>() : of->second;
  }

 private:
  mutable std::mutex mutex_;
  std::unordered_map<std::string, std::map<Slot, Name>> names_;
};

// Sums of the work that waits and runs.
struct WorkSums {
  std::map<std::pair<std::string, std::string>, std::int64_t> reasons;  // by queue, reason
  std::map<std::pair<std::string, std::string>, TimeMs> oldest;         // by queue, priority: since when
  std::map<std::pair<std::string, std::string>, std::int64_t> sizes;    // by state, size
};

}  // namespace

struct WorkMetrics::Impl {
  Impl(prometheus::Registry& in, WorkMetricsOptions chosen)
      : options(std::move(chosen)), registry(in), book(options.pool_labels) {
    std::sort(options.objectives.begin(), options.objectives.end(),
              [](const auto& a, const auto& b) { return a.priority > b.priority; });
  }

  WorkMetricsOptions options;
  prometheus::Registry& registry;
  WorkBook book;
  PodNames pods;
  std::set<std::string> counted;  // queues that have their counters
  LabelCap queues{options.most_queues};
  LabelCap priorities{options.most_priorities};
  LabelCap pairs{options.most_wait_pairs};
  LabelCap pools{options.most_pools};

  Family<Histogram>& wait =
      histograms(registry, "berth_workload_wait_seconds", "From when a workload may start until it starts.");
  Following oldest{gauges(registry, "berth_workload_oldest_wait_seconds",
                          "The longest wait of the workloads that wait now.")};
  Following objective{gauges(registry, "berth_workload_wait_objective_seconds",
                             "The time within which workloads of this priority are to start.")};
  Following reasons{
      gauges(registry, "berth_waiting_workloads", "Workloads that wait, by the leading reason.")};
  Following sizes{gauges(registry, "berth_workloads", "Workloads by state and number of pods.")};
  Histogram& started_pods = histograms(registry, "berth_workload_pods", "Pods of the workloads that started.")
                                .Add({}, size_buckets());
  Family<Counter>& started =
      counters(registry, "berth_workloads_started_total", "Workloads that started for the first time.");
  Family<Counter>& preempted = counters(registry, "berth_workloads_preempted_total",
                                        "Workloads that were preempted for the first time.");
  Family<Counter>& evictions = counters(registry, "berth_evictions_total", "Evictions by queue and cause.");
  Family<Counter>& lost =
      counters(registry, "berth_evicted_gpu_seconds_total",
               "GPU time lost by evictions: since the last checkpoint, restart and grace included.");
  Following allocated{gauges(registry, "berth_allocated_gpus", "Devices that the work of a queue has.")};
  Following pod_gpus{gauges(registry, "berth_pod_gpus", "Devices that a pod has.")};
  Following gpus{gauges(registry, "berth_gpus", "Devices by state.")};
  Following idle_nodes{
      gauges(registry, "berth_idle_nodes", "Nodes with devices, ready for work, with none in use.")};
  Following fragmented{
      gauges(registry, "berth_fragmented_gpus", "Free devices that no pod with this request can use.")};
  Following fitting{
      gauges(registry, "berth_fitting_pods", "Pods with this request for which devices are free.")};

  std::array<Following*, 10> all() {
    return {&oldest,   &objective, &reasons,    &sizes,   &allocated,
            &pod_gpus, &gpus,      &fragmented, &fitting, &idle_nodes};
  }
  std::string priority_label(std::int64_t priority) { return priorities.of(fmt::format("{}", priority)); }
  // 0: there is none.
  DurationMs objective_of(std::int64_t priority) const {
    for (const WaitObjective& one : options.objectives) {
      if (priority >= one.priority) return one.within;
    }
    return 0;
  }

  void begin_counting(const std::string& queue);
  void count_start(const FreshStart& start);
  void count_eviction(const Decision& decision);
  WorkSums sum_work(const engine::Engine& engine, Views workloads);
  std::int64_t show_work(const WorkSums& sums, TimeMs now, std::size_t& room);
  std::int64_t show_objectives(std::size_t& room);
  std::int64_t show_allocated(const engine::Engine& engine, Views workloads, std::size_t& room);
  std::int64_t show_nodes(const engine::Engine& engine, std::size_t& room);
};

WorkMetrics::WorkMetrics(prometheus::Registry& registry, WorkMetricsOptions options)
    : impl_(std::make_unique<Impl>(registry, std::move(options))) {}
WorkMetrics::~WorkMetrics() = default;

void WorkMetrics::began() {
  impl_->book.clear();
}

void WorkMetrics::took(const Event& event) {
  impl_->book.took(event);
  if (const auto* upsert = std::get_if<WorkloadUpsert>(&event)) impl_->begin_counting(upsert->workload.queue);
}

// An increase is only seen from a sample before it.
void WorkMetrics::Impl::begin_counting(const std::string& queue) {
  const std::string label = queues.of(queue);
  if (!counted.insert(label).second) return;
  started.Add({{"queue", label}});
  preempted.Add({{"queue", label}});
}

void WorkMetrics::decided(TimeMs now, const std::vector<Decision>& decisions) {
  for (const FreshStart& start : impl_->book.decided(now, decisions)) impl_->count_start(start);
  for (const Decision& decision : decisions) {
    if (decision.kind == DecisionKind::kEvict) impl_->count_eviction(decision);
  }
}

void WorkMetrics::Impl::count_start(const FreshStart& start) {
  const std::string queue = queues.of(start.work->queue);
  const std::string priority = priority_label(start.work->priority);
  const bool own = pairs.of(queue + "\n" + priority) != LabelCap::kOther;
  const std::string other(LabelCap::kOther);
  wait.Add({{"queue", own ? queue : other}, {"priority", own ? priority : other}}, wait_buckets())
      .Observe(seconds(start.waited));
  started_pods.Observe(static_cast<double>(start.pods));
  if (start.first) started.Add({{"queue", queue}}).Increment();
}

void WorkMetrics::Impl::count_eviction(const Decision& decision) {
  const KnownWork* work = book.work(decision.workload);
  const std::string queue = queues.of(work == nullptr ? std::string() : work->queue);
  const SeriesLabels labels{{"queue", queue}, {"cause", std::string(enum_name(decision.reason.code))}};
  evictions.Add(labels).Increment();
  Counter& gpu_seconds = lost.Add(labels);
  // Without devices the cost is one of CPU.
  if (work != nullptr && work->has_devices())
    gpu_seconds.Increment(seconds(std::max<DurationMs>(0, decision.cost)));
  if (book.first_preemption(decision)) preempted.Add({{"queue", queue}}).Increment();
}

void WorkMetrics::set_pod(std::string_view workload, std::int64_t pod_set, std::int64_t index,
                          std::string_view ns, std::string_view name) {
  if (impl_->options.most_pod_series == 0) return;
  impl_->pods.set(workload, {pod_set, index}, {std::string(ns), std::string(name)});
}
void WorkMetrics::forget_pod(std::string_view workload, std::int64_t pod_set, std::int64_t index) {
  impl_->pods.forget(workload, {pod_set, index});
}
void WorkMetrics::forget_pods(std::string_view workload) {
  impl_->pods.forget(workload);
}

WorkSums WorkMetrics::Impl::sum_work(const engine::Engine& engine, Views workloads) {
  WorkSums out;
  std::unordered_map<std::uint64_t, std::string> shared;  // reasons of work that is alike
  const auto reason_of = [&](std::string_view uid) {
    const auto number = engine.alike(uid);
    if (number) {
      if (const auto known = shared.find(*number); known != shared.end()) return known->second;
    }
    const auto verdict = engine.verdict(uid);
    std::string reason(verdict ? enum_name(leading_code(verdict->reason)) : "None");
    if (number) shared.emplace(*number, reason);
    return reason;
  };
  for (const engine::WorkloadView& view : workloads) {
    const KnownWork* work = book.work(view.uid);
    if (work == nullptr) continue;
    const std::string size = size_class(work->pods);
    if (view.slots_running + view.slots_releasing > 0) {
      ++out.sizes[{"running", size}];
      continue;
    }
    if (view.slots_waiting + view.slots_held == 0) continue;
    const std::string queue = queues.of(work->queue);
    ++out.reasons[{queue, reason_of(view.uid)}];
    if (!work->active) continue;
    ++out.sizes[{"waiting", size}];
    if (work->since == 0) continue;
    const auto [it, is_new] = out.oldest.try_emplace({queue, priority_label(work->priority)}, work->since);
    if (!is_new) it->second = std::min(it->second, work->since);
  }
  return out;
}

std::int64_t WorkMetrics::Impl::show_work(const WorkSums& sums, TimeMs now, std::size_t& room) {
  std::int64_t dropped = 0;
  for (const auto& [key, since] : sums.oldest) {
    dropped += oldest.set({{"queue", key.first}, {"priority", key.second}},
                          seconds(std::max<DurationMs>(0, now - since)), room);
  }
  for (const auto& [key, count] : sums.reasons) {
    dropped += reasons.set({{"queue", key.first}, {"reason", key.second}}, static_cast<double>(count), room);
  }
  for (const auto& [key, count] : sums.sizes) {
    dropped += sizes.set({{"state", key.first}, {"pods", key.second}}, static_cast<double>(count), room);
  }
  return dropped;
}

std::int64_t WorkMetrics::Impl::show_objectives(std::size_t& room) {
  std::map<std::string, DurationMs> within;  // the loosest of those that share a label
  for (const auto& [uid, work] : book.all_work()) {
    const DurationMs time = objective_of(work.priority);
    if (time == 0) continue;
    DurationMs& of = within[priority_label(work.priority)];
    of = std::max(of, time);
  }
  std::int64_t dropped = 0;
  for (const auto& [priority, time] : within)
    dropped += objective.set({{"priority", priority}}, seconds(time), room);
  return dropped;
}

std::int64_t WorkMetrics::Impl::show_allocated(const engine::Engine& engine, Views workloads,
                                               std::size_t& room) {
  std::size_t pod_room = options.most_pod_series;
  std::int64_t dropped = 0;
  std::map<std::tuple<std::string, std::string, std::string>, std::int64_t> sums;
  for (const engine::WorkloadView& view : workloads) {
    if (view.slots_running + view.slots_releasing == 0) continue;
    const KnownWork* work = book.work(view.uid);
    if (work == nullptr || !work->has_devices()) continue;
    const std::string queue = queues.of(work->queue);
    const auto names = pods.of(view.uid);
    each_device_slot(engine, view.uid, *work, [&](const DeviceSlot& slot) {
      const KnownNode* node = book.node(slot.node);
      const std::string pool =
          pools.of(node == nullptr ? std::string_view("none") : std::string_view(node->pool));
      std::int64_t all = 0;
      for (const DeviceRequest& request : *slot.devices) {
        sums[{queue, pool, request.resource}] += request.total();
        all += request.total();
      }
      const auto name = names.find({slot.pod_set, slot.index});
      if (options.most_pod_series == 0 || name == names.end()) return;
      const SeriesLabels labels{{"pod_namespace", name->second.first},
                                {"pod_name", name->second.second},
                                {"node_name", std::string(slot.node)},
                                {"queue", queue},
                                {"pool", pool}};
      dropped += pod_gpus.set(labels, devices(all), pod_room);
    });
  }
  for (const auto& [key, amount] : sums) {
    const auto& [queue, pool, resource] = key;
    dropped +=
        allocated.set({{"queue", queue}, {"pool", pool}, {"resource", resource}}, devices(amount), room);
  }
  return dropped;
}

std::int64_t WorkMetrics::Impl::show_nodes(const engine::Engine& engine, std::size_t& room) {
  const auto profiles = most_asked(book, options.most_profiles);
  const NodeSums sums =
      sum_nodes(engine, book, profiles, [&](std::string_view pool) { return pools.of(pool); });
  std::int64_t dropped = 0;
  for (const auto& [key, amount] : sums.states) {
    const auto& [pool, resource, state] = key;
    dropped += gpus.set({{"pool", pool}, {"resource", resource}, {"state", state}}, devices(amount), room);
  }
  for (const auto& [pool, nodes] : sums.idle)
    dropped += idle_nodes.set({{"pool", pool}}, static_cast<double>(nodes), room);
  for (const auto& [key, fit] : sums.fits) {
    const auto& [pool, resource, profile] = key;
    const SeriesLabels labels{{"pool", pool}, {"resource", resource}, {"profile", profile}};
    dropped += fragmented.set(labels, devices(fit.lost), room);
    dropped += fitting.set(labels, static_cast<double>(fit.pods), room);
  }
  return dropped;
}

std::int64_t WorkMetrics::look_at(const engine::Engine& engine, Views workloads, TimeMs now) {
  std::size_t room = impl_->options.most_work_series;
  std::int64_t dropped = impl_->show_objectives(room);
  dropped += impl_->show_work(impl_->sum_work(engine, workloads), now, room);
  dropped += impl_->show_nodes(engine, room);
  dropped += impl_->show_allocated(engine, workloads, room);
  look_away();
  return dropped;
}

void WorkMetrics::look_away() {
  for (Following* family : impl_->all()) family->end_round();
}

}  // namespace berth::observe
