#include "e2e/tape_player.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <utility>

#include "e2e/files.h"
#include "e2e/process.h"

namespace berth::e2e {

using nlohmann::json;

namespace {

constexpr std::size_t kMostSteps = 200;  // of a state
constexpr int kOracleMs = 600'000;
// Labels by which pods name their gang.
constexpr const char* kGangs[] = {"berth.dev/gang", "scheduling.x-k8s.io/pod-group"};

std::string slot_of(const json& of, const std::string& workload) {
  return fmt::format("{} {} {}", workload, of.value("pod_set", 0), of.value("index", 0));
}

}  // namespace

TapePlayer::TapePlayer(TapeObjects objects, std::string scheduler)
    : scheduler_(std::move(scheduler)), fixed_(std::move(objects.fixed)) {
  for (json& pod : objects.pods) {
    const json& meta = pod["metadata"];
    const std::string uid = meta["uid"];
    const json labels = meta.value("labels", json::object());
    for (const char* key : kGangs) {
      if (!labels.contains(key)) continue;
      gangs_[fmt::format("{}/{}", meta["namespace"].get<std::string>(), labels[key].get<std::string>())]
          .push_back(uid);
    }
    pods_.emplace(uid, std::move(pod));
  }
  for (json& node : objects.nodes) {
    const std::string name = node["metadata"]["name"];
    nodes_[name] = std::move(node);
  }
}

std::string TapePlayer::name_of(const std::string& pod) const {
  const json& meta = pods_.at(pod)["metadata"];
  return fmt::format("{}/{}", meta["namespace"].get<std::string>(), meta["name"].get<std::string>());
}

// A single pod is its own workload. Members of a gang are alike: one that is bound to the node has the slot.
std::string TapePlayer::pod_of(const std::string& slot, const std::string& workload,
                               const std::string& node) {
  if (const auto known = places_.find(slot); known != places_.end()) return known->second.pod;
  if (pods_.contains(workload)) return workload;
  const auto last = workload.rfind('/');
  const auto before = last == std::string::npos ? last : workload.rfind('/', last - 1);
  const auto gang = before == std::string::npos ? gangs_.end() : gangs_.find(workload.substr(before + 1));
  if (gang == gangs_.end()) return {};
  std::string free;
  for (const std::string& uid : gang->second) {
    if (used_.contains(uid)) continue;
    if (pods_[uid]["spec"].value("nodeName", "") == node) return uid;
    free = uid;
  }
  return free;
}

void TapePlayer::begin_session() {
  known_nodes_.clear();
  places_.clear();
  used_.clear();
  changed_ = true;
}

void TapePlayer::put(const std::string& slot, Place place) {
  used_.insert(place.pod);
  places_[slot] = std::move(place);
}

void TapePlayer::remove(const std::string& slot) {
  const auto place = places_.find(slot);
  if (place == places_.end()) return;
  if (state_ && !changed_ && known_nodes_.contains(place->second.node))
    (*state_)["steps"].push_back({{"end", name_of(place->second.pod)}});
  places_.erase(place);
}

json TapePlayer::node_now(const std::string& name) const {
  json out = nodes_.at(name);
  const json& known = known_nodes_.at(name);
  out["spec"] = {{"taints", known.value("taints", json::array())},
                 {"unschedulable", known.value("unschedulable", false)}};
  return out;
}

void TapePlayer::open_state() {
  json objects = fixed_;
  for (const auto& [name, node] : known_nodes_) objects.push_back(node_now(name));
  for (const auto& [slot, place] : places_) {
    if (!known_nodes_.contains(place.node)) continue;  // no filter looks there
    json pod = pods_.at(place.pod);
    pod["spec"]["nodeName"] = place.node;
    objects.push_back(std::move(pod));
  }
  state_ = {{"id", std::to_string(lines_.size())}, {"objects", std::move(objects)}, {"steps", json::array()}};
  names_.clear();
  changed_ = false;
}

void TapePlayer::close_state(TapeVerdict& verdict) {
  if (!state_) return;
  if (!names_.empty()) {
    lines_.push_back(state_->dump());
    ++verdict.states;
  }
  state_.reset();
}

void TapePlayer::take_start(const json& decision, TapeVerdict& verdict) {
  const std::string workload = decision["workload"];
  const json slots = decision.value("slots", json::array());
  const std::string start = fmt::format("{} {}", workload, told_.size());
  std::vector<json> steps;
  std::vector<json> waiting;
  std::vector<std::pair<std::string, Place>> unbound, bound;
  for (const json& of : slots) {
    const std::string slot = slot_of(of, workload);
    const std::string node = of["node"];
    const std::string uid = pod_of(slot, workload, node);
    if (uid.empty()) {
      verdict.errors.push_back(fmt::format("no pod is known of slot {} on {}", slot, node));
      continue;
    }
    json pod = pods_[uid];
    if (pod["spec"].value("nodeName", "") != node) {
      unbound.emplace_back(slot, Place{uid, node});
      continue;
    }
    pod["spec"].erase("nodeName");
    bound.emplace_back(slot, Place{uid, node});
    used_.insert(uid);
    waiting.push_back(std::move(pod));
    steps.push_back({{"bind", name_of(uid)}, {"node", node}});
    if (slots.size() > 1) steps.back()["start"] = start;
    told_.insert(uid);
  }
  verdict.no_bind += unbound.size();
  const bool again = std::any_of(steps.begin(), steps.end(),
                                 [&](const json& step) { return names_.contains(step["bind"]); });
  if (!steps.empty() && (!state_ || changed_ || again || (*state_)["steps"].size() > kMostSteps)) {
    close_state(verdict);
    open_state();
  }
  json ending = json::array();
  for (const auto& [slot, place] : places_) {
    if (place.ending) ending.push_back(name_of(place.pod));
  }
  for (json& step : steps) {
    names_.insert(step["bind"]);
    step["ending"] = ending;
    (*state_)["steps"].push_back(std::move(step));
  }
  for (json& pod : waiting) (*state_)["objects"].push_back(std::move(pod));
  for (auto& [slot, place] : bound) put(slot, std::move(place));
  changed_ = changed_ || !unbound.empty();
  for (auto& [slot, place] : unbound) put(slot, std::move(place));
}

void TapePlayer::take_eviction(const json& decision) {
  const std::string workload = decision["workload"];
  for (const json& of : decision.value("slots", json::array())) {
    if (const auto place = places_.find(slot_of(of, workload)); place != places_.end())
      place->second.ending = true;
  }
}

void TapePlayer::take_slot(const json& event, TapeVerdict& verdict) {
  const std::string workload = event["workload"];
  const std::string slot = slot_of(event, workload);
  const std::string state = event.value("state", "waiting");
  const std::string node = event.value("node", "");
  const auto known = places_.find(slot);
  if (state == "absent" || state == "waiting" || state == "held" || state == "gone") {
    // Its pod may be placed again, but for one that has ended.
    if (known != places_.end() && state != "gone") used_.erase(known->second.pod);
    remove(slot);
  } else if (known != places_.end() && (node.empty() || known->second.node == node)) {
    known->second.ending = state == "releasing";
  } else if (!node.empty()) {
    const std::string uid = pod_of(slot, workload, node);
    if (uid.empty()) {
      verdict.errors.push_back(fmt::format("no pod is known of slot {} on {}", slot, node));
      return;
    }
    put(slot, {uid, node, state == "releasing"});
    changed_ = true;
  }
}

void TapePlayer::take_event(const json& event, TapeVerdict& verdict) {
  if (event.contains("refused")) return;
  const std::string what = event["e"];
  if (what == "node") {
    const std::string name = event["node"]["name"];
    if (!nodes_.contains(name)) {
      verdict.errors.push_back("the node is not on the tape: " + name);
      return;
    }
    json known = {{"taints", json::array()}, {"unschedulable", event["node"].value("unschedulable", false)}};
    for (json taint : event["node"].value("taints", json::array())) {
      taint["effect"] = taint.value("effect", "NoSchedule");  // the log leaves out what is so by default
      known["taints"].push_back(std::move(taint));
    }
    json& before = known_nodes_[name];
    changed_ = changed_ || before != known;
    before = std::move(known);
  } else if (what == "node-remove") {
    known_nodes_.erase(event["name"].get<std::string>());
    changed_ = true;
  } else if (what == "foreign") {
    const std::string uid = event["pod"]["uid"];
    if (!pods_.contains(uid)) {
      verdict.errors.push_back("the pod is not on the tape: " + uid);
      return;
    }
    Place place{uid, event["pod"]["node"], event["pod"].value("ending", false)};
    const auto known = places_.find(uid);
    changed_ = changed_ || known == places_.end() || known->second.node != place.node;
    put(uid, std::move(place));
  } else if (what == "foreign-remove") {
    remove(event["uid"]);
  } else if (what == "workload-remove") {
    const std::string prefix = event["uid"].get<std::string>() + " ";
    std::vector<std::string> slots;
    for (auto at = places_.lower_bound(prefix); at != places_.end() && at->first.starts_with(prefix); ++at)
      slots.push_back(at->first);
    for (const std::string& slot : slots) remove(slot);
  } else if (what == "slot") {
    take_slot(event, verdict);
  }
}

Result<TapeVerdict> TapePlayer::play(const std::string& decision_log, const std::string& states) {
  std::ifstream log(decision_log);
  if (!log) return fail(ErrorCode::kNotFound, "cannot read {}", decision_log);
  TapeVerdict verdict;
  std::string line;
  while (std::getline(log, line)) {
    const json entry = json::parse(line, nullptr, false);
    if (!entry.is_object()) {
      if (log.peek() == EOF) break;  // a killed process leaves an unfinished line
      return fail(ErrorCode::kInvalid, "{}: a line is not JSON: {}", decision_log, line.substr(0, 100));
    }
    if (entry.contains("format")) {
      close_state(verdict);
      begin_session();
    } else if (entry.contains("e")) {
      take_event(entry, verdict);
    } else if (entry.contains("decide")) {
      const json decisions = entry.value("decisions", json::array());
      for (const json& one : decisions) {
        if (one.value("kind", "start") == "evict") take_eviction(one);
      }
      for (const json& one : decisions) {
        if (one.value("kind", "start") == "start") take_start(one, verdict);
      }
    }
  }
  close_state(verdict);
  verdict.judged = told_.size();
  for (const auto& [uid, pod] : pods_) {
    const json& spec = pod["spec"];
    const bool mirror =
        pod["metadata"].value("annotations", json::object()).contains("kubernetes.io/config.mirror");
    if (mirror || spec.value("nodeName", "").empty() || spec["schedulerName"] != scheduler_) continue;
    ++verdict.binds;
    if (!told_.contains(uid))
      verdict.untold.push_back(fmt::format("{} on {}", name_of(uid), spec["nodeName"].get<std::string>()));
  }
  std::string text;
  for (const std::string& one : lines_) text += one + "\n";
  BERTH_TRY(write_text(states, text));
  return verdict;
}

Result<TapeVerdict> TapePlayer::judge(const std::string& decision_log, const std::string& folder,
                                      const std::string& oracle) {
  const std::string asked = folder + "/oracle-states.jsonl";
  const std::string answered = folder + "/oracle-answers.jsonl";
  const std::string log = folder + "/oracle.log";
  BERTH_ASSIGN(TapeVerdict verdict, play(decision_log, asked));
  BERTH_ASSIGN(
      auto run,
      Process::start({.argv = {"/bin/sh", "-c", R"(exec "$1" < "$2" > "$3")", "sh", oracle, asked, answered},
                      .log = log}));
  if (!run.wait(kOracleMs) || run.exit_status() != 0)
    return fail(ErrorCode::kInvalid, "{} ended with {}: {}", oracle, run.exit_text(), tail(log, 5));
  BERTH_ASSIGN(const std::string answers, text_of(answered));
  read_answers(answers, verdict);
  return verdict;
}

void TapePlayer::read_answers(const std::string& answers, TapeVerdict& verdict) const {
  std::size_t lines = 0;
  for (std::size_t begin = 0; begin < answers.size(); ++lines) {
    const std::size_t end = answers.find('\n', begin);
    const json answer = json::parse(answers.substr(begin, end - begin), nullptr, false);
    begin = end == std::string::npos ? answers.size() : end + 1;
    if (!answer.is_object()) {
      verdict.errors.emplace_back("the oracle's answer is not JSON");
      continue;
    }
    const std::string state = answer.value("id", "");
    for (const json& one : answer.value("wrong", json::array()))
      verdict.wrong.push_back(fmt::format("state {}: {} on {}: {}: {}", state, one.value("pod", ""),
                                          one.value("node", ""), one.value("plugin", ""),
                                          one.value("reason", "")));
    for (const char* kind : {"refused", "errors"}) {
      for (const json& one : answer.value(kind, json::array()))
        verdict.errors.push_back(fmt::format("state {}: {}: {}", state, kind, one.get<std::string>()));
    }
  }
  if (lines != lines_.size())
    verdict.errors.push_back(fmt::format("the oracle answered {} of {} states", lines, lines_.size()));
}

}  // namespace berth::e2e
