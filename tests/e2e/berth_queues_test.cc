// A GPU cluster as companies run them: three teams, an inference tier and a scavenger queue in one cohort, with Jobs that wait
// suspended, Jobs that do not, pod groups and plain pods, through borrowing, reclaim, preemption and requeueing. For every
// resourceVersion the sums of what each queue's bound, unfinished pods ask for are compared with its limits, by an observer that
// sees the pods only.
//
// BERTH_E2E_ARRIVALS=10000 makes the long form; the short one takes less than half a minute.
#include <nlohmann/json.hpp>
#include <random>
#include <set>

#include "e2e/teams.h"

namespace berth::e2e {
namespace {

using nlohmann::json;

struct Team {
  const char* ns;  // also the name of its ClusterQueue
  std::int64_t nominal;
  std::int64_t borrowing;
  int weight;  // of ten arrivals
  const char* priority_class;
  json preemption;
};

const std::vector<Team>& teams() {
  static const json reclaims = {{"withinClusterQueue", "LowerPriority"}, {"reclaimWithinCohort", "Any"}};
  static const json takes = {
      {"withinClusterQueue", "LowerPriority"},
      {"reclaimWithinCohort", "Any"},
      {"borrowWithinCohort", {{"policy", "LowerPriority"}, {"maxPriorityThreshold", 10}}}};
  static const json never = {{"withinClusterQueue", "Never"}, {"reclaimWithinCohort", "Never"}};
  static const std::vector<Team> all = {{"research", 24, 24, 3, "normal", reclaims},
                                        {"product", 16, 16, 2, "normal", reclaims},
                                        {"infra", 8, 8, 1, "normal", reclaims},
                                        {"inference", 16, 8, 2, "serving", takes},
                                        {"scavenger", 0, 40, 2, "leftover", never}};
  return all;
}

class BerthQueues : public TeamsTest {
 protected:
  static constexpr std::size_t kNodes = 8;  // 64 GPUs: all that the queues are granted together

  void start_company() {
    prepare_observer_ = [this](ObserverOfPods& observer) {
      observer.on_pod([this](const SeenPod& pod, bool deleted) {
        queues_.on_pod(pod, deleted);
        company_.on_pod(pod, deleted);
        const std::lock_guard lock(mutex_);
        if (!deleted && pod.occupies() && !pod.deleting) since_.try_emplace(pod.uid, Clock::now());
        if (deleted) since_.erase(pod.uid);
      });
    };
    start({.controller_manager = true,
           .kwok = true,
           .service_accounts = true,
           .job_pod_runs_ms = 400,
           .controller_manager_args = {"--kube-api-qps=1000", "--kube-api-burst=2000",
                                       "--concurrent-job-syncs=20",
                                       "--concurrent-ttl-after-finished-syncs=20"}});
    ASSERT_OK(cluster_->create_nodes(kNodes));
    create_kinds();
    for (const auto& [name, value] : {std::pair{"leftover", 1}, {"normal", 100}, {"serving", 1000}})
      ASSERT_OK(cluster_->create_priority_class(name, value));
    for (const Team& team : teams()) {
      ASSERT_OK(cluster_->create_namespace(team.ns));
      create_queue({.name = team.ns,
                    .gpus = team.nominal,
                    .ns = team.ns,
                    .cohort = "company",
                    .borrowing = team.borrowing,
                    .preemption = team.preemption});
      create_local_queue(team.ns, "main", team.ns);
    }
  }

  // One arrival: a Job, a pod group, or a pod.
  Status arrive(std::size_t i, std::mt19937_64& random) {
    const auto roll = [&](int most) { return static_cast<int>(random() % static_cast<std::uint64_t>(most)); };
    const Team* team = nullptr;
    for (int at = roll(10); team == nullptr;) {
      for (const Team& each : teams()) {
        if (at < each.weight) {
          team = &each;
          break;
        }
        at -= each.weight;
      }
    }
    auto api = cluster_->client();
    const std::string name = fmt::format("w{}", i);
    const int kind = team->ns == std::string("inference") ? 9 : roll(9);
    if (kind < 5) {  // held or not
      json job = job_json({.name = name,
                           .ns = team->ns,
                           .queue = "main",
                           .pods = 1 + roll(5),
                           .gpus = 1 + roll(2),
                           .suspend = kind < 3,
                           .priority_class = team->priority_class});
      job["spec"]["ttlSecondsAfterFinished"] = 0;
      return expect_ok(api.post(jobs_in(team->ns), job.dump()), "creating a Job");
    }
    PodShape pod{.name = "pod-" + name,
                 .ns = team->ns,
                 .requests = {{"cpu", "1"}, {kGpu, std::to_string(1 + roll(3))}},
                 .labels = {{"kueue.x-k8s.io/queue-name", "main"}},
                 .priority_class = team->priority_class};
    int count = 1;
    if (kind < 7) {
      count = 2 + roll(4);
      const json group = {{"apiVersion", "scheduling.x-k8s.io/v1alpha1"},
                          {"kind", "PodGroup"},
                          {"metadata", {{"name", name}, {"namespace", team->ns}}},
                          {"spec", {{"minMember", count}}}};
      BERTH_TRY(expect_ok(
          api.post(fmt::format("/apis/scheduling.x-k8s.io/v1alpha1/namespaces/{}/podgroups", team->ns),
                   group.dump()),
          "creating a PodGroup"));
      pod.labels.emplace_back("scheduling.x-k8s.io/pod-group", name);
    }
    for (int member = 0; member < count; ++member) {
      BERTH_TRY(expect_ok(api.post(pods_in(team->ns), pod_json(pod, static_cast<std::size_t>(member))),
                          "creating a pod"));
    }
    return {};
  }

  // Plays the kubelet of pods that no Job made: they run half a second, then they have succeeded and are removed.
  void end_pods() {
    std::vector<std::string> due;
    {
      const std::lock_guard lock(mutex_);
      const auto now = Clock::now();
      for (const auto& [key, pod] : observer_->pods()) {
        const auto since = since_.find(pod.uid);
        if (key.find("/pod-w") == std::string::npos) continue;
        if (pod.terminal() || (since != since_.end() && now - since->second > milliseconds(500)))
          due.push_back(key);
      }
    }
    (void)for_each_parallel(
        cluster_->endpoint(), due.size(), 4, [&](ApiClient& api, std::size_t i) -> Status {
          const auto slash = due[i].find('/');
          const std::string path = pods_in(due[i].substr(0, slash)) + "/" + due[i].substr(slash + 1);
          (void)api.patch(path + "/status", R"({"status":{"phase":"Succeeded"}})");
          (void)api.del(path);
          return {};
        });
  }

  // Jobs and pods of arrivals that have not ended.
  std::size_t outstanding() const {
    std::size_t out = 0;
    for (const Team& team : teams()) {
      const json jobs = get(jobs_in(team.ns));
      out += jobs.is_object() ? jobs["items"].size() : 1;
    }
    std::set<std::string> groups;
    for (const auto& [key, pod] : observer_->pods()) {
      const auto at = key.find("/pod-w");
      if (at != std::string::npos) groups.insert(key.substr(0, key.rfind('-')));
    }
    return out + groups.size();
  }

  static Accounts::Limits limits() {
    Accounts::Limits out;
    for (const Team& team : teams()) out[team.ns][kGpu] = team.nominal + team.borrowing;
    return out;
  }

  using Clock = std::chrono::steady_clock;
  Accounts queues_{namespace_of, limits()};
  Accounts company_{[](const SeenPod&) { return std::string("company"); }, {{"company", {{kGpu, 64}}}}};
  std::mutex mutex_;
  std::map<std::string, Clock::time_point> since_;  // when a pod was first seen bound
};

TEST_F(BerthQueues, NoSumOfAQueueIsEverAboveItsLimit) {
  const std::size_t arrivals = number_from_env("BERTH_E2E_ARRIVALS", 150);
  const std::size_t at_once = arrivals < 1000 ? 60 : 150;  // that have not ended
  start_company();
  auto* berth = start_berth();
  ASSERT_NE(berth, nullptr);
  std::mt19937_64 random(number_from_env("BERTH_E2E_SEED", 5));
  const auto begin = Clock::now();
  auto progress = begin;
  std::size_t last_binds = 0;
  std::size_t made = 0;
  std::size_t open = 0;
  while (made < arrivals || open > 0) {
    for (; made < arrivals && open < at_once; ++made, ++open) ASSERT_OK(arrive(made, random));
    end_pods();
    std::this_thread::sleep_for(milliseconds(100));
    open = outstanding();
    const auto binds = observer_->now().binds;
    if (binds != last_binds || open == 0) progress = Clock::now();
    last_binds = binds;
    ASSERT_LT(Clock::now() - progress, kLong)
        << open << " of " << made << " do not end" << reasons_of_waiting();
    if (!queues_.violations().empty()) break;
  }
  ASSERT_OK(observer_->catch_up());
  const auto report = observer_->check();
  EXPECT_TRUE(queues_.violations().empty()) << queues_.str();
  EXPECT_TRUE(company_.violations().empty()) << company_.str();
  EXPECT_TRUE(report.clean()) << report.str();
  // It was about something: queues were lent to and taken back from, and work came again.
  EXPECT_GT(queues_.highest("scavenger", kGpu), 0) << "it has nothing of its own";
  EXPECT_GT(queues_.highest("research", kGpu), 24);
  std::size_t evicted = 0;
  for (const auto& deletion : report.deletions)
    evicted += deletion.had_disruption_target || !deletion.terminal ? 1 : 0;
  EXPECT_GT(evicted, 0U);
  const json events = get("/apis/events.k8s.io/v1/events");
  std::map<std::string, int> reasons;
  for (const auto& event : events["items"]) {
    if (event.value("reportingController", "") == "berth") reasons[event.value("reason", "")] += 1;
  }
  EXPECT_GT(reasons["Released"], 0);
  EXPECT_GT(reasons["Preempted"], 0);
  fmt::print("{} arrivals in {:.0f} s: {} binds, {} pods ended before their time, {} events; most at once:",
             arrivals, std::chrono::duration<double>(Clock::now() - begin).count(), report.binds, evicted,
             report.events);
  for (const Team& team : teams()) {
    fmt::print(" {} {} of {}", team.ns, queues_.highest(team.ns, kGpu), team.nominal + team.borrowing);
  }
  fmt::print(", all {} of 64\n", company_.highest("company", kGpu));
}

}  // namespace
}  // namespace berth::e2e
