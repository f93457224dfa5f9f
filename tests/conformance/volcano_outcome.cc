#include "conformance/volcano_outcome.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>

namespace berth::conformance {
namespace {

// A value as text, without the fields of this name.
void print(const text::Node& node, std::string_view without, std::string& out) {
  if (node.is_scalar()) out += node.text();
  for (const auto& item : node.items()) {
    out += '[';
    print(item, without, out);
  }
  for (const auto& entry : node.entries()) {
    if (entry.name() == without) continue;
    out += fmt::format("{{{}:", entry.name());
    print(entry.value, without, out);
  }
  out += ';';
}

std::map<std::string, std::string> pairs_of(const text::Node* mapping) {
  std::map<std::string, std::string> out;
  if (mapping == nullptr) return out;
  for (const auto& entry : mapping->entries()) out.emplace(entry.name(), entry.value.text());
  return out;
}

std::set<std::string> texts_of(const text::Node* list) {
  std::set<std::string> out;
  if (list == nullptr) return out;
  for (const auto& item : list->items()) out.emplace(item.text());
  return out;
}

// A request for nearness: of a PodGroup, or of one of its policies.
struct Near {
  bool hard = true;
  std::optional<std::int64_t> most;
};

class Comparer {
 public:
  Comparer(const text::Node& the_case, const VolcanoOutcome& outcome)
      : case_(the_case), expect_(*the_case.find("expect")), outcome_(outcome) {
    for (const auto& object : case_.find("objects")->items()) {
      const std::string kind = text_at(object, {"kind"});
      if (kind == "Pod") pods_.emplace(key_of_object(object), &object);
      if (kind == "PodGroup") groups_.emplace(key_of_object(object), &object);
    }
    if (const text::Node* hyper = case_.find("hyperNodes"); hyper != nullptr) {
      for (const auto& node : hyper->items()) {
        tiers_.push_back({node.find("tier")->as_int().value_or(0), text_at(node, {"tierName"}),
                          texts_of(node.find("nodes")), text_at(node, {"name"})});
      }
    }
    std::stable_sort(tiers_.begin(), tiers_.end(),
                     [](const Tier& a, const Tier& b) { return a.tier < b.tier; });
  }

  Comparison run() {
    Comparison out;
    const auto per_hyper_node = expect_.find("bindNumsPerHyperNode");
    if (per_hyper_node != nullptr) {  // nothing else counts then
      compare_per_hyper_node(*per_hyper_node, out.differences);
    } else {
      compare_evicted(out.differences);
      compare_reserved(out.differences);
      compare_phases(out.differences);
      if (binds_pods()) compare_binds(out);
    }
    if (!out.differences.empty()) out.verdict = Verdict::kDiffers;
    return out;
  }

 private:
  struct Tier {
    std::int64_t tier;
    std::string name;
    std::set<std::string> nodes;
    std::string hyper_node;
  };

  // Only these actions bind.
  bool binds_pods() const {
    const auto actions = texts_of(case_.at({"config", "actions"}));
    return actions.contains("allocate") || actions.contains("backfill");
  }
  std::string group_of(const std::string& pod) const {
    const auto it = pods_.find(pod);
    return it == pods_.end() ? pod : group_of_pod(*it->second);
  }
  std::string class_of(const std::string& pod) const {
    const auto it = pods_.find(pod);
    if (it == pods_.end()) return pod;
    std::string out = group_of_pod(*it->second) + " ";
    for (const std::string_view where : {"labels", "annotations"}) {
      for (const std::string_view key : {"volcano.sh/task-spec", "volcano.sh/preemptable"})
        out += text_at(*it->second, {"metadata", where, key}) + ";";
    }
    print(*it->second->find("spec"), "nodeName", out);
    return out;
  }
  std::string node_of(const std::string& pod) const { return text_at(*pods_.at(pod), {"spec", "nodeName"}); }

  template <class Binds>
  std::multiset<std::string> classes_of(const Binds& binds) const {
    std::multiset<std::string> out;
    for (const auto& [pod, node] : binds) out.insert(class_of(pod) + " on " + node);
    return out;
  }
  template <class Binds>
  std::map<std::string, std::int64_t> numbers_of(const Binds& binds) const {
    std::map<std::string, std::int64_t> out;
    for (const auto& [pod, node] : binds) ++out[group_of(pod)];
    return out;
  }

  void compare_evicted(std::vector<std::string>& out) const {
    const auto with_nodes = [&](const std::set<std::string>& pods) {
      std::map<std::string, std::string> on;
      for (const auto& pod : pods) on.emplace(pod, node_of(pod));
      return on;
    };
    const auto want = texts_of(expect_.find("evicted"));
    if (classes_of(with_nodes(want)) == classes_of(with_nodes(outcome_.evicted))) return;
    if (is_tie() && numbers_of(with_nodes(want)) == numbers_of(with_nodes(outcome_.evicted))) return;
    out.push_back(
        fmt::format("evicts [{}] instead of [{}]", fmt::join(outcome_.evicted, " "), fmt::join(want, " ")));
  }

  void compare_reserved(std::vector<std::string>& out) const {
    const text::Node* want = expect_.find("pipelinedOn");
    if (want == nullptr) return;
    for (const auto& entry : want->entries()) {
      const auto nodes = texts_of(&entry.value);
      std::set<std::string> got;
      for (const auto& [pod, node] : outcome_.pipelined) {
        if (group_of(pod) == entry.name()) got.insert(node);
      }
      if (got.empty() || !std::includes(nodes.begin(), nodes.end(), got.begin(), got.end()))
        out.push_back(fmt::format("{} has reservations on [{}] instead of [{}]", entry.name(),
                                  fmt::join(got, " "), fmt::join(nodes, " ")));
    }
  }

  void compare_phases(std::vector<std::string>& out) const {
    for (const auto& [group, phase] : pairs_of(expect_.find("phases"))) {
      const auto it = outcome_.phases.find(group);
      const std::string got = it == outcome_.phases.end() ? "none" : it->second;
      if (got != phase) out.push_back(fmt::format("{} is {} instead of {}", group, got, phase));
    }
  }

  void compare_per_hyper_node(const text::Node& want, std::vector<std::string>& out) const {
    std::map<std::string, std::int64_t> numbers;
    for (const auto& [pod, node] : outcome_.binds) {
      for (const Tier& tier : tiers_) {  // the lowest first
        if (!tier.nodes.contains(node)) continue;
        ++numbers[tier.hyper_node];
        break;
      }
    }
    std::vector<std::int64_t> got, wanted;
    for (const auto& [name, number] : numbers) got.push_back(number);
    for (const auto& item : want.items()) wanted.push_back(item.as_int().value_or(-1));
    std::sort(got.begin(), got.end());
    if (got != wanted)
      out.push_back(
          fmt::format("binds {} per HyperNode instead of {}", fmt::join(got, " "), fmt::join(wanted, " ")));
  }

  bool is_tie() const { return !case_.find("ties")->items().empty(); }

  void compare_binds(Comparison& out) const {
    const auto measured = pairs_of(case_.at({"measured", "binds"}));
    const text::Node* expected = expect_.find("binds");
    const auto want = expected != nullptr ? pairs_of(expected) : measured;
    const auto got = classes_of(outcome_.binds);
    if (got == classes_of(want)) return;
    const auto say = [](const std::map<std::string, std::string>& binds) {
      std::vector<std::string> words;
      for (const auto& [pod, node] : binds) words.push_back(fmt::format("{}->{}", pod, node));
      return fmt::format("{}", fmt::join(words, " "));
    };
    const auto differ = [&] {
      out.differences.push_back(fmt::format("binds [{}] instead of [{}]", say(outcome_.binds), say(want)));
    };
    out.verdict = Verdict::kAsGood;
    if (!is_tie() && expected != nullptr) return differ();
    if (const text::Node* others = case_.find("alternatives"); others != nullptr) {
      for (const auto& other : others->items()) {
        if (got == classes_of(pairs_of(other.find("binds")))) return;
      }
    }
    if (numbers_of(outcome_.binds) != numbers_of(want)) return differ();
    compare_nearness(measured, out.differences);
  }

  // ---------------------------------------------------------------------------------------------------------- nearness

  std::int64_t top() const { return tiers_.empty() ? 1 : tiers_.back().tier + 1; }

  // The lowest tier that has all these nodes in one HyperNode.
  std::int64_t tier_of(const std::set<std::string>& nodes) const {
    for (const Tier& tier : tiers_) {
      if (std::includes(tier.nodes.begin(), tier.nodes.end(), nodes.begin(), nodes.end())) return tier.tier;
    }
    return top();
  }

  std::optional<Near> near_of(const text::Node& object) const {
    const text::Node* topology = object.find("networkTopology");
    if (topology == nullptr) return std::nullopt;
    Near out;
    out.hard = text_at(*topology, {"mode"}) != "soft";
    if (const text::Node* most = topology->find("highestTierAllowed"); most != nullptr)
      out.most = most->as_int();
    const std::string name = text_at(*topology, {"highestTierName"});
    for (const Tier& tier : tiers_) {
      if (!name.empty() && tier.name == name) out.most = tier.tier;
    }
    return out;
  }

  // The labels that make a pod one of the policy's subgroups; "": it is of none.
  static std::string part_of(const text::Node& policy, const text::Node& pod) {
    std::string out;
    const text::Node* keys = policy.find("matchLabelKeys");
    if (keys == nullptr) return out;
    for (const auto& key : keys->items()) {
      const std::string value = text_at(pod, {"metadata", "labels", key.text()});
      if (value.empty()) return {};
      out += value + ",";
    }
    return out;
  }

  void compare_nearness(const std::map<std::string, std::string>& measured,
                        std::vector<std::string>& out) const {
    for (const auto& [name, group] : groups_) {
      const text::Node& spec = *group->find("spec");
      if (const auto near = near_of(spec)) check_near(name, *near, nullptr, measured, out);
      const text::Node* policies = spec.find("subGroupPolicy");
      if (policies == nullptr) continue;
      for (const auto& policy : policies->items()) {
        if (const auto near = near_of(policy)) check_near(name, *near, &policy, measured, out);
      }
    }
  }

  void check_near(const std::string& group, const Near& near, const text::Node* policy,
                  const std::map<std::string, std::string>& measured, std::vector<std::string>& out) const {
    for (const auto& [part, nodes] : nodes_of(group, policy, outcome_.binds, near.hard)) {
      const std::int64_t tier = tier_of(nodes);
      std::int64_t most = near.most.value_or(top());
      if (!near.hard) {
        const auto theirs = nodes_of(group, policy, measured, false);
        const auto it = theirs.find(part);
        most = it == theirs.end() ? top() : tier_of(it->second);
      }
      if (tier > most)
        out.push_back(fmt::format("{} {}is spread over tier {}, above {}", group, part, tier, most));
    }
  }

  // By part. `all`: with the pods that had nodes before.
  std::map<std::string, std::set<std::string>> nodes_of(const std::string& group, const text::Node* policy,
                                                        const std::map<std::string, std::string>& binds,
                                                        bool all) const {
    std::map<std::string, std::set<std::string>> out;
    for (const auto& [key, pod] : pods_) {
      if (group_of_pod(*pod) != group) continue;
      const std::string part = policy == nullptr ? "" : part_of(*policy, *pod);
      if (policy != nullptr && part.empty()) continue;
      const auto it = binds.find(key);
      const std::string node = it != binds.end() ? it->second : all ? node_of(key) : "";
      if (!node.empty()) out[part].insert(node);
    }
    return out;
  }

  const text::Node& case_;
  const text::Node& expect_;
  const VolcanoOutcome& outcome_;
  std::map<std::string, const text::Node*> pods_;
  std::map<std::string, const text::Node*> groups_;
  std::vector<Tier> tiers_;  // the lowest first
};

}  // namespace

std::string key_of_object(const text::Node& object) {
  const std::string ns = text_at(object, {"metadata", "namespace"});
  const std::string name = text_at(object, {"metadata", "name"});
  return ns.empty() ? name : ns + "/" + name;
}

std::string group_of_pod(const text::Node& pod) {
  const std::string name = text_at(pod, {"metadata", "annotations", "scheduling.k8s.io/group-name"});
  return name.empty() ? key_of_object(pod) : text_at(pod, {"metadata", "namespace"}) + "/" + name;
}

Comparison compare(const text::Node& the_case, const VolcanoOutcome& outcome) {
  return Comparer(the_case, outcome).run();
}

}  // namespace berth::conformance
