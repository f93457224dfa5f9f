// The judgement of the observer: may a pod be on that node, and what do all events together say.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "e2e/observer.h"

namespace berth::e2e {
namespace {

bool holds(const SeenExpression& expression, const SeenNode& node) {
  std::string value;
  bool present = false;
  if (expression.field) {
    present = expression.key == "metadata.name";
    value = node.name;
  } else if (const auto found = node.labels.find(expression.key); found != node.labels.end()) {
    present = true;
    value = found->second;
  }
  const bool among = present && std::find(expression.values.begin(), expression.values.end(), value) !=
                                    expression.values.end();
  if (expression.op == "In") {
    return among;
  }
  if (expression.op == "NotIn") {
    return !among;
  }
  if (expression.op == "Exists") {
    return present;
  }
  if (expression.op == "DoesNotExist") {
    return !present;
  }
  std::int64_t left = 0;
  std::int64_t right = 0;
  const auto number = [](const std::string& from, std::int64_t& to) {
    const auto [end, error] = std::from_chars(from.data(), from.data() + from.size(), to);
    return error == std::errc() && end == from.data() + from.size();
  };
  if (!present || expression.values.size() != 1 || !number(value, left) ||
      !number(expression.values[0], right)) {
    return false;
  }
  return expression.op == "Gt" ? left > right : expression.op == "Lt" && left < right;
}

bool tolerated(const SeenTaint& taint, const SeenPod::Spec& spec) {
  for (std::size_t i = 0; i < spec.tolerations.size(); ++i) {
    const auto& t = spec.tolerations[i];
    const bool key = t.key.empty() ? spec.toleration_exists[i] : t.key == taint.key;
    const bool value = spec.toleration_exists[i] || t.value == taint.value;
    if (key && value && (t.effect.empty() || t.effect == taint.effect)) {
      return true;
    }
  }
  return false;
}

// Why a pod must not be bound to this node; empty: it may.
std::string refusal(const SeenPod::Spec& spec, const SeenNode& node) {
  for (const auto& [key, value] : spec.selector) {
    const auto found = node.labels.find(key);
    if (found == node.labels.end() || found->second != value) {
      return fmt::format("its selector wants {}={}", key, value);
    }
  }
  if (spec.has_affinity) {
    const bool any = std::any_of(spec.affinity.begin(), spec.affinity.end(), [&](const SeenTerm& term) {
      return !term.empty() &&
             std::all_of(term.begin(), term.end(), [&](const auto& e) { return holds(e, node); });
    });
    if (!any) {
      return "its required node affinity does not match";
    }
  }
  for (const auto& taint : node.taints) {
    if ((taint.effect == "NoSchedule" || taint.effect == "NoExecute") && !tolerated(taint, spec)) {
      return fmt::format("it does not tolerate the taint {}={}:{}", taint.key, taint.value, taint.effect);
    }
  }
  if (node.unschedulable && !tolerated({"node.kubernetes.io/unschedulable", "", "NoSchedule"}, spec)) {
    return "the node is unschedulable";
  }
  return {};
}

}  // namespace

GangCounts ObserverOfPods::gangs() const {
  return check().gangs;
}

ObserverReport ObserverOfPods::check() const {
  std::vector<Event> events;
  ObserverReport report;
  {
    const std::lock_guard lock(mutex_);
    events = events_;
    report.gaps = gaps_;
    if (!problem_.empty()) {
      report.violations.push_back(problem_);
      ++report.violation_count;
    }
  }
  report.events = events.size();
  std::stable_sort(events.begin(), events.end(),
                   [](const Event& a, const Event& b) { return a.version < b.version; });
  const auto violate = [&](std::string what) {
    ++report.violation_count;
    if (report.violations.size() < 50) {
      report.violations.push_back(std::move(what));
    }
  };
  std::map<std::string, std::shared_ptr<const SeenNode>> nodes;
  std::map<std::string, Amounts> used;
  const auto charge = [&](const SeenPod& pod, std::int64_t times) {
    for (const auto& [name, amount] : pod.spec->requests) {
      used[pod.node][name] += times * amount;
    }
  };
  std::map<std::string, std::shared_ptr<const SeenPod>> pods;
  for (const auto& event : events) {
    if (event.node != nullptr) {
      if (event.deleted) {
        nodes.erase(event.node->name);
      } else {
        nodes[event.node->name] = event.node;
      }
      continue;
    }
    const SeenPod& pod = *event.pod;
    auto& before = pods[pod.key];
    if (before != nullptr && before->uid != pod.uid) {
      if (before->occupies()) {
        charge(*before, -1);
      }
      before = nullptr;
    }
    const bool was_bound = before != nullptr && !before->node.empty();
    const bool occupied = before != nullptr && before->occupies();
    if (was_bound && before->node != pod.node) {
      violate(fmt::format("rv {}: pod {} moved from node {} to '{}'", event.version, pod.key, before->node,
                          pod.node));
    }
    if (occupied) {
      charge(*before, -1);
    }
    if (event.deleted) {
      Deletion deletion{pod.key,      pod.gang, !pod.node.empty(), pod.terminal(), pod.disruption_target,
                        event.version};
      // The condition counts when it stood before the deletion began.
      if (before != nullptr && !before->deleting) {
        deletion.had_disruption_target = before->disruption_target;
      }
      report.deletions.push_back(std::move(deletion));
      pods.erase(pod.key);
      continue;
    }
    if (pod.occupies()) {
      charge(pod, 1);
    }
    if (!pod.node.empty() && !was_bound) {
      ++report.binds;
      const auto node = nodes.find(pod.node);
      if (node == nodes.end()) {
        violate(fmt::format("rv {}: pod {} was bound to node {}, which does not exist", event.version,
                            pod.key, pod.node));
      } else if (const auto why = refusal(*pod.spec, *node->second); !why.empty()) {
        violate(
            fmt::format("rv {}: pod {} was bound to node {}, but {}", event.version, pod.key, pod.node, why));
      }
      if (pod.deleting) {
        violate(fmt::format("rv {}: pod {} was bound while it was being deleted", event.version, pod.key));
      }
    }
    if (const auto node = nodes.find(pod.node); !occupied && pod.occupies() && node != nodes.end()) {
      for (const auto& [name, amount] : pod.spec->requests) {
        const auto limit = node->second->allocatable.find(name);
        const std::int64_t most = limit == node->second->allocatable.end() ? 0 : limit->second;
        if (amount > 0 && used[pod.node][name] > most) {
          violate(
              fmt::format("rv {}: node {} holds {} of {} with pod {}, its allocatable is {} (thousandths)",
                          event.version, pod.node, used[pod.node][name], name, pod.key, most));
        }
      }
    }
    before = event.pod;
  }
  std::map<std::string, std::pair<std::int64_t, std::int64_t>> gangs;  // wanted, bound
  for (const auto& [key, pod] : pods) {
    if (pod != nullptr && !pod->gang.empty()) {
      auto& [wanted, bound] = gangs[pod->gang];
      wanted = std::max(wanted, pod->gang_size);
      bound += pod->node.empty() ? 0 : 1;
    }
  }
  for (const auto& [name, gang] : gangs) {
    if (gang.second == 0) {
      ++report.gangs.none;
    } else if (gang.second < gang.first) {
      ++report.gangs.partial;
      report.partial_gangs.push_back(name);
    } else {
      ++report.gangs.whole;
    }
  }
  return report;
}

std::string ObserverReport::str() const {
  std::string out =
      fmt::format("{} events, {} binds, gangs: {} whole, {} partial, {} not started; {} violations, {} gaps",
                  events, binds, gangs.whole, gangs.partial, gangs.none, violation_count, gaps);
  for (const auto& violation : violations) {
    out += "\n  " + violation;
  }
  for (std::size_t i = 0; i < std::min<std::size_t>(partial_gangs.size(), 10); ++i) {
    out += "\n  partial gang " + partial_gangs[i];
  }
  return out;
}

}  // namespace berth::e2e
