// bench_live: how fast pods are bound on a real API server, by Berth and by what it is compared with, in one run on one
// machine. See README.md here and scenarios.h.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <thread>

#include "blind_binder.h"
#include "scenarios.h"

namespace berth::bench {
namespace {

const std::map<std::string, Scenario> kScenarios = {
    {"S1", Scenario::kS1}, {"S2", Scenario::kS2}, {"S3", Scenario::kS3}, {"S4", Scenario::kS4},
    {"S5", Scenario::kS5}, {"C1", Scenario::kC1}, {"C2", Scenario::kC2}, {"C3", Scenario::kC3},
    {"Q1", Scenario::kQ1}, {"Q2", Scenario::kQ2}, {"Q3", Scenario::kQ3}, {"Q4", Scenario::kQ4},
    {"Q5", Scenario::kQ5}, {"Q6", Scenario::kQ6}};

std::string name_of(Scenario scenario) {
  for (const auto& [name, value] : kScenarios) {
    if (value == scenario) {
      return name;
    }
  }
  return "?";
}

double load_average() {
  double load[1] = {0};
  return getloadavg(load, 1) == 1 ? load[0] : -1;
}

void print_row(const Outcome& o, double ceiling) {
  std::string result;
  switch (o.scenario) {
    case Scenario::kS1:
    case Scenario::kS2:
      result = fmt::format("{:>7.0f} {:>9.0f} {:>7}", o.rate(), o.rate_from_start(),
                           ceiling > 0 ? fmt::format("{:.2f}", o.rate() / ceiling) : "-");
      break;
    case Scenario::kQ1:
      result = fmt::format("{:>7.0f} {:>9.0f} {:>7}; {:.1f} s from the first Job to the last bind", o.rate(),
                           o.rate_from_start(), ceiling > 0 ? fmt::format("{:.2f}", o.rate() / ceiling) : "-",
                           o.start_to_last_s);
      break;
    case Scenario::kQ2:
    case Scenario::kQ5:
    case Scenario::kQ6:
      result = fmt::format("{:>7.0f} {:>9.0f} {:>7}", o.rate(), o.rate_from_start(),
                           ceiling > 0 ? fmt::format("{:.2f}", o.rate() / ceiling) : "-");
      if (o.to_first_s > 0)
        result += fmt::format("; from the release {:.2f} s to the first bind, {:.1f} s to the last",
                              o.to_first_s, o.start_to_last_s);
      break;
    case Scenario::kS4:
      result = fmt::format("{:.2f} s from the start to the first bind; then {:.0f} MiB resident",
                           o.to_first_s, static_cast<double>(o.idle_rss_bytes) / (1 << 20));
      break;
    case Scenario::kC1:
    case Scenario::kC2:
    case Scenario::kC3:
      result = fmt::format("{:>7.0f} {:>9} {:>7}; {:.0f} decisions/s, 99 % within {:.2f} ms", o.rate(), "-",
                           "-", o.decisions(), 1000 * o.think.at_most(0.99));
      break;
    case Scenario::kQ4:
      result = fmt::format("all Jobs made after {:.0f} s; {:.0f} MiB resident once they wait",
                           o.after_last_pod_s, static_cast<double>(o.idle_rss_bytes) / (1 << 20));
      break;
    case Scenario::kS3:
    case Scenario::kQ3:
      result = fmt::format("{:.1f} s from the first high pod; victims {} whole, {} partial, {} unwarned",
                           o.start_to_last_s, o.whole_victims, o.partial_victims, o.unwarned);
      break;
    case Scenario::kS5:
      result = fmt::format("{:.1f} s after the last pod; gangs {} whole, {} partial", o.after_last_pod_s,
                           o.gangs.whole, o.gangs.partial);
      break;
  }
  fmt::print("{:<3} {:<15} {:>6} {:>7.1f} {:>7.0f} {:>8.1f} {:>6.1f}  {}{}\n", name_of(o.scenario),
             o.contender, o.bound, o.scheduler.cpu_seconds,
             static_cast<double>(o.scheduler.peak_rss_bytes) / (1 << 20), o.api_server_cpu_s, o.etcd_cpu_s,
             result, o.finished ? "" : "  NOT FINISHED");
  if (const auto& seen = o.dashboards; seen.messages > 0) {
    fmt::print("    dashboards: {} messages, {} answers of {:.1f} MiB, {} questions failed\n", seen.messages,
               seen.answers, static_cast<double>(seen.bytes) / (1 << 20), seen.failed);
  }
  if (!o.judgement.empty()) {
    fmt::print("    WRONG: {}\n", o.judgement);
  }
  std::fflush(stdout);
}

nlohmann::json json_of(const Outcome& o) {
  return {{"scenario", name_of(o.scenario)},
          {"contender", o.contender},
          {"finished", o.finished},
          {"bound", o.bound},
          {"pods_per_s_first_to_last", o.rate()},
          {"pods_per_s_from_start", o.rate_from_start()},
          {"first_to_last_s", o.first_to_last_s},
          {"start_to_last_s", o.start_to_last_s},
          {"after_last_pod_s", o.after_last_pod_s},
          {"to_first_s", o.to_first_s},
          {"idle_rss_bytes", o.idle_rss_bytes},
          {"think_s", o.think.sum},
          {"thinks", o.think.count},
          {"decisions_per_s", o.decisions()},
          {"scheduler_cpu_s", o.scheduler.cpu_seconds},
          {"scheduler_peak_rss_bytes", o.scheduler.peak_rss_bytes},
          {"api_server_cpu_s", o.api_server_cpu_s},
          {"etcd_cpu_s", o.etcd_cpu_s},
          {"gangs_whole", o.gangs.whole},
          {"gangs_partial", o.gangs.partial},
          {"victims_whole", o.whole_victims},
          {"victims_partial", o.partial_victims},
          {"victims_unwarned", o.unwarned},
          {"dashboard_messages", o.dashboards.messages},
          {"dashboard_answers", o.dashboards.answers},
          {"dashboard_bytes", o.dashboards.bytes},
          {"dashboard_failed", o.dashboards.failed},
          {"judgement", o.judgement}};
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

// The figure that a scenario is about, and its unit.
std::pair<double, const char*> figure_of(const Outcome& o) {
  switch (o.scenario) {
    case Scenario::kS1:
    case Scenario::kS2:
    case Scenario::kQ1:
    case Scenario::kQ2:
    case Scenario::kQ5:
    case Scenario::kQ6:
      break;
    case Scenario::kC1:
    case Scenario::kC2:
    case Scenario::kC3:
      return {o.decisions(), "decisions/s"};
    case Scenario::kS4:
      return {o.to_first_s, "s"};
    case Scenario::kS3:
    case Scenario::kQ3:
      return {o.start_to_last_s, "s"};
    case Scenario::kS5:
    case Scenario::kQ4:
      return {o.after_last_pod_s, "s"};
  }
  return {o.rate(), "pods/s"};
}

// What several rounds come to: the machine is a third slower at one time than at another, also within a round, so a share is
// taken of the blind binder of the same round, and of these the median. Berth with open dashboards is compared with Berth.
class Medians {
 public:
  void add(const Outcome& o) {
    const Of of{name_of(o.scenario), o.contender};
    of_round_[of] = o.rate();
    const auto [value, unit] = figure_of(o);
    all_[of].unit = unit;
    all_[of].values.push_back(value);
  }
  void end_round() {
    for (const auto& [of, rate] : of_round_) {
      const auto base = of_round_.find({of.first, base_of(of.second)});
      if (base != of_round_.end() && base->second > 0 && all_[of].unit == "pods/s")
        all_[of].shares.push_back(rate / base->second);
    }
    of_round_.clear();
  }
  void print(int rounds) const {
    fmt::print("medians of {} rounds\n", rounds);
    for (const auto& [of, all] : all_) {
      fmt::print("{:<3} {:<15} {:>8.1f} {}", of.first, of.second, median(all.values), all.unit);
      if (!all.shares.empty()) {
        const auto [least, most] = std::minmax_element(all.shares.begin(), all.shares.end());
        fmt::print(", {:.3f} of {} ({:.3f} to {:.3f})", median(all.shares), base_of(of.second), *least,
                   *most);
      }
      fmt::print("\n");
    }
  }

 private:
  struct All {
    std::string unit;
    std::vector<double> values;
    std::vector<double> shares;
  };
  using Of = std::pair<std::string, std::string>;  // scenario, contender
  static std::string base_of(const std::string& contender) {
    return contender == "berth-watched" ? "berth" : "blind";
  }
  std::map<Of, double> of_round_;
  std::map<Of, All> all_;
};

int run(int argc, char** argv) {
  CLI::App app{"Binds per second on a real Kubernetes API server: Berth and what it is compared with"};
  Scale scale;
  std::vector<std::string> scenarios = {"S1", "S2", "S3", "S4", "S5"};
  std::vector<std::string> names = {"blind", "kube-scheduler", "berth-null", "berth"};
  std::string berth;
  std::string berth_args;
  std::string null_args = "--placement first";
  std::string json_path;
  unsigned in_flight = 32;
  int repeat = 1;
  app.add_option("--scenarios", scenarios, "S1 to S5; with constraints C1, C2, C3; with queues Q1 to Q6")
      ->delimiter(',')
      ->check(CLI::IsMember(kScenarios));
  app.add_option("--contenders", names,
                 "blind, blind-released (Q1), kube-scheduler, kueue, berth-null, berth, berth-watched")
      ->delimiter(',')
      ->check(CLI::IsMember(
          {"blind", "blind-released", "kube-scheduler", "kueue", "berth-null", "berth", "berth-watched"}));
  app.add_option("--berth", berth, "path of the berth program")->check(CLI::ExistingFile);
  app.add_option("--berth-args", berth_args, "further arguments of `berth scheduler`");
  app.add_option("--null-args", null_args, "arguments of `berth scheduler` that make it not think");
  app.add_option("--in-flight", in_flight, "binds in flight of the blind binder")->check(CLI::Range(1, 300));
  app.add_option("--nodes", scale.nodes)->check(CLI::Range(1, 20000));
  app.add_option("--pods", scale.pods, "of S1 and Q2; those that arrive in C1 to C3")
      ->check(CLI::Range(1, 200000));
  app.add_option("--running", scale.running, "pods that run already, of S4 and C1 to C3")
      ->check(CLI::Range(9, 200000));
  app.add_option("--gangs", scale.gangs, "of S2, and JobSets of Q5 and Q6")->check(CLI::Range(1, 20000));
  app.add_option("--high-gangs", scale.high_gangs, "of S3 and Q3")->check(CLI::Range(1, 20000));
  app.add_option("--jobs", scale.jobs, "of Q1")->check(CLI::Range(1, 20000));
  app.add_option("--waiting", scale.waiting, "Jobs of Q4")->check(CLI::Range(1, 1000000));
  app.add_option("--dashboards", scale.dashboards, "open while berth-watched runs")->check(CLI::Range(0, 64));
  app.add_option(
      "--then", scale.then,
      "of Q4: a shell command to run once all Jobs wait, while some come and go; BERTH_DASHBOARD is "
      "the address of berth-watched's dashboard, BERTH_PID its process");
  app.add_option("--repeat", repeat,
                 "rounds; every second one in the reverse order, and the medians in the end")
      ->check(CLI::Range(1, 100));
  app.add_option("--time-limit", scale.time_limit_s, "seconds for one run")->check(CLI::Range(1, 3600));
  app.add_option("--kubernetes", scale.kubernetes, "version of the control plane");
  app.add_option("--json", json_path, "also write the results here");
  app.add_flag("--keep", scale.keep, "keep the clusters' logs");
  std::string kubeconfig;
  auto* blind = app.add_subcommand("blind-binder", "the contender `blind` itself, as a process");
  blind->add_option("--kubeconfig", kubeconfig)->required();
  blind->add_option("--in-flight", in_flight)->check(CLI::Range(1, 300));
  CLI11_PARSE(app, argc, argv);
  if (*blind) {
    const auto status = run_blind_binder(kubeconfig, in_flight);
    fmt::print(stderr, "blind binder: {}\n", status ? "ended" : status.error().str());
    return 1;
  }
  const auto words = [](const std::string& text) { return CLI::detail::split(text, ' '); };
  const auto wanted = [&](const std::string& name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  const auto extra = [&](const std::string& text) {
    return text.empty() ? std::vector<std::string>() : words(text);
  };
  auto all = contenders("/proc/self/exe", berth, extra(berth_args), extra(null_args), in_flight);
  if (berth.empty() && (wanted("berth") || wanted("berth-null") || wanted("berth-watched"))) {
    fmt::print(stderr, "bench_live: no --berth PATH: its rows are left out\n");
  }
  fmt::print("{} nodes x 8 GPUs, {} cores, load average before the start {:.1f}\n", scale.nodes,
             std::thread::hardware_concurrency(), load_average());
  fmt::print("{:<3} {:<15} {:>6} {:>7} {:>7} {:>8} {:>6}  {:>7} {:>9} {:>7}\n", "", "", "bound", "CPU s",
             "RSS MiB", "API s", "etcd s", "pods/s", "fr.start", "/blind");
  auto results = nlohmann::json::array();
  int exit_code = 0;
  Medians medians;
  for (int round = 0; round < repeat; ++round) {
    if (round > 0) std::reverse(all.begin(), all.end());
    for (const auto& scenario_name : scenarios) {
      const auto scenario = kScenarios.at(scenario_name);
      double ceiling = 0;
      for (const auto& contender : all) {
        if (!wanted(contender.name) || !applies(scenario, contender)) {
          continue;
        }
        const auto outcome = run_scenario(scenario, contender, scale);
        if (!outcome) {
          fmt::print("{:<3} {:<15} failed: {}\n", scenario_name, contender.name, outcome.error().str());
          exit_code = 1;
          continue;
        }
        if (contender.name == "blind") {
          ceiling = outcome->rate();
        }
        print_row(*outcome, ceiling);
        medians.add(*outcome);
        exit_code |= outcome->judgement.empty() ? 0 : 1;
        results.push_back(json_of(*outcome));
      }
    }
    medians.end_round();
  }
  if (repeat > 1) medians.print(repeat);
  if (!json_path.empty()) {
    std::ofstream file(json_path);
    file << results.dump(1) << "\n";
    if (!file) {
      fmt::print(stderr, "bench_live: cannot write {}\n", json_path);
      return 1;
    }
  }
  return exit_code;
}

}  // namespace
}  // namespace berth::bench

int main(int argc, char** argv) {
  return berth::bench::run(argc, argv);
}
