#include "observe/recorded_engine.h"

#include "observe/follower.h"

namespace berth::observe {

RecordedEngine::RecordedEngine(const engine::EngineConfig& config, Sink sink, Follower* follower)
    : engine_(config), sink_(std::move(sink)), follower_(follower) {
  if (!sink_) return;
  append_session_line(line_, config);
  record();
}

void RecordedEngine::record() {
  if (sink_ && record_status_) record_status_ = sink_(line_);
  line_.clear();
}

Status RecordedEngine::apply(const Event& event) {
  Status status = engine_.apply(event);
  if (sink_ && record_status_) {
    append_event_line(line_, event, status ? std::string_view() : std::string_view(status.error().message));
    record();
  }
  if (follower_ != nullptr) follower_->push(event);
  return status;
}

std::vector<Decision> RecordedEngine::decide(TimeMs now) {
  std::vector<Decision> decisions = engine_.decide(now);
  if (sink_ && record_status_) {
    append_decide_line(line_, now, decisions);
    record();
  }
  if (follower_ != nullptr) follower_->push(now, decisions);
  return decisions;
}

}  // namespace berth::observe
