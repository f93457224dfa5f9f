#include "scenarios.h"

#include <fmt/format.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <thread>

namespace berth::bench {
namespace {

using e2e::ApiClient;
using e2e::ObserverOfPods;
using e2e::PodShape;
using e2e::TestCluster;
using Clock = ObserverOfPods::Clock;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::size_t kGang = 8;

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
      : contender_(contender), scale_(scale) {
    outcome_.scenario = scenario;
    outcome_.contender = contender.name;
  }

  Result<Outcome> go() {
    BERTH_ASSIGN(cluster_,
                 TestCluster::start(
                     {.kubernetes = scale_.kubernetes, .fair_queuing = false, .unlimited_scheduler = true}));
    if (scale_.keep) {
      cluster_->keep_folder();
      fmt::print(stderr, "logs: {}\n", cluster_->folder().string());
    }
    BERTH_TRY(cluster_->create_nodes(scale_.nodes));
    observer_ = std::make_unique<ObserverOfPods>(cluster_->endpoint());
    const auto status = [&]() -> Status {
      switch (outcome_.scenario) {
        case Scenario::kS1:
          return backlog(plain_pods(scale_.pods));
        case Scenario::kS2:
          return backlog(gang_pods("gang", scale_.gangs, {}));
        case Scenario::kS3:
          return preemption();
        case Scenario::kS5:
          return interleaved();
      }
      return {};
    }();
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
  PodShape shape(std::string name) const {
    return {.name = std::move(name), .scheduler = contender_.scheduler};
  }

  std::vector<std::string> plain_pods(std::size_t count) const {
    std::vector<std::string> bodies;
    for (std::size_t i = 0; i < count; ++i) {
      bodies.push_back(e2e::pod_json(shape("pod"), i));
    }
    return bodies;
  }

  std::string member(const std::string& gang, std::size_t i, const PodShape& base) const {
    PodShape pod = base;
    pod.name = gang;
    if (contender_.gangs) {
      pod.labels = {{"berth.dev/gang", gang}, {"berth.dev/gang-size", std::to_string(kGang)}};
    }
    return e2e::pod_json(pod, i);
  }

  // Gang by gang, or with `interleave` the first members of all gangs, then all second ones, and so on.
  std::vector<std::string> gang_pods(const std::string& name, std::size_t gangs, const std::string& priority,
                                     bool interleave = false) const {
    PodShape base = shape(name);
    base.priority_class = priority;
    std::vector<std::string> bodies;
    for (std::size_t i = 0; i < gangs * kGang; ++i) {
      const std::size_t gang = interleave ? i % gangs : i / kGang;
      const std::size_t rank = interleave ? i / gangs : i % kGang;
      bodies.push_back(member(fmt::format("{}-{}", name, gang), rank, base));
    }
    return bodies;
  }

  Status create(const std::vector<std::string>& bodies) {
    return cluster_->create_all("/api/v1/namespaces/default/pods", bodies, 32);
  }

  Status start_contender() {
    api_before_ = cluster_->process("kube-apiserver")->usage();
    etcd_before_ = cluster_->process("etcd")->usage();
    start_ = Clock::now();
    BERTH_ASSIGN(running_, Running::start(contender_, *cluster_));
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
    // The low gangs are made bound and running: how they came there is not measured.
    std::vector<std::string> bodies;
    std::vector<std::string> names;
    const std::size_t low_gangs = scale_.nodes;
    for (std::size_t gang = 0; gang < low_gangs; ++gang) {
      const std::string name = fmt::format("low-{}", gang);
      for (std::size_t i = 0; i < kGang; ++i) {
        PodShape pod = shape(name);
        pod.priority_class = "low";
        pod.termination_grace_s = 30;
        pod.node = fmt::format("node-{}", gang);
        bodies.push_back(member(name, i, pod));
        names.push_back(fmt::format("{}-{}", name, i));
      }
    }
    BERTH_TRY(create(bodies));
    BERTH_TRY(cluster_->make_running("default", names));
    Reaper reaper(cluster_->endpoint());
    observer_->on_pod([&](const auto& pod, bool deleted) { reaper.on_pod(pod, deleted); });
    BERTH_TRY(observer_->start());
    const std::size_t before = observer_->now().binds;
    BERTH_TRY(start_contender());
    std::this_thread::sleep_for(seconds(5));  // it reads the cluster and has nothing to do
    BERTH_TRY(running_->alive());
    start_ = Clock::now();
    BERTH_TRY(create(gang_pods("high", scale_.high_gangs, "high")));
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

  Status interleaved() {
    BERTH_TRY(observer_->start());
    BERTH_TRY(start_contender());
    std::this_thread::sleep_for(seconds(3));
    BERTH_TRY(running_->alive());
    const std::size_t places = scale_.nodes * 8;
    BERTH_TRY(create(gang_pods("gang", scale_.nodes + scale_.surplus_gangs, {}, /*interleave=*/true)));
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
  Outcome outcome_;
  std::unique_ptr<TestCluster> cluster_;
  std::unique_ptr<ObserverOfPods> observer_;
  std::optional<Running> running_;
  e2e::ObserverReport report_;
  e2e::Usage api_before_;
  e2e::Usage etcd_before_;
  Clock::time_point start_;
};

}  // namespace

bool applies(Scenario scenario, const Contender& contender) {
  switch (scenario) {
    case Scenario::kS1:
      return true;
    case Scenario::kS2:
      return contender.gangs || contender.name == "blind";  // the ceiling of S2
    case Scenario::kS3:
      return contender.gangs && contender.preempts;
    case Scenario::kS5:
      return contender.gangs;
  }
  return false;
}

Result<Outcome> run_scenario(Scenario scenario, const Contender& contender, const Scale& scale) {
  return Run(scenario, contender, scale).go();
}

}  // namespace berth::bench
