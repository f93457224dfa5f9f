#include "scheduler/loop/scheduler.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <future>
#include <mutex>
#include <thread>
#include <utility>

#include "kube/rights.h"
#include "kube/transport.h"
#include "observe/codec.h"
#include "observe/decision_log.h"
#include "scheduler/loop/questions.h"
#include "scheduler/loop/rights_told.h"
#include "scheduler/read/sources.h"
#include "scheduler/serve/visibility.h"
#include "scheduler/wire/api_outbox.h"
#include "scheduler/wire/spare_memory.h"

namespace berth::scheduler {
namespace {

constexpr DurationMs kIdle = kSecond;
// Thousands of answers and echoes per second are taken in together, for a quarter of the time that a write takes now, within these bounds. A
// pod that arrives when nothing is going on is decided at once.
constexpr std::chrono::nanoseconds kLeastGather = std::chrono::milliseconds(2);
constexpr std::chrono::nanoseconds kMostGather = std::chrono::milliseconds(20);
constexpr DurationMs kGatherOfSockets = 2;

// Milliseconds since 1970 when it was made, then counted by a clock that never goes back.
std::function<TimeMs()> steady_wall_clock() {
  return [offset = kube::wall_us() / 1000 - kube::boottime_ms()] { return offset + kube::boottime_ms(); };
}

std::chrono::nanoseconds gather_for(const kube::WriterStats& stats) {
  const std::chrono::nanoseconds write(stats.latency.load(std::memory_order_relaxed));
  return std::clamp(write / 4, kLeastGather, kMostGather);
}

std::uint16_t port_of(const std::optional<observe::HttpServer>& server) {
  return server ? server->port() : std::uint16_t{0};
}

}  // namespace

struct Scheduler::Impl {
  explicit Impl(SchedulerOptions chosen)
      : options(std::move(chosen)), metrics({.work = options.work_metrics}) {
    if (!options.version.empty()) metrics.set_build(options.version, options.commit);
  }

  SchedulerOptions options;
  std::string identity = kube::make_identity();
  observe::Metrics metrics;
  std::optional<observe::LogWriter> log;
  Chronicle chronicle;  // before the follower, which tells it
  std::unique_ptr<observe::Follower> follower;
  Inbox inbox;
  std::optional<Questions> questions;
  kube::MissingRights missing_rights;  // before the transport, which tells it
  std::unique_ptr<kube::Transport> transport;
  std::optional<observe::HttpServer> http;
  std::optional<observe::HttpServer> health;
  std::optional<observe::HttpServer> metrics_server;
  std::unique_ptr<Visibility> visibility;
  std::unique_ptr<Board> dashboard;

  std::mutex mutex;
  std::condition_variable changed;
  bool stopping = false;
  bool lost = false;
  bool difference_told = false;
  std::string starts_over;  // why what was built from the API must be built anew
  std::uint64_t term = 0;
  std::atomic<bool> leader{false};
  std::atomic<bool> deciding{false};
  std::atomic<std::int64_t> last_turn_ms{0};  // boottime; 0: not deciding
  std::atomic<std::int64_t> log_bytes{0};

  Status wait_for_lease(std::unique_ptr<kube::LeaderElector>& elector);
  Status lead(kube::LeaderElector* elector);
  Status why_ended(const kube::LeaderElector* elector);
  void decide_loop(Core& core, ApiOutbox& outbox, Sources& sources);
  bool read_first_lists(Core& core, Sources& sources);
  void tell_depths(const Core& core, const ApiOutbox& outbox, const Sources& sources);
  void finish_binds(const ApiOutbox& outbox);
  bool ending() {
    const std::lock_guard lock(mutex);
    return has_ended();
  }
  bool has_ended() const { return stopping || lost || !starts_over.empty(); }  // with the mutex
  Status listen();
  // Says of the rights that are missing what has not been said of late.
  void tell_missing_rights();
  std::string missing_rights_text();
  std::string follower_text() const;
  // Says in the log, once, how the follower differs.
  void tell_difference();
  observe::Observation observation();
  std::string metrics_text();
};

Result<std::unique_ptr<Scheduler>> Scheduler::create(const kube::ClusterConfig& config,
                                                     SchedulerOptions options) {
  auto impl = std::make_unique<Impl>(std::move(options));
  SchedulerOptions& o = impl->options;
  if (!o.clock) o.clock = steady_wall_clock();
  o.reporter.instance = impl->identity;
  if (!o.decision_log.empty()) {
    BERTH_ASSIGN(impl->log, observe::LogWriter::open(o.decision_log));
  }
  if (o.follower) {
    observe::FollowerOptions follower;
    follower.watches.push_back(&impl->metrics.work());
    if (o.dashboard) follower.watches.push_back(&impl->chronicle);
    impl->follower = std::make_unique<observe::Follower>(o.engine, follower);
  }
  impl->questions.emplace(impl->inbox, impl->follower.get());
  o.transport.answered = [rights = &impl->missing_rights](const kube::Request& request,
                                                          const kube::Response& answer) {
    rights->note(request, answer, kube::boottime_ms());
  };
  o.transport.gather = kGatherOfSockets;
  BERTH_ASSIGN(impl->transport, kube::Transport::create(config, o.transport));
  BERTH_TRY(impl->listen());
  if (o.visibility) {
    o.visibility->ns = o.leader.ns;
    BERTH_ASSIGN(impl->visibility,
                 Visibility::start(
                     *impl->transport, *o.visibility,
                     [self = impl.get()](const auto& asked) { return self->questions->pending(asked); },
                     [self = impl.get()] { return self->deciding.load(); }));
  }
  if (o.dashboard) {
    if (impl->follower == nullptr)
      return fail(ErrorCode::kInvalid, "the dashboard needs the follower: not with --follower=false");
    BERTH_ASSIGN(impl->dashboard, Board::start(*impl->transport, *impl->follower, impl->chronicle,
                                               *o.dashboard, [self = impl.get()](const auto& uid) {
                                                 return self->questions->verdict(uid);
                                               }));
  }
  return std::unique_ptr<Scheduler>(new Scheduler(std::move(impl)));
}

Scheduler::Scheduler(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Scheduler::~Scheduler() = default;

bool Scheduler::is_leader() const {
  return impl_->leader;
}
bool Scheduler::is_deciding() const {
  return impl_->deciding;
}
std::uint16_t Scheduler::visibility_port() const {
  return impl_->visibility ? impl_->visibility->port() : std::uint16_t{0};
}
std::uint16_t Scheduler::dashboard_port() const {
  return impl_->dashboard ? impl_->dashboard->port() : std::uint16_t{0};
}
std::uint16_t Scheduler::http_port() const {
  return port_of(impl_->http);
}
std::uint16_t Scheduler::health_port() const {
  return port_of(impl_->health);
}
std::uint16_t Scheduler::metrics_port() const {
  return port_of(impl_->metrics_server);
}

void Scheduler::stop() {
  {
    const std::lock_guard lock(impl_->mutex);
    impl_->stopping = true;
  }
  impl_->changed.notify_all();
  impl_->inbox.wake();
}

Status Scheduler::run() {
  Impl& s = *impl_;
  std::unique_ptr<kube::LeaderElector> elector;
  if (s.options.leader_elect) {
    BERTH_TRY(s.wait_for_lease(elector));
    if (s.ending()) return {};
  } else {
    s.leader = true;
  }
  Status result = s.lead(elector.get());
  s.leader = false;
  return result;
}

Status Scheduler::Impl::wait_for_lease(std::unique_ptr<kube::LeaderElector>& elector) {
  kube::LeaderOptions leader_options = options.leader;
  leader_options.identity = identity;
  leader_options.started = [this](std::uint64_t new_term) {
    const std::lock_guard lock(mutex);
    term = new_term;
    changed.notify_all();
  };
  leader_options.stopped = [this](std::uint64_t) {
    {
      const std::lock_guard lock(mutex);
      lost = true;
    }
    leader = false;
    deciding = false;
    changed.notify_all();
    inbox.wake();
  };
  leader_options.observed = [](const std::string& holder) {
    spdlog::info("the lease is held by {}", holder.empty() ? "nobody" : holder);
  };
  BERTH_ASSIGN(elector, kube::LeaderElector::create(*transport, std::move(leader_options)));
  std::unique_lock lock(mutex);
  while (term == 0 && !stopping) {
    changed.wait_for(lock, std::chrono::seconds(5));
    if (term != 0 || stopping) break;
    lock.unlock();
    if (const auto problem = elector->last_problem(); !problem.empty()) spdlog::warn("lease: {}", problem);
    tell_missing_rights();
    lock.lock();
  }
  if (term != 0) {
    leader = true;
    spdlog::info("leading as {} (term {})", identity, term);
  }
  return {};
}

Status Scheduler::Impl::lead(kube::LeaderElector* elector) {
  kube::WriterOptions writer_options = options.writer;
  if (elector != nullptr) {
    writer_options.fence = [elector](std::uint64_t token) { return elector->holds(token); };
  }
  ApiOutbox outbox(*transport, std::move(writer_options), term, inbox, metrics);
  CoreOptions core_options;
  core_options.intake = options.intake;
  core_options.intake.scheduler_names = options.scheduler_names;
  core_options.intake.hold_owners = options.hold_jobs;
  core_options.intake.devices.more = options.device_resources;
  core_options.engine = options.engine;
  core_options.carrier = options.carrier;
  core_options.reporter = options.reporter;
  core_options.workload_objects = options.workload_objects;
  core_options.on_demand = options.on_demand;
  core_options.audit = options.audit;
  core_options.workload_objects.enabled = options.kueue_objects || options.workload_objects.pods_ready;
  core_options.object_writes_per_second = options.object_writes_per_second;
  core_options.busy_object_writes_per_second =
      std::max<std::int64_t>(1, options.object_writes_per_second / 10);
  observe::RecordedEngine::Sink sink;
  if (log) {
    sink = [this](std::string_view line) -> Status {
      BERTH_TRY(log->write(line));
      log_bytes.store(log->bytes(), std::memory_order_relaxed);
      return {};
    };
  }
  SourcesOptions sources_options{options.kueue_objects, core_options.intake.devices};
  Core core(std::move(core_options), outbox, std::move(sink), follower.get(), &metrics);
  const auto started =
      Sources::start(*transport, inbox, std::move(sources_options), [this] { return ending(); });
  if (!started) return ending() ? why_ended(elector) : tl::unexpected<Error>(started.error());
  const std::unique_ptr<Sources>& sources = *started;
  sources->look_for_kueue();

  std::thread decider([&] { decide_loop(core, outbox, *sources); });
  {
    std::unique_lock lock(mutex);
    while (!has_ended()) {
      changed.wait_for(lock, std::chrono::milliseconds(options.look_for_kinds_every),
                       [&] { return has_ended(); });
      if (has_ended()) continue;
      lock.unlock();
      tell_missing_rights();
      tell_difference();
      if (!deciding) {
        lock.lock();
        continue;
      }
      if (const auto found = sources->look_again(); !found) {
        spdlog::debug("looking for new kinds: {}", found.error().str());
      } else if (*found) {
        spdlog::info("the API server serves more kinds that Berth reads: watching them too");
      }
      sources->look_for_kueue();
      lock.lock();
    }
  }
  inbox.wake();
  decider.join();
  deciding = false;
  last_turn_ms = 0;
  if (log) {
    if (const auto closed = log->close(); !closed) spdlog::error("{}", closed.error().str());
  }
  return why_ended(elector);
}

Status Scheduler::Impl::why_ended(const kube::LeaderElector* elector) {
  const std::lock_guard lock(mutex);
  if (lost && !stopping) {
    const std::string why = elector == nullptr ? "" : elector->last_problem();
    return fail(ErrorCode::kUnavailable, "the lease {}/{} was lost{}{}; start again as a candidate",
                options.leader.ns, options.leader.name, why.empty() ? "" : ": ", why);
  }
  if (!starts_over.empty() && !stopping) {
    return fail(ErrorCode::kInternal,
                "the self-audit found a fault of the engine ({}): start again; all is read from the API",
                starts_over);
  }
  return {};
}

// False: it is to end before that.
bool Scheduler::Impl::read_first_lists(Core& core, Sources& sources) {
  Batch batch;
  const TimeMs started = options.clock();
  TimeMs told = started;
  while (!sources.all_synced() || !core.has_read(sources.kinds(), options.clock())) {
    if (ending()) return false;
    inbox.take(batch, 100);
    core.take(batch, options.clock());
    if (options.clock() - told >= 5 * kSecond) {
      told = options.clock();
      for (const auto& problem : sources.problems()) spdlog::warn("waiting for the first lists: {}", problem);
    }
  }
  spdlog::info("all lists read in {} ms: {} pods", options.clock() - started, core.intake().pod_count());
  return true;
}

void Scheduler::Impl::tell_depths(const Core& core, const ApiOutbox& outbox, const Sources& sources) {
  metrics.set_watch_silence(sources.silences());
  const auto& stats = outbox.stats();
  for (std::size_t c = 0; c < kube::kWriteClasses; ++c) {
    constexpr std::array kNames = {"writes-bind", "writes-status", "writes-event"};
    metrics.set_queue_depth(kNames[c], stats.queued[c].load(std::memory_order_relaxed));
    const kube::Nanos oldest = stats.oldest[c].load(std::memory_order_relaxed);
    const kube::Nanos waited = oldest == 0 ? 0 : std::max<kube::Nanos>(0, kube::boottime_ns() - oldest);
    metrics.set_oldest_write(std::string_view(kNames[c]).substr(7), static_cast<double>(waited) / 1e9);
  }
  metrics.set_writes_in_flight(stats.in_flight.load(), stats.limit.load());
  metrics.set_queue_depth("reports", core.reporter().waiting());
  metrics.set_queue_depth("kueue-changes", core.workload_objects().changes());
  metrics.set_queue_depth("kueue-objects",
                          core.workload_objects().backlog() + core.queue_statuses().backlog());
}

// Binds that are on their way end well or not; nothing new is decided.
void Scheduler::Impl::finish_binds(const ApiOutbox& outbox) {
  const TimeMs until = options.clock() + options.finish_binds;
  while (outbox.stats().in_flight.load() + outbox.stats().queued[0].load() > 0 && options.clock() < until) {
    {
      const std::lock_guard lock(mutex);
      if (lost) break;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
}

void Scheduler::Impl::decide_loop(Core& core, ApiOutbox& outbox, Sources& sources) {
  const auto now = [&] { return options.clock(); };
  if (!read_first_lists(core, sources)) return;
  core.set_kueue_version(sources.kueue_version(), now());  // the way to ask admission checks
  core.set_provisioning_version(sources.provisioning_version(), now());
  core.recover(now());
  deciding = true;
  questions->open(core);
  metrics.set_leader(true);
  Batch batch;
  TimeMs flushed = now();
  bool log_failed = false;
  SpareMemory spare;
  auto turned = std::chrono::steady_clock::now();
  while (true) {
    last_turn_ms.store(kube::boottime_ms(), std::memory_order_relaxed);
    const bool more = core.report(now());
    DurationMs wait = 0;
    if (!more) wait = std::clamp<DurationMs>(core.next_due() - now(), 0, kIdle);
    if (core.carrier().busy() > 0) std::this_thread::sleep_until(turned + gather_for(outbox.stats()));
    inbox.take(batch, wait);
    if (ending()) break;
    metrics.set_queue_depth("inbox", batch.size());
    const TimeMs time = now();
    core.set_kueue_version(sources.kueue_version(), time);
    core.set_provisioning_version(sources.provisioning_version(), time);
    core.set_gang_versions(sources.gang_versions());
    core.take(batch, time);
    core.turn(time);
    turned = std::chrono::steady_clock::now();
    if (!core.starts_over().empty()) {
      const std::lock_guard lock(mutex);
      starts_over = core.starts_over();
      changed.notify_all();
      break;
    }
    if (time - flushed < kSecond) continue;
    flushed = time;
    (void)spare.give_back(time);
    tell_depths(core, outbox, sources);
    if (!log) continue;
    if (const auto status = log->flush(); !status && !std::exchange(log_failed, true))
      spdlog::error("the decision log is not written any more: {}", status.error().str());
  }
  deciding = false;
  questions->close();
  metrics.set_leader(false);
  finish_binds(outbox);
}

// -------------------------------------------------------------------------------------------------------------- questions

void Scheduler::Impl::tell_missing_rights() {
  for (const auto& missing : missing_rights.to_log(kube::boottime_ms()))
    spdlog::error("a right is missing: {} ({})", told(missing.right), missing.message);
}

std::string Scheduler::Impl::missing_rights_text() {
  std::string out;
  for (const auto& missing : missing_rights.list(kube::boottime_ms()))
    out += fmt::format("a right is missing: {}\n", told(missing.right));
  return out;
}

// It decides nothing, so it is no reason to restart the decider.
std::string Scheduler::Impl::follower_text() const {
  if (follower == nullptr || follower->diverged().empty()) return {};
  return "the follower decided otherwise than the decider, and answers no questions: the log says where\n";
}

void Scheduler::Impl::tell_difference() {
  const std::string text = follower == nullptr ? std::string() : follower->diverged();
  if (!text.empty() && !std::exchange(difference_told, true)) spdlog::error("{}", text);
}

std::string Scheduler::Impl::metrics_text() {
  std::vector<std::pair<std::string, std::string>> rights;
  for (const auto& missing : missing_rights.list(kube::boottime_ms()))
    rights.emplace_back(missing.right.verb, missing.right.full_resource());
  metrics.set_missing_rights(rights);
  metrics.set_leader(leader);
  metrics.set_log_bytes(log_bytes);
  if (follower != nullptr) {
    metrics.set_follower_lag(follower->lag());
    metrics.set_follower_differs(!follower->diverged().empty());
    const auto looked = follower->ask([&](const engine::Engine& engine) {
      metrics.look_at(engine, options.clock());
      return true;
    });
    if (!looked) metrics.look_away();
  }
  return metrics.text();
}

Status Scheduler::Impl::listen() {
  const auto serve = [](observe::Observation pages) {
    return observe::HttpRoutes{.get = observe::serve_observation(std::move(pages))};
  };
  const observe::Observation all = observation();
  if (options.http) {
    if (!observe::is_loopback(options.http->address)) {
      return fail(
          ErrorCode::kInvalid,
          "--http-address {}: its pages name the workloads of all namespaces, so it listens on loopback "
          "only (kubectl port-forward reaches it). Probes: --health-address; Prometheus: --metrics-address",
          options.http->address);
    }
    BERTH_ASSIGN(http, observe::HttpServer::start(*options.http, serve(all)));
  }
  if (options.health) {
    BERTH_ASSIGN(health, observe::HttpServer::start(
                             *options.health,
                             serve({.healthy = all.healthy, .ready = all.ready, .notes = all.notes})));
  }
  if (options.metrics) {
    observe::Observation pages;
    pages.metrics = all.metrics;
    BERTH_ASSIGN(metrics_server, observe::HttpServer::start(*options.metrics, serve(std::move(pages))));
  }
  return {};
}

observe::Observation Scheduler::Impl::observation() {
  observe::Observation out;
  out.healthy = [this]() -> Status {
    const std::int64_t last = last_turn_ms.load(std::memory_order_relaxed);
    if (last != 0 && kube::boottime_ms() - last > kMinute) {
      return fail(ErrorCode::kInternal, "the decision thread has not moved for {} s",
                  (kube::boottime_ms() - last) / 1000);
    }
    return {};
  };
  out.ready = [this]() -> Status {
    return leader && !deciding ? fail(ErrorCode::kUnavailable, "reading the cluster") : Status();
  };
  out.notes = [this] { return missing_rights_text() + follower_text(); };
  out.metrics = [this] { return metrics_text(); };
  out.explain = [this](const std::string& asked) { return questions->explain(asked); };
  out.state = [this](std::size_t most) -> Result<std::string> {
    if (follower == nullptr) return fail(ErrorCode::kUnavailable, "there is no follower");
    return follower->state_json(most);
  };
  return out;
}

}  // namespace berth::scheduler
