// Random schedules of faults: connections are cut, requests come late, answers are lost or end in the middle, writes are refused with
// 409, 429 and 500, watches with 410 and in the middle of a line, the scheduler is killed or stands still, the API server is
// restarted. Whatever happens, the work ends as it does without faults: the same numbers run and wait, no gang is torn, nothing is
// oversubscribed, and the self-audit finds no difference. BERTH_E2E_SCHEDULES=100 BERTH_E2E_FAULT_ARRIVALS=2000 is the long form.
#include <signal.h>

#include <random>

#include "e2e/fault_proxy.h"
#include "e2e/teams.h"

namespace berth::e2e {
namespace {

using nlohmann::json;

// What runs at the end, by queue.
struct Ending {
  std::size_t singles = 0;
  std::size_t gang_pods = 0;
  std::size_t job_pods = 0;
  bool operator==(const Ending&) const = default;
  std::string str() const {
    return fmt::format("{} single pods, {} pods of gangs, {} pods of Jobs", singles, gang_pods, job_pods);
  }
};

class BerthSchedules : public TeamsTest {
 protected:
  static constexpr std::size_t kGang = 8, kJob = 4;

  void TearDown() override {
    replicas_.clear();
    TeamsTest::TearDown();
  }

  // Three in ten are single pods, four members of gangs, three pods of Jobs. The gangs' queue has room for half of these and three
  // pods more, the Jobs' for half and one pod more: whole gangs and Jobs alone fit.
  void prepare(std::size_t arrivals) {
    gangs_ = arrivals * 4 / 10 / kGang;
    jobs_ = arrivals * 3 / 10 / kJob;
    singles_ = arrivals - gangs_ * kGang - jobs_ * kJob;
    const auto half = [](std::size_t count) { return static_cast<std::int64_t>(count / 2); };
    start({.controller_manager = true,
           .controller_manager_args = {
               "--kube-api-qps=1000", "--kube-api-burst=2000",
               "--controllers=*,-node-lifecycle-controller,-taint-eviction-controller"}});
    ASSERT_OK(cluster_->create_nodes(arrivals / 8 + 4));
    create_kinds();
    create_queue({.name = "singles", .gpus = static_cast<std::int64_t>(singles_), .cpus = 100000});
    create_queue(
        {.name = "gangs", .gpus = half(gangs_) * static_cast<std::int64_t>(kGang) + 3, .cpus = 100000});
    create_queue({.name = "jobs", .gpus = half(jobs_) * static_cast<std::int64_t>(kJob) + 1, .cpus = 100000});
    ASSERT_OK(cluster_->apply(BERTH_SOURCE_DIR "/deploy/berth.yaml"));
    wanted_ = {singles_, gangs_ / 2 * kGang, jobs_ / 2 * kJob};
    const auto identity =
        cluster_->kubeconfig_for("system:serviceaccount:berth-system:berth",
                                 {"system:serviceaccounts", "system:serviceaccounts:berth-system"});
    ASSERT_OK(identity);
    const std::string stem = identity->substr(0, identity->rfind('.'));
    endpoint_ = cluster_->endpoint();
    endpoint_.cert_file = stem + ".crt";
    endpoint_.key_file = stem + ".key";
  }

  // All of a schedule is in a namespace of its own.
  void arrive(const std::string& ns, milliseconds time, std::mt19937_64& random) {
    std::vector<std::pair<std::string, std::string>> bodies;
    const auto pods = [&](const std::string& name, std::size_t count, const std::string& queue,
                          const Labels& more) {
      PodShape shape = {.name = name, .ns = ns, .labels = {{"kueue.x-k8s.io/queue-name", queue}}};
      for (const auto& label : more) shape.labels.push_back(label);
      for (std::size_t i = 0; i < count; ++i) bodies.emplace_back(pods_in(ns), pod_json(shape, i));
    };
    pods("single", singles_, "singles", {});
    for (std::size_t g = 0; g < gangs_; ++g)
      pods(fmt::format("gang{}", g), kGang, "gangs", gang(fmt::format("g{}", g), kGang));
    for (std::size_t j = 0; j < jobs_; ++j) {
      bodies.emplace_back(
          jobs_in(ns),
          job_json(
              {.name = fmt::format("job{}", j), .ns = ns, .queue = "jobs", .pods = static_cast<int>(kJob)})
              .dump());
    }
    for (std::size_t i = bodies.size(); i > 1; --i) std::swap(bodies[i - 1], bodies[random() % i]);
    const auto begin = std::chrono::steady_clock::now();
    auto api = cluster_->client();
    for (std::size_t i = 0; i < bodies.size(); ++i) {
      std::this_thread::sleep_until(begin + time * i / bodies.size());
      Reply reply;
      EXPECT_TRUE(eventually([&] {  // while the API server is away the users try again
        reply = api.post(bodies[i].first, bodies[i].second);
        return reply.ok() || reply.status == 409;
      })) << reply.describe();
    }
  }

  Ending ending(const std::string& ns) const {
    return {occupying(ns + "/single"), occupying(ns + "/gang"), occupying(ns + "/job")};
  }

  // Gangs and Jobs of which neither all pods run nor none, with their pods, as the API server has them.
  std::string torn(const std::string& ns) const {
    std::map<std::string, std::vector<SeenPod>> by_owner;
    for (const auto& [key, pod] : observer_->pods()) {
      const bool job = key.starts_with(ns + "/job");
      if (job || key.starts_with(ns + "/gang")) by_owner[key.substr(0, key.rfind('-'))].push_back(pod);
    }
    std::string out;
    for (const auto& [owner, pods] : by_owner) {
      const auto run = static_cast<std::size_t>(
          std::count_if(pods.begin(), pods.end(), [](const SeenPod& pod) { return pod.occupies(); }));
      const bool job = owner.starts_with(ns + "/job");
      if (run == 0 || run == (job ? kJob : kGang)) continue;
      out += fmt::format("\n  {}: {} of {} pods run", owner, run, pods.size());
      for (const SeenPod& pod : pods) {
        out += fmt::format("\n    {} on '{}', {}{}, {}: {}", pod.key, pod.node, pod.phase,
                           pod.deleting ? ", is deleted" : "", pod.scheduled_reason, pod.scheduled_message);
      }
      if (job) {
        const auto path = fmt::format("{}/{}", jobs_in(ns), owner.substr(owner.find('/') + 1));
        const json object = json::parse(cluster_->client().get(path).body, nullptr, false);
        if (object.contains("spec"))
          out += fmt::format("\n    suspend {}, status {}", object["spec"].value("suspend", false),
                             object["status"].dump());
      }
    }
    return out;
  }

  // A scheduler that has ended is started again, as its Deployment would.
  struct Replica {
    Process process;
    bool frozen = false;
    std::chrono::steady_clock::time_point wakes{};
  };
  void run_replicas(const std::string& kubeconfig) {
    while (replicas_.size() < 2) replicas_.emplace_back();
    for (Replica& replica : replicas_) {
      if (replica.frozen && std::chrono::steady_clock::now() >= replica.wakes) {
        replica.frozen = false;
        replica.process.send(SIGCONT);
      }
      if (replica.process.running()) continue;
      auto process = Process::start(
          {.argv = {BERTH_PROGRAM, "scheduler", "--kubeconfig", kubeconfig, "--http-address",
                    fmt::format("127.0.0.1:{}", *free_port()), "--lease-namespace=berth-system",
                    "--lease-seconds=4", "--gang-deadline=10", "--audit-seconds=5"},
           .log = cluster_->log("berth-replicas")});
      ASSERT_OK(process);
      replica.process = std::move(*process);
    }
  }

  static FaultPlan random_plan(std::mt19937_64& random) {
    FaultPlan out;
    const auto odds = [&](unsigned most) {
      return random() % 2 == 0 ? 0 : static_cast<int>(random() % most);
    };
    out.delay_ms = odds(60);
    out.jitter_ms = odds(200);
    out.cut = odds(100);
    out.lost_answer = odds(300);
    out.truncated = odds(100);
    out.refused = odds(200);
    out.broken_watch = odds(20);
    return out;
  }

  // One schedule; seconds from the end of the faults to the end of the work.
  void run_schedule(std::uint64_t seed, milliseconds time, bool faults) {
    std::mt19937_64 random(seed);
    const std::string ns = fmt::format("s{}", ++schedules_);
    ASSERT_OK(cluster_->create_namespace(ns));
    for (const char* queue : {"singles", "gangs", "jobs"}) create_local_queue(ns, queue, queue);
    FaultProxy proxy(endpoint_, seed);
    const auto kubeconfig = proxy.write_kubeconfig(cluster_->folder());
    ASSERT_OK(kubeconfig);
    std::thread arrivals([&, random]() mutable { arrive(ns, time, random); });
    const auto begin = std::chrono::steady_clock::now();
    std::size_t kills = 0, freezes = 0, cuts = 0, restarts = 0;
    run_replicas(*kubeconfig);
    while (faults && std::chrono::steady_clock::now() < begin + time) {
      proxy.set(random_plan(random));
      std::this_thread::sleep_for(milliseconds(300 + random() % 1500));
      Replica& one = replicas_[random() % replicas_.size()];
      switch (random() % 6) {
        case 0:
          one.process.kill_now();
          one.frozen = false;
          ++kills;
          break;
        case 1:
          one.process.send(SIGSTOP);
          one.frozen = true;
          one.wakes = std::chrono::steady_clock::now() + milliseconds(random() % 9000);
          ++freezes;
          break;
        case 2:
          proxy.cut_all();
          ++cuts;
          break;
        case 3:
          if (restarts > 0 || random() % 4 != 0) break;
          EXPECT_TRUE(
              cluster_->restart_api_server(random() % 2 == 0, static_cast<int>(random() % 1000)).has_value());
          ++restarts;
          break;
        default:
          break;
      }
      run_replicas(*kubeconfig);
    }
    proxy.set({});
    for (Replica& replica : replicas_) replica.wakes = {};
    const auto healed = std::chrono::steady_clock::now();
    arrivals.join();
    const bool done = eventually(
        [&] {
          run_replicas(*kubeconfig);
          return ending(ns) == wanted_ && torn(ns).empty();
        },
        seconds(90));
    const double took = std::chrono::duration<double>(std::chrono::steady_clock::now() - healed).count();
    EXPECT_TRUE(done) << "seed " << seed << ": " << ending(ns).str() << ", not " << wanted_.str() << torn(ns)
                      << reasons_of_waiting();
    // It stays so.
    (void)observer_->wait_quiet(seconds(1), seconds(20));
    EXPECT_EQ(ending(ns), wanted_) << "seed " << seed << ": " << ending(ns).str() << torn(ns);
    ASSERT_OK(observer_->catch_up());
    const auto report = observer_->check();
    EXPECT_EQ(report.violation_count, 0U) << "seed " << seed << ": " << report.str();
    EXPECT_EQ(report.gangs.partial, 0U) << "seed " << seed << ": " << report.str();
    std::printf(
        "seed %llu: %s after %.1f s; %zu kills, %zu freezes, %zu cuts, %zu restarts, %llu of %llu requests "
        "harmed\n",
        static_cast<unsigned long long>(seed), done ? "recovered" : "NOT RECOVERED", took, kills, freezes,
        cuts, restarts, static_cast<unsigned long long>(proxy.harmed()),
        static_cast<unsigned long long>(proxy.passed()));
    std::fflush(stdout);
    for (Replica& replica : replicas_) replica.process.kill_now();
    replicas_.clear();
    (void)cluster_->client().del("/apis/coordination.k8s.io/v1/namespaces/berth-system/leases/berth");
    // The next one has the cluster to itself.
    auto api = cluster_->client();
    EXPECT_TRUE(eventually(
        [&] {
          (void)api.del(jobs_in(ns) + "?propagationPolicy=Background");
          (void)api.del(pods_in(ns) + "?gracePeriodSeconds=0");
          const auto pods = observer_->pods();
          return std::none_of(pods.begin(), pods.end(),
                              [&](const auto& entry) { return entry.first.starts_with(ns + "/"); });
        },
        seconds(60)));
  }

  std::size_t singles_ = 0, gangs_ = 0, jobs_ = 0;
  Ending wanted_;
  Endpoint endpoint_;
  std::vector<Replica> replicas_;
  int schedules_ = 0;
};

TEST_F(BerthSchedules, EndAsTheyDoWithoutFaults) {
  const std::size_t arrivals = number_from_env("BERTH_E2E_FAULT_ARRIVALS", 160);
  const std::size_t schedules = number_from_env("BERTH_E2E_SCHEDULES", 10);
  const auto seed = number_from_env("BERTH_E2E_SEED", 1);
  const milliseconds time(number_from_env("BERTH_E2E_SCHEDULE_MS", arrivals * 30));
  ASSERT_NO_FATAL_FAILURE(prepare(arrivals));
  run_schedule(seed, milliseconds(1000), false);
  for (std::size_t i = 0; i < schedules && !HasFatalFailure(); ++i) run_schedule(seed + i, time, true);
}

}  // namespace
}  // namespace berth::e2e
