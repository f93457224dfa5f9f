// The fixture of tests that run the built `berth scheduler` against the test cluster, as an operator would.
//
// Every bind is judged by the observer; at the end of each test each scheduler that still runs must say that it is healthy,
// which includes that its follower engine decided the same.
#pragma once

#include <fmt/format.h>

#include <chrono>
#include <cstdlib>
#include <functional>
#include <list>
#include <map>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "e2e/fixture.h"

namespace berth::e2e {

using std::chrono::milliseconds;
using std::chrono::seconds;

// Far beyond what is ever needed, even on a crowded machine: how long something takes is not what these tests judge.
inline constexpr seconds kLong{60};
inline constexpr const char* kGpu = "nvidia.com/gpu";
inline constexpr const char* kJobs = "/apis/batch/v1/namespaces/default/jobs";

// Polls; for conditions that are not about pods.
inline bool eventually(const std::function<bool()>& holds, milliseconds at_most = kLong) {
  const auto end = std::chrono::steady_clock::now() + at_most;
  while (!holds()) {
    if (std::chrono::steady_clock::now() > end) {
      return false;
    }
    std::this_thread::sleep_for(milliseconds(20));
  }
  return true;
}

// A number from the environment, for runs that are longer than the default.
inline std::size_t number_from_env(const char* name, std::size_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

// Lines of a log that contain one of `words`.
inline std::string lines_with(const std::string& path, const std::vector<std::string>& words) {
  std::string out;
  std::FILE* file = std::fopen(path.c_str(), "r");
  if (file == nullptr) {
    return out;
  }
  char buffer[4096];
  while (std::fgets(buffer, sizeof buffer, file) != nullptr) {
    const std::string line = buffer;
    for (const auto& word : words) {
      if (line.find(word) != std::string::npos) {
        out += line;
        break;
      }
    }
  }
  std::fclose(file);
  return out;
}

struct BerthOptions {
  std::string name = "berth";  // of its log
  std::string kubeconfig;      // empty: the admin's
  std::vector<std::string> args;
};

class BerthTest : public ClusterTest {
 protected:
  struct Berth {
    Process process;
    std::string log;
    int port = 0;
    bool healthy_at_end = true;
  };

  static Labels gang(const std::string& name, std::size_t size) {
    return {{"berth.dev/gang", name}, {"berth.dev/gang-size", std::to_string(size)}};
  }

  // Starts another scheduler; nullptr (and a failed test) where that is impossible. Lives until the test ends.
  Berth* start_berth(BerthOptions options = {}) {
    const auto port = free_port();
    if (!port) {
      ADD_FAILURE() << port.error().str();
      return nullptr;
    }
    Berth berth;
    berth.port = *port;
    berth.log = cluster_->log(options.name);
    std::vector<std::string> argv = {
        BERTH_PROGRAM,    "scheduler",
        "--kubeconfig",   options.kubeconfig.empty() ? cluster_->kubeconfig() : options.kubeconfig,
        "--http-address", fmt::format("127.0.0.1:{}", *port)};
    argv.insert(argv.end(), options.args.begin(), options.args.end());
    auto process = Process::start({.argv = std::move(argv), .log = berth.log});
    if (!process) {
      ADD_FAILURE() << process.error().str();
      return nullptr;
    }
    berth.process = std::move(*process);
    berths_.push_back(std::move(berth));
    return &berths_.back();
  }

  // Killed, and its lease taken away: the next candidate leads at once. So leases may be as long as a machine that stands still for
  // seconds asks for, and cost no time.
  void kill(Berth& berth) {
    berth.process.kill_now();
    const std::string lease = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/berth";
    EXPECT_TRUE(cluster_->client().del(lease).ok());
  }

  bool log_has(const Berth& berth, const std::string& word) const {
    return !lines_with(berth.log, {word}).empty();
  }

  static Reply ask(const Berth& berth, const std::string& path) {
    ApiClient http(Endpoint{.server = fmt::format("http://127.0.0.1:{}", berth.port),
                            .ca_file = {},
                            .cert_file = {},
                            .key_file = {}});
    return http.get(path);
  }

  // Bound pods of each gang ("namespace/name"), by the present state.
  std::map<std::string, std::size_t> bound_by_gang() const {
    std::map<std::string, std::size_t> out;
    for (const auto& [key, pod] : observer_->pods()) {
      if (!pod.gang.empty()) {
        out[pod.gang] += pod.node.empty() ? 0 : 1;
      }
    }
    return out;
  }

  // For messages of failures: what the pods that wait say, each text once.
  std::string reasons_of_waiting() const {
    std::map<std::string, std::string> seen;
    for (const auto& [key, pod] : observer_->pods()) {
      if (pod.node.empty()) {
        seen.emplace(pod.scheduled_reason + ": " + pod.scheduled_message, key);
      }
    }
    std::string out;
    for (const auto& [text, key] : seen) {
      out += fmt::format("\n  {} waits: {}", key, text);
    }
    return out;
  }

  bool wait_bound(std::size_t count, milliseconds at_most = kLong) {
    return observer_->wait_until([count](const auto& now) { return now.bound == count; }, at_most);
  }

  // Waits until each pod of `names` (in namespace default) waits with a reason, and returns the last of the messages.
  std::string wait_for_reasons(const std::vector<std::string>& names, const std::string& reason,
                               milliseconds at_most = kLong) {
    std::string message;
    const bool all = eventually(
        [&] {
          const auto pods = observer_->pods();
          for (const auto& name : names) {
            const auto pod = pods.find("default/" + name);
            if (pod == pods.end() || pod->second.scheduled_reason != reason) {
              return false;
            }
            message = pod->second.scheduled_message;
          }
          return true;
        },
        at_most);
    if (!all) {
      for (const auto& name : names) {
        const auto pods = observer_->pods();
        const auto pod = pods.find("default/" + name);
        ADD_FAILURE() << name << " does not wait with reason " << reason << ", but "
                      << (pod == pods.end()
                              ? "is not there"
                              : fmt::format("node '{}', reason '{}': {}", pod->second.node,
                                            pod->second.scheduled_reason, pod->second.scheduled_message));
      }
    }
    return message;
  }

  // The verdict of the observer on all that happened.
  void expect_clean() {
    ASSERT_OK(observer_->catch_up());
    const auto report = observer_->check();
    EXPECT_TRUE(report.clean()) << report.str();
    EXPECT_EQ(report.gangs.partial, 0U) << report.str();
  }

  void TearDown() override {
    for (auto& berth : berths_) {
      if (berth.process.running() && berth.healthy_at_end) {
        Reply health;  // of one that was started a moment ago: as soon as it listens
        (void)eventually([&] {
          health = ask(berth, "/healthz");
          return health.status != 0 || !berth.process.running();
        });
        EXPECT_EQ(health.status, 200) << health.describe();
        berth.process.stop();
        EXPECT_EQ(berth.process.exit_text(), "exit status 0") << tail(berth.log, 10);
      }
    }
    ClusterTest::TearDown();
  }

  std::list<Berth> berths_;
};

inline std::vector<std::string> names_of(const std::string& prefix, std::size_t count) {
  std::vector<std::string> out;
  for (std::size_t i = 0; i < count; ++i) {
    out.push_back(fmt::format("{}-{}", prefix, i));
  }
  return out;
}

}  // namespace berth::e2e
