#include "dialect/karpenter/node_pools.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "text/document.h"
#include "text/quantity.h"

namespace berth::dialect {
namespace {

constexpr std::int64_t kMostAmount = std::numeric_limits<std::int64_t>::max();

ResourceList amounts_of(const text::Node* map) {
  ResourceList out;
  if (map == nullptr) return out;
  for (const text::Entry& entry : map->entries()) {
    const auto amount = text::parse_quantity_capped(entry.value.text(), units_per_one(entry.name()));
    if (amount && *amount >= 0) out.set(entry.name(), *amount);
  }
  return out;
}

// The amount that a limit still allows; none: it has no such limit.
std::optional<std::int64_t> left_of(const NodePool& pool, const std::string& resource) {
  if (!pool.limits.has(resource)) return std::nullopt;
  return std::max<std::int64_t>(0, pool.limits.get(resource) - pool.used.get(resource));
}

// A node takes some of each: with one limit reached the pool makes none.
bool is_full(const NodePool& pool) {
  return std::any_of(pool.limits.begin(), pool.limits.end(),
                     [&](const auto& limit) { return left_of(pool, limit.first) == 0; });
}

}  // namespace

Result<std::vector<NodePool>> read_node_pools(std::string_view json) {
  BERTH_ASSIGN(const text::Document document, text::parse_json(std::string(json), "NodePools"));
  std::vector<NodePool> out;
  const text::Node* items = document.root().find("items");
  if (items == nullptr) return out;
  for (const text::Node& item : items->items()) {
    NodePool pool;
    if (const auto* name = item.at({"metadata", "name"})) pool.name = name->text();
    if (const auto* labels = item.at({"spec", "template", "metadata", "labels"})) {
      for (const text::Entry& label : labels->entries())
        pool.labels.emplace(label.name(), label.value.text());
    }
    if (const auto* requirements = item.at({"spec", "template", "spec", "requirements"})) {
      for (const text::Node& requirement : requirements->items()) {
        const auto* key = requirement.find("key");
        const auto* op = requirement.find("operator");
        const auto* values = requirement.find("values");
        if (key == nullptr || op == nullptr || values == nullptr || op->text() != "In") continue;
        for (const text::Node& value : values->items())
          pool.in[std::string(key->text())].emplace_back(value.text());
      }
    }
    pool.limits = amounts_of(item.at({"spec", "limits"}));
    pool.used = amounts_of(item.at({"status", "resources"}));
    out.push_back(std::move(pool));
  }
  return out;
}

bool may_have(const NodePool& pool, const Labels& labels) {
  return std::all_of(labels.begin(), labels.end(), [&](const auto& label) {
    if (label.first == "karpenter.sh/nodepool") return label.second == pool.name;
    if (const auto own = pool.labels.find(label.first); own != pool.labels.end())
      return own->second == label.second;
    const auto one_of = pool.in.find(label.first);
    return one_of == pool.in.end() ||
           std::find(one_of->second.begin(), one_of->second.end(), label.second) != one_of->second.end();
  });
}

std::optional<NodePoolShort> node_pool_short(const std::vector<const NodePool*>& pools,
                                             const ResourceList& asked) {
  if (pools.empty()) return std::nullopt;
  std::string names;
  for (const NodePool* pool : pools) names += (names.empty() ? "" : ", ") + pool->name;
  const auto lacks = [&](const std::string& resource, std::int64_t amount) -> std::optional<NodePoolShort> {
    std::int64_t left = 0;
    bool endless = false;
    for (const NodePool* pool : pools) {
      if (is_full(*pool)) continue;
      const auto more = left_of(*pool, resource);
      endless = endless || !more;
      left = std::min<std::int64_t>(left, kMostAmount - more.value_or(0)) + more.value_or(0);
    }
    if (endless || left >= amount) return std::nullopt;
    return NodePoolShort{resource, amount, left, names};
  };
  // First those that have a limit, so that it is the one that is named.
  for (const bool limited : {true, false}) {
    for (const auto& [resource, amount] : asked) {
      const auto has = [&, &name = resource](const NodePool* pool) { return pool->limits.has(name); };
      if (amount <= 0 || resource == "pods" || std::any_of(pools.begin(), pools.end(), has) != limited)
        continue;
      if (auto lack = lacks(resource, amount)) return lack;
    }
  }
  return std::nullopt;
}

std::string to_text(const NodePoolShort& lack) {
  const bool several = lack.pools.find(',') != std::string::npos;
  return fmt::format("{} {} {} {} more {} (spec.limits), and {} are asked for",
                     several ? "NodePools" : "NodePool", lack.pools, several ? "allow" : "allows",
                     format_amount(lack.resource, lack.left), lack.resource,
                     format_amount(lack.resource, lack.asked));
}

}  // namespace berth::dialect
