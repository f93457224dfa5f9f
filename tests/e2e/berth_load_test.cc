// Berth under a load that lasts. BerthLoad.ASlowApiServerStarvesNothing: every request takes 100 ms longer and binds never end.
// BerthLoad.Soak: nothing grows. Short in CI; BERTH_E2E_SLOW_SECONDS=600 and BERTH_E2E_SOAK_SECONDS=3600 are the long forms, and
// BERTH_E2E_PICTURE=FILE.svg draws the writes in flight of the first.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <set>

#include "e2e/churn.h"
#include "e2e/fault_proxy.h"
#include "e2e/teams.h"

namespace berth::e2e {
namespace {

using nlohmann::json;

struct Sample {
  double at = 0;
  double in_flight = 0;
  double limit = 0;
};

// Writes in flight and their limit over time.
void draw(const std::string& path, const std::vector<Sample>& samples) {
  constexpr double kWidth = 800, kHeight = 260, kLeft = 50, kBottom = 40, kTop = 30;
  double most = 10;
  for (const Sample& s : samples) most = std::max({most, s.in_flight, s.limit});
  const double end = samples.empty() ? 1 : samples.back().at;
  const auto x = [&](double at) { return kLeft + at / end * (kWidth - kLeft - 20); };
  const auto y = [&](double value) { return kHeight - kBottom - value / most * (kHeight - kBottom - kTop); };
  const auto line = [&](const char* colour, double Sample::*value) {
    std::string points;
    for (const Sample& s : samples) points += fmt::format("{:.1f},{:.1f} ", x(s.at), y(s.*value));
    return fmt::format("<polyline fill='none' stroke='{}' stroke-width='1.2' points='{}'/>\n", colour,
                       points);
  };
  std::string out = fmt::format(
      "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {0} {1}' font-family='sans-serif' "
      "font-size='12'>\n"
      "<rect width='{0}' height='{1}' fill='white'/>\n"
      "<text x='{2}' y='18'>Writes in flight (blue) and their limit (orange), API server slowed by 100 "
      "ms</text>\n",
      kWidth, kHeight, kLeft);
  for (int i = 0; i <= 4; ++i) {
    const double value = std::round(most * i / 4);
    out += fmt::format(
        "<line x1='{0}' x2='{1}' y1='{2:.1f}' y2='{2:.1f}' stroke='#ddd'/><text x='{3}' y='{4:.1f}' "
        "text-anchor='end'>{5:.0f}</text>\n",
        kLeft, kWidth - 20, y(value), kLeft - 6, y(value) + 4, value);
    out += fmt::format("<text x='{:.1f}' y='{}' text-anchor='middle'>{:.0f} s</text>\n", x(end * i / 4),
                       kHeight - kBottom + 18, end * i / 4);
  }
  out += line("#e07b00", &Sample::limit) + line("#1f5fbf", &Sample::in_flight) + "</svg>\n";
  std::ofstream(path) << out;
}

std::size_t open_files(int pid) {
  std::error_code error;
  std::size_t count = 0;
  for (auto it = std::filesystem::directory_iterator(fmt::format("/proc/{}/fd", pid), error);
       !error && it != std::filesystem::directory_iterator(); it.increment(error))
    ++count;
  return count;
}

class BerthLoad : public TeamsTest {
 protected:
  void start_with_queue(std::size_t nodes, std::int64_t gpus) {
    prepare_observer_ = [this](ObserverOfPods& observer) {
      observer.on_pod([this](const SeenPod& pod, bool deleted) { book_.on_pod(pod, deleted); });
    };
    start({.controller_manager = true,
           .go_gc = "400",  // the control plane shares two cores with the test: fewer collections of garbage
           .controller_manager_args = {"--kube-api-qps=1000", "--kube-api-burst=2000",
                                       "--controllers=garbage-collector-controller"}});
    ASSERT_OK(cluster_->create_nodes(nodes));
    create_kinds();
    create_queue({.name = "team", .gpus = gpus, .cpus = 100000});
    create_local_queue("default", "team", "team");
    ASSERT_OK(cluster_->apply(BERTH_SOURCE_DIR "/deploy/berth.yaml"));
  }
  static ChurnShape shape(double per_second, std::chrono::milliseconds life) {
    return {.per_second = per_second,
            .life = life,
            .pod = {.name = "c", .labels = {{"kueue.x-k8s.io/queue-name", "team"}}}};
  }
  // Names of the pods that an event Scheduled is about.
  std::set<std::string> scheduled_events() const {
    std::set<std::string> out;
    const json list = get("/apis/events.k8s.io/v1/namespaces/default/events");
    if (!list.is_object()) return out;
    for (const json& item : list["items"]) {
      if (item.value("reason", "") == "Scheduled")
        out.insert("default/" + item["regarding"].value("name", ""));
    }
    return out;
  }
  // Pods without a Workload, and Workloads without a pod.
  std::pair<std::size_t, std::size_t> mismatched() {
    const json list = get(std::string(kKueue) + "/namespaces/default/workloads");
    std::set<std::string> owners, pods;
    std::size_t lone = 0, bare = 0;
    for (const auto& key : book_.present()) pods.insert(key);
    for (const json& item : list["items"]) {
      const std::string owner = item["metadata"].contains("ownerReferences")
                                    ? "default/" + item["metadata"]["ownerReferences"][0].value("name", "")
                                    : "";
      owners.insert(owner);
      lone += pods.contains(owner) ? 0 : 1;
    }
    bare_.clear();
    for (const auto& key : pods) {
      if (owners.contains(key)) continue;
      ++bare;
      bare_ += " " + key;
    }
    return {bare, lone};
  }

  ChurnBook book_;
  std::string bare_;  // pods without a Workload
};

TEST_F(BerthLoad, ASlowApiServerStarvesNothing) {
  const auto run = seconds(number_from_env("BERTH_E2E_SLOW_SECONDS", 12));
  // 240 GPUs, of which 31 could come free in each second; 32 pods come in it, and 60 wait from the start.
  constexpr std::size_t kNodes = 30;
  constexpr milliseconds kLife(7500);
  ASSERT_NO_FATAL_FAILURE(start_with_queue(kNodes, 8 * kNodes));
  const auto identity =
      cluster_->kubeconfig_for("system:serviceaccount:berth-system:berth",
                               {"system:serviceaccounts", "system:serviceaccounts:berth-system"});
  ASSERT_OK(identity);
  Endpoint endpoint = cluster_->endpoint();
  const std::string stem = identity->substr(0, identity->rfind('.'));
  endpoint.cert_file = stem + ".crt";
  endpoint.key_file = stem + ".key";
  FaultProxy proxy(endpoint, 1);
  const auto kubeconfig = proxy.write_kubeconfig(cluster_->folder());
  ASSERT_OK(kubeconfig);
  proxy.set({.delay_ms = 100});
  auto* berth = start_berth({.kubeconfig = *kubeconfig, .args = {"--lease-namespace=berth-system"}});
  ASSERT_NE(berth, nullptr);
  ASSERT_OK(cluster_->create_all("/api/v1/namespaces/default/pods", [] {
    std::vector<std::string> out;
    auto pod = shape(0, {}).pod;
    pod.name = "first";
    for (std::size_t i = 0; i < 8 * kNodes + 60; ++i) out.push_back(pod_json(pod, i));
    return out;
  }()));
  ASSERT_TRUE(eventually([&] { return book_.now().bound == 8 * kNodes; }, seconds(60)))
      << reasons_of_waiting();

  book_.begin(kLife);
  Churn churn(*cluster_, book_, shape(32, kLife));
  std::vector<Sample> samples;
  double free = 0, untold = 0, oldest_status = 0, oldest_event = 0;
  std::size_t looked = 0, with_work = 0;
  const auto begin = std::chrono::steady_clock::now();
  const auto elapsed = [&] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  };
  while (elapsed() < static_cast<double>(run.count())) {
    std::this_thread::sleep_for(milliseconds(200));
    const auto now = book_.now();
    untold = std::max(untold, now.longest_untold);
    const double room = 8.0 * kNodes - static_cast<double>(now.bound);
    if (static_cast<double>(now.waiting) >= room) {
      free += room / (8.0 * kNodes);
      ++with_work;
    }
    if (++looked % 5 != 0) continue;
    const std::string text = ask(*berth, "/metrics").body;
    samples.push_back(
        {elapsed(), metric_of(text, "berth_api_writes_in_flight"), metric_of(text, "berth_api_write_limit")});
    oldest_status =
        std::max(oldest_status, metric_of(text, "berth_api_write_oldest_seconds{class=\"status\"}"));
    oldest_event = std::max(oldest_event, metric_of(text, "berth_api_write_oldest_seconds{class=\"event\"}"));
  }
  churn.stop();
  const double ran = elapsed();
  const std::size_t binds = book_.take_bind_times().size();
  free = with_work == 0 ? 1 : free / static_cast<double>(with_work);
  std::pair<std::size_t, std::size_t> wrong;
  EXPECT_TRUE(eventually([&] { return (wrong = mismatched()) == std::pair<std::size_t, std::size_t>{}; },
                         seconds(60)))
      << wrong.first << " pods have no Workload (" << bare_ << "), " << wrong.second << " Workloads no pod";
  std::size_t without_event = 0;
  EXPECT_TRUE(eventually(
      [&] {
        const auto events = scheduled_events();
        const auto bound = book_.was_bound();
        without_event = static_cast<std::size_t>(std::count_if(
            bound.begin(), bound.end(), [&](const auto& key) { return !events.contains(key); }));
        return without_event == 0;
      },
      seconds(60)))
      << without_event << " binds have no event";
  untold = std::max(untold, book_.longest_to_first_reason());
  std::printf(
      "slow API server, %.0f s: %zu binds (%.1f/s), %.1f %% of the GPUs free while work waited that fits "
      "(%zu of %zu "
      "looks), a pod without a reason for at most %.1f s, the oldest status write %.1f s, the oldest event "
      "%.1f s, at "
      "most %d writes at once\n",
      ran, binds, static_cast<double>(binds) / ran, free * 100, with_work, looked, untold, oldest_status,
      oldest_event, proxy.take_most_writes());
  if (const char* picture = std::getenv("BERTH_E2E_PICTURE"); picture != nullptr) draw(picture, samples);
  EXPECT_LT(untold, 10);
  EXPECT_LT(oldest_status, 10);
  EXPECT_LT(free, 0.05);
  EXPECT_GT(with_work, looked / 2) << "work waited for half of the time";
  EXPECT_EQ(churn.failed(), 0U);
  expect_clean();
}

// Flat: what the last third has is what the second third had.
TEST_F(BerthLoad, Soak) {
  const auto run = number_from_env("BERTH_E2E_SOAK_SECONDS", 0);
  if (run == 0) GTEST_SKIP() << "BERTH_E2E_SOAK_SECONDS=3600 runs it for an hour";
  ASSERT_NO_FATAL_FAILURE(start_with_queue(30, 240));
  auto* berth = start_berth({.args = {"--audit-seconds=60"}});
  ASSERT_NE(berth, nullptr);
  Churn churn(*cluster_, book_, shape(15, milliseconds(12000)));
  struct Third {
    double memory = 0, p50 = 0, p99 = 0;
    std::size_t files = 0, binds = 0;
  };
  std::vector<Third> thirds;
  double differences = 0;
  const int pid = berth->process.pid();
  for (std::size_t third = 0; third < 3; ++third) {
    Third now;
    (void)book_.take_bind_times();
    const auto end = std::chrono::steady_clock::now() + seconds(run) / 3;
    while (std::chrono::steady_clock::now() < end) {
      std::this_thread::sleep_for(seconds(1));
      now.memory = std::max(now.memory, resident_mib(pid));
      now.files = std::max(now.files, open_files(pid));
      const std::string text = ask(*berth, "/metrics").body;
      for (const char* kind : {"places", "usage", "accounts", "workloads"})
        differences +=
            std::max(0.0, metric_of(text, fmt::format("berth_audit_differences{{kind=\"{}\"}}", kind)));
    }
    const auto times = book_.take_bind_times();
    ASSERT_FALSE(times.empty());
    now.binds = times.size();
    now.p50 = times[times.size() / 2];
    now.p99 = times[times.size() * 99 / 100];
    std::printf("third %zu: %zu binds, at most %.1f MiB and %zu files, bind p50 %.1f ms, p99 %.1f ms\n",
                third + 1, now.binds, now.memory, now.files, now.p50 * 1e3, now.p99 * 1e3);
    std::fflush(stdout);
    EXPECT_GT(static_cast<double>(now.binds), 0.9 * 15 * static_cast<double>(run) / 3)
        << "the machine, or Berth, did not carry 15 arrivals a second";
    thirds.push_back(now);
  }
  churn.stop();
  EXPECT_LT(thirds[2].memory, thirds[1].memory * 1.1 + 4);
  EXPECT_LE(thirds[2].files, thirds[1].files + 8);
  EXPECT_LT(thirds[2].p99, thirds[1].p99 * 2 + 0.05);
  EXPECT_EQ(differences, 0) << "of the self-audit";
  EXPECT_EQ(churn.failed(), 0U);
  expect_clean();
}

}  // namespace
}  // namespace berth::e2e
