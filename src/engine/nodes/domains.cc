#include "engine/nodes/domains.h"

#include <fmt/format.h>

#include <algorithm>

namespace berth::engine {

void Domains::set(std::span<const Topology> topologies) {
  ++version_;
  levels_.clear();
  domains_.clear();
  index_.clear();
  of_.clear();
  for (const Topology& topology : topologies) {
    std::uint32_t depth = 0;
    for (const std::string& key : topology.levels) levels_.push_back({topology.name, key, depth++, {}, 0});
  }
}

std::vector<DomainId> Domains::path_of(const Labels& labels) {
  std::vector<DomainId> out(levels_.size());
  DomainId parent;
  std::string path;
  for (std::size_t l = 0; l < levels_.size(); ++l) {
    if (levels_[l].depth == 0) {
      parent = DomainId();
      path.clear();
    } else if (!parent.valid()) {
      continue;
    }
    const auto label = labels.find(levels_[l].key);
    if (label == labels.end()) {
      parent = DomainId();
      continue;
    }
    path += fmt::format("{}{}", path.empty() ? "" : "/", label->second);
    const auto [it, is_new] = index_.try_emplace(fmt::format("{}:{}", l, path), DomainId(domains_.size()));
    if (is_new) {
      domains_.push_back({static_cast<std::uint32_t>(l), parent, path, {}, {}});
      levels_[l].domains.push_back(it->second);
      if (parent.valid()) domains_[parent.index()].children.push_back(it->second);
      ++version_;
    }
    out[l] = parent = it->second;
  }
  return out;
}

void Domains::place(NodeId id, const Labels* labels) {
  const std::size_t end = (id.index() + 1) * levels_.size();
  if (of_.size() < end) of_.resize(end);
  const std::vector<DomainId> now =
      labels == nullptr ? std::vector<DomainId>(levels_.size()) : path_of(*labels);
  for (std::size_t l = 0; l < levels_.size(); ++l) {
    DomainId& its = of_[id.index() * levels_.size() + l];
    if (its == now[l]) continue;
    ++version_;
    if (its.valid()) {
      auto& nodes = domains_[its.index()].nodes;
      std::erase(nodes, id);
      if (nodes.size() == 1) --levels_[l].wide;
    }
    if (now[l].valid()) {
      auto& nodes = domains_[now[l].index()].nodes;
      nodes.insert(std::lower_bound(nodes.begin(), nodes.end(), id), id);
      if (nodes.size() == 2) ++levels_[l].wide;
    }
    its = now[l];
  }
}

std::optional<std::uint32_t> Domains::level_of(std::string_view key) const {
  for (std::size_t l = 0; l < levels_.size(); ++l) {
    if (levels_[l].key == key) return static_cast<std::uint32_t>(l);
  }
  return std::nullopt;
}

std::string Domains::why_no_level() const {
  constexpr std::size_t kMostCharacters = 36;  // of names: a reason is short
  if (levels_.empty()) {
    return "there is no topology: remove the request, or create a topology with this node label as a level";
  }
  std::string known = levels_.front().key;
  std::size_t named = 1;
  while (named < levels_.size() && known.size() + 2 + levels_[named].key.size() <= kMostCharacters)
    known += ", " + levels_[named++].key;
  return fmt::format("no topology has this level: ask for one of {}{}, or add it to a topology", known,
                     named < levels_.size() ? ", ..." : "");
}

}  // namespace berth::engine
