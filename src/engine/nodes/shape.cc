#include "engine/nodes/shape.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/digest.h"

namespace berth::engine {
namespace {

constexpr std::size_t kUsualKey = 128;  // bytes that most keys of shapes stay below

void put(std::string& out, const Requirement& r) {
  put_part(out, r.key);
  out += static_cast<char>('0' + static_cast<int>(r.op));
  for (const auto& value : r.values) put_part(out, value);
  out += ';';
}

void put(std::string& out, const SelectorTerm& term) {
  out += '(';
  for (const auto& r : term.labels) put(out, r);
  out += '|';
  for (const auto& r : term.node_name) put(out, r);
  out += ')';
}

void put(std::string& out, const Labels& labels) {
  for (const auto& [key, value] : labels) {
    put_part(out, key);
    put_part(out, value);
  }
  out += ';';
}

bool tolerated(const Shape& shape, const Taint& taint) {
  const auto does = [&](const Toleration& t) { return t.tolerates(taint); };
  return std::any_of(shape.tolerations.begin(), shape.tolerations.end(), does) ||
         std::any_of(shape.flavor_tolerations.begin(), shape.flavor_tolerations.end(), does);
}

bool has_labels(const Node& node, const Labels& labels) {
  return std::all_of(labels.begin(), labels.end(), [&](const auto& want) {
    const auto it = node.labels.find(want.first);
    return it != node.labels.end() && it->second == want.second;
  });
}

}  // namespace

std::string shape_key(const Shape& shape) {
  std::string out;
  out.reserve(kUsualKey);
  out += static_cast<char>('0' + static_cast<int>(shape.placement));
  if (shape.opaque) out += '?';
  if (shape.counted.valid()) put_all(out, '%', shape.counted.value, ',');
  for (const auto& a : shape.amounts) put_all(out, a.resource.value, '=', a.amount, ',');
  out += '/';
  for (const auto& d : shape.devices) put_all(out, d.resource.value, '=', d.count, 'x', d.milli, ',');
  for (const TokenId token : shape.tokens) put_all(out, '!', token.value);
  for (const VolumeId volume : shape.mounts) put_all(out, '^', volume.value);
  out += '/';
  put(out, shape.selector);
  put(out, shape.flavor_labels);
  for (const auto& flavor : shape.flavors) put_part(out, flavor);
  out += '/';
  for (const auto& term : shape.required) put(out, term);
  out += '/';
  for (const auto& volume : shape.volumes) {
    for (const SelectorTerm& term : volume) put(out, term);
    out += ';';
  }
  for (const auto& p : shape.preferred) {
    put_number(out, p.weight);
    put(out, p.term);
  }
  out += '/';
  for (const auto* list : {&*shape.tolerations, &shape.flavor_tolerations}) {
    for (const auto& t : *list) {
      put_part(out, t.key);
      put_part(out, t.value);
      const int op = t.exists ? 1 : 2 * static_cast<int>(t.bound);
      out += static_cast<char>('a' + static_cast<int>(t.effect) * 5 + op);
    }
  }
  return short_key(std::move(out));
}

namespace {

StaticMismatch label_mismatch(const Shape& shape, const Node& node) {
  if (shape.opaque && node.name.empty()) return {};
  if (shape.opaque != node.name.empty()) {
    return {ReasonCode::kNodeFlavor,
            shape.flavors.empty() ? "" : fmt::format("{}", fmt::join(shape.flavors, "+"))};
  }
  if (!has_labels(node, shape.flavor_labels)) {
    return {ReasonCode::kNodeFlavor,
            shape.flavors.empty() ? "" : fmt::format("{}", fmt::join(shape.flavors, "+"))};
  }
  if (!has_labels(node, shape.selector)) return {ReasonCode::kNodeSelector, ""};
  if (!shape.required.empty() && !any_matches(shape.required, node.labels, node.name))
    return {ReasonCode::kNodeSelector, ""};
  for (std::size_t i = 0; i < shape.volumes.size(); ++i) {
    if (!any_matches(shape.volumes[i], node.labels, node.name)) return {ReasonCode::kNodeVolume, "", i};
  }
  return {};
}

StaticMismatch taint_mismatch(const Shape& shape, const Node& node) {
  for (const Taint& taint : node.taints) {
    if (taint.effect == TaintEffect::kPreferNoSchedule || tolerated(shape, taint)) continue;
    return {ReasonCode::kNodeTaint,
            taint.value.empty() ? taint.key : fmt::format("{}={}", taint.key, taint.value)};
  }
  return {};
}

}  // namespace

StaticMismatch static_mismatch(const Shape& shape, const Node& node) {
  if (StaticMismatch labels = label_mismatch(shape, node); labels.code != ReasonCode::kNone) return labels;
  if (node.unschedulable) {
    static const Taint kCordon{"node.kubernetes.io/unschedulable", "", TaintEffect::kNoSchedule};
    if (!tolerated(shape, kCordon)) return {ReasonCode::kNodeUnschedulable, ""};
  }
  return taint_mismatch(shape, node);
}

bool counts_in_spread(const Shape& shape, const Node& node) {
  return label_mismatch(shape, node).code == ReasonCode::kNone &&
         taint_mismatch(shape, node).code == ReasonCode::kNone;
}

std::int64_t preference(const Shape& shape, const Node& node) {
  std::int64_t sum = 8192;
  for (const auto& p : shape.preferred) {
    if (p.term.matches(node.labels, node.name)) sum += p.weight;
  }
  for (const Taint& taint : node.taints) {
    if (taint.effect == TaintEffect::kPreferNoSchedule && !tolerated(shape, taint)) sum -= 10;
  }
  return std::clamp<std::int64_t>(sum, 0, 16383);
}

}  // namespace berth::engine
