#include "engine/nodes/label_domains.h"

#include <algorithm>
#include <utility>

#include "base/digest.h"

namespace berth::engine {

LabelDomains::Number LabelDomains::find_or_make(const std::string& key, Number among) {
  const auto known = std::find_if(levels_.begin(), levels_.end(), [&](const Level& level) {
    return level.users > 0 && level.key == key && level.among == among;
  });
  if (known != levels_.end()) return static_cast<Number>(known - levels_.begin());
  const auto unused =
      std::find_if(levels_.begin(), levels_.end(), [](const Level& level) { return level.users == 0; });
  const auto at = static_cast<Number>(unused - levels_.begin());
  if (unused == levels_.end()) levels_.emplace_back();
  levels_[at] = Level{};
  levels_[at].key = key;
  levels_[at].among = among;
  if (among != kNone) ++among_[among].levels;
  for (std::size_t n = 0; n < nodes_.size(); ++n) put_in(levels_[at], NodeId(n));
  return at;
}

void LabelDomains::leave(Number number) {
  Level& level = levels_[number];
  if (--level.users > 0) return;
  if (level.among != kNone && --among_[level.among].levels == 0) among_[level.among] = Among{};
  level = Level{};
}

LabelDomains::Number LabelDomains::among_of(const CountedTerm& term, const std::vector<CountedTerm>& terms,
                                            const Shape& pod) {
  Among among;
  if (!term.all_nodes) {
    among.pod.selector = pod.selector;
    among.pod.required = pod.required;
  }
  if (term.tolerated) {
    among.pod.tolerations = pod.tolerations;
  } else {
    among.pod.tolerations = std::vector<Toleration>{{"", true, "", TolerationEffect::kAll}};
  }
  for (const CountedTerm& other : terms) {
    if (other.kind == TermKind::kSpread && other.level != term.level) among.labels.push_back(other.level);
  }
  std::sort(among.labels.begin(), among.labels.end());
  among.labels.erase(std::unique(among.labels.begin(), among.labels.end()), among.labels.end());
  if (!term.tolerated && among.labels.empty() && among.pod.selector->empty() && among.pod.required.empty())
    return kNone;
  among.key = shape_key(among.pod);
  for (const std::string& label : among.labels) put_all(among.key, '&', label.size(), ':', label);
  const auto known = std::find_if(among_.begin(), among_.end(), [&](const Among& other) {
    return other.levels > 0 && other.key == among.key;
  });
  if (known != among_.end()) return static_cast<Number>(known - among_.begin());
  const auto unused =
      std::find_if(among_.begin(), among_.end(), [](const Among& other) { return other.levels == 0; });
  const auto at = static_cast<Number>(unused - among_.begin());
  if (unused == among_.end()) among_.emplace_back();
  among_[at] = std::move(among);
  return at;
}

// The value by which it is in a domain; none: it is in none.
const std::string* LabelDomains::value_at(const Level& level, NodeId node) const {
  const NodeTable::Record& record = nodes_.record(node);
  if (!record.alive || nodes_.is_opaque(node)) return nullptr;
  static const std::string kWhole;
  if (level.key.empty()) return &kWhole;
  const auto label = record.spec.labels.find(level.key);
  if (label == record.spec.labels.end()) return nullptr;
  if (level.among == kNone) return &label->second;
  const Among& among = among_[level.among];
  const bool counts = std::all_of(among.labels.begin(), among.labels.end(),
                                  [&](const std::string& key) { return record.spec.labels.contains(key); });
  return counts && counts_in_spread(among.pod, record.spec) ? &label->second : nullptr;
}

void LabelDomains::put_in(Level& level, NodeId node) {
  if (level.domain_of.size() <= node.index())
    level.domain_of.resize(std::max(nodes_.size(), node.index() + 1), kNone);
  const std::string* value = value_at(level, node);
  if (value == nullptr) return;
  const auto fresh = static_cast<Number>(level.nodes.size());
  const Number at = level.values.try_emplace(*value, fresh).first->second;
  if (at == fresh) level.nodes.emplace_back();
  level.nodes[at].push_back(node);
  if (level.nodes[at].size() == 1) ++level.filled;
  if (level.nodes[at].size() == 2) ++level.wide;
  level.domain_of[node.index()] = at;
}

bool LabelDomains::is_outdated(Number number, NodeId node) const {
  const Level& level = levels_[number];
  if (level.users == 0) return false;
  const Number is = of(number, node);
  const std::string* value = value_at(level, node);
  if (value == nullptr) return is != kNone;
  const auto should = level.values.find(*value);
  return should == level.values.end() || should->second != is;
}

void LabelDomains::move(Number number, NodeId node) {
  Level& level = levels_[number];
  if (const Number before = of(number, node); before != kNone) {
    std::erase(level.nodes[before], node);
    if (level.nodes[before].size() == 1) --level.wide;
    if (level.nodes[before].empty()) --level.filled;
    level.domain_of[node.index()] = kNone;
  }
  put_in(level, node);
}

}  // namespace berth::engine
