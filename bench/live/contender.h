// What is measured: a scheduler, started as a process of its own against a test cluster.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "e2e/cluster.h"
#include "e2e/kueue_manager.h"
#include "histogram.h"

namespace berth::bench {

struct Contender {
  std::string name;
  std::string scheduler;  // schedulerName of the pods that it binds
  bool gangs = false;     // binds gangs by Berth's labels, all or nothing
  bool preempts = false;
  bool kube_scheduler = false;       // else `command`
  bool kueue = false;                // beside Kueue's manager, which is counted with it
  bool watched = false;              // dashboards are open
  bool released = false;             // its Jobs are made suspended, and the benchmark releases each at once
  std::vector<std::string> command;  // "{kubeconfig}" stands for the path of the kubeconfig
};

// blind, blind-released, kube-scheduler, kueue (its manager, and kube-scheduler), berth-null (no thinking but the whole live loop), berth, berth-watched (with open dashboards). `self` is this program, for the blind
// binder; `berth` the path of Berth's program, whose contenders are left out where it is empty.
std::vector<Contender> contenders(const std::string& self, const std::string& berth,
                                  const std::vector<std::string>& berth_args,
                                  const std::vector<std::string>& null_args, unsigned in_flight);

// Starts and holds one.
class Running {
 public:
  // `with_metrics`: think_times() can be asked.
  static Result<Running> start(const Contender& contender, e2e::TestCluster& cluster,
                               bool with_metrics = false);
  // An error that quotes the log when the process has ended.
  Status alive();
  e2e::Usage usage();              // peaks are summed up
  std::uint64_t resident_bytes();  // now
  // Seconds that it has thought: of kube-scheduler for each pod, of Berth for each time that it decides.
  Result<Histogram> think_times() const;
  int dashboard_port() const { return dashboard_port_; }  // 0: it serves no dashboard
  void stop();
  pid_t pid() const { return kube_scheduler_ ? 0 : process_->pid(); }

 private:
  e2e::TestCluster* cluster_ = nullptr;
  std::string name_;
  bool kube_scheduler_ = false;
  int dashboard_port_ = 0;
  e2e::Endpoint metrics_;
  std::unique_ptr<e2e::KueueManager> kueue_;
  std::optional<e2e::Process> process_;
};

}  // namespace berth::bench
