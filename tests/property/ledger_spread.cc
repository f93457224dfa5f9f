// Spreads: an order in which pods that come together keep within them.
#include <algorithm>
#include <set>

#include "property/ledger.h"

namespace berth::property {
namespace {

// One spread of a pod: what stands in the domains by now, and which of the pods that come count there.
struct Rule {
  std::string level;
  std::string domain;  // "" where the node is in none
  std::map<std::string, std::int64_t> here;
  std::map<std::string, std::int64_t> least;
  std::vector<std::string> counted;  // by kind of pod that comes: its domain, "" where it does not count
  std::int64_t own = 0;              // the pod itself
  std::int64_t min_domains = 1;
  std::int64_t max_skew = 1;
};

// Pods of one pod set on one node.
struct Kind {
  const PodTemplate* pod = nullptr;
  std::string node;
  int count = 0;
  std::vector<Rule> rules;
  std::vector<Ledger::Coming> pods;  // so many
};

bool has(const std::vector<std::string>& list, const std::string& one) {
  return std::count(list.begin(), list.end(), one) > 0;
}

bool holds(const Rule& rule, const std::vector<int>& came) {
  std::map<std::string, std::int64_t> more;
  for (std::size_t k = 0; k < came.size(); ++k) {
    if (!rule.counted[k].empty()) more[rule.counted[k]] += came[k];
  }
  std::int64_t fewest = kInt64Max;
  for (const auto& [domain, number] : rule.least) fewest = std::min(fewest, number + more[domain]);
  if (static_cast<std::int64_t>(rule.least.size()) < rule.min_domains) fewest = 0;
  return rule.here.at(rule.domain) + more[rule.domain] + rule.own - fewest <= rule.max_skew;
}

// The first rule that keeps all that are left away, in the state that got farthest; none: there is an order.
class Orders {
 public:
  Orders(const std::vector<Kind>& kinds, const Ledger::MayCome& may_come)
      : kinds_(kinds), may_come_(may_come) {}

  // True too where there are too many states to look at.
  bool exists() {
    std::vector<int> came(kinds_.size(), 0);
    return from(came, 0);
  }
  const Rule* in_the_way() const { return in_the_way_; }

 private:
  static constexpr std::size_t kMostStates = 20000;

  bool from(std::vector<int>& came, int number) {
    if (seen_.size() > kMostStates) return true;
    if (!seen_.insert(came).second) return false;
    bool all = true;
    const Rule* broken = nullptr;
    for (std::size_t k = 0; k < kinds_.size(); ++k) {
      if (came[k] == kinds_[k].count) continue;
      all = false;
      const auto wrong = std::find_if(kinds_[k].rules.begin(), kinds_[k].rules.end(),
                                      [&](const Rule& rule) { return !holds(rule, came); });
      if (wrong != kinds_[k].rules.end()) {
        broken = &*wrong;
        continue;
      }
      if (!may_come(came, k)) continue;
      ++came[k];
      if (from(came, number + 1)) return true;
      --came[k];
    }
    if (!all && broken != nullptr && number >= farthest_) {
      farthest_ = number;
      in_the_way_ = broken;
    }
    return all;
  }

  bool may_come(const std::vector<int>& came, std::size_t next) const {
    if (!may_come_) return true;
    std::vector<const SlotRecord*> before;
    for (std::size_t k = 0; k < kinds_.size(); ++k) {
      for (int i = 0; i < came[k]; ++i) before.push_back(kinds_[k].pods[static_cast<std::size_t>(i)].slot);
    }
    return may_come_(kinds_[next].pods[static_cast<std::size_t>(came[next])], before);
  }

  const std::vector<Kind>& kinds_;
  const Ledger::MayCome& may_come_;
  std::set<std::vector<int>> seen_;
  int farthest_ = 0;
  const Rule* in_the_way_ = nullptr;
};

}  // namespace

bool Ledger::may_be_spread_to(const PodTemplate& pod, const CountedTerm& term, const Node& node) const {
  for (const CountedTerm& other : pod.terms) {
    if (other.kind == TermKind::kSpread && node.labels.count(other.level) == 0) return false;
  }
  PodTemplate looked_at;
  if (!term.all_nodes) {
    looked_at.node_selector = pod.node_selector;
    looked_at.required_affinity = pod.required_affinity;
  }
  if (term.tolerated) {
    looked_at.tolerations = pod.tolerations;
  } else {
    looked_at.tolerations.edit().push_back({"", true, "", TolerationEffect::kAll});
  }
  if (!node.unschedulable) return static_trouble(looked_at, {}, node).empty();
  Node uncordoned = node;  // Kubernetes looks at the taints alone
  uncordoned.unschedulable = false;
  return static_trouble(looked_at, {}, uncordoned).empty();
}

std::string Ledger::spread_trouble(const std::vector<Coming>& pods, SpreadView view,
                                   const MayCome& may_come) const {
  std::vector<Kind> kinds;
  for (const Coming& one : pods) {
    const auto same = std::find_if(kinds.begin(), kinds.end(), [&](const Kind& kind) {
      return kind.pod == one.pod && kind.node == one.node;
    });
    if (same == kinds.end()) {
      kinds.push_back({one.pod, one.node, 1, {}, {one}});
    } else {
      ++same->count;
      same->pods.push_back(one);
    }
  }
  const auto domain_of = [&](const PodTemplate& pod, const CountedTerm& term, const std::string& name) {
    const auto node = nodes.find(name);
    const bool in_one = node != nodes.end() && may_be_spread_to(pod, term, node->second);
    return in_one ? node->second.labels.at(term.level) : std::string();
  };
  const auto on_plane = [](SlotState state, When when) {
    return when == When::kNow ? is_active(state) : charges_when(state, when);
  };
  const auto comes = [&](const SlotRecord& slot) {
    return std::any_of(pods.begin(), pods.end(), [&](const Coming& one) { return one.slot == &slot; });
  };
  const auto rule_of = [&](const Kind& kind, const CountedTerm& term) {
    Rule rule;
    rule.domain = domain_of(*kind.pod, term, kind.node);
    rule.level = term.level;
    rule.own = has(kind.pod->selected, term.selector) ? 1 : 0;
    rule.min_domains = term.min_domains;
    rule.max_skew = term.max_skew;
    for (const auto& [name, node] : nodes) {
      if (may_be_spread_to(*kind.pod, term, node)) rule.here[node.labels.at(term.level)] = 0;
    }
    rule.least = rule.here;
    const auto count = [&](const std::string& node, bool here, bool least) {
      const std::string domain = domain_of(*kind.pod, term, node);
      if (domain.empty()) return;
      rule.here[domain] += here ? 1 : 0;
      rule.least[domain] += least ? 1 : 0;
    };
    for (const auto& [uid, w] : workloads) {
      const auto sets = pod_sets_of(w.spec.root);
      for (std::size_t s = 0; s < w.sets.size() && s < sets.size(); ++s) {
        if (!has(sets[s]->pod.selected, term.selector)) continue;
        for (const SlotRecord& slot : w.sets[s]) {
          if (slot.taken.opaque || comes(slot)) continue;
          count(slot.taken.node,
                on_plane(slot.state, view.there) && (!view.pods_alone || is_active(slot.state)),
                on_plane(slot.state, view.fewest));
        }
      }
    }
    for (const auto& [uid, f] : foreign) {
      if (!f.ending && has(f.selected, term.selector)) count(f.node, true, true);
    }
    for (const Kind& other : kinds) {
      const bool counts = has(other.pod->selected, term.selector);
      rule.counted.push_back(counts ? domain_of(*kind.pod, term, other.node) : "");
    }
    return rule;
  };
  for (Kind& kind : kinds) {
    for (const CountedTerm& term : kind.pod->terms) {
      if (term.kind != TermKind::kSpread) continue;
      kind.rules.push_back(rule_of(kind, term));
      if (kind.rules.back().domain.empty())
        return "it must be spread by " + term.level + ", and node " + kind.node + " is in no domain";
    }
  }
  Orders orders(kinds, may_come);
  if (orders.exists()) return "";
  if (orders.in_the_way() == nullptr) return "some of them may not come, in whatever order the others do";
  return "too many pods are in a domain of " + orders.in_the_way()->level +
         " to be spread, in whatever order they come";
}

}  // namespace berth::property
