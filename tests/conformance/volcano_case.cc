#include "conformance/volcano_case.h"

#include <algorithm>
#include <set>
#include <utility>
#include <variant>
#include <vector>

#include "dialect/objects/decode.h"

namespace berth::conformance {
namespace {

constexpr TimeMs kCreated = 1'000'000;
constexpr TimeMs kNow = kCreated + kMinute;

std::string key_of_meta(const dialect::Meta& meta) {
  return meta.ns.empty() ? meta.name : meta.ns + "/" + meta.name;
}

// A node of another shard is tainted: hard, or as a preference.
void mark_shard(const text::Node& root, dialect::NodeObject& node) {
  const text::Node* mode = root.at({"given", "shard", "mode"});
  if (mode == nullptr || (mode->text() != "hard" && mode->text() != "soft")) return;
  const auto mine = root.at({"given", "shard", "nodes"})->items();
  if (std::any_of(mine.begin(), mine.end(),
                  [&](const text::Node& name) { return name.text() == node.meta.name; }))
    return;
  node.taints.push_back(
      {"shard", "other", mode->text() == "hard" ? TaintEffect::kNoSchedule : TaintEffect::kPreferNoSchedule});
}

}  // namespace

VolcanoCase::VolcanoCase(const text::Document& document) : document_(document), root_(document.root()) {}

std::string_view VolcanoCase::left_out() const {
  return list_has(root_, "features", "dra") ? "ResourceClaims (DRA)" : std::string_view();
}

Status VolcanoCase::add(const text::Node& node, std::vector<dialect::Object>& others) {
  const auto kind = dialect::kind_of(node.find("apiVersion")->text(), node.find("kind")->text());
  if (!kind) return fail(ErrorCode::kInvalid, "{} is not read", node.find("kind")->text());
  BERTH_ASSIGN(dialect::Object object, dialect::decode(document_, node, *kind, {}));
  std::visit([](auto& value) { value.meta.created = kCreated; }, object);
  if (auto* pod = std::get_if<dialect::Pod>(&object)) {
    const std::string uid = pod->meta.uid;
    const auto [at, fresh] = pods_.emplace(std::make_pair(group_of_pod(node), uid), std::move(*pod));
    by_uid_[uid] = &at->second;
    return {};
  }
  if (auto* known = std::get_if<dialect::NodeObject>(&object)) mark_shard(root_, *known);
  others.push_back(std::move(object));
  return {};
}

void VolcanoCase::add_hyper_nodes(std::vector<dialect::Object>& others) const {
  const text::Node* all = root_.find("hyperNodes");
  if (all == nullptr) return;
  for (const auto& node : all->items()) {
    if (const text::Node* bare = node.find("noObject"); bare == nullptr || !bare->as_bool().value_or(false))
      continue;
    dialect::HyperNode out;
    out.meta.name = node.find("name")->text();
    out.tier = node.find("tier")->as_int().value_or(0);
    if (const text::Node* name = node.find("tierName"); name != nullptr) out.tier_name = name->text();
    for (const auto& member : node.find("nodes")->items()) {
      out.members.emplace_back();
      out.members.back().name = member.text();
    }
    others.emplace_back(std::move(out));
  }
}

Status VolcanoCase::load() {
  std::vector<dialect::Object> others;
  for (const auto& node : root_.find("objects")->items()) BERTH_TRY(add(node, others));
  add_hyper_nodes(others);
  std::stable_sort(others.begin(), others.end(), [](const auto& a, const auto& b) {
    return key_of_meta(dialect::meta_of(a)) < key_of_meta(dialect::meta_of(b));
  });
  for (auto& object : others) run_.intake.upsert(std::move(object));
  for (const auto& [key, pod] : pods_) run_.intake.upsert(pod);
  run_.intake.set_all_runtimes_known();
  run_.drain();
  return {};
}

void VolcanoCase::carry_out(const Decision& decision) {
  for (const auto& slot : decision.slots) {
    const std::string name = run_.name_of(decision.workload, slot);
    switch (decision.kind) {
      case DecisionKind::kStart: {
        outcome_.binds[name] = slot.node;
        const auto view = run_.intake.pod_at(decision.workload, slot.pod_set, slot.index);
        if (!view) break;
        dialect::Pod& pod = *by_uid_.at(std::string(view->uid));
        pod.spec.node_name = slot.node;
        pod.phase = dialect::PodPhase::kRunning;
        run_.intake.upsert(pod);
        break;
      }
      case DecisionKind::kEvict:
        outcome_.evicted.insert(name);
        break;
      case DecisionKind::kHold:
        outcome_.pipelined[name] = slot.node;
        break;
      case DecisionKind::kReleaseHold:
        outcome_.pipelined.erase(name);
        break;
    }
  }
}

void VolcanoCase::decide() {
  for (int round = 0; round < 100; ++round) {
    const std::vector<Decision> decisions = run_.engine.decide(kNow);
    if (decisions.empty()) return;
    for (const Decision& decision : decisions) carry_out(decision);
    run_.drain();
  }
}

// As Berth would write them.
void VolcanoCase::note_phases() {
  for (const auto& node : root_.find("objects")->items()) {
    if (node.find("kind")->text() != "PodGroup") continue;
    const std::string key = key_of_object(node);
    auto view = run_.intake.gang(dialect::Kind::kVolcanoPodGroup, key);
    if (!view) continue;
    view->report.queued = !view->stopped;
    if (view->report.bound < view->report.least) view->report.code = ReasonCode::kNodes;
    const std::string status = view->system->status(*view->object, view->report, 0);
    const auto document = text::parse_json(status, "status");
    if (document) outcome_.phases[key] = document->root().find("phase")->text();
  }
}

Result<Comparison> VolcanoCase::compare() {
  BERTH_TRY(load());
  note_phases();
  decide();
  return conformance::compare(root_, outcome_);
}

}  // namespace berth::conformance
