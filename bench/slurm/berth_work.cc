// Berth's half of side_by_side: the jobs that Slurm gets, on the same nodes, decided by the engine and written to a decision
// log on disk.
//
//   bench_slurm_work jobs|gangs|churn NODES COUNT LOG
//
// jobs: COUNT one-slot jobs on empty nodes. gangs: COUNT gangs of eight whole nodes on empty nodes. churn: nodes 95 % full of
// one-slot jobs, COUNT of them end and as many new ones start. As with Slurm everything waits in a closed queue; then the
// queue opens. Prints one JSON object: started, wall_s (opening, decisions, log, what was started reported back as running),
// engine_s (decide() alone), longest_s (the longest decide()), cpu_s (CPU time of wall_s), submitted (events of arrivals per
// second, log included).
#include <fmt/format.h>
#include <time.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <fstream>
#include <iostream>
#include <string>
#include <string_view>
#include <vector>

#include "observe/recorded_engine.h"

namespace {

using namespace berth;
using Clock = std::chrono::steady_clock;

constexpr std::int64_t kSlots = 8;

double seconds_since(Clock::time_point began) {
  return static_cast<double>(
             std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - began).count()) /
         1e9;
}

double cpu_seconds() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) / 1e9;
}

Workload job(std::int64_t number, std::int64_t nodes) {
  Workload w;
  w.uid = w.name = fmt::format("job-{}", number);
  w.queue = "work";
  PodSet set;
  set.name = "main";
  set.count = std::max<std::int64_t>(1, nodes);
  set.pod.requests.set("cpu", nodes > 0 ? kSlots * 1000 : 1000);
  w.root.pod_sets.push_back(std::move(set));
  return w;
}

struct Work {
  std::int64_t started = 0;
  double wall = 0;
  double engine = 0;
  double longest = 0;
  double cpu = 0;
  double submitted = 0;
};

class Side {
 public:
  Side(const std::string& log, std::int64_t nodes)
      : log_(log), engine_({}, [this](std::string_view line) {
          log_ << line << '\n';
          return Status();
        }) {
    for (std::int64_t i = 0; i < nodes; ++i) {
      Node node;
      node.name = fmt::format("n{}", i);
      node.allocatable.set("cpu", kSlots * 1000);
      tell(NodeUpsert{std::move(node)});
    }
    open(true);
  }

  void tell(const Event& event) {
    if (const auto status = engine_.apply(event); !status) {
      std::cerr << "the engine refused an event: " << status.error().message << "\n";
      std::exit(1);
    }
  }
  void open(bool yes) {
    Queue queue;
    queue.name = "work";
    queue.unlimited = true;
    queue.stop = yes ? StopPolicy::kNone : StopPolicy::kHold;
    tell(QueueUpsert{queue});
  }
  // Decides until nothing more is decided; what starts is reported as running.
  Work decide() {
    Work done;
    const auto began = Clock::now();
    const double cpu = cpu_seconds();
    open(true);
    for (;;) {
      const auto before = Clock::now();
      const auto decisions = engine_.decide(++now_);
      const double seconds = seconds_since(before);
      done.engine += seconds;
      done.longest = std::max(done.longest, seconds);
      if (decisions.empty()) break;
      done.started += static_cast<std::int64_t>(decisions.size());
      for (const Decision& d : decisions) {
        for (const SlotPlacement& p : d.slots)
          tell(SlotUpdate{d.workload, p.pod_set, p.index, SlotState::kRunning, p.node});
      }
    }
    log_.flush();
    done.wall = seconds_since(began);
    done.cpu = cpu_seconds() - cpu;
    return done;
  }

 private:
  std::ofstream log_;
  observe::RecordedEngine engine_;
  TimeMs now_ = 0;
};

Work run(std::string_view what, std::int64_t nodes, std::int64_t count, const std::string& log) {
  Side side(log, nodes);
  std::int64_t next = 0;
  if (what == "churn") {
    while (next < nodes * kSlots * 95 / 100) side.tell(WorkloadUpsert{job(next++, 0)});
    side.decide();
  }
  side.open(false);
  const auto began = Clock::now();
  for (std::int64_t i = 0; i < count; ++i) {
    if (what == "churn") side.tell(WorkloadRemove{fmt::format("job-{}", i)});
    side.tell(WorkloadUpsert{job(next++, what == "gangs" ? 8 : 0)});
  }
  const double submitting = seconds_since(began);
  Work work = side.decide();
  work.submitted = static_cast<double>(count) / std::max(submitting, 1e-9);
  return work;
}

bool number(std::string_view text, std::int64_t& out) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  return error == std::errc() && end == text.data() + text.size() && out > 0;
}

}  // namespace

int main(int argc, char** argv) {
  std::int64_t nodes = 0;
  std::int64_t count = 0;
  const std::string_view what = argc == 5 ? argv[1] : "";
  if ((what != "jobs" && what != "gangs" && what != "churn") || !number(argv[2], nodes) ||
      !number(argv[3], count)) {
    std::cerr << "usage: bench_slurm_work jobs|gangs|churn NODES COUNT LOG\n";
    return 2;
  }
  const Work w = run(what, nodes, count, argv[4]);
  std::cout << fmt::format(
      "{{\"started\": {}, \"wall_s\": {:.6f}, \"engine_s\": {:.6f}, \"longest_s\": {:.6f}, \"cpu_s\": "
      "{:.6f}, \"submitted\": "
      "{:.0f}}}\n",
      w.started, w.wall, w.engine, w.longest, w.cpu, w.submitted);
  return 0;
}
