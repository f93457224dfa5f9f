#include "engine/catalog/catalog.h"

#include <algorithm>
#include <utility>

#include "base/digest.h"
#include "engine/nodes/counted_parts.h"

namespace berth::engine {
namespace {

constexpr std::size_t kUsualKey = 256;  // bytes that most keys of pods stay below

void build(const Group& group, std::uint32_t parent, std::uint32_t& next_set, Structure& out) {
  const auto self = static_cast<std::uint32_t>(out.groups.size());
  StructureGroup record;
  record.children = static_cast<std::int64_t>(group.pod_sets.size() + group.groups.size());
  record.least = group.least.value_or(record.children);
  record.topology = group.topology;
  record.parent = self == 0 ? 0 : parent;
  out.groups.push_back(record);
  out.steps.push_back({Step::Kind::kEnter, self});
  for (std::size_t i = 0; i < group.pod_sets.size(); ++i) {
    out.group_of.push_back(self);
    for (std::uint32_t g = self;; g = out.groups[g].parent) {
      out.groups[g].leaves.push_back(next_set);
      if (g == 0) break;
    }
    out.steps.push_back({Step::Kind::kLeaf, next_set++});
  }
  // Pod sets are numbered by the walk of the tree as written; `order` only changes the order of placing.
  std::vector<std::size_t> by_order(group.groups.size());
  for (std::size_t i = 0; i < by_order.size(); ++i) by_order[i] = i;
  std::stable_sort(by_order.begin(), by_order.end(),
                   [&](auto a, auto b) { return group.groups[a].order < group.groups[b].order; });
  std::vector<std::vector<Step>> steps(group.groups.size());
  for (std::size_t i = 0; i < group.groups.size(); ++i) {
    std::vector<Step> before = std::move(out.steps);
    out.steps.clear();
    build(group.groups[i], self, next_set, out);
    steps[i] = std::move(out.steps);
    out.steps = std::move(before);
  }
  for (const std::size_t i : by_order) out.steps.insert(out.steps.end(), steps[i].begin(), steps[i].end());
  out.steps.push_back({Step::Kind::kExit, self});
}

void put_structure(const Group& group, std::string& out) {
  put_all(out, '[', group.pod_sets.size(), ',', group.least.value_or(-1), ',', group.order, ',',
          group.topology.segment);
  put_part(out, group.topology.required);
  put_part(out, group.topology.preferred);
  put_part(out, group.topology.segment_level);
  for (const auto& child : group.groups) put_structure(child, out);
  out += ']';
}

void put_requirement(std::string& out, const Requirement& r) {
  put_part(out, r.key);
  put_all(out, static_cast<int>(r.op), '(');
  for (const auto& value : r.values) put_part(out, value);
  out += ')';
}

void put_term(std::string& out, const SelectorTerm& term) {
  out += '{';
  for (const auto& r : term.labels) put_requirement(out, r);
  out += '|';
  for (const auto& r : term.node_name) put_requirement(out, r);
  out += '}';
}

}  // namespace

std::optional<std::uint32_t> Spec::group_index(std::string_view resource) const {
  const auto it =
      std::lower_bound(group_of.begin(), group_of.end(), resource,
                       [](const auto& entry, std::string_view name) { return entry.first < name; });
  if (it == group_of.end() || it->first != resource) return std::nullopt;
  return it->second;
}

Structure make_structure(const Group& root) {
  Structure out;
  std::uint32_t next_set = 0;
  build(root, 0, next_set, out);
  link(out.steps);
  return out;
}

void link(std::vector<Step>& steps) {
  std::vector<std::size_t> open;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    steps[i].past = static_cast<std::uint32_t>(i + 1);
    if (steps[i].kind == Step::Kind::kEnter) open.push_back(i);
    if (steps[i].kind != Step::Kind::kExit) continue;
    steps[open.back()].past = steps[i].past;
    open.pop_back();
  }
}

bool enough_children(const Structure& structure, std::vector<std::int64_t> can) {
  for (std::size_t g = structure.groups.size() - 1; g > 0; --g) {
    if (can[g] >= structure.groups[g].least) ++can[structure.groups[g].parent];
  }
  return can[0] >= structure.groups[0].least;
}

std::string structure_key(const Group& root) {
  std::string out;
  put_structure(root, out);
  return short_key(std::move(out));
}

std::string pod_key(const PodTemplate& pod) {
  std::string out;
  out.reserve(kUsualKey);
  for (const auto& [name, amount] : pod.requests) {
    put_part(out, name);
    put_all(out, '=', amount, ',');
  }
  out += '/';
  for (const auto& request : pod.claim.requests) {
    put_part(out, request.resource);
    put_all(out, '=', request.count, 'x', request.milli, ',');
  }
  out += '/';
  for (const auto& [key, value] : pod.node_selector) {
    put_part(out, key);
    put_part(out, value);
  }
  out += '/';
  for (const auto& term : pod.required_affinity) put_term(out, term);
  out += '/';
  for (const auto& preferred : pod.preferred_affinity) {
    put_number(out, preferred.weight);
    put_term(out, preferred.term);
  }
  out += '/';
  for (const VolumeNodes& volume : pod.volumes) {
    put_part(out, volume.words);
    for (const auto& term : volume.nodes) put_term(out, term);
    out += ';';
  }
  for (const auto& [driver, volumes] : pod.attaches) {
    put_part(out, driver);
    put_all(out, '=', volumes, ',');
  }
  for (const SharedVolume& volume : pod.mounts) {
    put_part(out, volume.driver);
    put_part(out, volume.name);
    out += '^';
  }
  out += '/';
  for (const auto& t : pod.tolerations) {
    put_part(out, t.key);
    put_part(out, t.value);
    put_all(out, static_cast<int>(t.effect), t.exists ? 'e' : "=><"[static_cast<int>(t.bound)]);
  }
  out += '/';
  out += static_cast<char>('0' + static_cast<int>(pod.placement));
  for (const auto& words : pod.unsupported) put_part(out, words);
  if (!pod.terms.empty() || !pod.selected.empty() || !pod.preferred_terms.empty()) {
    out += '%';
    put_terms(out, pod.terms, pod.preferred_terms);
    out += '/';
    for (const std::string& selector : pod.selected) put_part(out, selector);
  }
  if (pod.counted) {
    out += '#';
    for (const auto& [name, amount] : *pod.counted) {
      put_part(out, name);
      put_all(out, '=', amount, ',');
    }
  }
  if (!pod.ports.empty()) {
    out += '!';
    for (const auto& port : pod.ports) put_part(out, to_text(port));
  }
  if (!pod.awaited_flavors.empty()) {
    out += '~';
    for (const auto& flavor : pod.awaited_flavors) put_part(out, flavor);
  }
  return short_key(std::move(out));
}

}  // namespace berth::engine
