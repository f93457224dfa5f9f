#include "dialect/volumes/volume_nodes.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <tuple>
#include <utility>

#include "dialect/base/names.h"
#include "dialect/volumes/zones.h"

namespace berth::dialect {
namespace {

constexpr char kByHost = '=';
constexpr char kByName = '@';

Requirement in_zones(std::string_view key, const std::vector<std::string>& zones) {
  return {std::string(key), SelectorOp::kIn, zones};
}

Requirement without(std::string_view key) {
  return {std::string(key), SelectorOp::kDoesNotExist, {}};
}

// "a__b": the volume is in both. A label with an empty part does not count.
std::optional<std::vector<std::string>> zones_of(std::string_view text) {
  std::vector<std::string> out;
  constexpr std::string_view kBetween = "__";
  while (true) {
    const auto end = text.find(kBetween);
    out.emplace_back(text.substr(0, end));
    if (out.back().empty()) return std::nullopt;
    if (end == std::string_view::npos) return out;
    text.remove_prefix(end + kBetween.size());
  }
}

// As VolumeZone has it: a node without any such label may have all volumes, and an older name stands for today's where it is missing.
std::vector<SelectorTerm> nodes_of_label(std::string_view key, const std::vector<std::string>& zones) {
  std::vector<SelectorTerm> out{{{in_zones(key, zones)}, {}}};
  if (key == kOlderZone || key == kOlderRegion)
    out.push_back({{without(key), in_zones(key == kOlderZone ? kZone : kRegion, zones)}, {}});
  SelectorTerm& none = out.emplace_back();
  for (const std::string_view label : kZoneLabels) none.labels.push_back(without(label));
  return out;
}

// Nodes that are in both. A term without a condition matches no node.
std::vector<SelectorTerm> both(const std::vector<SelectorTerm>& a, const std::vector<SelectorTerm>& b) {
  const auto is_empty = [](const SelectorTerm& term) {
    return term.labels.empty() && term.node_name.empty();
  };
  std::vector<SelectorTerm> out;
  for (const SelectorTerm& one : a) {
    for (const SelectorTerm& other : b) {
      if (is_empty(one) || is_empty(other)) continue;
      SelectorTerm& term = out.emplace_back(one);
      term.labels.insert(term.labels.end(), other.labels.begin(), other.labels.end());
      term.node_name.insert(term.node_name.end(), other.node_name.begin(), other.node_name.end());
    }
  }
  return out;
}

bool stands_before(const SelectorTerm& a, const SelectorTerm& b) {
  const auto less = [](const Requirement& x, const Requirement& y) {
    return std::tie(x.key, x.op, x.values) < std::tie(y.key, y.op, y.values);
  };
  const auto compare = [&](const std::vector<Requirement>& x, const std::vector<Requirement>& y) {
    return std::lexicographical_compare(x.begin(), x.end(), y.begin(), y.end(), less);
  };
  if (compare(a.labels, b.labels) || compare(b.labels, a.labels)) return compare(a.labels, b.labels);
  return compare(a.node_name, b.node_name);
}

}  // namespace

std::vector<NodesOfVolume> conditions_of(const PersistentVolume& volume) {
  std::vector<NodesOfVolume> out;
  if (volume.nodes) out.push_back({*volume.nodes, {}});
  for (const auto& [key, text] : volume.meta.labels) {
    const auto zones = zones_of(text);
    if (!zones) continue;
    std::vector<SelectorTerm> terms = nodes_of_label(key, *zones);
    SelectorTerm words = terms.front();
    out.push_back({std::move(terms), std::move(words)});
  }
  return out;
}

std::optional<std::vector<SelectorTerm>> nodes_of(const PersistentVolume& volume) {
  std::optional<std::vector<SelectorTerm>> out;
  for (NodesOfVolume& nodes : conditions_of(volume))
    out = out ? both(*out, nodes.terms) : std::move(nodes.terms);
  return out;
}

std::optional<std::vector<SelectorTerm>> nodes_of(const std::vector<const PersistentVolume*>& volumes) {
  std::set<std::string> places;
  std::vector<SelectorTerm> others;
  for (const PersistentVolume* volume : volumes) {
    if (std::string place = place_of(*volume); !place.empty()) {
      places.insert(std::move(place));
      continue;
    }
    auto nodes = nodes_of(*volume);
    if (!nodes) return std::nullopt;
    for (SelectorTerm& term : *nodes) {
      if (std::find(others.begin(), others.end(), term) == others.end()) others.push_back(std::move(term));
    }
  }
  std::sort(others.begin(), others.end(), stands_before);
  std::vector<SelectorTerm> out = nodes_of_places({places.begin(), places.end()});
  out.insert(out.end(), std::make_move_iterator(others.begin()), std::make_move_iterator(others.end()));
  return out;
}

bool can_use(const PersistentVolume& volume, const Labels& node, const std::string& name) {
  const std::vector<NodesOfVolume> all = conditions_of(volume);
  return std::all_of(all.begin(), all.end(),
                     [&](const NodesOfVolume& nodes) { return any_matches(nodes.terms, node, name); });
}

std::string place_of(const PersistentVolume& volume) {
  if (!volume.nodes || volume.nodes->size() != 1 || !volume.meta.labels.empty()) return {};
  const SelectorTerm& term = volume.nodes->front();
  if (term.labels.size() + term.node_name.size() != 1) return {};
  const bool by_host = !term.labels.empty();
  const Requirement& one = by_host ? term.labels.front() : term.node_name.front();
  if (one.op != SelectorOp::kIn || one.values.size() != 1 || (by_host && one.key != kHostname)) return {};
  return (by_host ? kByHost : kByName) + one.values.front();
}

std::vector<std::string> places_of(std::string_view node, const Labels& labels) {
  std::vector<std::string> out{kByName + std::string(node)};
  if (const auto host = labels.find(kHostname); host != labels.end()) out.push_back(kByHost + host->second);
  return out;
}

std::vector<SelectorTerm> nodes_of_places(const std::vector<std::string>& places) {
  std::vector<std::string> hosts, names;
  for (const std::string& place : places)
    (place.front() == kByHost ? hosts : names).push_back(place.substr(1));
  std::vector<SelectorTerm> out;
  if (!hosts.empty()) out.push_back({{{std::string(kHostname), SelectorOp::kIn, std::move(hosts)}}, {}});
  if (!names.empty()) out.push_back({{}, {{"metadata.name", SelectorOp::kIn, std::move(names)}}});
  return out;
}

}  // namespace berth::dialect
