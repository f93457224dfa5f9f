// The simulator's view of the engine: the very object that the live loop runs, with the clock passed in.
// A decorator may stand in between (a decision log, a second opinion in tests); it must not change answers.
#pragma once

#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "engine/engine.h"
#include "model/decision.h"
#include "model/event.h"

namespace berth::sim {

class Decider {
 public:
  virtual ~Decider() = default;
  virtual Status apply(const Event& event) = 0;
  virtual Result<std::vector<Decision>> decide(TimeMs now) = 0;
  // For questions that change nothing: counters, fragments, where everybody is.
  virtual const engine::Engine& engine() const = 0;
  // As of one engine; of several (sim/replay/two_pass.h), of the one that knows.
  virtual TimeMs next_time() const { return engine().next_time(); }
  virtual Result<Verdict> verdict(std::string_view uid) const { return engine().verdict(uid); }
  virtual Result<Verdict> explain(std::string_view uid) const { return engine().explain(uid); }
  virtual Status audit() const { return engine().audit(); }
};

class EngineDecider final : public Decider {
 public:
  explicit EngineDecider(const engine::EngineConfig& config) : engine_(config) {}
  Status apply(const Event& event) override { return engine_.apply(event); }
  Result<std::vector<Decision>> decide(TimeMs now) override { return engine_.decide(now); }
  const engine::Engine& engine() const override { return engine_; }

 private:
  engine::Engine engine_;
};

}  // namespace berth::sim
