#include "dialect/tree/cluster_tree.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>

#include "base/checked.h"
#include "base/cycles.h"
#include "base/put_new.h"
#include "model/resources.h"

namespace berth::dialect {
namespace {

constexpr std::string_view kVolcanoPrefix = "volcano:";
constexpr std::string_view kKaiPrefix = "kai:";
constexpr std::string_view kRoot = "root";

using Pair = std::pair<std::string, std::string>;  // flavor, resource
using Amounts = std::map<Pair, std::int64_t>;

Kind kind_of_name(std::string_view name) {
  if (name.starts_with(kVolcanoPrefix)) return Kind::kVolcanoQueue;
  return name.starts_with(kKaiPrefix) ? Kind::kKaiQueue : Kind::kQueue;
}

std::string shown(std::string_view model_name) {
  const Kind kind = kind_of_name(model_name);
  if (kind == Kind::kQueue && model_name == kTreeRoot) return describe(kind, "", kRoot);
  return describe(kind, "", kind == Kind::kQueue ? model_name : model_name.substr(model_name.find(':') + 1));
}

bool is_all(std::string_view queue, const TreeQueue::Amount& amount) {
  return kind_of_name(queue) == Kind::kKaiQueue && amount.guaranteed >= kMostQuota && !amount.limit;
}

// The work of one compute().
class Growth {
 public:
  Growth(const ClusterTree::World& world, std::vector<Problem>& problems)
      : world_(world), problems_(problems) {}

  struct Branch {
    const TreeQueue* object = nullptr;  // none: a root without an object
    std::string parent;
    std::vector<std::string> children;  // by name
    std::string wrong;
    bool in_cycle = false;
    std::vector<std::string> flavors;
    bool own_flavors = false;
    std::vector<std::string> all_flavors;  // with those of the queues below
    std::set<std::string> named;
    std::set<std::string> counted;
    std::set<std::string> unbounded;  // resources of which it may have all (find_unbounded)
    std::set<std::string> whole;      // of these, such as it is guaranteed what the nodes have
    Amounts guaranteed;               // of all that is below, where that is more
    bool by_weight = false;
  };

  std::map<std::string, Branch, std::less<>> branches;

  void link();
  void find_unbounded();
  void choose_flavors(const std::string& name);
  void count(const std::string& name, const std::set<std::string>& from_above);
  void sum(const std::string& name);
  void divide(const std::string& name);
  Queue build(const std::string& name) const;

 private:
  void wrong(Branch& branch, std::string message) {
    if (branch.wrong.empty()) branch.wrong = std::move(message);
  }
  std::optional<std::int64_t> of_nodes(const Pair& pair) const;
  // All that the queue and those below it may have without borrowing.
  std::int64_t whole_of(const std::string& name, const Pair& pair) const;
  void divide(const std::string& name, const Pair& pair);
  bool names(const std::string& name, const std::string& resource) const;
  static const TreeQueue::Amount* said(const Branch& branch, const Pair& pair);

  const ClusterTree::World& world_;
  std::vector<Problem>& problems_;
};

void Growth::link() {
  branches.try_emplace(std::string(kTreeRoot));
  for (auto& [name, branch] : branches) {
    if (name == kTreeRoot) continue;
    const Kind kind = kind_of_name(name);
    const std::string& wanted = branch.object->parent;
    // Volcano's queues stand below its queue "root", where there is one.
    const std::string parent = wanted.empty() ? tree_queue_name(kind, kRoot) : tree_queue_name(kind, wanted);
    branch.wrong = branch.object->problem;
    if (parent == name || (!branches.contains(parent) && (wanted.empty() || wanted == kRoot))) {
      branch.parent = kTreeRoot;
    } else if (branches.contains(parent)) {
      branch.parent = parent;
    } else {
      branch.parent = kTreeRoot;
      wrong(branch, fmt::format("its parent {} does not exist", wanted));
    }
  }
  // A cycle has no top: all in it, and below it, hang on the root, disabled.
  std::map<std::string_view, std::string_view> parents;
  for (const auto& [name, branch] : branches) {
    if (name != kTreeRoot) parents.emplace(name, branch.parent);
  }
  for (const auto& [name, cycle] : find_cycles(parents)) {
    Branch& branch = branches.find(name)->second;
    branch.in_cycle = cycle.on_it;
    wrong(branch, fmt::format("its parents form a cycle: {}", cycle.text));
    branch.parent = kTreeRoot;
  }
  for (auto& [name, branch] : branches) {
    if (name != kTreeRoot) branches.find(branch.parent)->second.children.push_back(name);
  }
}

// Finds the resources of which KAI's queues have all (cluster_tree.h). Queues that take work alone have such. After link().
void Growth::find_unbounded() {
  std::set<std::string> named;
  for (auto& [name, branch] : branches) {
    if (branch.object == nullptr || kind_of_name(name) != Kind::kKaiQueue) continue;
    for (const auto& amount : branch.object->amounts) {
      if (is_all(name, amount)) {
        branch.unbounded.insert(amount.resource);
      } else {
        named.insert(amount.resource);
      }
    }
  }
  for (auto& [name, branch] : branches) {
    if (!branch.children.empty()) continue;
    for (const std::string& resource : branch.unbounded) {
      if (!named.contains(resource)) continue;
      branch.named.insert(resource);
      bool bounded = false;
      for (std::string above = branch.parent; !above.empty(); above = branches.find(above)->second.parent)
        bounded = bounded || names(above, resource);
      if (!bounded) branch.whole.insert(resource);
    }
  }
}

bool Growth::names(const std::string& name, const std::string& resource) const {
  const Branch& branch = branches.find(name)->second;
  if (branch.object == nullptr) return false;
  return std::any_of(branch.object->amounts.begin(), branch.object->amounts.end(), [&](const auto& amount) {
    return amount.resource == resource && !is_all(name, amount);
  });
}

void Growth::choose_flavors(const std::string& name) {
  Branch& branch = branches.find(name)->second;
  if (branch.object != nullptr && !branch.object->flavors.empty()) {
    branch.flavors = branch.object->flavors;
    branch.own_flavors = true;
  } else if (name != kTreeRoot) {
    const Branch& parent = branches.find(branch.parent)->second;
    branch.flavors = parent.flavors;
    branch.own_flavors = parent.own_flavors;
  } else {
    branch.flavors = {std::string(kAllNodes)};
  }
  for (const std::string& flavor : branch.flavors) {
    if (branch.own_flavors && !world_.flavors.contains(flavor))
      wrong(branch, fmt::format("ResourceFlavor {} does not exist", flavor));
  }
  if (branch.object != nullptr) {
    for (const auto& amount : branch.object->amounts) {
      if (branch.unbounded.contains(amount.resource)) continue;
      branch.named.insert(amount.resource);
      if (branch.own_flavors && amount.flavor.empty()) {
        wrong(branch, fmt::format("its amount of {} has no flavor, but this queue or one above it names "
                                  "flavors: move it into one of `flavors`",
                                  amount.resource));
      }
      if (amount.per_user && !branch.children.empty()) {
        wrong(branch, "perUser works on queues without children only: set it on the queues below");
      }
      if (amount.limit && amount.guaranteed > *amount.limit) {
        wrong(branch, fmt::format("it is guaranteed {} of {}, more than its limit of {}",
                                  format_amount(amount.resource, amount.guaranteed), amount.resource,
                                  format_amount(amount.resource, *amount.limit)));
      }
    }
  }
  branch.all_flavors = branch.flavors;
  for (const std::string& child : branch.children) {
    choose_flavors(child);
    const Branch& below = branches.find(child)->second;
    if (!below.wrong.empty()) continue;
    for (const std::string& flavor : below.all_flavors) {
      auto& all = branch.all_flavors;
      if (std::find(all.begin(), all.end(), flavor) == all.end()) all.push_back(flavor);
    }
  }
}

void Growth::count(const std::string& name, const std::set<std::string>& from_above) {
  Branch& branch = branches.find(name)->second;
  // For a root without amounts: the capacity of the nodes.
  const std::set<std::string> nodes = name == kTreeRoot ? world_.sums.scarce() : std::set<std::string>();
  const auto& down = !branch.named.empty() ? branch.named : name == kTreeRoot ? nodes : from_above;
  branch.counted = branch.children.empty() ? down : branch.named;
  for (const std::string& child : branch.children) {
    count(child, down);
    const auto& below = branches.find(child)->second.counted;
    branch.counted.insert(below.begin(), below.end());
  }
}

const TreeQueue::Amount* Growth::said(const Branch& branch, const Pair& pair) {
  if (branch.object == nullptr) return nullptr;
  const std::string_view flavor = pair.first == kAllNodes ? std::string_view() : std::string_view(pair.first);
  for (const auto& amount : branch.object->amounts) {
    if (amount.flavor == flavor && amount.resource == pair.second)
      return branch.unbounded.contains(amount.resource) ? nullptr : &amount;
  }
  return nullptr;
}

// From the leaves up: a queue with children is guaranteed what it says, or what they are, whichever is more. One that cuts theirs is
// guaranteed what it says.
void Growth::sum(const std::string& name) {
  Branch& branch = branches.find(name)->second;
  Amounts below;
  for (const std::string& child : branch.children) {
    sum(child);
    for (const auto& [pair, amount] : branches.find(child)->second.guaranteed) {
      auto& all = below[pair];
      all = saturating_add(all, amount);
    }
  }
  branch.guaranteed = below;
  if (branch.object == nullptr) return;
  for (const std::string& resource : branch.whole) {
    const Pair pair{std::string(kAllNodes), resource};
    branch.guaranteed[pair] = of_nodes(pair).value_or(0);
  }
  for (const auto& amount : branch.object->amounts) {
    if (branch.unbounded.contains(amount.resource)) continue;
    const Pair pair{amount.flavor.empty() ? std::string(kAllNodes) : amount.flavor, amount.resource};
    auto& all = branch.guaranteed[pair];
    const auto it = below.find(pair);
    const std::int64_t children = it == below.end() ? 0 : it->second;
    if (name != kTreeRoot && children > amount.guaranteed && amount.guaranteed > 0) {
      problems_.push_back(
          {shown(name),
           fmt::format("its children are guaranteed {} of {} together, more than its own {}: "
                       "{}",
                       format_amount(pair.second, children), pair.second,
                       format_amount(pair.second, amount.guaranteed),
                       branch.object->cuts_guarantees ? "beyond that it borrows" : "theirs counts")});
    }
    if (amount.limit && children > *amount.limit) {
      problems_.push_back(
          {shown(name),
           fmt::format("its children are guaranteed {} of {} together, more than its limit of {}",
                       format_amount(pair.second, children), pair.second,
                       format_amount(pair.second, *amount.limit))});
    }
    all = branch.object->cuts_guarantees ? amount.guaranteed : std::max(children, amount.guaranteed);
  }
}

std::optional<std::int64_t> Growth::of_nodes(const Pair& pair) const {
  const auto flavor = world_.flavors.find(pair.first);
  return world_.sums.of(flavor == world_.flavors.end() ? Labels() : flavor->second.node_labels, pair.second,
                        world_.nodes);
}

std::int64_t Growth::whole_of(const std::string& name, const Pair& pair) const {
  const Branch& branch = branches.find(name)->second;
  const auto it = branch.guaranteed.find(pair);
  const std::int64_t guaranteed = it == branch.guaranteed.end() ? 0 : it->second;
  if (name != kTreeRoot) return guaranteed;
  const TreeQueue::Amount* amount = said(branch, pair);
  return amount != nullptr && amount->limit ? *amount->limit : of_nodes(pair).value_or(guaranteed);
}

// From the root down, after sum().
void Growth::divide(const std::string& name) {
  const Branch& branch = branches.find(name)->second;
  std::set<Pair> pairs;
  for (const std::string& child : branch.children) {
    const Branch& below = branches.find(child)->second;
    if (!below.by_weight) continue;
    for (const std::string& flavor : below.flavors) {
      for (const std::string& resource : below.counted) pairs.emplace(flavor, resource);
    }
  }
  for (const Pair& pair : pairs) divide(name, pair);
  for (const std::string& child : branch.children) divide(child);
}

// Rounds of parts by weight. In each one leave those whose bounds decide: the lower ones where all parts together are more than there is,
// else the upper ones. Parts are rounded down.
void Growth::divide(const std::string& name, const Pair& pair) {
  struct Part {
    Branch* branch;
    std::int64_t weight;
    std::int64_t least;
    std::int64_t most;
    std::int64_t has = 0;
  };
  std::vector<Part> open;
  std::int64_t left = whole_of(name, pair);
  for (const std::string& child : branches.find(name)->second.children) {
    Branch& below = branches.find(child)->second;
    const auto it = below.guaranteed.find(pair);
    const std::int64_t guaranteed = it == below.guaranteed.end() ? 0 : it->second;
    left = std::max<std::int64_t>(0, saturating_sub(left, guaranteed));
    if (!below.by_weight || !below.counted.contains(pair.second)) continue;
    const TreeQueue::Amount* amount = said(below, pair);
    const std::int64_t most = amount != nullptr && amount->limit ? *amount->limit : kMostQuota;
    open.push_back({&below, below.object->weight.num, guaranteed, std::max(guaranteed, most)});
  }
  for (const Part& part : open) left = saturating_add(left, part.least);
  while (!open.empty()) {
    Int128 weights = 0;
    Int128 beyond = 0;  // what the bounds add
    for (const Part& part : open) weights += part.weight;
    const auto by_weight = [&](const Part& part) {
      return weights == 0 ? std::int64_t{0} : clamp_to_int64(Int128{left} * part.weight / weights);
    };
    for (Part& part : open) {
      const std::int64_t plain = by_weight(part);
      part.has = std::clamp(plain, part.least, part.most);
      part.branch->guaranteed[pair] = part.has;
      beyond += Int128{part.has} - plain;
    }
    const auto is_settled = [&](const Part& part) {
      const std::int64_t plain = by_weight(part);
      return beyond == 0 || (beyond > 0 ? part.has > plain : part.has < plain);
    };
    Int128 taken = 0;
    for (const Part& part : open) taken += is_settled(part) ? part.has : 0;
    std::vector<Part> rest;
    for (const Part& part : open) {
      if (!is_settled(part)) rest.push_back(part);
    }
    open = std::move(rest);
    left = std::max<std::int64_t>(0, clamp_to_int64(Int128{left} - taken));
  }
}

Queue Growth::build(const std::string& name) const {
  const Branch& branch = branches.find(name)->second;
  Queue q;
  q.name = name;
  q.parent = branch.parent;
  q.leaf = name != kTreeRoot && branch.children.empty();
  q.open = true;
  q.disabled = branch.wrong;
  q.sharing = Sharing::kGuaranteedShare;
  if (branch.object != nullptr) {
    const TreeQueue& object = *branch.object;
    q.weight = object.weight;
    q.priority = object.priority;
    q.sharing = object.sharing;
    q.ranks_within_quota = object.ranks_within_quota;
    q.half_life = object.half_life;
    q.order = object.order;
    q.ordering = object.ordering;
    q.preemption = object.preemption;
    q.stop = object.stop;
    q.placement = object.placement;
  }
  if (branch.counted.empty()) return q;
  q.groups.push_back({{branch.counted.begin(), branch.counted.end()}, branch.all_flavors});
  for (const std::string& flavor : branch.all_flavors) {
    for (const std::string& resource : branch.counted) {
      const Pair pair{flavor, resource};
      const auto all = branch.guaranteed.find(pair);
      const std::int64_t guaranteed = all == branch.guaranteed.end() ? 0 : all->second;
      std::int64_t below = 0;
      for (const std::string& child : branch.children) {
        const auto& of_child = branches.find(child)->second.guaranteed;
        const auto it = of_child.find(pair);
        if (it != of_child.end()) below = saturating_add(below, it->second);
      }
      const TreeQueue::Amount* amount = said(branch, pair);
      Quota quota{flavor, resource, std::max<std::int64_t>(0, saturating_sub(guaranteed, below)), {}, {}};
      if (name == kTreeRoot) {
        const std::optional<std::int64_t> limit = amount != nullptr ? amount->limit : std::nullopt;
        const std::int64_t there = limit ? *limit : of_nodes(pair).value_or(guaranteed);
        quota.nominal = std::max<std::int64_t>(0, saturating_sub(there, below));
      } else if (amount != nullptr) {
        if (amount->limit)
          quota.borrowing_limit = std::max<std::int64_t>(0, saturating_sub(*amount->limit, guaranteed));
        // The amount that is never lent stays so where the guarantee is more than the object says.
        const std::int64_t more =
            branch.by_weight ? std::max<std::int64_t>(0, guaranteed - amount->guaranteed) : 0;
        if (amount->lendable)
          quota.lending_limit = std::min(saturating_add(*amount->lendable, more), guaranteed);
        if (branch.object->firm_within_guaranteed) quota.firm_limit = amount->guaranteed;
        if (branch.object->cuts_guarantees && below > guaranteed) quota.subtree_limit = guaranteed;
      }
      // More than Berth counts is as good as all there could be.
      quota.nominal = std::min(quota.nominal, kMostQuota);
      for (auto* bound :
           {&quota.borrowing_limit, &quota.lending_limit, &quota.firm_limit, &quota.subtree_limit}) {
        if (*bound) *bound = std::min(**bound, kMostQuota);
      }
      q.quotas.push_back(std::move(quota));
      if (amount != nullptr && amount->per_user)
        q.lanes.limits.push_back({flavor, resource, std::min(*amount->per_user, kMostQuota)});
    }
  }
  return q;
}

}  // namespace

std::string tree_queue_name(Kind kind, std::string_view name) {
  switch (kind) {
    case Kind::kVolcanoQueue:
      return fmt::format("{}{}", kVolcanoPrefix, name);
    case Kind::kKaiQueue:
      return fmt::format("{}{}", kKaiPrefix, name);
    default:
      return std::string(name == kRoot ? kTreeRoot : name);
  }
}

bool ClusterTree::upsert(Kind kind, const TreeQueue& object) {
  return put_new(queues_, tree_queue_name(kind, object.meta.name), Held{kind, object});
}

void ClusterTree::remove(Kind kind, std::string_view name) {
  queues_.erase(tree_queue_name(kind, name));
}

const TreeQueue* ClusterTree::find(Kind kind, std::string_view name) const {
  const auto it = queues_.find(tree_queue_name(kind, name));
  return it == queues_.end() ? nullptr : &it->second.object;
}

void ClusterTree::compute(const World& world, std::vector<Queue>& out, std::vector<Problem>& problems) const {
  if (queues_.empty()) return;
  Growth growth(world, problems);
  for (const auto& [name, held] : queues_) {
    if (held.kind == Kind::kQueue && world.is_taken(name)) {
      problems.push_back({describe(held.kind, "", name),
                          "a ClusterQueue has the same name, and goes before it: rename one"});
      continue;
    }
    growth.branches[name].object = &held.object;
  }
  const std::string root(kTreeRoot);
  const auto names_more = [](const auto& entry) {
    return entry.second.kind == Kind::kVolcanoQueue && !entry.second.object.by_weight;
  };
  const bool by_weight = std::none_of(queues_.begin(), queues_.end(), names_more);
  for (auto& [name, branch] : growth.branches)
    branch.by_weight = by_weight && branch.object != nullptr && branch.object->by_weight;
  growth.link();
  growth.find_unbounded();
  growth.choose_flavors(root);
  growth.sum(root);
  growth.count(root, {});
  growth.divide(root);
  const auto plant = [&](const auto& self, const std::string& name) -> void {
    const auto& branch = growth.branches.find(name)->second;
    if (!branch.wrong.empty()) problems.push_back({shown(name), branch.wrong, branch.in_cycle});
    out.push_back(growth.build(name));
    for (const std::string& child : branch.children) self(self, child);
  };
  plant(plant, root);
}

}  // namespace berth::dialect
