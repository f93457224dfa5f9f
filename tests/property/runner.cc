#include "property/runner.h"

#include <fmt/format.h>

#include <algorithm>

#include "observe/decision_log.h"
#include "observe/recorded_engine.h"
#include "observe/replay.h"

namespace berth::property {
namespace {

constexpr int kStableRounds = 5;
constexpr int kMostWakings = 20;
constexpr int kMostSettlingRounds = 300;

// An engine and its checker side by side.
class Run {
 public:
  Run(const engine::EngineConfig& config, Coverage& coverage)
      : engine_(config,
                [this](std::string_view line) {
                  outcome_.log.append(line).append("\n");
                  return Status();
                }),
        checker_(config),
        coverage_(coverage) {}

  // False once a check has failed.
  bool apply(const Event& event) {
    if (!engine_.apply(event)) {
      ++coverage_["event refused"];
      return true;
    }
    checker_.on_event(event);
    return true;
  }

  // Decides and checks. `quiet`: nothing may be decided.
  bool decide(TimeMs now, bool quiet = false) {
    const auto decisions = engine_.decide(now);
    ++outcome_.decide_calls;
    outcome_.decisions += static_cast<std::int64_t>(decisions.size());
    if (quiet && !decisions.empty()) {
      return fail(fmt::format("decided something without news: {} {} ({})", enum_name(decisions[0].kind),
                              decisions[0].workload, to_text(decisions[0].reason)));
    }
    if (auto wrong = checker_.on_decisions(decisions, now, coverage_); !wrong.empty())
      return fail(std::move(wrong));
    last_empty_ = decisions.empty();
    if (quiet) return true;
    if (auto wrong = checker_.check_lines(engine_.engine()); !wrong.empty()) return fail(std::move(wrong));
    if (const auto status = engine_.engine().audit(); !status)
      return fail("audit: " + status.error().message);
    if (auto wrong = checker_.compare(engine_.engine()); !wrong.empty()) return fail(std::move(wrong));
    return check_verdicts();
  }

  // Nothing more is decided until the time that the engine names.
  bool stable(TimeMs now) {
    const TimeMs next = engine_.engine().next_time();
    if (next <= checker_.ledger().now) return fail(fmt::format("its next time {} has passed already", next));
    const TimeMs last = std::min(now + kStableRounds * 1000, next - 1);
    for (int round = 0; round < kStableRounds; ++round) {
      if (!decide(std::min(now + round * 1000, last), true)) return false;
    }
    if (next == kEndOfTime) return true;
    ++coverage_["quiet until a time that the engine named"];
    return decide(next - 1, true);
  }

  // The outside carries everything out; decisions must come to an end.
  bool settle(TimeMs now) {
    int woken = 0;
    for (int round = 0; round < kMostSettlingRounds; ++round, now += 1000) {
      const auto events = settle_events(checker_.ledger());
      for (const Event& event : events) apply(event);
      if (!decide(now)) return false;
      if (!events.empty() || !last_empty_) continue;
      if (auto wrong = checker_.at_rest(); !wrong.empty()) return fail(std::move(wrong));
      if (!stable(now)) return false;
      // At rest but for time: what waits for a time of its own gets it.
      const TimeMs next = engine_.engine().next_time();
      if (next == kEndOfTime) return true;
      // Work that never ends takes turns for ever where attained service or age decides.
      if (++woken > kMostWakings) return true;
      ++coverage_["woken by time alone"];
      now = next - 1000;
    }
    return fail(fmt::format("{} rounds without news from outside, and still something is decided",
                            kMostSettlingRounds));
  }

  bool replays() {
    auto reader = observe::LogReader::memory(outcome_.log, "recorded");
    const auto report = observe::replay(reader);
    if (!report) return fail("replay: " + report.error().str());
    if (!report->same()) return fail("replay: " + report->difference->str());
    return true;
  }

  const Ledger& ledger() const { return checker_.ledger(); }
  Outcome take() { return std::move(outcome_); }

 private:
  bool fail(std::string why) {
    outcome_.failure = std::move(why);
    return false;
  }

  // Whoever waits has a reason.
  bool check_verdicts() {
    for (const auto& [uid, w] : checker_.ledger().workloads) {
      const auto verdict = engine_.engine().verdict(uid);
      if (!verdict) return fail(fmt::format("no verdict of {}: {}", uid, verdict.error().message));
      ++coverage_[fmt::format("verdict {}", enum_name(verdict->kind))];
      count_reasons(verdict->reason);
      if (w.count(SlotState::kWaiting) > 0 && w.active() == 0 && to_text(verdict->reason).empty()) {
        return fail(fmt::format("{} waits without a reason", uid));
      }
      if (w.count(SlotState::kHeld) > 0 && verdict->kind != VerdictKind::kHeld) {
        return fail(fmt::format("{} holds room, but its verdict is {}", uid, enum_name(verdict->kind)));
      }
    }
    return true;
  }

  void count_reasons(const Reason& reason) {
    if (reason.code != ReasonCode::kNone) ++coverage_[fmt::format("reason {}", enum_name(reason.code))];
    for (const Reason& child : reason.children) count_reasons(child);
  }

  Outcome outcome_;
  observe::RecordedEngine engine_;
  Checker checker_;
  Coverage& coverage_;
  bool last_empty_ = false;
};

}  // namespace

Outcome run_history(const History& history, Coverage& coverage) {
  Run run(history.config, coverage);
  TimeMs now = 0;
  bool ok = true;
  for (const Step& step : history.steps) {
    if (!ok) break;
    if (step.kind == StepKind::kDecide) {
      now += static_cast<TimeMs>(step.seed % 5000);
      ok = run.decide(now) && (step.seed % 4 != 0 || run.stable(now));
      continue;
    }
    for (const Event& event : events_of(history, step, run.ledger())) ok = ok && run.apply(event);
  }
  ok = ok && run.settle(now + 10'000) && run.replays();
  return run.take();
}

Outcome run_log(const std::string& path, Coverage& coverage) {
  Outcome bad;
  auto reader = observe::LogReader::open(path);
  if (!reader) {
    bad.failure = reader.error().str();
    return bad;
  }
  std::unique_ptr<Run> run;
  TimeMs now = 0;
  bool ok = true;
  while (ok) {
    const auto line = reader->next();
    if (!line) {
      bad.failure = line.error().str();
      return bad;
    }
    if (!*line) break;
    if (const auto* session = std::get_if<observe::LogSession>(&**line)) {
      if (run) break;
      run = std::make_unique<Run>(session->engine, coverage);
    } else if (const auto* event = std::get_if<observe::LogEvent>(&**line)) {
      ok = run->apply(event->event);
    } else if (const auto* decide = std::get_if<observe::LogDecide>(&**line)) {
      now = decide->now;
      ok = run->decide(now);
    }
  }
  ok = ok && run->stable(now) && run->settle(now + 10'000) && run->replays();
  return run->take();
}

std::string kind_of(const std::string& failure) {
  std::string out;
  for (const char c : failure.substr(0, failure.find(": ", failure.find(')') + 3))) {
    if (c < '0' || c > '9') out += c;
  }
  return out;
}

History shrink(History history) {
  const auto failure_of = [](const History& h) {
    Coverage ignored;
    return kind_of(run_history(h, ignored).failure);
  };
  const std::string kind = failure_of(history);
  const auto fails = [&](const History& h) { return failure_of(h) == kind; };
  for (std::size_t chunk = std::max<std::size_t>(1, history.steps.size() / 2); chunk > 0; chunk /= 2) {
    bool again = true;
    while (again) {
      again = false;
      for (std::size_t at = 0; at < history.steps.size();) {
        History smaller = history;
        const auto from = smaller.steps.begin() + static_cast<std::ptrdiff_t>(at);
        smaller.steps.erase(from,
                            from + static_cast<std::ptrdiff_t>(std::min(chunk, smaller.steps.size() - at)));
        if (fails(smaller)) {
          history = std::move(smaller);
          again = chunk == 1;
        } else {
          at += chunk;
        }
      }
    }
  }
  return history;
}

}  // namespace berth::property
