#include "dialect/volumes/class_book.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <utility>

namespace berth::dialect {
namespace {

constexpr std::size_t kMostWords = 80;

std::string words_of(const Requirement& r) {
  switch (r.op) {
    case SelectorOp::kIn:
      return fmt::format("{} {}", r.key, fmt::join(r.values, " or "));
    case SelectorOp::kExists:
      return r.key;
    case SelectorOp::kDoesNotExist:
      return fmt::format("no {}", r.key);
    default:
      return fmt::format("{} {} {}", r.key, enum_name(r.op), fmt::join(r.values, ", "));
  }
}

std::string words_of(const SelectorTerm& term) {
  std::string out;
  for (const Requirement& r : term.labels) out += fmt::format("{}{}", out.empty() ? "" : ", ", words_of(r));
  for (const Requirement& r : term.node_name)
    out += fmt::format("{}name {}", out.empty() ? "" : ", ", fmt::join(r.values, " or "));
  return out;
}

std::string key_in(std::string_view ns, std::string_view name) {
  return fmt::format("{}/{}", ns, name);
}

// Nodes that one of these selectors selects. One label of each node, as drivers of local disks have it, becomes one term. Nothing: one
// selects all nodes.
std::optional<std::vector<SelectorTerm>> nodes_of(const std::vector<const LabelSelector*>& selectors) {
  std::map<std::string, std::set<std::string>> by_key;
  std::vector<SelectorTerm> out;
  for (const LabelSelector* selector : selectors) {
    const auto& all = selector->requirements;
    if (all.empty()) return std::nullopt;
    if (all.size() == 1 && all.front().op == SelectorOp::kIn) {
      by_key[all.front().key].insert(all.front().values.begin(), all.front().values.end());
    } else {
      out.push_back({all, {}});
    }
  }
  for (const auto& [key, values] : by_key)
    out.push_back({{{key, SelectorOp::kIn, {values.begin(), values.end()}}}, {}});
  return out;
}

}  // namespace

std::string words_of(const std::string& what, const std::vector<SelectorTerm>& nodes) {
  std::string where;
  for (const SelectorTerm& term : nodes) {
    if (const std::string words = words_of(term); !words.empty())
      where += fmt::format("{}{}", where.empty() ? "" : "; or ", words);
  }
  if (where.size() > kMostWords) where = where.substr(0, kMostWords) + "...";
  return where.empty() ? fmt::format("{} (on no node)", what)
                       : fmt::format("{} (only on nodes with {})", what, where);
}

ClassBook::Changes ClassBook::put(StorageClass&& klass) {
  const std::string name = klass.meta.name;
  const auto it = classes_.find(name);
  if (it != classes_.end() && it->second.waits == klass.waits && it->second.is_default == klass.is_default &&
      it->second.provisioner == klass.provisioner && it->second.topologies == klass.topologies)
    return {};
  classes_.insert_or_assign(name, std::move(klass));
  return {{name}};
}

ClassBook::Changes ClassBook::classes_of(std::string_view driver) const {
  Changes out;
  for (const auto& [name, klass] : classes_) {
    if (klass.provisioner == driver) out.push_back({name});
  }
  return out;
}

ClassBook::Changes ClassBook::put(CsiDriver&& driver) {
  const std::string name = driver.meta.name;
  const auto it = drivers_.find(name);
  const bool told = it != drivers_.end() && it->second.tells_capacity;
  const bool tells = driver.tells_capacity;
  drivers_.insert_or_assign(name, std::move(driver));
  return told == tells ? Changes() : classes_of(name);
}

ClassBook::Changes ClassBook::put(CsiStorageCapacity&& capacity) {
  const std::string key = key_in(capacity.meta.ns, capacity.meta.name);
  const std::string klass = capacity.storage_class;
  Changes out;
  if (const auto known = class_of_capacity_.find(key); known != class_of_capacity_.end()) {
    const CsiStorageCapacity& before = capacities_.at(known->second).at(key);
    if (before.storage_class == klass && before.nodes == capacity.nodes) {
      if (before.most != capacity.most)
        out.push_back({klass, std::min(before.most, capacity.most), std::max(before.most, capacity.most)});
      capacities_[klass].insert_or_assign(key, std::move(capacity));
      return out;
    }
    out = remove(Kind::kCsiStorageCapacity, capacity.meta.ns, capacity.meta.name);
  }
  out.push_back({klass, -1, capacity.most});
  class_of_capacity_.insert_or_assign(key, klass);
  capacities_[klass].insert_or_assign(key, std::move(capacity));
  return out;
}

ClassBook::Changes ClassBook::remove(Kind kind, std::string_view ns, std::string_view name) {
  if (kind == Kind::kCsiDriver) {
    const auto it = drivers_.find(name);
    if (it == drivers_.end()) return {};
    const bool told = it->second.tells_capacity;
    drivers_.erase(it);
    return told ? classes_of(name) : Changes();
  }
  if (kind == Kind::kCsiStorageCapacity) {
    const std::string key = key_in(ns, name);
    const auto it = class_of_capacity_.find(key);
    if (it == class_of_capacity_.end()) return {};
    const auto of_class = capacities_.find(it->second);
    const Change change{it->second, -1, of_class->second.at(key).most};
    of_class->second.erase(key);
    if (of_class->second.empty()) capacities_.erase(of_class);
    class_of_capacity_.erase(it);
    return {change};
  }
  const auto it = classes_.find(name);
  if (it == classes_.end()) return {};
  classes_.erase(it);
  return {{std::string(name)}};
}

const StorageClass* ClassBook::named(std::string_view name) const {
  const auto it = classes_.find(name);
  return it == classes_.end() ? nullptr : &it->second;
}

const StorageClass* ClassBook::of(const PersistentVolumeClaim& claim) const {
  if (claim.storage_class) return named(*claim.storage_class);
  for (const auto& [name, klass] : classes_) {
    if (klass.is_default) return &klass;
  }
  return nullptr;
}

bool ClassBook::is_default(std::string_view name) const {
  const StorageClass* klass = of(PersistentVolumeClaim());
  return klass != nullptr && klass->meta.name == name;
}

std::vector<VolumeNodes> ClassBook::nodes_for(const StorageClass& klass, const PersistentVolumeClaim& claim,
                                              const std::string& what) const {
  std::vector<VolumeNodes> out;
  if (klass.topologies) out.push_back({words_of(what, *klass.topologies), *klass.topologies});
  const auto driver = drivers_.find(klass.provisioner);
  if (claim.size == 0 || driver == drivers_.end() || !driver->second.tells_capacity) return out;
  std::vector<const LabelSelector*> enough;
  if (const auto of_class = capacities_.find(klass.meta.name); of_class != capacities_.end()) {
    for (const auto& [key, capacity] : of_class->second) {
      if (capacity.most >= claim.size && !capacity.nodes.nothing) enough.push_back(&capacity.nodes);
    }
  }
  if (auto nodes = nodes_of(enough)) {
    std::string words =
        words_of(fmt::format("{}, by the free capacity of {}", what, klass.provisioner), *nodes);
    out.push_back({std::move(words), std::move(*nodes)});
  }
  return out;
}

}  // namespace berth::dialect
