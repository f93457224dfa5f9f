#include "observe/metrics.h"

#include <prometheus/text_serializer.h>

#include <array>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "model/resources.h"
#include "observe/series.h"

namespace berth::observe {
namespace {

using prometheus::Counter;
using prometheus::Family;
using prometheus::Gauge;
using prometheus::Histogram;

Histogram::BucketBoundaries seconds_buckets() {
  return {0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30};
}

Histogram& histogram(prometheus::Registry& registry, const char* name, const char* help) {
  return histograms(registry, name, help).Add({}, seconds_buckets());
}

double as_people_write_it(std::string_view resource, std::int64_t amount) {
  return static_cast<double>(amount) / static_cast<double>(units_per_one(resource));
}

}  // namespace

namespace {

// By a text that is copied the first time only.
template <class Value>
Value& entry(std::map<std::string, Value, std::less<>>& of, std::string_view key) {
  const auto it = of.find(key);
  return it != of.end() ? it->second : of.emplace(std::string(key), Value{}).first->second;
}

}  // namespace

struct Metrics::Impl {
  explicit Impl(MetricsOptions chosen) : options(std::move(chosen)), work(registry, options.work) {
    // Series with fixed labels exist from the start, at zero.
    for (const auto kind : EnumNames<DecisionKind>::names) decisions.Add({{"kind", std::string(kind)}});
  }

  MetricsOptions options;
  std::mutex mutex;  // of look_at()
  prometheus::Registry registry;
  Family<Counter>& decisions = counters(registry, "berth_decisions_total", "Decisions by kind.");
  Counter& slots_started =
      counters(registry, "berth_slots_started_total", "Pods that start decisions placed.").Add({});
  Histogram& decide_seconds = histogram(registry, "berth_decide_seconds", "Time of one decide() call.");
  Histogram& bind_seconds =
      histogram(registry, "berth_bind_seconds", "From the decision until the bind is acknowledged.");
  Histogram& watch_seconds = histogram(registry, "berth_watch_seconds",
                                       "From the acknowledged bind until the watch of pods shows it.");
  Following watch_silence{gauges(registry, "berth_watch_silence_seconds",
                                 "Since the last byte that came from the watch of this kind.")};
  Family<Gauge>& build = gauges(registry, "berth_build_info", "1: this version and commit of Berth runs.");
  Family<Counter>& api_writes =
      counters(registry, "berth_api_writes_total", "Writes to the API by kind and outcome.");
  Family<Gauge>& queue_depth =
      gauges(registry, "berth_queue_depth", "Entries that wait between the parts of the live loop.");
  Family<Gauge>& oldest_write =
      gauges(registry, "berth_api_write_oldest_seconds", "Age of the oldest waiting write, by class.");
  // The library finds a series by a map of its labels, which costs more than what is counted thousands of times per second.
  std::mutex known_mutex;  // of the two
  std::map<std::string, std::array<Counter*, EnumNames<WriteOutcome>::names.size()>, std::less<>>
      known_writes;
  std::map<std::string, Gauge*, std::less<>> known_depths;
  Gauge& writes_in_flight =
      gauges(registry, "berth_api_writes_in_flight", "Writes on their way to the API server.").Add({});
  Gauge& write_limit = gauges(registry, "berth_api_write_limit",
                              "Most writes that may be in flight now; adapts to the API server.")
                           .Add({});
  Family<Gauge>& unreadable =
      gauges(registry, "berth_unreadable_objects", "Objects with a field that cannot be read, by kind.");
  Following missing_rights{gauges(registry, "berth_missing_rights",
                                  "1: the API server refused a request for lack of this right.")};
  Family<Gauge>& audit_differences =
      gauges(registry, "berth_audit_differences",
             "Differences between the model and the API that the last audit found.");
  Gauge& leader = gauges(registry, "berth_leader", "1 while this process decides.").Add({});
  Gauge& follower_lag =
      gauges(registry, "berth_follower_lag", "Entries that the follower is behind.").Add({});
  Gauge& follower_differs = gauges(registry, "berth_follower_differs",
                                   "1: the follower decided otherwise than the decider, and answers no more.")
                                .Add({});
  Gauge& log_bytes = gauges(registry, "berth_log_bytes", "Bytes of lines in the decision log.").Add({});
  Following pending{gauges(registry, "berth_pending_workloads", "Workloads that wait.")};
  Following started{gauges(registry, "berth_started_workloads", "Workloads that run.")};
  Following nominal{gauges(registry, "berth_quota_nominal", "Nominal quota, in cores, bytes or devices.")};
  Following usage{gauges(registry, "berth_quota_usage", "Quota in use: binding, running and releasing.")};
  Following available{gauges(registry, "berth_quota_available", "Quota that the queue can still use now.")};
  Following slots{gauges(registry, "berth_slots", "Slots by state.")};
  Gauge& nodes = gauges(registry, "berth_nodes", "Nodes.").Add({});
  Gauge& series_dropped =
      gauges(registry, "berth_series_dropped", "Series beyond the bounds, not shown.").Add({});
  WorkMetrics work;
};

Metrics::Metrics(MetricsOptions options) : impl_(std::make_unique<Impl>(std::move(options))) {}
Metrics::~Metrics() = default;

void Metrics::decided(std::span<const Decision> decisions, double seconds) {
  impl_->decide_seconds.Observe(seconds);
  for (const auto& decision : decisions) {
    impl_->decisions.Add({{"kind", std::string(enum_name(decision.kind))}}).Increment();
    if (decision.kind == DecisionKind::kStart) {
      impl_->slots_started.Increment(static_cast<double>(decision.slots.size()));
    }
  }
}

void Metrics::bound(double seconds) {
  impl_->bind_seconds.Observe(seconds);
}

void Metrics::watched(double seconds) {
  impl_->watch_seconds.Observe(seconds);
}

void Metrics::set_watch_silence(std::span<const std::pair<std::string, double>> kinds) {
  const std::lock_guard lock(impl_->mutex);
  std::size_t room = kinds.size();
  for (const auto& [kind, seconds] : kinds) (void)impl_->watch_silence.set({{"kind", kind}}, seconds, room);
  impl_->watch_silence.end_round();
}

void Metrics::set_build(std::string_view version, std::string_view commit) {
  impl_->build.Add({{"version", std::string(version)}, {"commit", std::string(commit)}}).Set(1);
}

void Metrics::wrote(std::string_view kind, WriteOutcome outcome) {
  const std::lock_guard lock(impl_->known_mutex);
  Counter*& counter = entry(impl_->known_writes, kind)[static_cast<std::size_t>(outcome)];
  if (counter == nullptr)
    counter =
        &impl_->api_writes.Add({{"kind", std::string(kind)}, {"outcome", std::string(enum_name(outcome))}});
  counter->Increment();
}

void Metrics::set_queue_depth(std::string_view stage, std::size_t entries) {
  const std::lock_guard lock(impl_->known_mutex);
  Gauge*& gauge = entry(impl_->known_depths, stage);
  if (gauge == nullptr) gauge = &impl_->queue_depth.Add({{"stage", std::string(stage)}});
  gauge->Set(static_cast<double>(entries));
}

void Metrics::set_oldest_write(std::string_view write_class, double seconds) {
  impl_->oldest_write.Add({{"class", std::string(write_class)}}).Set(seconds);
}
void Metrics::set_writes_in_flight(std::uint64_t now, std::uint64_t limit) {
  impl_->writes_in_flight.Set(static_cast<double>(now));
  impl_->write_limit.Set(static_cast<double>(limit));
}

void Metrics::set_leader(bool leader) {
  impl_->leader.Set(leader ? 1 : 0);
}
void Metrics::set_follower_lag(std::size_t entries) {
  impl_->follower_lag.Set(static_cast<double>(entries));
}
void Metrics::set_follower_differs(bool differs) {
  impl_->follower_differs.Set(differs ? 1 : 0);
}
void Metrics::set_log_bytes(std::int64_t bytes) {
  impl_->log_bytes.Set(static_cast<double>(bytes));
}

void Metrics::set_unreadable(std::string_view kind, std::size_t objects) {
  impl_->unreadable.Add({{"kind", std::string(kind)}}).Set(static_cast<double>(objects));
}

void Metrics::set_missing_rights(std::span<const std::pair<std::string, std::string>> rights) {
  const std::lock_guard lock(impl_->mutex);
  std::size_t room = rights.size();
  for (const auto& [verb, resource] : rights)
    (void)impl_->missing_rights.set({{"verb", verb}, {"resource", resource}}, 1, room);
  impl_->missing_rights.end_round();
}

void Metrics::set_audit_differences(std::string_view kind, std::size_t differences) {
  impl_->audit_differences.Add({{"kind", std::string(kind)}}).Set(static_cast<double>(differences));
}

WorkMetrics& Metrics::work() {
  return impl_->work;
}

void Metrics::look_away() {
  const std::lock_guard lock(impl_->mutex);
  for (auto* family :
       {&impl_->pending, &impl_->started, &impl_->nominal, &impl_->usage, &impl_->available, &impl_->slots})
    family->end_round();
  impl_->work.look_away();
}

void Metrics::look_at(const engine::Engine& engine, TimeMs now) {
  const std::lock_guard lock(impl_->mutex);
  std::size_t room = impl_->options.most_queue_series;
  const auto workloads = engine.workloads();
  std::int64_t dropped = impl_->work.look_at(engine, workloads, now);
  const auto set = [&](Following& family, const SeriesLabels& labels, double value) {
    dropped += family.set(labels, value, room);
  };
  for (const auto& queue : engine.queues()) {
    const SeriesLabels labels{{"queue", std::string(queue.name)}};
    set(impl_->pending, labels, static_cast<double>(queue.pending));
    set(impl_->started, labels, static_cast<double>(queue.started));
    for (const auto& quota : queue.quotas) {
      SeriesLabels full = labels;
      full["flavor"] = quota.flavor;
      full["resource"] = quota.resource;
      set(impl_->nominal, full, as_people_write_it(quota.resource, quota.nominal));
      set(impl_->usage, full, as_people_write_it(quota.resource, quota.usage));
      set(impl_->available, full, as_people_write_it(quota.resource, quota.available));
    }
  }
  for (auto* family : {&impl_->pending, &impl_->started, &impl_->nominal, &impl_->usage, &impl_->available}) {
    family->end_round();
  }
  impl_->series_dropped.Set(static_cast<double>(dropped));

  std::int64_t running = 0;
  std::int64_t held = 0;
  std::int64_t releasing = 0;
  std::int64_t waiting = 0;
  for (const auto& workload : workloads) {
    running += workload.slots_running;
    held += workload.slots_held;
    releasing += workload.slots_releasing;
    waiting += workload.slots_waiting;
  }
  std::size_t states = EnumNames<SlotState>::names.size();
  const auto set_slots = [&](SlotState state, std::int64_t count) {
    (void)impl_->slots.set({{"state", std::string(enum_name(state))}}, static_cast<double>(count), states);
  };
  set_slots(SlotState::kRunning, running);
  set_slots(SlotState::kHeld, held);
  set_slots(SlotState::kReleasing, releasing);
  set_slots(SlotState::kWaiting, waiting);
  impl_->slots.end_round();
  impl_->nodes.Set(static_cast<double>(engine.node_count()));
}

std::string Metrics::text() const {
  return prometheus::TextSerializer().Serialize(impl_->registry.Collect());
}

}  // namespace berth::observe
