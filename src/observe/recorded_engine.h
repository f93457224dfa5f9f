// An engine whose events, decide() calls and decisions are recorded, and shown to a follower. The doors of
// the engine (the live loop, the simulator, plan) hold one of these instead of an Engine.
//
// Recording never changes a decision and never stops one: after an error of the sink the engine goes on
// unrecorded, and record_status() says since what.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "engine/engine.h"
#include "observe/decision_log.h"

namespace berth::observe {

class Follower;

class RecordedEngine {
 public:
  // Takes the lines of the log one by one, without their ends.
  using Sink = std::function<Status(std::string_view line)>;

  // `sink` may be empty (nothing is recorded) and `follower` null; both must outlive the engine. The
  // session's first line is written here.
  explicit RecordedEngine(const engine::EngineConfig& config = {}, Sink sink = {},
                          Follower* follower = nullptr);

  // As engine::Engine.
  Status apply(const Event& event);
  std::vector<Decision> decide(TimeMs now);

  engine::Engine& engine() { return engine_; }
  const engine::Engine& engine() const { return engine_; }
  // The first error of the sink.
  const Status& record_status() const { return record_status_; }

 private:
  void record();

  engine::Engine engine_;
  Sink sink_;
  Follower* follower_;
  std::string line_;
  Status record_status_;
};

}  // namespace berth::observe
