#include "property/trial.h"

#include <fmt/format.h>

#include "property/history.h"

namespace berth::property {
namespace {

constexpr int kMostRounds = 300;

}  // namespace

Trial::Trial(const engine::EngineConfig& config, const Tape& tape, const Checker& checker)
    : engine_(config), checker_(checker) {
  for (const auto& entry : tape) {
    if (const auto* event = std::get_if<Event>(&entry)) {
      (void)engine_.apply(*event);
    } else {
      now_ = std::get<TimeMs>(entry);
      (void)engine_.decide(now_);
    }
  }
  due_ = engine_.next_time();
}

bool Trial::tell(const Event& event) {
  if (!engine_.apply(event)) return false;
  checker_.on_event(event);
  told_.emplace_back(event);
  return true;
}

std::string Trial::decide() {
  // As of the last decide(): work with a new event is tried now, and does not wait for a time.
  if (due_ <= ++now_) time_passed_ = true;
  const auto decisions = engine_.decide(now_);
  due_ = engine_.next_time();
  told_.emplace_back(now_);
  decided_ = !decisions.empty();
  return checker_.on_decisions(decisions, now_, ignored_);
}

std::string Trial::settle() {
  int woken = 0;
  for (int round = 0; round < kMostRounds; ++round) {
    if (auto wrong = decide(); !wrong.empty()) return wrong;
    const auto events = settle_events(ledger());
    if (events.empty() && !decided_) {
      const TimeMs next = engine_.next_time();
      if (next == kEndOfTime || ++woken > kMostWakings) return "";
      now_ = std::max(now_, next - 1);
      time_passed_ = true;
    }
    for (const Event& event : events) tell(event);
  }
  return fmt::format("{} rounds, and still something is decided", kMostRounds);
}

}  // namespace berth::property
