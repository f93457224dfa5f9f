#include "cli/trace.h"

#include <iostream>
#include <memory>
#include <utility>

#include "base/checked.h"
#include "base/random.h"
#include "sim/generate/generator.h"
#include "sim/measure/trace_stats.h"
#include "sim/scenario/scenario.h"
#include "sim/trace/trace_file.h"
#include "text/quantity.h"
#include "text/time.h"

namespace berth::cli {
namespace {

int failed(std::ostream& err, std::string_view command, const Error& error) {
  err << "berth trace " << command << ": " << error.str() << "\n";
  return error.code == ErrorCode::kInternal ? 3 : 2;
}

// One of an enumeration's names.
template <NamedEnum E>
Result<E> word(const std::string& text, std::string_view option) {
  if (const auto value = enum_parse<E>(text)) return *value;
  return fail(ErrorCode::kInvalid, "{} must be one of {}, not '{}'", option,
              fmt::join(EnumNames<E>::names, ", "), text);
}

Result<sim::TraceFile> trace_file(const std::string& path, const TraceReading& reading) {
  sim::TraceFile file;
  file.path = path;
  if (reading.format.empty()) {
    BERTH_ASSIGN(file.form, sim::detect_form(path));
  } else {
    BERTH_ASSIGN(file.form, word<sim::TraceForm>(reading.format, "--format"));
  }
  BERTH_ASSIGN(file.swf.tenant, word<sim::SwfTenant>(reading.tenant, "--tenant"));
  BERTH_ASSIGN(file.rules.processors, word<sim::Processors>(reading.processors, "--processors"));
  file.rules.queue = reading.queue;
  file.rules.no_tenant_queue = reading.no_tenant_queue;
  file.rules.as_given = true;
  file.rules.gpus_per_task = reading.gpus_per_task;
  // Other forms pass job by job.
  file.rules.max_jobs = file.form == sim::TraceForm::kLog ? reading.max_jobs : kInt64Max;
  return file;
}

// "          12  left out: no run time", as many as there are kinds.
std::vector<std::string> remarks_of(const sim::TraceBuilder& builder) {
  std::vector<std::string> out;
  for (const auto& [why, jobs] : builder.left_out())
    out.push_back(fmt::format("  {:>12}  left out: {}", jobs, why));
  for (const auto& [what, jobs] : builder.remarks()) out.push_back(fmt::format("  {:>12}  {}", jobs, what));
  if (builder.outside_window() > 0) {
    out.push_back(fmt::format("  {:>12}  outside --from and --until", builder.outside_window()));
  }
  return out;
}

Result<std::string> inspect(const InspectArguments& arguments, const std::string& path) {
  BERTH_ASSIGN(const sim::TraceFile file, trace_file(path, arguments.reading));
  sim::TraceStats stats;
  const sim::Trace* tables = nullptr;
  sim::TraceBuilder builder([&](const sim::Job& job) -> Status {
    stats.add(job, *tables);
    return {};
  });
  tables = &builder.tables();
  BERTH_ASSIGN(stats.world, sim::read_trace_file(file, builder));
  stats.remarks = remarks_of(builder);
  const sim::TraceSummary summary = stats.summarize();
  return arguments.output == "json" ? sim::stats_json(file, stats, summary)
                                    : sim::stats_table(file, stats, summary);
}

// A positive decimal in thousandths or finer.
Result<std::int64_t> decimal(const std::string& text, std::int64_t scale, std::int64_t most,
                             std::string_view option) {
  const auto value = text::parse_quantity_exact(text, scale);
  if (!value || !value->exact || value->value <= 0 || value->value > most) {
    return fail(ErrorCode::kInvalid, "{} must be a number above 0 and at most {}, not '{}'", option,
                most / scale, text);
  }
  return value->value;
}

Result<DurationMs> bound(const std::string& text, DurationMs otherwise, std::string_view option) {
  if (text.empty()) return otherwise;
  auto value = text::parse_duration_ms(text);
  if (!value) return fail(ErrorCode::kInvalid, "{}: {}", option, value.error().message);
  return value;
}

void tell(std::ostream& err, const sim::TraceWriter& writer, const std::vector<std::string>& remarks,
          const std::string& path) {
  err << fmt::format("{}: {} jobs written\n", path == "-" ? "standard output" : path, writer.jobs());
  for (const std::string& remark : remarks) err << remark << "\n";
  for (const auto& [what, count] : writer.losses()) err << fmt::format("  {:>12}  {}\n", count, what);
}

// Which jobs are taken over, and when they are submitted.
class Selection {
 public:
  static Result<Selection> make(const ConvertArguments& arguments) {
    Selection out(arguments.seed, arguments.from_zero);
    BERTH_ASSIGN(out.load_milli_, decimal(arguments.scale_load, 1000, 1'000'000'000, "--scale-load"));
    BERTH_ASSIGN(out.sample_, decimal(arguments.sample, kSampleScale, kSampleScale, "--sample"));
    return out;
  }

  bool takes() {
    return sample_ == kSampleScale ||
           random_.chance(static_cast<std::uint64_t>(sample_), static_cast<std::uint64_t>(kSampleScale));
  }
  TimeMs submit(TimeMs at) {
    // Rounded down, so that the order stays.
    const Int128 scaled = static_cast<Int128>(at) * 1000;
    Int128 quotient = scaled / load_milli_;
    if (scaled % load_milli_ < 0) --quotient;
    const auto moved = static_cast<TimeMs>(quotient);
    if (from_zero_ && !zero_) zero_ = moved;
    return moved - zero_.value_or(0);
  }

 private:
  static constexpr std::int64_t kSampleScale = 1'000'000;
  Selection(std::uint64_t seed, bool from_zero) : random_(seed), from_zero_(from_zero) {}
  Random random_;
  bool from_zero_;
  std::int64_t load_milli_ = 1000;
  std::int64_t sample_ = kSampleScale;
  std::optional<TimeMs> zero_;
};

Status convert(const ConvertArguments& arguments, std::ostream& err) {
  BERTH_ASSIGN(const sim::WrittenForm to, word<sim::WrittenForm>(arguments.to, "--to"));
  BERTH_ASSIGN(Selection selection, Selection::make(arguments));
  BERTH_ASSIGN(sim::TraceFile file, trace_file(arguments.in, arguments.reading));
  BERTH_ASSIGN(file.rules.from, bound(arguments.from, kInt64Min, "--from"));
  BERTH_ASSIGN(file.rules.to, bound(arguments.until, kInt64Max, "--until"));
  if (arguments.sort) file.rules.max_jobs = arguments.reading.max_jobs;
  if (file.rules.from >= file.rules.to) return fail(ErrorCode::kInvalid, "--until must be later than --from");

  // Nodes and queues stand in front of the jobs, so the forms that have any are read twice.
  sim::TraceWorld world;
  if (file.form == sim::TraceForm::kBerth || file.form == sim::TraceForm::kLog) {
    if (arguments.in == "-") {
      return fail(ErrorCode::kInvalid,
                  "this form is read twice, which standard input cannot be; name a file");
    }
    sim::TraceBuilder nothing([](const sim::Job&) -> Status { return {}; });
    BERTH_ASSIGN(world, sim::read_trace_file(file, nothing));
  }
  BERTH_ASSIGN(sim::TraceWriter writer, sim::TraceWriter::open(arguments.out, to));
  BERTH_TRY(writer.world(world));
  const sim::Trace* tables = nullptr;
  const auto take = [&](const sim::Job& job) -> Status {
    if (!selection.takes()) return {};
    sim::Job moved = job;
    moved.submit = selection.submit(job.submit);
    return writer.job(moved, *tables);
  };
  std::vector<std::string> remarks;
  if (arguments.sort) {
    sim::TraceBuilder builder;
    BERTH_ASSIGN(world, sim::read_trace_file(file, builder));
    remarks = remarks_of(builder);
    const sim::Trace trace = builder.finish();
    tables = &trace;
    for (const sim::Job& job : trace.jobs) BERTH_TRY(take(job));
  } else {
    sim::TraceBuilder builder(take);
    tables = &builder.tables();
    BERTH_ASSIGN(world, sim::read_trace_file(file, builder));
    remarks = remarks_of(builder);
  }
  if (writer.jobs() == 0) {
    return fail(ErrorCode::kInvalid, "{}: no job is left to write; widen --from, --until or --sample",
                arguments.in);
  }
  BERTH_TRY(writer.commit());
  tell(err, writer, remarks, arguments.out);
  return {};
}

Result<std::vector<sim::TenantWeight>> tenant_weights(const std::vector<std::string>& texts) {
  std::vector<sim::TenantWeight> out;
  for (const std::string& text : texts) {
    const std::size_t equals = text.find('=');
    sim::TenantWeight tenant{text.substr(0, equals), 1};
    if (equals != std::string::npos) {
      BERTH_ASSIGN(tenant.weight, decimal(text.substr(equals + 1), 1, 1'000'000, "--tenant"));
    }
    if (tenant.name.empty()) return fail(ErrorCode::kInvalid, "--tenant must be NAME or NAME=WEIGHT");
    for (const sim::TenantWeight& other : out) {
      if (other.name == tenant.name)
        return fail(ErrorCode::kInvalid, "--tenant '{}' is given twice", tenant.name);
    }
    out.push_back(std::move(tenant));
  }
  return out;
}

// Queues that make the trace runnable as it is: one per tenant with an equal guarantee in one pool, each
// borrowing what the others leave idle, or one without quota.
std::vector<Queue> queues_for(const std::vector<sim::TenantWeight>& tenants, const std::vector<Node>& nodes) {
  std::vector<Queue> queues;
  Queue pool;
  pool.name = tenants.empty() ? "all" : "pool";
  pool.leaf = tenants.empty();
  pool.unlimited = tenants.empty();
  queues.push_back(pool);
  std::int64_t gpus = 0;
  for (const Node& node : nodes) {
    for (const DevicePool& devices : node.devices) gpus += devices.count;
  }
  for (const sim::TenantWeight& tenant : tenants) {
    Queue queue;
    queue.name = tenant.name;
    queue.parent = pool.name;
    queue.preemption.reclaim = Reclaim::kAny;
    const auto share = gpus / static_cast<std::int64_t>(tenants.size());
    queue.quotas.push_back({"default", std::string(sim::kGpu), share * 1000, std::nullopt, std::nullopt});
    queues.push_back(std::move(queue));
  }
  return queues;
}

Status generate(const GenerateArguments& arguments, std::ostream& err) {
  BERTH_ASSIGN(const sim::WrittenForm to, word<sim::WrittenForm>(arguments.to, "--to"));
  sim::GeneratorOptions options;
  BERTH_ASSIGN(options.like, word<sim::Likeness>(arguments.like, "--like"));
  options.jobs = arguments.jobs;
  BERTH_ASSIGN(options.span, bound(arguments.span, options.span, "--span"));
  if (options.span < kHour || options.span > sim::kLongestSpan) {
    return fail(ErrorCode::kInvalid, "--span must be from 1h to 100 years, not {}", arguments.span);
  }
  if (arguments.max_gpus > 0) options.max_gpus = arguments.max_gpus;
  BERTH_ASSIGN(options.tenants, tenant_weights(arguments.tenants));
  sim::JobRules rules;
  rules.max_jobs = kInt64Max;
  if (options.tenants.empty()) rules.queue = "all";

  sim::TraceWorld world;
  if (arguments.nodes > 0) {
    sim::Fleet fleet = sim::generate_fleet(options.like, arguments.seed, arguments.nodes, "node");
    world.queues = queues_for(options.tenants, fleet.nodes);
    world.nodes = std::move(fleet.nodes);
    if (fleet.topology) world.topologies.push_back(*std::move(fleet.topology));
  }
  BERTH_ASSIGN(sim::TraceWriter writer, sim::TraceWriter::open(arguments.out, to));
  BERTH_TRY(writer.world(world));
  const sim::Trace* tables = nullptr;
  sim::TraceBuilder builder([&](const sim::Job& job) -> Status { return writer.job(job, *tables); });
  tables = &builder.tables();
  BERTH_TRY(sim::generate_jobs(arguments.seed, options, rules, builder));
  BERTH_TRY(writer.commit());
  tell(err, writer, {}, arguments.out);
  return {};
}

void add_reading(CLI::App& command, TraceReading& reading) {
  command.add_option("--format", reading.format,
                     "berth, log, philly, gangs, swf or openb; without it the content tells");
  command
      .add_option("--tenant", reading.tenant,
                  "swf: the field that names the tenant: queue, user, group, partition")
      ->capture_default_str();
  command.add_option("--processors", reading.processors, "swf: what a processor is: gpu or cpu")
      ->capture_default_str();
  command
      .add_option("--gpus-per-task", reading.gpus_per_task,
                  "a job of more GPUs is a gang of tasks of this size, and one for the rest")
      ->check(CLI::Range(1, 64))
      ->capture_default_str();
  command.add_option("--queue", reading.queue, "the queue of all jobs, whatever the file says");
  command.add_option("--no-tenant-queue", reading.no_tenant_queue,
                     "the queue of jobs for which the file names none");
  command
      .add_option("--max-jobs", reading.max_jobs,
                  "the bound of memory where jobs are held (decision logs, --sort): more are an error")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1'000'000'000}))
      ->capture_default_str();
}

void register_inspect(CLI::App& trace, int& exit_code) {
  auto arguments = std::make_shared<InspectArguments>();
  CLI::App* command = trace.add_subcommand("inspect", "summarize a file of jobs");
  command->add_option("FILE", arguments->files, "files, plain, gzip or zstd")->required();
  add_reading(*command, arguments->reading);
  command->add_option("-o,--output", arguments->output, "table or json")
      ->check(CLI::IsMember({"table", "json"}))
      ->capture_default_str();
  command->footer(
      "Jobs, span, sizes, run times, arrivals by hour, GPU-hours by size and tenant, demand, and what is "
      "odd:\n"
      "jobs without a tenant, without run time, out of order. The same file gives the same bytes.\n"
      "A file of any length takes the same memory (but for decision logs, which hold their jobs): up to a "
      "million\n"
      "jobs every number is exact, and of more than that the output says which are not, and how close they "
      "are.\n"
      "Example: berth trace inspect examples/small.jsonl");
  command->callback([arguments, &exit_code] { exit_code = run_inspect(*arguments, std::cout, std::cerr); });
}

void register_convert(CLI::App& trace, int& exit_code) {
  auto arguments = std::make_shared<ConvertArguments>();
  CLI::App* command = trace.add_subcommand("convert", "another form, a part, or another load of a trace");
  command->add_option("FILE", arguments->in, "the file to read, plain, gzip or zstd; also a decision log")
      ->required();
  command
      ->add_option("-o,--out", arguments->out,
                   "the file to write (.gz and .zst are compressed); - for standard output")
      ->required();
  command->add_option("--to", arguments->to, "berth, swf or csv")->capture_default_str();
  command->add_option("--from", arguments->from,
                      "jobs submitted at this time of the trace or later, as 7d or 36h");
  command->add_option("--until", arguments->until, "jobs submitted before this time of the trace");
  command
      ->add_option("--scale-load", arguments->scale_load,
                   "divides all times of submission: 2 brings the same jobs in half the time")
      ->capture_default_str();
  command->add_option("--sample", arguments->sample, "keeps each job with this probability, as 0.1")
      ->capture_default_str();
  command->add_option("--seed", arguments->seed, "of --sample")->capture_default_str();
  command->add_flag("--from-zero", arguments->from_zero, "the first job that is written is submitted at 0");
  command->add_flag("--sort", arguments->sort,
                    "in order of submission; holds all jobs in memory, at most --max-jobs");
  add_reading(*command, arguments->reading);
  command->footer(
      "Jobs pass one by one, so that a file of any length takes the same memory (but for --sort and "
      "decision\n"
      "logs). The file appears under its name when it is whole. Fields that the new form cannot hold are "
      "counted.\n"
      "A decision log becomes a trace with nodes, queues and observed run times, to try another policy on:\n"
      "  berth simulate examples/small.yaml --log /tmp/small.log\n"
      "  berth trace convert /tmp/small.log -o /tmp/small.jsonl\n"
      "Exit codes: 0 done, 2 wrong input (nothing is written), 3 a defect of Berth.");
  command->callback([arguments, &exit_code] { exit_code = run_convert(*arguments, std::cerr); });
}

void register_generate(CLI::App& trace, int& exit_code) {
  auto arguments = std::make_shared<GenerateArguments>();
  CLI::App* command = trace.add_subcommand("generate", "a trace in the likeness of a published cluster");
  command->add_option("--like", arguments->like, "philly, openb, helios, acme-seren, acme-kalos or lingjun")
      ->capture_default_str();
  command->add_option("--jobs", arguments->jobs, "how many jobs")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1'000'000'000}))
      ->capture_default_str();
  command
      ->add_option("--nodes", arguments->nodes,
                   "nodes like the cluster's, and queues for the tenants; 0 = none")
      ->check(CLI::Range(std::int64_t{0}, sim::kMostNodes));
  command
      ->add_option("--span", arguments->span, "jobs arrive within this time; time 0 is a Monday, 0 o'clock")
      ->capture_default_str();
  command->add_option("--max-gpus", arguments->max_gpus, "larger jobs are not drawn")
      ->check(CLI::Range(std::int64_t{1}, sim::kMostGpus));
  command->add_option(
      "--tenant", arguments->tenants,
      "NAME or NAME=WEIGHT, once per tenant: tenants submit jobs in proportion to their weights");
  command->add_option("--seed", arguments->seed, "the same seed gives the same trace")->capture_default_str();
  command->add_option("--to", arguments->to, "berth, swf or csv")->capture_default_str();
  command
      ->add_option("-o,--out", arguments->out,
                   "the file to write (.gz and .zst are compressed); - for standard output")
      ->required();
  command->footer(
      "Sizes, run times and arrivals follow published figures (docs/traces.md says which are met, and how\n"
      "closely). Any number of jobs takes the same memory.\n"
      "Example: berth trace generate --like helios --jobs 100000 --nodes 200 --span 30d -o "
      "/tmp/helios.jsonl.zst");
  command->callback([arguments, &exit_code] { exit_code = run_generate(*arguments, std::cerr); });
}

}  // namespace

int run_inspect(const InspectArguments& arguments, std::ostream& out, std::ostream& err) {
  std::string text;
  for (const std::string& path : arguments.files) {
    auto one = inspect(arguments, path);
    if (!one) return failed(err, "inspect", one.error());
    if (!text.empty() && arguments.output != "json") text += "\n";
    text += *one;
  }
  out << text;
  return 0;
}

int run_convert(const ConvertArguments& arguments, std::ostream& err) {
  const auto done = convert(arguments, err);
  return done ? 0 : failed(err, "convert", done.error());
}

int run_generate(const GenerateArguments& arguments, std::ostream& err) {
  const auto done = generate(arguments, err);
  return done ? 0 : failed(err, "generate", done.error());
}

void register_trace(CLI::App& app, int& exit_code) {
  CLI::App* trace = app.add_subcommand("trace", "look into traces of jobs, convert them, and generate some");
  trace->require_subcommand(1);
  register_inspect(*trace, exit_code);
  register_convert(*trace, exit_code);
  register_generate(*trace, exit_code);
}

}  // namespace berth::cli
