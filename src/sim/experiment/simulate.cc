#include "sim/experiment/simulate.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <utility>

#include "observe/decision_log.h"
#include "observe/recorded_engine.h"
#include "sim/measure/inflation.h"
#include "sim/replay/two_pass.h"
#include "sim/scenario/input.h"
#include "sim/scenario/quota_gap.h"

namespace berth::sim {
namespace {

// An engine that is recorded. The log appears under its name only when it is complete.
class LoggedDecider final : public Decider {
 public:
  static Result<std::unique_ptr<LoggedDecider>> open(const engine::EngineConfig& config,
                                                     const std::string& path) {
    const std::string beside = path + ".part";
    std::remove(beside.c_str());
    observe::LogOptions options;
    if (path.ends_with(".gz")) options.compression = observe::LogCompression::kGzip;
    if (path.ends_with(".zst")) options.compression = observe::LogCompression::kZstd;
    BERTH_ASSIGN(observe::LogWriter writer, observe::LogWriter::open(beside, options));
    return std::unique_ptr<LoggedDecider>(new LoggedDecider(config, path, std::move(writer)));
  }
  ~LoggedDecider() override {
    if (!closed_) std::remove((path_ + ".part").c_str());
  }

  Status apply(const Event& event) override { return recorded_.apply(event); }
  Result<std::vector<Decision>> decide(TimeMs now) override {
    std::vector<Decision> decisions = recorded_.decide(now);
    if (!recorded_.record_status()) return tl::unexpected<Error>(recorded_.record_status().error());
    return decisions;
  }
  const engine::Engine& engine() const override { return recorded_.engine(); }

  Status close() {
    BERTH_TRY(recorded_.record_status());
    BERTH_TRY(writer_.close());
    if (std::rename((path_ + ".part").c_str(), path_.c_str()) != 0) {
      return fail(ErrorCode::kInvalid, "{} cannot be written: {}", path_, std::strerror(errno));
    }
    closed_ = true;
    return {};
  }

 private:
  LoggedDecider(const engine::EngineConfig& config, std::string path, observe::LogWriter writer)
      : path_(std::move(path)),
        writer_(std::move(writer)),
        recorded_(config, [this](std::string_view line) { return writer_.write(line); }) {}

  std::string path_;
  observe::LogWriter writer_;
  observe::RecordedEngine recorded_;
  bool closed_ = false;
};

Status replay_run(const Scenario& scenario, const Input& input, Decider& decider,
                  const SimulateOptions& options, SimulateResult& out) {
  ReplayOptions how;
  how.gantt_nodes = options.report ? scenario.gantt_nodes : 0;
  how.progress = options.progress;
  how.audit_every = options.audit_every;
  BERTH_ASSIGN(const Outcome outcome, replay(input, decider, how));
  ReplaySummary summary = summarize(input, outcome);
  BERTH_ASSIGN(out.checks, check_metrics(scenario, summary.metrics));
  if (options.look_at_replay) options.look_at_replay(input, outcome, summary);
  if (options.files) {
    out.table = replay_table(scenario, input, outcome, summary) + checks_table(out.checks);
    out.files = summary_files(scenario, summary.metrics, out.checks);
    for (OutputFile& file : replay_files(input, outcome)) out.files.push_back(std::move(file));
  }
  if (options.report) out.report = replay_report(scenario, input, outcome, summary, out.checks);
  out.metrics = std::move(summary.metrics);
  out.decide_calls = outcome.decide_calls;
  return {};
}

Status inflation_run(const Scenario& scenario, const Input& input, Decider& decider,
                     const SimulateOptions& options, const std::vector<CurvePoint>& published,
                     SimulateResult& out) {
  BERTH_ASSIGN(const InflationOutcome outcome,
               inflate(input, decider, scenario.fill_to_pct, options.progress));
  if (options.look_at_inflation) options.look_at_inflation(input, outcome);
  out.metrics = inflation_metrics(outcome, published);
  BERTH_ASSIGN(out.checks, check_metrics(scenario, out.metrics));
  if (scenario.expect_curve) {
    for (Check& check : check_curve(*scenario.expect_curve, published, outcome))
      out.checks.push_back(std::move(check));
  }
  if (options.files) {
    out.table = inflation_table(scenario, input, outcome, published) + checks_table(out.checks);
    out.files = summary_files(scenario, out.metrics, out.checks);
    for (OutputFile& file : inflation_files(outcome)) out.files.push_back(std::move(file));
  }
  if (options.report) out.report = inflation_report(scenario, input, outcome, published, out.checks);
  out.decide_calls = outcome.decide_calls;
  return {};
}

}  // namespace

bool SimulateResult::as_expected() const {
  return std::all_of(checks.begin(), checks.end(), [](const Check& check) { return check.met(); });
}

std::unique_ptr<Decider> make_decider(const Scenario& scenario) {
  if (scenario.passes == Passes::kTwo) return std::make_unique<TwoPassDecider>(scenario.engine);
  return std::make_unique<EngineDecider>(scenario.engine);
}

Result<SimulateResult> simulate(const Scenario& scenario, const SimulateOptions& options) {
  BERTH_ASSIGN(const Input input, load(scenario));
  return simulate(scenario, input, options);
}

Result<SimulateResult> simulate(const Scenario& scenario, const Input& input,
                                const SimulateOptions& options) {
  BERTH_ASSIGN(const std::vector<CurvePoint> published, published_curve(scenario));
  std::unique_ptr<Decider> decider;
  LoggedDecider* logged = nullptr;
  if (options.log.empty()) {
    decider = make_decider(scenario);
  } else if (scenario.passes == Passes::kTwo) {
    return fail(ErrorCode::kInvalid,
                "a decision log is of one engine, and policy.passes: two has two; leave out --log");
  } else {
    BERTH_ASSIGN(auto opened, LoggedDecider::open(scenario.engine, options.log));
    logged = opened.get();
    decider = std::move(opened);
  }
  SimulateResult out;
  out.jobs = static_cast<std::int64_t>(input.trace.jobs.size());
  if (scenario.mode == Mode::kReplay) {
    BERTH_TRY(replay_run(scenario, input, *decider, options, out));
  } else {
    BERTH_TRY(inflation_run(scenario, input, *decider, options, published, out));
  }
  if (logged != nullptr) BERTH_TRY(logged->close());
  out.quota_gap = quota_gap(input, scenario.engine.ignore_uncovered);
  if (!out.quota_gap.empty())
    out.report.notes.push_back({NoteKind::kWarning, fmt::format("Quota: {}.", out.quota_gap)});
  for (const OutputFile& file : out.files) out.report.files.push_back(file.name);
  return out;
}

}  // namespace berth::sim
