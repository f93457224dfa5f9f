#include "engine/nodes/tokens.h"

#include <fmt/format.h>

#include <algorithm>

namespace berth::engine {

TokenId Tokens::intern(const HostPort& port) {
  const std::string text = to_text(port);
  if (const auto known = ports_.find(text)) return *known;
  const TokenId id = ports_.add(text);
  ports_[id] = port;
  return id;
}

void Tokens::keep_only(const std::vector<bool>& marked) {
  for (std::size_t i = ports_.size(); i-- > 0;) {
    const TokenId id(i);
    const std::string text = to_text(ports_[id]);
    const bool is_marked = i < marked.size() && marked[i];
    if (!is_marked && ports_.find(text) == id)
      ports_.erase(text, id);  // a number that was dropped has no text
  }
}

std::string Tokens::text(TokenId id) const {
  return fmt::format("host port {}", to_text(ports_[id]));
}

std::span<const Tokens::Held> Tokens::on(NodeId node) const {
  const auto found = held_.find(node);
  if (found == held_.end()) return {};
  return found->second;
}

void Tokens::charge(NodeId node, std::span<const TokenId> tokens, PlaneMask planes, int sign) {
  if (tokens.empty() || planes == 0) return;
  auto& held = held_[node];
  for (const TokenId token : tokens) {
    auto at = std::lower_bound(held.begin(), held.end(), token,
                               [](const Held& h, TokenId wanted) { return h.token < wanted; });
    if (at == held.end() || at->token != token) at = held.insert(at, Held{token, {}});
    for (const Plane plane : {kNow, kAfter}) {
      if ((planes & (1u << plane)) != 0) at->pods[plane] += sign;
    }
    if (at->pods == std::array<std::int32_t, 2>{}) held.erase(at);
  }
  if (held.empty()) held_.erase(node);
}

std::int64_t Tokens::holders(NodeId node, TokenId token, Plane plane) const {
  std::int64_t sum = 0;
  for (const Held& held : on(node)) sum += exclude(held.token, token) ? held.pods[plane] : 0;
  return sum;
}

std::optional<TokenId> Tokens::taken(NodeId node, std::span<const TokenId> wanted, PlaneMask planes) const {
  for (const TokenId token : wanted) {
    for (const Plane plane : {kNow, kAfter}) {
      if ((planes & (1u << plane)) != 0 && holders(node, token, plane) > 0) return token;
    }
  }
  return std::nullopt;
}

std::optional<TokenId> Tokens::shared(NodeId node, std::span<const TokenId> had, PlaneMask planes) const {
  for (const TokenId token : had) {
    const auto own = std::count_if(had.begin(), had.end(), [&](TokenId t) { return exclude(t, token); });
    for (const Plane plane : {kNow, kAfter}) {
      if ((planes & (1u << plane)) != 0 && holders(node, token, plane) > own) return token;
    }
  }
  return std::nullopt;
}

void one_each(std::vector<TokenId>& tokens) {
  std::sort(tokens.begin(), tokens.end());
  tokens.erase(std::unique(tokens.begin(), tokens.end()), tokens.end());
}

}  // namespace berth::engine
