#include "conformance/kai_case.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "conformance/kai_objects.h"

namespace berth::conformance {
namespace {

constexpr int kMostRounds = 50;

// KAI places by a setting of the whole scheduler, as Berth does where no queue says otherwise.
engine::EngineConfig config_of(const text::Node& the_case) {
  engine::EngineConfig out;
  if (text_at(the_case, {"config", "gpuPlacement"}) == "spread") out.placement = Placement::kSpread;
  return out;
}

}  // namespace

KaiCase::KaiCase(const text::Document& document)
    : root_(document.root()),
      in_rounds_(text_at(root_, {"kind"}) == "rounds"),
      run_{dialect::Intake(), engine::Engine(config_of(root_))} {}

std::string_view KaiCase::left_out() const {
  if (root_.find("dra") != nullptr) return "ResourceClaims (DRA)";
  for (const auto& job : root_.find("jobs")->items()) {
    for (const auto& task : job.find("tasks")->items()) {
      const text::Node& requests = *task.find("requests");
      if (requests.find("gpuFraction") != nullptr || requests.find("gpuMemoryMiB") != nullptr)
        return "parts of GPUs by KAI's own marks";
      if (requests.find("mig") != nullptr || task.find("legacyMig") != nullptr) return "MIG";
    }
  }
  if (list_has(root_, "features", "consolidation")) return "consolidation";
  return {};
}

Status KaiCase::make_pod(Task& task) {
  const std::string json = kai_pod(*task.job, *task.task, task.life);
  BERTH_ASSIGN(dialect::Object object, decoder_.decode(json, dialect::Kind::kPod));
  task.pod = std::get<dialect::Pod>(std::move(object));
  return {};
}

Status KaiCase::load() {
  for (const auto& manifest : kai_objects(root_)) {
    BERTH_ASSIGN(dialect::Object object, decoder_.decode(manifest.json, manifest.kind));
    run_.intake.upsert(std::move(object));
  }
  for (const auto& job : root_.find("jobs")->items()) {
    for (const auto& node : job.find("tasks")->items()) {
      Task task{&job, &node, 0, {}};
      BERTH_TRY(make_pod(task));
      run_.intake.upsert(task.pod);
      tasks_.emplace(kai_namespace(job) + "/" + text_at(node, {"name"}), std::move(task));
    }
  }
  run_.intake.set_all_runtimes_known();
  run_.drain();
  return {};
}

void KaiCase::carry_out(const Decision& decision, TimeMs now) {
  for (const auto& slot : decision.slots) {
    const std::string name = run_.name_of(decision.workload, slot);
    const auto it = tasks_.find(name);
    if (it == tasks_.end()) continue;
    dialect::Pod& pod = it->second.pod;
    switch (decision.kind) {
      case DecisionKind::kStart:
        bound_.insert(name);
        holds_.erase(name);
        pod.spec.node_name = slot.node;
        pod.phase = dialect::PodPhase::kRunning;
        pod.started = now;
        run_.intake.upsert(pod);
        break;
      case DecisionKind::kEvict:
        evicted_.insert(name);
        break;
      case DecisionKind::kHold:
        holds_[name] = slot.node;
        break;
      case DecisionKind::kReleaseHold:
        holds_.erase(name);
        break;
    }
  }
}

Status KaiCase::recreate(const std::set<std::string>& evicted) {
  for (const std::string& name : evicted) {
    Task& task = tasks_.at(name);
    run_.intake.remove(dialect::Kind::kPod, task.pod.meta.ns, task.pod.meta.name, task.pod.meta.uid);
    ++task.life;
    BERTH_TRY(make_pod(task));
    run_.intake.upsert(task.pod);
    bound_.erase(name);
  }
  return {};
}

Result<bool> KaiCase::round(TimeMs now) {
  bool any = false;
  for (int step = 0; step < kMostRounds; ++step) {
    const std::vector<Decision> decisions = run_.engine.decide(now);
    if (decisions.empty()) return any;
    any = true;
    for (const Decision& decision : decisions) carry_out(decision, now);
    run_.drain();
    if (in_rounds_) return any;
  }
  return any;
}

Status KaiCase::decide() {
  for (int at = 0; at < kMostRounds; ++at) {
    if (in_rounds_) evicted_.clear();
    BERTH_ASSIGN(const bool any, round(kKaiNow + at * kMinute));
    if (!in_rounds_) return {};
    if (!any) return {};
    outcome_.evictions += static_cast<int>(evicted_.size());
    BERTH_TRY(recreate(evicted_));
    run_.drain();
  }
  outcome_.rests = false;
  return {};
}

KaiTask KaiCase::state_of(const std::string& name, const Task& task) const {
  const std::string& node = task.pod.spec.node_name;
  const std::string first = task.life > 0 ? "Pending" : text_at(*task.task, {"state"});
  const auto held = holds_.find(name);
  if (!in_rounds_) {
    if (held != holds_.end()) return {"Pipelined", held->second};
    if (evicted_.contains(name)) return {"Releasing", node};
    if (bound_.contains(name)) return {"Binding", node};
    return {first, node};
  }
  if (bound_.contains(name)) return {"Running", node};
  return {first == "Pipelined" ? "Pending" : first, node};
}

Result<Comparison> KaiCase::compare() {
  BERTH_TRY(load());
  BERTH_TRY(decide());
  for (const auto& [name, task] : tasks_)
    outcome_.tasks.emplace(text_at(*task.task, {"name"}), state_of(name, task));
  return conformance::compare(root_, outcome_);
}

}  // namespace berth::conformance
