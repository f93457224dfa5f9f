// A trial: a second engine in the state of the first one, which may get other events. Its decisions are checked as those of the
// first are.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "engine/engine.h"
#include "property/checker.h"

namespace berth::property {

// Work that never ends takes turns for ever where attained service or age decides.
inline constexpr int kMostWakings = 20;

// Everything that an engine took: events, and the times of decide().
using Tape = std::vector<std::variant<Event, TimeMs>>;

class Trial {
 public:
  // `checker` as it stands at the end of the tape.
  Trial(const engine::EngineConfig& config, const Tape& tape, const Checker& checker);

  // False where the engine refuses the event.
  bool tell(const Event& event);
  // The first violation of invariants 1 to 4, or "".
  std::string decide();
  // Decides, and the outside carries everything out, until nothing more is decided, also not with time.
  std::string settle();

  const engine::Engine& engine() const { return engine_; }
  const Ledger& ledger() const { return checker_.ledger(); }
  // It has come to a time that the engine named: then that may be why something starts.
  bool time_passed() const { return time_passed_; }
  // Its events beyond the tape that it began with.
  const Tape& told() const { return told_; }

 private:
  engine::Engine engine_;
  Checker checker_;
  Coverage ignored_;
  Tape told_;
  TimeMs now_ = 0;
  TimeMs due_ = kEndOfTime;  // the next time that the engine named
  bool time_passed_ = false;
  bool decided_ = false;  // something, in the last round
};

}  // namespace berth::property
