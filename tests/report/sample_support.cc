#include "report/sample_support.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <queue>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "sim/page/report.h"

namespace berth::sim {
namespace {

constexpr std::int64_t kDay = 24 * kHour;

class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed * 0x9E3779B97F4A7C15u + 1) {}
  // 0 <= result < n
  std::int64_t below(std::int64_t n) {
    state_ += 0x9E3779B97F4A7C15u;
    std::uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return static_cast<std::int64_t>((z ^ (z >> 31)) % static_cast<std::uint64_t>(n));
  }
  // Doubles with even chances up to `most` times: a heavy tail in integers.
  std::int64_t heavy(std::int64_t least, int most) {
    std::int64_t value = least;
    for (int i = 0; i < most && below(100) < 62; ++i) value *= 2;
    return value + below(value);
  }

 private:
  std::uint64_t state_;
};

struct Job {
  std::string name;
  std::size_t queue = 0;
  TimeMs submit = 0;
  std::int64_t duration = 0;
  int gpus = 1;
  TimeMs start = -1;
};

struct Queue {
  std::string name;
  int weight;
};

const std::array<Queue, 11> kQueues = {{{"research-vision", 22},
                                        {"research-language", 18},
                                        {"recommendation", 13},
                                        {"speech", 10},
                                        {"robotics", 8},
                                        {"ads-ranking", 7},
                                        {"simulation", 6},
                                        {"university", 6},
                                        {"platform", 4},
                                        {"interns", 4},
                                        {"evaluation", 2}}};

std::vector<Job> make_jobs(const SampleSize& size, Random& random) {
  std::vector<Job> jobs;
  int weights = 0;
  for (const Queue& queue : kQueues) weights += queue.weight;
  while (static_cast<int>(jobs.size()) < size.jobs) {
    Job job;
    const std::int64_t day = random.below(size.days);
    if (day % 7 >= 5 && random.below(100) < 55) continue;
    const std::int64_t hour = random.below(24);
    if ((hour < 8 || hour > 20) && random.below(100) < 50) continue;
    job.submit = day * kDay + hour * kHour + random.below(kHour);
    std::int64_t pick = random.below(weights);
    while (pick >= kQueues[job.queue].weight) pick -= kQueues[job.queue++].weight;
    constexpr std::array<int, 16> kSizes = {1, 1, 1, 1, 1, 1, 1, 2, 2, 4, 4, 8, 8, 16, 32, 64};
    std::int64_t limit = job.queue < 3 ? 16 : job.queue < 8 ? 14 : 12;
    job.gpus = kSizes[static_cast<std::size_t>(random.below(limit))];
    if (job.gpus >= 32 && random.below(100) < 70) job.gpus = 8;
    job.duration = std::min<std::int64_t>(random.heavy(18 * kMinute, 11), 8 * kDay);
    jobs.push_back(job);
  }
  std::sort(jobs.begin(), jobs.end(), [](const Job& a, const Job& b) {
    return std::tie(a.submit, a.queue, a.gpus, a.duration) < std::tie(b.submit, b.queue, b.gpus, b.duration);
  });
  for (std::size_t i = 0; i < jobs.size(); ++i)
    jobs[i].name = fmt::format("{}-{:05}", kQueues[jobs[i].queue].name, i);
  return jobs;
}

struct Running {
  TimeMs end;
  std::size_t job;
  bool operator<(const Running& other) const { return std::tie(other.end, other.job) < std::tie(end, job); }
};

std::string size_class(int gpus) {
  if (gpus <= 1) return "1 GPU";
  if (gpus <= 4) return "2 to 4 GPUs";
  if (gpus <= 8) return "8 GPUs";
  return gpus <= 16 ? "16 GPUs" : "32 GPUs and more";
}

}  // namespace

ReportData sample_report(const SampleSize& size, std::uint64_t seed) {
  Random random(seed);
  std::vector<Job> jobs = make_jobs(size, random);
  const std::int64_t capacity = static_cast<std::int64_t>(size.nodes) * 8;

  std::vector<int> free(static_cast<std::size_t>(size.nodes), 8);
  std::vector<std::vector<std::pair<std::size_t, int>>> held(jobs.size());
  std::priority_queue<Running> running;
  std::vector<std::size_t> pending;
  std::vector<Series> allocated(kQueues.size());
  std::vector<std::int64_t> in_use(kQueues.size());
  Series waiting{"pending workloads", {}};
  Series waiting_gpus{"their GPUs", {}};
  for (std::size_t q = 0; q < kQueues.size(); ++q) allocated[q].name = kQueues[q].name;
  std::vector<GanttLane> lanes;
  for (int i = 0; i < size.lanes; ++i) {
    lanes.push_back({fmt::format("gpu-{:03}", i * 7), i % 3 == 0 ? "H200, rack 4" : "H100, rack 2", 8, {}});
  }
  const TimeMs end = static_cast<TimeMs>(size.days) * kDay;
  std::int64_t waiting_now = 0;
  std::int64_t busy = 0;

  const auto note = [&](TimeMs t) {
    waiting.points.push_back({t, static_cast<std::int64_t>(pending.size())});
    waiting_gpus.points.push_back({t, waiting_now});
  };
  const auto start = [&](std::size_t j, TimeMs t) {
    Job& job = jobs[j];
    int left = job.gpus;
    std::vector<std::size_t> order;
    for (std::size_t n = 0; n < free.size(); ++n) {
      if (free[n] >= std::min(left, 8)) order.push_back(n);
    }
    if (order.size() * 8 < static_cast<std::size_t>(left)) return false;
    if (left < 8)
      std::stable_sort(order.begin(), order.end(),
                       [&](std::size_t a, std::size_t b) { return free[a] < free[b]; });
    const TimeMs stop = t + job.duration;
    for (const std::size_t n : order) {
      if (left == 0) break;
      const int take = std::min(left, 8);
      free[n] -= take;
      left -= take;
      held[j].emplace_back(n, take);
      const std::size_t lane = n / 7;
      if (n % 7 == 0 && lane < lanes.size() && t < end) {
        const BarEnd how = stop > end              ? BarEnd::kRunning
                           : random.below(100) < 4 ? BarEnd::kEvicted
                           : random.below(100) < 1 ? BarEnd::kFailed
                                                   : BarEnd::kCompleted;
        lanes[lane].bars.push_back(
            {job.name, kQueues[job.queue].name, t, std::min(stop, end), take * 1000, how, {}});
      }
    }
    job.start = t;
    running.push({stop, j});
    in_use[job.queue] += job.gpus;
    allocated[job.queue].points.push_back({t, in_use[job.queue] * 1000});
    return true;
  };
  const auto schedule = [&](TimeMs t) {
    int blocked = 0;
    for (std::size_t i = 0; i < pending.size() && blocked < 24;) {
      if (start(pending[i], t)) {
        waiting_now -= jobs[pending[i]].gpus;
        pending.erase(pending.begin() + static_cast<std::ptrdiff_t>(i));
      } else {
        ++blocked;
        ++i;
      }
    }
    note(t);
  };
  const auto finish_until = [&](TimeMs t) {
    while (!running.empty() && running.top().end <= t) {
      const Running done = running.top();
      running.pop();
      for (const auto& [node, gpus] : held[done.job]) free[node] += gpus;
      const Job& job = jobs[done.job];
      busy += job.gpus * std::max<std::int64_t>(std::min(done.end, end) - job.start, 0);
      in_use[job.queue] -= job.gpus;
      allocated[job.queue].points.push_back({done.end, in_use[job.queue] * 1000});
      schedule(done.end);
    }
  };
  for (std::size_t j = 0; j < jobs.size(); ++j) {
    finish_until(jobs[j].submit);
    pending.push_back(j);
    waiting_now += jobs[j].gpus;
    schedule(jobs[j].submit);
  }
  finish_until(end * 1000);

  const std::array<std::string, 5> sizes = {"1 GPU", "2 to 4 GPUs", "8 GPUs", "16 GPUs", "32 GPUs and more"};
  Distribution by_queue{"By queue",       "",           "jobs", SampleKind::kDurationMs, "", 1,
                        Palette::kChoice, "all queues", {}};
  Distribution by_size{"By size",
                       "Larger gangs need whole free nodes at one time and wait longer.",
                       "jobs",
                       SampleKind::kDurationMs,
                       "",
                       1,
                       Palette::kOrdered,
                       "all sizes",
                       {}};
  Distribution completion{"Completion time by queue",
                          "From submission to the end: waiting and running.",
                          "jobs",
                          SampleKind::kDurationMs,
                          "",
                          1,
                          Palette::kChoice,
                          "all queues",
                          {}};
  for (const Queue& queue : kQueues) {
    by_queue.groups.push_back({queue.name, {}});
    completion.groups.push_back({queue.name, {}});
  }
  for (const std::string& name : sizes) by_size.groups.push_back({name, {}});
  std::vector<std::int64_t> waits;
  Table largest{"The twenty longest waits",
                "",
                {{"job"},
                 {"queue"},
                 {"GPUs", ColumnKind::kNumber},
                 {"waited", ColumnKind::kDurationMs},
                 {"ran", ColumnKind::kDurationMs}},
                {}};
  std::vector<std::pair<std::int64_t, std::size_t>> longest;
  for (std::size_t j = 0; j < jobs.size(); ++j) {
    const Job& job = jobs[j];
    const std::int64_t wait = job.start - job.submit;
    waits.push_back(wait);
    longest.emplace_back(-wait, j);
    by_queue.groups[job.queue].samples.push_back(wait);
    completion.groups[job.queue].samples.push_back(wait + job.duration);
    const auto at = std::find(sizes.begin(), sizes.end(), size_class(job.gpus));
    by_size.groups[static_cast<std::size_t>(at - sizes.begin())].samples.push_back(wait);
  }
  std::sort(waits.begin(), waits.end());
  std::sort(longest.begin(), longest.end());
  for (std::size_t i = 0; i < std::min<std::size_t>(20, longest.size()); ++i) {
    const Job& job = jobs[longest[i].second];
    largest.rows.push_back({job.name, kQueues[job.queue].name, fmt::format("{}", job.gpus),
                            fmt::format("{}", -longest[i].first), fmt::format("{}", job.duration)});
  }

  ReportData data;
  data.title = "A month of a research cluster";
  data.subtitle =
      fmt::format("{} jobs of {} queues on {} nodes with {} GPUs, first come first served, one pool",
                  human_amount(size.jobs), kQueues.size(), size.nodes, human_amount(capacity));
  data.generated_by = "berth 0.1.0 · sample data of tests/report";
  data.scenario =
      "name: A month of a research cluster\nseed: 1\ncluster:\n  nodes: 96\n  gpus_per_node: 8\nqueues:\n  "
      "ordering: fifo\n";
  data.origin_unix_ms = 1506816000000;  // 2017-10-01
  data.key_figures = {
      {"GPU allocation", human_amount(busy / 1000 * 100, capacity * end / 1000), "%",
       "Mean share of GPUs in use over the month"},
      {"Median wait", human_duration(waits[waits.size() / 2]), "", "Half of the jobs started sooner"},
      {"Wait, 9 in 10", human_duration(waits[waits.size() * 9 / 10]), "", "One job in ten waited longer"},
      {"Jobs", human_amount(size.jobs), "", "All of them completed"},
      {"GPU-hours", human_amount(busy / 1000, kHour / 1000, 0), "h", "Work done"},
      {"Preemptions", "0", "", "This run never evicts to make room"},
  };
  TimeChart gpus{"GPUs in use",
                 "Who held how many of the GPUs, stacked by queue. Drag over the picture to zoom.",
                 "GPU",
                 1000,
                 SeriesStyle::kStacked,
                 Palette::kChoice,
                 allocated,
                 Series{"capacity", {{0, capacity * 1000}}},
                 0,
                 end};
  TimeChart pending_chart{"Pending work",
                          "How much waits, and how many GPUs it wants.",
                          "",
                          1,
                          SeriesStyle::kLines,
                          Palette::kChoice,
                          {waiting, waiting_gpus},
                          std::nullopt,
                          0,
                          end};
  XyChart sweep{
      "Mean waiting over nodes",
      "Five seeds each; bars from least to greatest.",
      "nodes",
      1,
      "duration",
      SampleKind::kDurationMs,
      1,
      true,
      true,
      {{"pack",
        {{80, 9'000'000, 8'000'000, 11'000'000},
         {96, 4'000'000, 3'500'000, 4'600'000},
         {112, 900'000, 700'000, 1'000'000}},
        false},
       {"published", {{80, 9'500'000, 9'500'000, 9'500'000}, {112, 800'000, 800'000, 800'000}}, true}}};
  Table differences{"Against first in, first out",
                    "",
                    {{"Policy"}, {"Waiting", ColumnKind::kDifference, "", -1}},
                    {{"pack", "-12.3 %"}, {"spread", "+4 %"}}};
  data.sections = {
      {"Allocation", "How full the cluster was, and who used it.", {gpus, pending_chart}},
      {"Waiting", "From submission to start.", {by_queue, by_size, largest}},
      {"Completion", "", {completion}},
      {"Sweep", "", {sweep, differences}},
      {"Nodes", "What ran where.", {Gantt{"Twelve nodes", "One row is one GPU.", lanes, 0, end}}},
  };
  data.notes = {
      {NoteKind::kInfo, "Quantiles are nearest rank."},
      {NoteKind::kWarning, "6,954 jobs of the trace name no queue; they are counted in \"platform\"."}};
  for (const Queue& queue : kQueues) data.color_order.push_back(queue.name);
  return data;
}

}  // namespace berth::sim
