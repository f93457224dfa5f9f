#include "dialect/books/hyper_book.h"

#include <fmt/format.h>
#include <regex.h>

#include <algorithm>
#include <utility>

#include "base/result.h"

namespace berth::dialect {
namespace {

constexpr std::size_t kMostLevels = 16;
constexpr std::size_t kMostPattern = 256;  // bytes
constexpr std::size_t kMostProblems = 100;

std::string label_of(std::int64_t tier) {
  return fmt::format("{}{}", kHyperTier, tier);
}

}  // namespace

// A regular expression without what makes a search long, or differs between its dialects.
class HyperBook::Pattern {
 public:
  static Result<std::shared_ptr<const Pattern>> of(const std::string& text) {
    if (text.size() > kMostPattern)
      return fail(ErrorCode::kInvalid, "the pattern has more than {} bytes", kMostPattern);
    if (text.find('\\') != std::string::npos || text.find('{') != std::string::npos ||
        text.find("(?") != std::string::npos) {
      return fail(ErrorCode::kInvalid,
                  "the pattern {} has a backslash, a count in braces, or a group with a question mark, which "
                  "Berth does not read: write it with [ ] * + ? | ( )",
                  text);
    }
    auto out = std::make_shared<Pattern>();
    if (regcomp(&out->compiled_, text.c_str(), REG_EXTENDED | REG_NOSUB) != 0)
      return fail(ErrorCode::kInvalid, "the pattern {} is no regular expression", text);
    out->is_compiled_ = true;
    return std::shared_ptr<const Pattern>(std::move(out));
  }
  Pattern() = default;
  Pattern(const Pattern&) = delete;
  Pattern& operator=(const Pattern&) = delete;
  ~Pattern() {
    if (is_compiled_) regfree(&compiled_);
  }

  bool matches(const std::string& name) const {
    return regexec(&compiled_, name.c_str(), 0, nullptr, 0) == 0;
  }

 private:
  regex_t compiled_{};
  bool is_compiled_ = false;
};

bool HyperBook::put(HyperNode object) {
  if (const auto known = objects_.find(object.meta.name); known != objects_.end() && known->second == object)
    return false;
  (void)remove(object.meta.name);
  settled_ = false;
  if (object.problem.empty()) ++tiers_[object.tier];
  std::string name = object.meta.name;
  objects_.insert_or_assign(std::move(name), std::move(object));
  return true;
}

bool HyperBook::remove(std::string_view name) {
  const auto it = objects_.find(name);
  if (it == objects_.end()) return false;
  const auto tier = tiers_.find(it->second.tier);
  if (it->second.problem.empty() && --tier->second == 0) tiers_.erase(tier);
  objects_.erase(it);
  settled_ = false;
  return true;
}

void HyperBook::note(std::string_view name, std::string message) {
  if (problems_.size() < kMostProblems)
    problems_.push_back({describe(Kind::kHyperNode, "", name), std::move(message)});
}

void HyperBook::adopt(const std::string& parent, std::string_view child) {
  const HyperNode& above = objects_.find(parent)->second;
  const auto it = objects_.find(child);
  if (it == objects_.end()) return note(parent, fmt::format("its member {} does not exist", child));
  if (!it->second.problem.empty()) return;
  if (it->second.tier >= above.tier) {
    return note(parent, fmt::format("its member {} has tier {}, which is not below its own, {}", child,
                                    it->second.tier, above.tier));
  }
  const auto [at, fresh] = parents_.emplace(child, parent);
  if (!fresh && at->second != parent)
    note(parent, fmt::format("its member {} is also one of {}, and counts there", child, at->second));
}

void HyperBook::find(const std::map<std::string, Node, std::less<>>& nodes) {
  settled_ = true;
  parents_.clear();
  by_node_.clear();
  choosers_.clear();
  problems_.clear();
  for (const auto& [name, object] : objects_) {
    if (!object.problem.empty()) {
      note(name, object.problem);
      continue;
    }
    for (const auto& member : object.members) {
      if (!member.name.empty()) {
        if (member.is_node) {
          by_node_[member.name].push_back(&name);
        } else {
          adopt(name, member.name);
        }
      }
      if (!member.labels.nothing) choosers_.push_back({&name, nullptr, &member.labels});
      if (member.pattern.empty()) continue;
      auto pattern = Pattern::of(member.pattern);
      if (!pattern) {
        note(name, pattern.error().message);
      } else if (member.is_node) {
        choosers_.push_back({&name, std::move(*pattern), nullptr});
      } else {
        for (const auto& [other, child] : objects_) {
          if (child.tier < object.tier && (*pattern)->matches(other)) adopt(name, other);
        }
      }
    }
  }
  if (tiers_.size() > kMostLevels) {
    const auto beyond = std::next(tiers_.begin(), static_cast<std::ptrdiff_t>(kMostLevels));
    const auto first = std::find_if(objects_.begin(), objects_.end(), [&](const auto& entry) {
      return entry.second.problem.empty() && entry.second.tier == beyond->first;
    });
    note(first->first,
         fmt::format("there are more than {} tiers: its own and those above do not count", kMostLevels));
  }
  for (const auto& [name, node] : nodes) {
    std::string_view rival;
    const auto chain = chain_of(node, &rival);
    if (rival.empty()) continue;
    const std::int64_t tier = objects_.find(rival)->second.tier;
    note(rival,
         fmt::format("node {} is in HyperNode {} of the same tier, and counts there", name, chain.at(tier)));
  }
}

std::set<std::string_view> HyperBook::around(const Node& node) const {
  std::set<std::string_view> out;
  if (const auto it = by_node_.find(node.name); it != by_node_.end()) {
    for (const std::string* name : it->second) out.insert(*name);
  }
  for (const Chooser& chooser : choosers_) {
    if (chooser.pattern != nullptr ? chooser.pattern->matches(node.name)
                                   : chooser.labels->matches(node.labels))
      out.insert(*chooser.of);
  }
  return out;
}

std::map<std::int64_t, std::string_view> HyperBook::chain_of(const Node& node,
                                                             std::string_view* rival) const {
  std::map<std::int64_t, std::string_view> out;
  for (std::string_view at : around(node)) {
    for (;;) {
      const auto [known, fresh] = out.emplace(objects_.find(at)->second.tier, at);
      if (!fresh && known->second != at && rival != nullptr && rival->empty()) *rival = at;
      const auto parent = parents_.find(at);
      if (!fresh || parent == parents_.end()) break;
      at = parent->second;
    }
  }
  return out;
}

void HyperBook::label(Node& node, const Node* before) const {
  for (auto it = node.labels.lower_bound(std::string(kHyperTier));
       it != node.labels.end() && it->first.starts_with(kHyperTier);)
    it = node.labels.erase(it);
  if (!settled_) {
    if (before == nullptr) return;
    for (auto it = before->labels.lower_bound(std::string(kHyperTier));
         it != before->labels.end() && it->first.starts_with(kHyperTier); ++it)
      node.labels.insert(*it);
    return;
  }
  if (objects_.empty()) return;
  const auto chain = chain_of(node, nullptr);
  std::size_t levels = 0;
  for (const auto& [tier, number] : tiers_) {
    const auto above = chain.upper_bound(tier);
    if (++levels > kMostLevels) return;
    if (above != chain.begin()) node.labels.insert_or_assign(label_of(tier), std::prev(above)->second);
  }
}

std::vector<std::string> HyperBook::levels() const {
  std::vector<std::string> out;
  for (const auto& [tier, number] : tiers_) {
    if (out.size() < kMostLevels) out.push_back(label_of(tier));
  }
  std::reverse(out.begin(), out.end());
  return out;
}

TopologyRequest HyperBook::request_of(const TierRequest& asked, std::string& why_not) const {
  TopologyRequest out;
  if (tiers_.empty()) {
    if (asked.hard()) why_not = "there are no HyperNodes";
    return out;
  }
  if (!asked.hard()) {
    out.preferred = label_of(tiers_.begin()->first);
    return out;
  }
  std::optional<std::int64_t> most = asked.most;
  if (!asked.most_name.empty()) {
    for (const auto& [name, object] : objects_) {
      if (object.problem.empty() && object.tier_name == asked.most_name)
        most = std::max(object.tier, most.value_or(object.tier));
    }
    if (!most) {
      why_not = fmt::format("no HyperNode has the tierName {}", asked.most_name);
      return out;
    }
  }
  if (*most < tiers_.begin()->first) {
    why_not = fmt::format("no HyperNode has a tier of {} or below", *most);
    return out;
  }
  const auto beyond = tiers_.upper_bound(*most);
  // Above the last tier is the whole cluster.
  if (beyond == tiers_.end() && *most > tiers_.rbegin()->first) {
    out.preferred = label_of(tiers_.begin()->first);
    return out;
  }
  const auto level =
      std::min(std::distance(tiers_.begin(), beyond), static_cast<std::ptrdiff_t>(kMostLevels));
  out.required = label_of(std::next(tiers_.begin(), level - 1)->first);
  return out;
}

}  // namespace berth::dialect
