#include "cli/plan.h"

#include <algorithm>
#include <filesystem>
#include <iostream>

#include "cli/plan_expect.h"
#include "cli/plan_input.h"
#include "cli/plan_log.h"
#include "cli/plan_print.h"
#include "cli/plan_world.h"
#include "dialect/objects/decode.h"
#include "text/quantity.h"
#include "text/time.h"

namespace berth::cli {
namespace {

namespace fs = std::filesystem;

// A plan that was read whole before anything is decided, so that wrong input has no effect.
struct Prepared {
  PlanInput input;
  std::optional<Expectations> expect;
  std::vector<PlanInput> steps;  // objects that each step applies
};

Result<Prepared> prepare(const PlanOptions& options, std::ostream& err) {
  Prepared out;
  std::vector<std::string> later;  // files of steps are not part of the start
  fs::path folder;
  if (!options.expect.empty()) {
    BERTH_ASSIGN(out.expect, read_expectations(options.expect));
    folder = fs::path(options.expect).parent_path();
    std::error_code error;
    for (const auto& step : out.expect->steps) {
      for (const auto& file : step.apply)
        later.push_back(fs::weakly_canonical(folder / file, error).string());
    }
  }
  std::optional<dialect::Misspellings> tables;
  if (options.validation != Validation::kOff) tables.emplace();
  const dialect::Misspellings* const spelling = tables ? &*tables : nullptr;
  for (const auto& file : options.files)
    BERTH_TRY(read_manifests(file, later, options.max_document, spelling, out.input));
  if (options.live) {
    if (out.input.log)
      return fail(ErrorCode::kInvalid, "a decision log is replayed as it is: leave out --live");
    BERTH_TRY(add_cluster(*options.live, out.input, err));
  }
  if (out.expect) {
    for (const auto& step : out.expect->steps) {
      PlanInput& input = out.steps.emplace_back();
      for (const auto& file : step.apply)
        BERTH_TRY(read_manifests((folder / file).string(), {}, options.max_document, spelling, input));
      for (const auto& [kind, count] : input.unread) out.input.unread[kind] += count;
      out.input.bad.insert(out.input.bad.end(), input.bad.begin(), input.bad.end());
      out.input.misspelt.insert(out.input.misspelt.end(), input.misspelt.begin(), input.misspelt.end());
    }
  }
  std::vector<PlanInput*> inputs{&out.input};
  for (PlanInput& step : out.steps) inputs.push_back(&step);
  name_generated(inputs);
  return out;
}

TimeMs start_time(const PlanOptions& options, const Prepared& prepared, const PlanWorld& world) {
  if (options.now) return *options.now;
  if (prepared.expect && prepared.expect->now) return *prepared.expect->now;
  if (prepared.input.now) return *prepared.input.now;
  return world.newest() + kMinute;
}

Status add_to(PlanWorld& world, PlanInput& input) {
  for (const Unreadable& one : input.unreadable) world.unreadable(one.kind, one.ns, one.name, one.message);
  return world.apply(std::move(input.objects));
}

// The changes of a step before the decision. An error names what it does not find.
Status do_step(const ExpectedStep& step, PlanInput input, PlanWorld& world, const std::string& file) {
  if (step.complete_evictions) world.complete_evictions();
  for (const auto& name : step.finish) {
    if (!world.finish(name))
      return fail(ErrorCode::kInvalid, "{}: finish: there is no workload {}", file, name);
  }
  for (const auto& [kind_name, name] : step.remove) {
    const auto kind = *dialect::kind_named(kind_name);
    const auto slash = name.find('/');
    std::string ns = slash == std::string::npos ? "" : name.substr(0, slash);
    if (dialect::is_namespaced(kind) && ns.empty()) ns = "default";
    if (!world.remove(kind, ns, slash == std::string::npos ? name : name.substr(slash + 1))) {
      return fail(ErrorCode::kInvalid, "{}: delete: there is no {} {}", file, kind_name, name);
    }
  }
  return add_to(world, input);
}

// Queues without a single node, now or in any step, are asked about for their quota.
bool quota_only(const Prepared& prepared) {
  const auto has = [&](auto&& wanted) {
    const auto in = [&](const PlanInput& input) {
      return std::any_of(input.objects.begin(), input.objects.end(), wanted);
    };
    return in(prepared.input) || std::any_of(prepared.steps.begin(), prepared.steps.end(), in);
  };
  return has([](const dialect::Object& o) { return std::holds_alternative<dialect::ClusterQueue>(o); }) &&
         !has([](const dialect::Object& o) { return std::holds_alternative<dialect::NodeObject>(o); });
}

struct Outcome {
  PlanReport report;
  std::vector<std::string> differences;
};

Result<Outcome> play(const PlanOptions& options, Prepared prepared) {
  engine::EngineConfig config;
  config.placement = engine::kDefaultPlacement;
  if (prepared.expect) {
    if (prepared.expect->placement != Placement::kDefault) config.placement = prepared.expect->placement;
    config.ignore_uncovered = prepared.expect->ignore_uncovered;
  }
  dialect::IntakeConfig intake;
  intake.scheduler_names = options.scheduler_names;
  intake.quota_only = quota_only(prepared);
  intake.checks = dialect::CheckMode::kAssumed;
  if (prepared.input.kueue) apply(*prepared.input.kueue, intake, config);
  const auto& pods_ready = prepared.input.kueue ? prepared.input.kueue->pods_ready : std::nullopt;
  PlanWorld world(std::move(intake), config, pods_ready && pods_ready->from_eviction);
  BERTH_TRY(add_to(world, prepared.input));
  TimeMs now = start_time(options, prepared, world);

  Outcome out;
  if (prepared.expect) {
    const auto& steps = prepared.expect->steps;
    for (std::size_t i = 0; i < steps.size(); ++i) {
      if (i > 0) world.carry_out_starts();
      BERTH_TRY(do_step(steps[i], std::move(prepared.steps[i]), world, prepared.expect->file));
      now += steps[i].after;
      PlanRound round = world.decide(now);
      for (auto& difference : compare(steps[i], round, world)) {
        std::string where = steps.size() == 1 ? "" : fmt::format("step {}", i + 1);
        if (!steps[i].name.empty()) where += fmt::format("{}\"{}\"", where.empty() ? "" : " ", steps[i].name);
        out.differences.push_back(where.empty() ? difference : fmt::format("{}: {}", where, difference));
      }
      out.report.rounds.push_back(std::move(round));
    }
  } else {
    for (std::int64_t i = 0; i < options.rounds; ++i) {
      if (i > 0) {
        world.carry_out_starts();
        world.complete_evictions();
        now += kMinute;
      }
      out.report.rounds.push_back(world.decide(now));
    }
  }
  out.report.notes = std::move(prepared.input.notes);
  out.report.notes.insert(out.report.notes.end(), world.notes().begin(), world.notes().end());
  out.report.problems = world.problems();
  out.report.unread = std::move(prepared.input.unread);
  return out;
}

}  // namespace

namespace {

// Queues that are their own ancestors are wrong input, as the API server takes it: they are disabled, and all else has its plan.
bool say_cycles(const std::vector<dialect::Problem>& problems,
                const std::map<std::string, SourcePlace>& queues, std::ostream& err) {
  bool any = false;
  for (const auto& problem : problems) {
    if (!problem.cycle) continue;
    any = true;
    Error error{ErrorCode::kInvalid, fmt::format("{}: {}", problem.object, problem.message), {}};
    if (const auto at = queues.find(problem.object); at != queues.end()) error.place = at->second;
    err << error.str() << "\n";
  }
  return any;
}

// Options of a plan do not apply to a log, which is replayed as it is.
Status check_alone(const PlanOptions& options) {
  const auto leave_out = [&](std::string_view what) {
    return fail(ErrorCode::kInvalid, "a decision log among the input is replayed as it is: leave out {}",
                what);
  };
  if (options.files.size() != 1) return leave_out("every other -f");
  if (!options.expect.empty()) return leave_out("--expect");
  if (options.now) return leave_out("--now");
  if (options.rounds != 1) return leave_out("--rounds");
  if (!options.scheduler_names.empty()) return leave_out("--scheduler-name");
  if (!options.kinds.empty()) return leave_out("--kinds");
  if (!options.explain.empty()) return leave_out("--explain");
  if (options.format == PlanFormat::kJson)
    return leave_out("-o json (the log is JSON itself, one object per line)");
  if (options.format == PlanFormat::kWide) return leave_out("-o wide");
  return {};
}

}  // namespace

int run_plan(const PlanOptions& options, std::ostream& out, std::ostream& err) {
  for (const std::string& file : options.kinds) {
    if (const auto declared = dialect::declare_kinds(file); !declared) {
      err << declared.error().str() << "\n";
      return 2;
    }
  }
  auto prepared = prepare(options, err);
  if (!prepared) {
    err << prepared.error().str() << "\n";
    return 2;
  }
  if (prepared->input.log) {
    if (const auto alone = check_alone(options); !alone) {
      err << fmt::format("{}: {}\n", prepared->input.log->name(), alone.error().str());
      return 2;
    }
    return plan_log(std::move(*prepared->input.log), out, err);
  }
  std::vector<std::string> warnings;
  for (const auto& name : prepared->input.misspelt)
    warnings.push_back(Error{ErrorCode::kInvalid, name.message, name.place}.str());
  for (const std::string& warning : warnings) err << fmt::format("warning: {}\n", warning);
  const bool strictly_wrong = options.validation == Validation::kStrict && !warnings.empty();
  const std::vector<Error> bad = std::move(prepared->input.bad);
  for (const Error& error : bad) err << error.str() << "\n";
  if (!bad.empty() && prepared->input.objects.empty()) return 2;
  const auto queues = std::move(prepared->input.queues);
  auto outcome = play(options, std::move(*prepared));
  if (!outcome) {
    err << outcome.error().str() << "\n";
    return 2;
  }
  for (const Error& error : bad) {
    const Error at{error.code, "left out", error.place};
    outcome->report.problems.push_back({error.place.file.empty() ? "input" : at.str(), error.message, false});
  }
  outcome->report.warnings = std::move(warnings);
  std::string shown = options.format == PlanFormat::kJson
                          ? to_json(outcome->report)
                          : to_table(outcome->report, options.format == PlanFormat::kWide);
  if (!options.explain.empty()) {
    auto explanation = to_explanation(outcome->report, options.explain);
    if (!explanation) {
      err << explanation.error().str() << "\n";
      return 2;
    }
    shown = std::move(*explanation);
  }
  out << shown;
  const bool cycles = options.expect.empty() && say_cycles(outcome->report.problems, queues, err);
  if (cycles || !bad.empty() || strictly_wrong) return 2;
  if (outcome->differences.empty()) return 0;
  err << options.expect << ": not as expected:\n";
  for (const auto& difference : outcome->differences) err << "  " << difference << "\n";
  return 1;
}

namespace {

struct Flags {
  PlanOptions options;
  std::string format = "table";
  std::string validate = "warn";
  std::string now;
  std::string max_document = "256Mi";
  bool is_live = false;
  LiveOptions live;
};

void add_options(CLI::App& plan, Flags& flags) {
  plan.add_option("-f,--file", flags.options.files,
                  "a file, a folder, or - for standard input; may be repeated. Or a decision log, see below")
      ->type_size(1)
      ->expected(1, 1 << 20)
      ->allow_extra_args(false);
  CLI::Option* live = plan.add_flag(
      "--live", flags.is_live, "the cluster as it is now; manifests of -f are added as if they were applied");
  plan.add_option(
          "--kubeconfig", flags.live.kubeconfig,
          "with --live: kubeconfig file. Default: $KUBECONFIG, ~/.kube/config, or the identity of the pod")
      ->needs(live);
  plan.add_option("--context", flags.live.context,
                  "with --live: context of the kubeconfig. Default: its current one")
      ->needs(live);
  plan.add_option("-o,--output", flags.format,
                  "table, wide (with priority, age, place in line and whole reasons), or json "
                  "(docs/plan.schema.json)")
      ->check(CLI::IsMember({"table", "wide", "json"}));
  plan.add_option(
          "--explain", flags.options.explain,
          "show everything that is known of this workload instead of the plan: NAME or NAMESPACE/NAME (may "
          "be repeated)")
      ->type_size(1)
      ->allow_extra_args(false);
  plan.add_option(
      "--now", flags.now,
      "the time of the decision, RFC 3339 (default: a minute after the newest object; with --live now)");
  plan.add_option("--expect", flags.options.expect,
                  "expectations to compare with (exit code 1 where they differ)")
      ->excludes(live);
  plan.add_option("--rounds", flags.options.rounds,
                  "decide this often; in between, starts are carried out and evicted pods end")
      ->check(CLI::Range(1, 1000));
  plan.add_option("--max-document", flags.max_document,
                  "the largest JSON text or YAML document that is read, such as 256Mi; it bounds the memory");
  plan.add_option("--validate", flags.validate,
                  "fields, labels, annotations, kinds and versions in the files that are probably misspelt: "
                  "warn (default)\nnames each on standard error, with what was probably meant; strict makes "
                  "the exit code 2 too; off says nothing")
      ->check(CLI::IsMember({"strict", "warn", "off"}));
  plan.add_option("--scheduler-name", flags.options.scheduler_names,
                  "only pods that ask for this scheduler (may be repeated; default: every pod)")
      ->type_size(1)
      ->allow_extra_args(false);
  plan.add_option("--kinds", flags.options.kinds,
                  "file with more kinds of objects that make pods (docs/kinds.md); may be repeated")
      ->type_size(1)
      ->allow_extra_args(false);
}

constexpr const char* kFooter =
    "--live reads the objects that Berth decides by from the API server, and writes nothing.\n"
    "`berth plan --live` says which work waits, and why. `berth plan --live -f job.yaml` says when a new "
    "Job would\n"
    "start, and which work it would preempt. It needs the right to list (deploy/plan.yaml).\n"
    "-f LOG replays a decision log of `berth scheduler --decision-log`, of `berth simulate --log`, or of a "
    "failed property\n"
    "test. It shows the events, the decisions with their reasons, and the work that waits at the end.\n"
    "Every decision is compared with the recorded one.\n"
    "An object that cannot be read is named with its place and field, and left out; an object with a "
    "generateName gets a name.\n"
    "Kueue's Configuration (config.kueue.x-k8s.io) among the manifests: its fairSharing, "
    "admissionFairSharing "
    "and\nquotaCheckStrategy are carried out.\n"
    "Exit codes: 0 done, and as expected or recorded; 1 not so, the difference is shown; 2 wrong input "
    "(objects that "
    "cannot be\nread, with --validate=strict misspelt names, and queues whose parents form a cycle, are "
    "named, and the plan of all else is "
    "shown).";

// The exit code.
int run_with(Flags& flags) {
  flags.options.format = flags.format == "json"   ? PlanFormat::kJson
                         : flags.format == "wide" ? PlanFormat::kWide
                                                  : PlanFormat::kTable;
  flags.options.validation = flags.validate == "strict" ? Validation::kStrict
                             : flags.validate == "off"  ? Validation::kOff
                                                        : Validation::kWarn;
  if (!flags.options.explain.empty() && flags.options.format == PlanFormat::kJson) {
    std::cerr << "--explain: JSON has every reason whole already; leave out one of --explain and -o json\n";
    return 2;
  }
  const auto most = text::parse_quantity(flags.max_document, 1);
  if (!most || *most < 1) {
    std::cerr << "--max-document: " << (most ? "must be positive" : most.error().str()) << "\n";
    return 2;
  }
  if (flags.options.files.empty() && !flags.is_live) {
    std::cerr << "berth plan: nothing to plan: give -f FILE (or -f - for standard input), or --live for a "
                 "cluster\n";
    return 2;
  }
  if (flags.is_live) flags.options.live = flags.live;
  flags.options.max_document = static_cast<std::uint64_t>(*most);
  if (!flags.now.empty()) {
    const auto now = text::parse_time_ms(flags.now);
    if (!now) {
      std::cerr << "--now: " << now.error().str() << "\n";
      return 2;
    }
    flags.options.now = *now;
  }
  return run_plan(flags.options, std::cout, std::cerr);
}

}  // namespace

void register_plan(CLI::App& app, int& exit_code) {
  const auto flags = std::make_shared<Flags>();
  CLI::App* plan = app.add_subcommand("plan",
                                      "reads manifests (nodes, pods, Jobs, PodGroups, queues) and says what "
                                      "would start, end and wait, and why");
  add_options(*plan, *flags);
  plan->footer(kFooter);
  plan->callback([flags, &exit_code] { exit_code = run_with(*flags); });
}

}  // namespace berth::cli
