#include "contender.h"

#include <fmt/format.h>
#include <unistd.h>

#include <fstream>

#include "blind_binder.h"

namespace berth::bench {

std::vector<Contender> contenders(const std::string& self, const std::string& berth,
                                  const std::vector<std::string>& berth_args,
                                  const std::vector<std::string>& null_args, unsigned in_flight) {
  std::vector<Contender> all;
  all.push_back({.name = "blind",
                 .scheduler = kBlindScheduler,
                 .command = {self, "blind-binder", "--kubeconfig", "{kubeconfig}", "--in-flight",
                             std::to_string(in_flight)}});
  all.push_back(all.back());
  all.back().name = "blind-released";
  all.back().released = true;
  all.push_back({.name = "kube-scheduler", .scheduler = "default-scheduler", .kube_scheduler = true});
  all.push_back({.name = "kueue", .scheduler = "default-scheduler", .kube_scheduler = true, .kueue = true});
  if (!berth.empty()) {
    std::vector<std::string> command = {berth, "scheduler", "--kubeconfig", "{kubeconfig}"};
    auto null_command = command;
    command.insert(command.end(), berth_args.begin(), berth_args.end());
    null_command.insert(null_command.end(), null_args.begin(), null_args.end());
    all.push_back(
        {.name = "berth-null", .scheduler = "berth", .gangs = true, .command = std::move(null_command)});
    const Contender whole{
        .name = "berth", .scheduler = "berth", .gangs = true, .preempts = true, .command = command};
    all.push_back(whole);
    all.push_back(whole);
    all.back().name = "berth-watched";
    all.back().watched = true;
  }
  return all;
}

Result<Running> Running::start(const Contender& contender, e2e::TestCluster& cluster, bool with_metrics) {
  Running running;
  running.cluster_ = &cluster;
  running.name_ = contender.name;
  running.kube_scheduler_ = contender.kube_scheduler;
  if (contender.kueue) {
    if (e2e::KueueManager::program().empty())
      return fail(ErrorCode::kInvalid,
                  "set BERTH_KUEUE_MANAGER to the output of `scripts/kueue-oracle manager`");
    running.kueue_ = std::make_unique<e2e::KueueManager>(cluster);
    BERTH_TRY(running.kueue_->install());
    BERTH_TRY(running.kueue_->start(
        {.frameworks = {"batch/job", "pod", "jobset.x-k8s.io/jobset"}, .unlimited = true}));
  }
  if (contender.kube_scheduler) {
    BERTH_TRY(cluster.start_kube_scheduler());
    running.metrics_ = cluster.kube_scheduler();
    return running;
  }
  auto argv = contender.command;
  if (contender.watched) {
    BERTH_ASSIGN(running.dashboard_port_, e2e::free_port());
    argv.push_back("--dashboard-address=127.0.0.1:" + std::to_string(running.dashboard_port_));
  }
  if (with_metrics) {
    BERTH_ASSIGN(const int port, e2e::free_port());
    argv.push_back(fmt::format("--metrics-address=127.0.0.1:{}", port));
    running.metrics_.server = fmt::format("http://127.0.0.1:{}", port);
  }
  for (auto& argument : argv) {
    if (argument == "{kubeconfig}") {
      argument = cluster.kubeconfig();
    }
  }
  BERTH_ASSIGN(running.process_,
               e2e::Process::start({.argv = std::move(argv), .log = cluster.log(contender.name)}));
  return running;
}

Status Running::alive() {
  if (kueue_ && !kueue_->process().running()) {
    return fail(ErrorCode::kUnavailable, "Kueue ended with {}; its log ends\n{}",
                kueue_->process().exit_text(), e2e::tail(kueue_->log(), 20));
  }
  auto* process = kube_scheduler_ ? cluster_->process("kube-scheduler") : &*process_;
  if (!process->running()) {
    return fail(ErrorCode::kUnavailable, "{} ended with {}; its log ends\n{}", name_, process->exit_text(),
                e2e::tail(cluster_->log(name_), 20));
  }
  return {};
}

e2e::Usage Running::usage() {
  e2e::Usage all = kube_scheduler_ ? cluster_->process("kube-scheduler")->usage() : process_->usage();
  if (kueue_) {
    const e2e::Usage more = kueue_->process().usage();
    all.cpu_seconds += more.cpu_seconds;
    all.peak_rss_bytes += more.peak_rss_bytes;
  }
  return all;
}

std::uint64_t Running::resident_bytes() {
  const auto* process = kube_scheduler_ ? cluster_->process("kube-scheduler") : &*process_;
  std::ifstream file("/proc/" + std::to_string(process->pid()) + "/statm");
  std::uint64_t size = 0;
  std::uint64_t resident = 0;
  file >> size >> resident;
  return resident * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
}

Result<Histogram> Running::think_times() const {
  e2e::ApiClient client(metrics_);
  const e2e::Reply reply = client.get("/metrics");
  BERTH_TRY(e2e::expect_ok(reply, "the metrics of " + name_));
  return read_histogram(reply.body, kube_scheduler_ ? "scheduler_scheduling_algorithm_duration_seconds"
                                                    : "berth_decide_seconds");
}

void Running::stop() {
  if (kueue_) kueue_->process().stop();
  if (kube_scheduler_) {
    cluster_->process("kube-scheduler")->stop();
  } else if (process_) {
    process_->stop();
  }
}

}  // namespace berth::bench
