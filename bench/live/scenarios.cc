#include "scenarios.h"

#include <fmt/format.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <thread>

#include "constrained.h"
#include "e2e/project_controller.h"
#include "work.h"

namespace berth::bench {
namespace {

using e2e::ApiClient;
using e2e::ObserverOfPods;
using e2e::PodShape;
using e2e::TestCluster;
using Clock = ObserverOfPods::Clock;
using std::chrono::milliseconds;
using std::chrono::seconds;

// Of the API server and etcd, whose collectors would take a sixth of the two cores: that is not what is compared. The contenders
// run as they are.
constexpr const char* kGoGc = "400";

constexpr const char* kJobSets = "/apis/jobset.x-k8s.io/v1alpha2/namespaces/default/jobsets";

double seconds_between(Clock::time_point from, Clock::time_point to) {
  return std::chrono::duration<double>(to - from).count();
}

// Plays the kubelet's part in a deletion: what is being deleted and has a node is removed at once.
class Reaper {
 public:
  explicit Reaper(const e2e::Endpoint& endpoint) {
    for (int i = 0; i < 8; ++i) {
      threads_.emplace_back([this, endpoint] { work(endpoint); });
    }
  }
  ~Reaper() {
    {
      const std::lock_guard lock(mutex_);
      stop_ = true;
    }
    changed_.notify_all();
    for (auto& thread : threads_) {
      thread.join();
    }
  }
  void on_pod(const e2e::SeenPod& pod, bool deleted) {
    if (!deleted && pod.deleting && !pod.node.empty()) {
      const std::lock_guard lock(mutex_);
      if (seen_.insert(pod.uid).second) {
        queue_.push_back(pod.key);
        changed_.notify_one();
      }
    }
  }

 private:
  void work(const e2e::Endpoint& endpoint) {
    ApiClient api(endpoint);
    std::unique_lock lock(mutex_);
    while (true) {
      changed_.wait(lock, [&] { return stop_ || !queue_.empty(); });
      if (stop_) {
        return;
      }
      const std::string key = queue_.front();
      queue_.pop_front();
      lock.unlock();
      const auto slash = key.find('/');
      api.del(fmt::format("/api/v1/namespaces/{}/pods/{}", key.substr(0, slash), key.substr(slash + 1)),
              R"({"gracePeriodSeconds":0})");
      lock.lock();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  bool stop_ = false;
  std::deque<std::string> queue_;
  std::set<std::string> seen_;
  std::vector<std::thread> threads_;
};

class Run {
 public:
  Run(Scenario scenario, const Contender& contender, const Scale& scale)
      : contender_(contender), scale_(scale), work_(contender, scenario >= Scenario::kQ1 && contender.gangs) {
    outcome_.scenario = scenario;
    outcome_.contender = contender.name;
  }

  Result<Outcome> go() {
    BERTH_ASSIGN(cluster_, TestCluster::start(
                               {.kubernetes = scale_.kubernetes,
                                .controller_manager = outcome_.scenario == Scenario::kQ1 || has_jobsets(),
                                .fair_queuing = false,
                                .unlimited_scheduler = true,
                                .go_gc = kGoGc,
                                .controller_manager_args = {"--kube-api-qps=10000", "--kube-api-burst=20000",
                                                            "--concurrent-job-syncs=50"}}));
    if (scale_.keep) {
      cluster_->keep_folder();
      fmt::print(stderr, "logs: {}\n", cluster_->folder().string());
    }
    BERTH_TRY(cluster_->create_nodes(scale_.nodes, has_constraints() ? nodes_in_zones() : e2e::NodeShape{}));
    observer_ = std::make_unique<ObserverOfPods>(cluster_->endpoint());
    const auto status = [&]() -> Status {
      switch (outcome_.scenario) {
        case Scenario::kS1:
          return backlog(work_.plain_pods(scale_.pods));
        case Scenario::kS2:
          return backlog(work_.gang_pods("gang", scale_.gangs, {}));
        case Scenario::kS3:
        case Scenario::kQ3:
          return preemption();
        case Scenario::kS4:
          return first_bind();
        case Scenario::kS5:
          return interleaved();
        case Scenario::kC1:
          return arrivals(Constraint::kAffinity);
        case Scenario::kC2:
          return arrivals(Constraint::kSpread);
        case Scenario::kC3:
          return arrivals(Constraint::kVolume);
        case Scenario::kQ1:
          return jobs();
        case Scenario::kQ2:
          return contender_.gangs ? released_queue() : backlog(work_.plain_pods(scale_.pods));
        case Scenario::kQ4:
          return waiting_jobs();
        case Scenario::kQ5:
          return released_jobsets(true);
        case Scenario::kQ6:
          return contender_.kueue ? released_jobsets(false) : waiting_jobsets();
      }
      return {};
    }();
    close_dashboards();
    if (running_) {
      running_->stop();
    }
    observer_->stop();
    if (!status) {
      cluster_->keep_folder();
      return tl::unexpected(
          Error{status.error().code,
                fmt::format("{}\n(logs: {})", status.error().message, cluster_->folder().string()),
                {}});
    }
    return outcome_;
  }

 private:
  bool has_jobsets() const {
    return outcome_.scenario == Scenario::kQ5 || outcome_.scenario == Scenario::kQ6;
  }
  bool has_constraints() const {
    return outcome_.scenario >= Scenario::kC1 && outcome_.scenario <= Scenario::kC3;
  }

  // Waits until the scheduler, which has nothing to start, has read the cluster and written what it writes of what runs: two
  // seconds in which it uses next to no CPU.
  Status start_and_settle() {
    BERTH_TRY(start_contender());
    return settle();
  }
  Status settle() {
    const auto end = Clock::now() + seconds(scale_.time_limit_s);
    double before = 0;
    for (bool idle = false; !idle;) {
      std::this_thread::sleep_for(seconds(2));
      BERTH_TRY(running_->alive());
      if (Clock::now() > end) {
        return fail(ErrorCode::kUnavailable, "{} has nothing to start and does not come to rest",
                    contender_.name);
      }
      const double cpu = running_->usage().cpu_seconds;
      idle = before > 0 && cpu - before < 0.05;
      before = cpu;
    }
    return {};
  }

  Status jobs() {
    constexpr std::size_t kPods = 4;
    constexpr std::size_t kQueues = 4;
    if (work_.queued()) BERTH_TRY(make_queues(*cluster_, kQueues, scale_.jobs * kPods / kQueues));
    BERTH_TRY(observer_->start());
    BERTH_TRY(start_and_settle());
    start_ = Clock::now();
    BERTH_TRY(work_.create_jobs(*cluster_, scale_.jobs, kPods, kQueues));
    BERTH_ASSIGN(outcome_.finished, wait_for_binds(scale_.jobs * kPods));
    return finish_backlog();
  }

  Status released_queue() {
    BERTH_TRY(make_queues(*cluster_, 1, scale_.pods, /*stopped=*/true));
    BERTH_TRY(create(work_.plain_pods(scale_.pods)));
    std::atomic<std::size_t> told{0};
    std::set<std::string> seen;  // on the observer's thread
    observer_->on_pod([&](const e2e::SeenPod& pod, bool) {
      if (!pod.scheduled_reason.empty() && seen.insert(pod.uid).second) ++told;
    });
    BERTH_TRY(observer_->start());
    BERTH_TRY(start_contender());
    const auto end = Clock::now() + seconds(scale_.time_limit_s);
    while (told < scale_.pods) {
      BERTH_TRY(running_->alive());
      if (Clock::now() > end) {
        return fail(ErrorCode::kUnavailable, "{} of {} pods were told why they wait", told.load(),
                    scale_.pods);
      }
      std::this_thread::sleep_for(milliseconds(50));
    }
    std::this_thread::sleep_for(seconds(2));
    if (observer_->now().binds > 0) {
      return fail(ErrorCode::kInvalid, "{} pods were bound in a stopped queue", observer_->now().binds);
    }
    BERTH_TRY(release(scale_.pods));
    observer_->stop();  // its callback refers to what ends here
    return {};
  }

  // Opens the queue, or unsuspends the JobSets where there is none, and waits for so many binds.
  Status release(std::size_t pods, bool queued = true) {
    auto api = cluster_->client();
    start_ = Clock::now();
    if (queued) {
      BERTH_TRY(e2e::expect_ok(
          api.patch("/apis/kueue.x-k8s.io/v1beta2/clusterqueues/team-0", R"({"spec":{"stopPolicy":"None"}})"),
          "releasing the queue"));
    }
    for (std::size_t i = 0; !queued && i < scale_.gangs; ++i) {
      BERTH_TRY(
          e2e::expect_ok(api.patch(fmt::format("{}/set-{}", kJobSets, i), R"({"spec":{"suspend":false}})"),
                         "releasing a JobSet"));
    }
    BERTH_ASSIGN(outcome_.finished, wait_for_binds(pods));
    outcome_.to_first_s = seconds_between(start_, observer_->now().first_bind);
    return finish_backlog();
  }

  Status create_jobsets(bool queued, bool suspended) {
    std::vector<std::string> bodies;
    for (std::size_t i = 0; i < scale_.gangs; ++i) bodies.push_back(work_.jobset(i, queued, suspended));
    return cluster_->create_all(kJobSets, bodies, 32);
  }

  // The pods are there, and JobSet's controller has nothing more to do with them, before the scheduler starts.
  Status waiting_jobsets() {
    const std::size_t pods = scale_.gangs * kGang;
    e2e::ProjectController controller(*cluster_, "jobset");
    BERTH_TRY(controller.start());
    if (contender_.gangs) BERTH_TRY(make_queues(*cluster_, 1, pods));
    BERTH_TRY(observer_->start());
    BERTH_TRY(create_jobsets(contender_.gangs, false));
    if (!observer_->wait_until([&](const auto& now) { return now.pods >= pods; },
                               seconds(scale_.time_limit_s)))
      return fail(ErrorCode::kUnavailable, "{} of {} pods were made", observer_->now().pods, pods);
    std::this_thread::sleep_for(seconds(5));
    BERTH_TRY(start_contender());
    BERTH_ASSIGN(outcome_.finished, wait_for_binds(pods));
    return finish_backlog();
  }

  // Kueue's webhooks must answer before there are queues; Berth finds the kinds that are there.
  Status released_jobsets(bool suspended) {
    const std::size_t pods = scale_.gangs * kGang;
    e2e::ProjectController controller(*cluster_, "jobset");
    BERTH_TRY(controller.start());
    const bool queued = contender_.kueue || contender_.gangs;
    if (contender_.gangs) BERTH_TRY(install_queues(*cluster_));
    BERTH_TRY(observer_->start());
    BERTH_TRY(start_contender());
    if (queued) BERTH_TRY(create_queues(*cluster_, 1, pods, /*stopped=*/true));
    BERTH_TRY(create_jobsets(queued, suspended));
    BERTH_TRY(settle());
    if (observer_->now().binds > 0)
      return fail(ErrorCode::kInvalid, "{} pods were bound in a stopped queue", observer_->now().binds);
    const double before = running_->usage().cpu_seconds;
    api_before_ = cluster_->process("kube-apiserver")->usage();
    etcd_before_ = cluster_->process("etcd")->usage();
    BERTH_TRY(release(pods, queued));
    outcome_.scheduler.cpu_seconds -= before;
    return {};
  }

  Status waiting_jobs() {
    BERTH_TRY(make_queues(*cluster_, 1, 0));
    BERTH_TRY(observer_->start());
    BERTH_TRY(start_and_settle());
    BERTH_TRY(work_.create_jobs(*cluster_, scale_.waiting, 1, 1));
    outcome_.after_last_pod_s = seconds_between(start_, Clock::now());
    // Until its memory is what it was five seconds before: all are read, and their reasons written.
    const auto end = Clock::now() + seconds(scale_.time_limit_s);
    for (std::uint64_t before = 0; Clock::now() < end;) {
      std::this_thread::sleep_for(seconds(5));
      BERTH_TRY(running_->alive());
      const double cpu = running_->usage().cpu_seconds;
      outcome_.idle_rss_bytes = running_->resident_bytes();
      outcome_.finished = before != 0 && cpu - idle_cpu_ < 0.5;
      before = outcome_.idle_rss_bytes;
      idle_cpu_ = cpu;
      if (outcome_.finished) break;
    }
    take_usage();
    outcome_.bound = observer_->now().binds;
    if (!scale_.then.empty()) BERTH_TRY(run_then());
    return judge();
  }

  // Runs the command of the user while a Job comes every half second, one goes every second, and a node is cordoned or freed.
  Status run_then() {
    std::atomic<bool> done{false};
    std::thread changes([&] {
      auto api = cluster_->client();
      for (std::size_t i = 0; !done; ++i) {
        api.post("/apis/batch/v1/namespaces/default/jobs", work_.job(scale_.waiting + i, 1, 1));
        if (i % 2 == 0) {
          api.del(fmt::format("/apis/batch/v1/namespaces/default/jobs/job-{}", i / 2));
          api.patch("/api/v1/nodes/node-0", fmt::format(R"({{"spec":{{"unschedulable":{}}}}})", i % 4 == 0));
        }
        std::this_thread::sleep_for(milliseconds(500));
      }
    });
    std::fflush(stdout);
    const std::string command = fmt::format(
        "BERTH_DASHBOARD=http://127.0.0.1:{}/ BERTH_PID={} KUBECONFIG='{}'; "
        "export BERTH_DASHBOARD BERTH_PID KUBECONFIG; {}",
        running_->dashboard_port(), running_->pid(), cluster_->kubeconfig(), scale_.then);
    const int status = std::system(command.c_str());
    done = true;
    changes.join();
    if (status != 0) return fail(ErrorCode::kUnavailable, "the command of --then ended with {}", status);
    return running_->alive();
  }

  Status create(const std::vector<std::string>& bodies) {
    return cluster_->create_all("/api/v1/namespaces/default/pods", bodies, 32);
  }

  Status start_contender() {
    api_before_ = cluster_->process("kube-apiserver")->usage();
    etcd_before_ = cluster_->process("etcd")->usage();
    start_ = Clock::now();
    BERTH_ASSIGN(running_, Running::start(contender_, *cluster_, has_constraints()));
    if (contender_.watched)
      dashboards_ = std::make_unique<Dashboards>(scale_.dashboards, running_->dashboard_port());
    return {};
  }

  // Waits until `binds` binds were seen; false when the time is over.
  Result<bool> wait_for_binds(std::size_t binds) {
    const auto end = Clock::now() + seconds(scale_.time_limit_s);
    while (Clock::now() < end) {
      if (observer_->wait_until([&](const auto& now) { return now.binds >= binds; }, milliseconds(500))) {
        return true;
      }
      BERTH_TRY(running_->alive());
    }
    return false;
  }

  void close_dashboards() {
    if (!dashboards_) return;
    outcome_.dashboards = dashboards_->seen();
    dashboards_.reset();
    if (scale_.dashboards > 0 && outcome_.dashboards.answers == 0)
      outcome_.judgement += "the dashboards got no answer\n";
  }

  void take_usage() {
    outcome_.scheduler = running_->usage();
    outcome_.api_server_cpu_s =
        cluster_->process("kube-apiserver")->usage().cpu_seconds - api_before_.cpu_seconds;
    outcome_.etcd_cpu_s = cluster_->process("etcd")->usage().cpu_seconds - etcd_before_.cpu_seconds;
  }

  // The judgement of the blind binder is that it oversubscribes nothing here only because round-robin fits; gangs are
  // not its business.
  Status judge() {
    BERTH_TRY(observer_->catch_up());
    auto report = observer_->check();
    outcome_.gangs = report.gangs;
    if (!report.clean() || (contender_.gangs && report.gangs.partial > 0)) {
      outcome_.judgement = report.str();
    }
    report_ = std::move(report);
    return {};
  }

  Status backlog(const std::vector<std::string>& bodies) {
    BERTH_TRY(create(bodies));
    BERTH_TRY(observer_->start());
    BERTH_TRY(start_contender());
    BERTH_ASSIGN(outcome_.finished, wait_for_binds(bodies.size()));
    return finish_backlog();
  }

  Status finish_backlog() {
    take_usage();
    const auto now = observer_->now();
    outcome_.bound = now.binds;
    outcome_.first_to_last_s = seconds_between(now.first_bind, now.last_bind);
    outcome_.start_to_last_s = seconds_between(start_, now.last_bind);
    return judge();
  }

  Status preemption() {
    BERTH_TRY(cluster_->create_priority_class("low", 100));
    BERTH_TRY(cluster_->create_priority_class("high", 10000));
    if (work_.queued()) BERTH_TRY(make_queues(*cluster_, 1, scale_.nodes * 8));
    // The low gangs are made bound and running: how they came there is not measured.
    std::vector<std::string> bodies;
    std::vector<std::string> names;
    const std::size_t low_gangs = scale_.nodes;
    for (std::size_t gang = 0; gang < low_gangs; ++gang) {
      const std::string name = fmt::format("low-{}", gang);
      for (std::size_t i = 0; i < kGang; ++i) {
        PodShape pod = work_.shape(name);
        pod.priority_class = "low";
        pod.termination_grace_s = 30;
        pod.node = fmt::format("node-{}", gang);
        bodies.push_back(work_.member(name, i, pod));
        names.push_back(fmt::format("{}-{}", name, i));
      }
    }
    BERTH_TRY(create(bodies));
    BERTH_TRY(cluster_->make_running("default", names));
    Reaper reaper(cluster_->endpoint());
    observer_->on_pod([&](const auto& pod, bool deleted) { reaper.on_pod(pod, deleted); });
    BERTH_TRY(observer_->start());
    const std::size_t before = observer_->now().binds;
    BERTH_TRY(start_and_settle());
    start_ = Clock::now();
    BERTH_TRY(create(work_.gang_pods("high", scale_.high_gangs, "high")));
    BERTH_ASSIGN(outcome_.finished, wait_for_binds(before + scale_.high_gangs * kGang));
    const auto now = observer_->now();
    outcome_.bound = now.binds - before;
    outcome_.start_to_last_s = outcome_.bound > 0 ? seconds_between(start_, now.last_bind) : 0;
    observer_->wait_quiet(seconds(2), seconds(20));  // victims whose deletion is still under way
    take_usage();
    BERTH_TRY(judge());
    observer_->stop();  // the reaper goes before the observer does
    std::map<std::string, std::size_t> lost;
    for (const auto& deletion : report_.deletions) {
      ++lost[contender_.gangs ? deletion.gang : deletion.pod.substr(0, deletion.pod.rfind('-'))];
      outcome_.unwarned += deletion.had_disruption_target ? 0 : 1;
    }
    for (const auto& [gang, members] : lost) {
      ++(members == kGang ? outcome_.whole_victims : outcome_.partial_victims);
    }
    return {};
  }

  // Bound pods that run, `count` of a kind.
  Status make_running(const std::string& name, Constraint kind, std::size_t count) {
    PodShape base = work_.shape(name);
    const ConstrainedPods pods = constrained_pods(kind, base, count, scale_.nodes);
    BERTH_TRY(bench::create(*cluster_, pods));
    return cluster_->make_running("default", pods.names);
  }

  Status first_bind() {
    BERTH_TRY(make_running("running", Constraint::kNone, scale_.running));
    BERTH_TRY(observer_->start());
    const std::size_t before = observer_->now().binds;
    BERTH_TRY(create(work_.plain_pods(1)));
    BERTH_TRY(start_contender());
    BERTH_ASSIGN(outcome_.finished, wait_for_binds(before + 1));
    const auto now = observer_->now();
    outcome_.bound = now.binds - before;
    outcome_.to_first_s = outcome_.bound > 0 ? seconds_between(start_, now.last_bind) : 0;
    BERTH_TRY(settle());
    outcome_.idle_rss_bytes = running_->resident_bytes();
    take_usage();
    return judge();
  }

  Status arrivals(Constraint kind) {
    const std::size_t ninth = scale_.running / 9;
    BERTH_TRY(make_running("plain", Constraint::kNone, scale_.running - 3 * ninth));
    BERTH_TRY(make_running("apart", Constraint::kAffinity, ninth));
    BERTH_TRY(make_running("spread", Constraint::kSpread, ninth));
    BERTH_TRY(make_running("data", Constraint::kVolume, ninth));
    const ConstrainedPods pods = constrained_pods(kind, work_.shape("pod"), scale_.pods, 0);
    BERTH_TRY(observer_->start());
    const std::size_t before = observer_->now().binds;
    BERTH_TRY(start_and_settle());
    BERTH_ASSIGN(const Histogram earlier, running_->think_times());
    const auto cpu = running_->usage().cpu_seconds;
    start_ = Clock::now();
    BERTH_TRY(bench::create(*cluster_, pods));
    BERTH_ASSIGN(outcome_.finished, wait_for_binds(before + scale_.pods));
    BERTH_ASSIGN(const Histogram later, running_->think_times());
    outcome_.think = later.since(earlier);
    take_usage();
    outcome_.scheduler.cpu_seconds -= cpu;
    const auto now = observer_->now();
    outcome_.bound = now.binds - before;
    outcome_.start_to_last_s = seconds_between(start_, now.last_bind);
    outcome_.first_to_last_s = outcome_.start_to_last_s;
    return judge();
  }

  Status interleaved() {
    BERTH_TRY(observer_->start());
    BERTH_TRY(start_contender());
    std::this_thread::sleep_for(seconds(3));
    BERTH_TRY(running_->alive());
    const std::size_t places = scale_.nodes * 8;
    BERTH_TRY(create(work_.gang_pods("gang", scale_.nodes + scale_.surplus_gangs, {}, /*interleave=*/true)));
    const auto last_pod = Clock::now();
    BERTH_ASSIGN(outcome_.finished, wait_for_binds(places));
    observer_->wait_quiet(seconds(2), seconds(10));  // a bind too many would come now
    take_usage();
    const auto now = observer_->now();
    outcome_.bound = now.binds;
    outcome_.first_to_last_s = seconds_between(now.first_bind, now.last_bind);
    outcome_.after_last_pod_s = seconds_between(last_pod, now.last_bind);
    return judge();
  }

  const Contender& contender_;
  const Scale& scale_;
  Work work_;
  Outcome outcome_;
  std::unique_ptr<TestCluster> cluster_;
  std::unique_ptr<ObserverOfPods> observer_;
  std::optional<Running> running_;
  std::unique_ptr<Dashboards> dashboards_;
  e2e::ObserverReport report_;
  e2e::Usage api_before_;
  e2e::Usage etcd_before_;
  Clock::time_point start_;
  double idle_cpu_ = 0;
};

}  // namespace

bool applies(Scenario scenario, const Contender& contender) {
  if (contender.released) return scenario == Scenario::kQ1;  // the others release no Job that Berth releases
  if (contender.kueue && scenario != Scenario::kQ5 && scenario != Scenario::kQ6) return false;
  switch (scenario) {
    case Scenario::kS1:
      return true;
    case Scenario::kS2:
      return contender.gangs || contender.name == "blind";  // the ceiling of S2
    case Scenario::kS3:
    case Scenario::kQ3:
    case Scenario::kQ4:
      return contender.gangs && contender.preempts;
    case Scenario::kS4:
      return contender.name != "blind";
    case Scenario::kC1:
    case Scenario::kC2:
    case Scenario::kC3:
      return contender.kube_scheduler || contender.preempts;
    case Scenario::kS5:
      return contender.gangs;
    case Scenario::kQ1:
    case Scenario::kQ2:
      return contender.name != "berth-null";
    case Scenario::kQ5:
    case Scenario::kQ6:
      return contender.kueue || contender.name == "blind" || (contender.gangs && contender.preempts);
  }
  return false;
}

Result<Outcome> run_scenario(Scenario scenario, const Contender& contender, const Scale& scale) {
  return Run(scenario, contender, scale).go();
}

}  // namespace berth::bench
