#include "property/runner.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>

#include "model/bounds.h"
#include "observe/decision_log.h"
#include "observe/recorded_engine.h"
#include "observe/replay.h"
#include "property/choose.h"
#include "property/reasons.h"
#include "property/starvation.h"
#include "property/trial.h"

namespace berth::property {
namespace {

constexpr int kStableRounds = 5;
constexpr int kMostSettlingRounds = 300;
constexpr std::size_t kReasonsAsked = 2;  // of those that wait in the end
constexpr TimeMs kBetweenEnds = 60'000;
constexpr TimeMs kBetweenTurns = 1'800'000;

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
    tape_.emplace_back(event);
    return true;
  }

  // Decides and checks. `quiet`: nothing may be decided.
  bool decide(TimeMs now, bool quiet = false) {
    const auto freed = [&] {
      return engine_.engine().stats().evictions + engine_.engine().stats().holds_released;
    };
    const auto freed_before = freed();
    const auto decisions = engine_.decide(now);
    tape_.emplace_back(now);
    ++outcome_.decide_calls;
    outcome_.decisions += static_cast<std::int64_t>(decisions.size());
    if (quiet && !decisions.empty()) {
      return fail(fmt::format("decided something without news: {} {} ({})", enum_name(decisions[0].kind),
                              decisions[0].workload, to_text(decisions[0].reason)));
    }
    if (auto wrong = checker_.on_decisions(decisions, now, coverage_); !wrong.empty())
      return fail(std::move(wrong));
    last_ = decisions;
    if (quiet) return true;
    if (auto wrong = checker_.check_lines(engine_.engine()); !wrong.empty()) return fail(std::move(wrong));
    // Room that becomes free in a round goes to what is awake; what sleeps is asked afterwards.
    if (freed() == freed_before) {
      if (auto wrong = checker_.check_own_first(engine_.engine(), coverage_); !wrong.empty())
        return fail(std::move(wrong));
    }
    if (const auto status = engine_.engine().audit(); !status)
      return fail("audit: " + status.error().message);
    if (auto wrong = checker_.compare(engine_.engine()); !wrong.empty()) return fail(std::move(wrong));
    return check_verdicts();
  }

  // The times that an engine names grow with the age of what waits, and no log has a time behind kLastTime.
  static constexpr TimeMs kEndOfHistories = kLastTime / 2;

  // Nothing more is decided until the time that the engine names.
  bool stable(TimeMs now) {
    const TimeMs next = engine_.engine().next_time();
    if (next <= checker_.ledger().now) return fail(fmt::format("its next time {} has passed already", next));
    const TimeMs last = std::min(now + kStableRounds * 1000, next - 1);
    for (int round = 0; round < kStableRounds; ++round) {
      if (!decide(std::min(now + round * 1000, last), true)) return false;
    }
    if (next > kEndOfHistories) return true;
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
      if (!events.empty() || !last_.empty()) continue;
      if (auto wrong = checker_.at_rest(); !wrong.empty()) return fail(std::move(wrong));
      if (!stable(now)) return false;
      // At rest but for time: what waits for a time of its own gets it.
      const TimeMs next = engine_.engine().next_time();
      if (next > kEndOfHistories) return true;
      // Work that never ends takes turns for ever where attained service or age decides.
      if (++woken > kMostWakings) return true;
      ++coverage_["woken by time alone"];
      now = next - 1000;
    }
    return fail(fmt::format("{} rounds without news from outside, and still something is decided",
                            kMostSettlingRounds));
  }

  // No work sleeps through its chance: a change that wakes all, and frees nothing, starts nothing. Counted and carried out are
  // preemptions that come of it (a new victim, or room that helps only together with one, wakes no work), starts after a search
  // that had ended at its bound, and starts of several pod sets that lacked nodes: their places are found one after the other, so
  // that less room, or another mix of demand, may show a way that was not seen before.
  bool nobody_sleeps() {
    std::vector<TimeMs> turns;
    for (int round = 0; round < kMostSettlingRounds; ++round) {
      std::map<std::string, Reason> reasons;
      for (const auto& [uid, w] : checker_.ledger().workloads)
        reasons[uid] = engine_.engine().verdict(uid)->reason;
      apply(FlavorUpsert{{fmt::format("unused-{}", round), {}, {}, {}, ""}});
      const auto before = engine_.engine().stats().evictions;
      if (!decide(time())) return false;
      if (last_.empty()) return true;
      const bool preempts = engine_.engine().stats().evictions > before;
      const Decision& d = last_.front();
      const Reason& reason = reasons[d.workload];
      const bool at_its_bound = contains(reason, ReasonCode::kSearchBudget);
      const bool several = pod_sets_of(checker_.ledger().workloads.at(d.workload).spec.root).size() > 1 &&
                           (contains(reason, ReasonCode::kNodes) || contains(reason, ReasonCode::kTopology));
      if (!preempts && !at_its_bound && !several) {
        return fail(fmt::format("was asleep although it could be decided on: {} {} ({}), which waited: {}",
                                enum_name(d.kind), d.workload, to_text(d.reason), to_text(reason)));
      }
      ++coverage_[preempts       ? "slept until a preemption"
                  : at_its_bound ? "slept at the search bound"
                                 : "slept while several pod sets were laid otherwise"];
      if (!settle(time())) return false;
      turns.push_back(time());
      if (turns.size() <= kMostWakings) continue;
      if (takes_turns()) return true;
      // Work that repeatedly loses the room of its victims is in backoff: the turns come ever more seldom (engine/preempt/rights/force.h).
      if (time() - turns[turns.size() - 1 - kMostWakings] >= kMostWakings * kBetweenTurns) {
        ++coverage_["took turns ever more seldom"];
        return true;
      }
    }
    return fail("there is always somebody who was asleep");
  }

  // Work that never ends displaces each other for ever, by what it has had or by its age.
  bool takes_turns() const {
    const auto& queues = checker_.ledger().queues;
    return std::any_of(queues.begin(), queues.end(), [](const auto& entry) {
      const Ordering& o = entry.second.ordering;
      return entry.second.preemption.within == WithinQueue::kLaterInOrder &&
             (o.limit() > 0 || o.by == OrderBy::kAttained || o.by == OrderBy::kAttainedLevels);
    });
  }

  std::string log_of_trial(const Tape& told) const {
    std::string log;
    observe::RecordedEngine engine(engine_.engine().config(), [&](std::string_view line) {
      log.append(line).append("\n");
      return Status();
    });
    for (const Tape* part : {&tape_, &told}) {
      for (const auto& entry : *part) {
        if (const auto* event = std::get_if<Event>(&entry)) {
          (void)engine.apply(*event);
        } else {
          (void)engine.decide(std::get<TimeMs>(entry));
        }
      }
    }
    return log;
  }

  // Invariant 7 for some of those that wait.
  bool reasons_hold(std::uint64_t seed) {
    const Ledger& now = checker_.ledger();
    auto waiting = workloads_where(now, [](const auto& w) {
      // With terms about other pods more than what is named may have to go, or to come.
      return w.active() == 0 && w.count(SlotState::kWaiting) + w.count(SlotState::kAbsent) > 0 &&
             !has_terms(w.spec);
    });
    std::sort(waiting.begin(), waiting.end(),
              [&](const auto& a, const auto& b) { return mixed(seed, a) < mixed(seed, b); });
    if (waiting.size() > kReasonsAsked) waiting.resize(kReasonsAsked);
    for (const std::string& uid : waiting) {
      Tape told;
      auto wrong = check_reason(engine_.engine().config(), tape_, checker_, uid, coverage_, told);
      if (wrong.empty()) continue;
      outcome_.trial = log_of_trial(told);
      return fail(std::move(wrong));
    }
    return true;
  }

  // Invariant 6: what runs ends, one after the other.
  bool drain(std::uint64_t seed) {
    for (;;) {
      const std::string uid = next_to_end(checker_.ledger(), seed);
      if (uid.empty()) break;
      const std::int64_t running = running_workloads();
      apply(WorkloadRemove{uid});
      if (!settle(time() + kBetweenEnds)) return false;
      if (running_workloads() >= running) ++coverage_["drained: started while others ended"];
    }
    if (auto wrong = starved(engine_.engine().config(), tape_, checker_, coverage_); !wrong.empty())
      return fail(std::move(wrong));
    return true;
  }

  // Invariants 6 and 7, from a state at rest.
  bool from_rest(std::uint64_t seed) { return nobody_sleeps() && reasons_hold(seed) && drain(seed); }

  bool replays() {
    auto reader = observe::LogReader::memory(outcome_.log, "recorded");
    const auto report = observe::replay(reader);
    if (!report) return fail("replay: " + report.error().str());
    if (!report->same()) return fail("replay: " + report->difference->str());
    return true;
  }

  const Ledger& ledger() const { return checker_.ledger(); }
  Outcome take() {
    for (std::size_t i = 0; i < verdicts_.size(); ++i) {
      if (verdicts_[i] > 0)
        coverage_[fmt::format("verdict {}", enum_name(static_cast<VerdictKind>(i)))] += verdicts_[i];
    }
    for (std::size_t i = 0; i < reasons_.size(); ++i) {
      const auto code = static_cast<ReasonCode>(i);
      if (reasons_[i] > 0 && code != ReasonCode::kNone)
        coverage_[fmt::format("reason {}", enum_name(code))] += reasons_[i];
    }
    if (const auto asked = engine_.engine().stats().empty_searches; asked > 0)
      coverage_["old work asked whether it ever can start"] += asked;
    return std::move(outcome_);
  }

 private:
  TimeMs time() const { return checker_.ledger().now; }
  std::int64_t running_workloads() const {
    const auto& all = checker_.ledger().workloads;
    return std::count_if(all.begin(), all.end(), [](const auto& entry) { return entry.second.active() > 0; });
  }

  bool fail(std::string why) {
    outcome_.failure = std::move(why);
    return false;
  }

  // All waiting work has a reason.
  bool check_verdicts() {
    for (const auto& [uid, w] : checker_.ledger().workloads) {
      const auto verdict = engine_.engine().verdict(uid);
      if (!verdict) return fail(fmt::format("no verdict of {}: {}", uid, verdict.error().message));
      ++verdicts_[static_cast<std::size_t>(verdict->kind)];
      count_reasons(verdict->reason);
      if (verdict->reason.code == ReasonCode::kQueueStopped) {
        const auto queue = checker_.ledger().queues.find(w.spec.queue);
        if (queue != checker_.ledger().queues.end())
          ++coverage_[fmt::format("stopped by {}", enum_name(queue->second.stop))];
      }
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
    ++reasons_[static_cast<std::size_t>(reason.code)];
    for (const Reason& child : reason.children) count_reasons(child);
  }

  Outcome outcome_;
  observe::RecordedEngine engine_;
  Checker checker_;
  Coverage& coverage_;
  // Counted at every decide() for every workload: by number, and named in the end.
  std::array<std::int64_t, EnumNames<VerdictKind>::names.size()> verdicts_{};
  std::array<std::int64_t, EnumNames<ReasonCode>::names.size()> reasons_{};
  Tape tape_;
  std::vector<Decision> last_;  // of the last decide()
};

}  // namespace

Outcome run_history(const History& history, Coverage& coverage) {
  Run run(history.config, coverage);
  TimeMs now = 0;
  bool ok = true;
  for (const Step& step : history.steps) {
    if (!ok) break;
    const bool decides = step.kind == StepKind::kDecide;
    const auto events = events_of(history, step, run.ledger());
    if (decides || !events.empty()) ++coverage[fmt::format("step {}", enum_name(step.kind))];
    for (const Event& event : events) ok = ok && run.apply(event);
    if (!ok || !decides) continue;
    now += static_cast<TimeMs>(step.seed % 5000);
    ok = run.decide(now) && (step.seed % 4 != 0 || run.stable(now));
  }
  ok = ok && run.settle(now + 10'000) && run.from_rest(history.seed) && run.replays();
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
  bool news = false;  // since the last decide()
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
      news = true;
    } else if (const auto* decide = std::get_if<observe::LogDecide>(&**line)) {
      now = decide->now;
      ok = run->decide(now);
      news = false;
    }
  }
  if (news) ok = ok && run->decide(now);
  ok = ok && run->stable(now) && run->settle(now + 10'000) && run->from_rest(0) && run->replays();
  return run->take();
}

}  // namespace berth::property
