// The input of a simulation: nodes, queues and jobs, from any file or generator.
//
// Units: times and durations in milliseconds from the trace's own zero (which may lie inside the trace: times
// may be negative); amounts as in model/resources.h.
// A job is small (about 80 bytes with its name). Common data of many jobs, the tree of pod sets and the costs of a restart, stands
// once in a table and is named by its index.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/checked.h"
#include "base/interner.h"
#include "base/result.h"
#include "base/time.h"
#include "model/bounds.h"
#include "model/mix.h"
#include "model/node.h"
#include "model/queue.h"
#include "model/workload.h"
#include "sim/course/elastic.h"
#include "sim/course/estimates.h"
#include "sim/course/start_costs.h"

namespace berth::sim {

inline constexpr std::string_view kGpu = "nvidia.com/gpu";
inline constexpr std::string_view kGpuModelLabel = "nvidia.com/gpu.product";
inline constexpr std::string_view kHostLabel = "kubernetes.io/hostname";

inline constexpr DurationMs kNotSaid = -1;
inline constexpr std::uint32_t kOfRules = 0xffffffffu;
inline constexpr DurationMs kMostTime = kLastTime / 4;  // of times and durations in files

inline constexpr std::int64_t kMostJobs = 5'000'000;  // held in memory, unless another number is given
inline constexpr std::size_t kMostNameBytes = 1024;   // of a job's name

// The bounds of the tables beside the jobs, so that a file of any length ends in a trace or in an error.
struct TableLimits {
  std::size_t queues = 100'000;
  std::size_t kinds = 500'000;                 // of pods, of images, of restarts, of costs, of scalings: each
  std::size_t bytes = std::size_t{256} << 20;  // of the texts that queues, images and pods are told apart by
};

// The form of a job's pods.
struct JobShape {
  Group root;
  std::int64_t slots = 0;
  std::int64_t gpu_milli = 0;  // of all slots together
  std::int64_t cpu_milli = 0;
  bool elastic = false;  // may run with fewer slots
  std::int64_t listed =
      0;  // rows of the source with this shape, where an arrival order draws from them; 0 = not counted
};

struct Job {
  std::string name;  // as in the trace
  TimeMs submit = 0;
  DurationMs duration = 0;  // of undisturbed work, from its start to its end
  DurationMs expected =
      kNotSaid;  // what the engine is told; readers set what the trace says (sim/course/estimates.h)
  std::int64_t priority = 0;
  std::uint32_t queue = 0;           // in Trace::queues
  std::uint32_t shape = 0;           // in Trace::shapes
  std::uint32_t restart = 0;         // in Trace::restarts
  std::uint32_t costs = kOfRules;    // in Trace::costs; readers leave it where the rules of the source hold
  std::uint32_t scaling = kOfRules;  // in Trace::scalings, of elastic jobs; as costs
  bool preemptible = true;
};

// Jobs in order of submission; equal times in the order of the input.
struct Trace {
  Interner queues;
  std::vector<JobShape> shapes;
  Interner images;
  std::vector<Restart> restarts;
  std::vector<StartCosts> costs;
  std::vector<Scaling> scalings;
  std::vector<Job> jobs;
};

// The meaning of a processor in a list of jobs (Standard Workload Format).
enum class Processors : std::uint8_t { kGpus, kCpus };

// How the jobs of one source become Berth's: chosen in the scenario file (docs/simulator.md).
struct JobRules {
  TimeMs from = kInt64Min;  // jobs submitted in [from, to)
  TimeMs to = kInt64Max;
  std::int64_t max_jobs = kMostJobs;
  std::string queue;            // of all jobs, whatever the file says; "" = the file's
  std::string no_tenant_queue;  // of jobs that the file names no queue for; "" = they are refused
  bool drop_without_tenant = false;
  // For tools that run nothing: jobs without a queue get the queue "", and what a file says of expected
  // durations stays, whatever `estimate` says.
  bool as_given = false;
  std::int64_t gpus_per_task = 8;  // a larger job is a gang of tasks of this size and one for the rest
  std::int64_t priority = 0;       // of jobs that the file gives none
  Labels node_selector;            // of every pod
  std::string queue_label;         // "" or a label key: pods go only to nodes whose label is their queue
  TopologyRequest topology;        // of jobs with more than one pod, where the file says nothing of its own
  Processors processors = Processors::kGpus;
  std::int64_t cpus_per_task = 64;  // as gpus_per_task, where processors are CPUs
  Restart restart;
  struct Overhead {
    std::int64_t up_to_gpus = kInt64Max;
    DurationMs overhead = 0;
  };
  std::vector<Overhead>
      overheads;  // of a restart by size: the first that is large enough, instead of restart.overhead
  EstimateRules estimate;
  StartCosts costs;
  std::string image;  // of costs.image_pull; "" = one per queue, with its name
  Scaling scaling;    // of elastic jobs
  ElasticRules elastic;
};
// The effect of rules on equal jobs, as text: part of the keys of shapes.
std::string shape_rules_key(const JobRules& rules);

// Collects jobs from several sources, applies the rules, puts them into order. With a sink it collects none. Each job goes there as
// it comes, in the order of the file, so that any number of jobs can pass.
class TraceBuilder {
 public:
  // The job's indices lead into tables().
  using Sink = std::function<Status(const Job&)>;
  explicit TraceBuilder(Sink sink = nullptr, const TableLimits& limits = {})
      : sink_(std::move(sink)), limits_(limits) {}

  // Takes a job whose queue is `queue_name` ("" = the file names none). Jobs outside the window, and those
  // without a queue where the rules say so, are counted and left out. `place` is for errors: no queue, more
  // than rules.max_jobs jobs, a name that is too long, a time that leaves the range, more than TableLimits.
  Status add(Job job, std::string_view queue_name, const JobRules& rules, const SourcePlace& place);

  // The index of the shape that `key` stands for; `make` is called when it is new. Keys must be complete:
  // equal keys mean equal shapes. The label of rules.queue_label is added per queue.
  template <class Make>
  Result<std::uint32_t> shape(const std::string& key, Make&& make) {
    if (const auto it = shape_index_.find(key); it != shape_index_.end()) return it->second;
    return new_shape(key, make());
  }
  // An error where more queues, shapes and the like have come than the limits allow; add() asks it. A reader that
  // puts jobs aside asks it for each.
  Status within_limits(const SourcePlace& place) const;
  // One more row of the source has this shape.
  void listed(std::uint32_t shape) { ++trace_.shapes[shape].listed; }
  std::uint32_t restart(const Restart& restart);
  // `image` names what costs.image_pull is for.
  std::uint32_t costs(StartCosts costs, std::string_view image);
  std::uint32_t scaling(const Scaling& scaling);

  // For a new source: the bound of jobs counts from here.
  void begin_source() { source_jobs_ = 0; }
  std::int64_t outside_window() const { return outside_window_; }
  std::int64_t without_queue() const { return without_queue_; }

  // A job that a reader leaves out: `why` completes "3 jobs left out: ...".
  void leave_out(std::string_view why) { ++left_out_[std::string(why)]; }
  const std::map<std::string, std::int64_t, std::less<>>& left_out() const { return left_out_; }
  // Something that a reader does not take over from a job that it keeps: `what` completes "3 jobs ...".
  void remark(std::string_view what) { ++remarks_[std::string(what)]; }
  const std::map<std::string, std::int64_t, std::less<>>& remarks() const { return remarks_; }
  // Queues, shapes and restarts so far.
  const Trace& tables() const { return trace_; }

  Trace finish();

 private:
  Result<std::uint32_t> new_shape(const std::string& key, Group root);
  Status apply(const JobRules& rules, std::string_view queue, const SourcePlace& place, Job& job);
  std::uint32_t elastic_shape(std::uint32_t rigid, const ElasticRules& rules);

  using Index = std::map<std::vector<std::int64_t>, std::uint32_t>;
  std::uint32_t image(std::string_view name);

  Sink sink_;
  TableLimits limits_;
  std::size_t bytes_ = 0;  // as TableLimits::bytes
  Trace trace_;
  Index restart_index_;
  Index costs_index_;
  Index scaling_index_;
  std::map<std::string, std::uint32_t, std::less<>> shape_index_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> labelled_;  // (shape, queue) -> shape
  std::map<std::pair<std::uint32_t, std::int64_t>, std::uint32_t> elastic_;    // (shape, least) -> shape
  std::int64_t source_jobs_ = 0;
  std::int64_t outside_window_ = 0;
  std::int64_t without_queue_ = 0;
  std::map<std::string, std::int64_t, std::less<>> left_out_;
  std::map<std::string, std::int64_t, std::less<>> remarks_;
};

// The kinds of pods of all jobs with their numbers: of the rows of the source where these are counted, else of the jobs.
DemandMix demand_mix(const Trace& trace);

// The pod set tree of a job of `gpus` whole GPUs: tasks of rules.gpus_per_task, and one for the rest.
Group gang_of(std::int64_t gpus, const JobRules& rules);
// The same of CPUs and rules.cpus_per_task.
Group cpu_gang_of(std::int64_t cpus, const JobRules& rules);
// gang_of() in the table of `out`.
Result<std::uint32_t> gang_shape(std::int64_t gpus, const JobRules& rules, TraceBuilder& out);

// Adds the condition that the pods run on a node with one of these GPU models. `models` empty: none.
void require_models(PodTemplate& pod, const std::vector<std::string>& models);

// Classes of size that reports use, by GPUs of the whole job.
enum class SizeClass : std::uint8_t { kNoGpu, kShared, k1, k2To4, k5To8, k9To16, k17To31, k32To63, k64Up };
inline constexpr std::size_t kSizeClasses = 9;
SizeClass size_class(std::int64_t gpu_milli);
std::string_view size_class_name(SizeClass size);

}  // namespace berth::sim
