// Tokens of nodes: what one pod on a node has and no other can have there. A host port is one (model/ports.h).
//
// The pods that have each token are counted per node, on both planes. Outside events can give one token to several pods; no decision does. Work
// without tokens costs nothing here. Each function: O(tokens of the node x tokens that are asked for), but keep_only(): O(tokens).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/ids.h"
#include "engine/base/keyed.h"
#include "engine/base/plane.h"
#include "engine/nodes/grant.h"
#include "model/ports.h"

namespace berth::engine {

class Tokens {
 public:
  // Equal ports are one token, until keep_only() drops it.
  TokenId intern(const HostPort& port);
  // "host port 8080/TCP"
  std::string text(TokenId id) const;
  // No two pods on one node can have these.
  bool exclude(TokenId a, TokenId b) const { return ports_[a].excludes(ports_[b]); }

  // Gives the tokens on a node to one more pod (sign +1) or to one less (-1). Exactly undone by the opposite sign.
  void charge(NodeId node, std::span<const TokenId> tokens, PlaneMask planes, int sign);

  // How many pods there exclude this token on a plane.
  std::int64_t holders(NodeId node, TokenId token, Plane plane) const;
  // The first of the wanted tokens that a pod there excludes on one of the planes.
  std::optional<TokenId> taken(NodeId node, std::span<const TokenId> wanted, PlaneMask planes) const;
  // For a pod that has these tokens there: the first that another pod excludes.
  std::optional<TokenId> shared(NodeId node, std::span<const TokenId> had, PlaneMask planes) const;

  struct Held {
    TokenId token;
    std::array<std::int32_t, 2> pods{};  // by plane
  };
  // By number; none with zero pods on both planes.
  std::span<const Held> on(NodeId node) const;

  // Numbers that have been given, in use or not.
  std::size_t size() const { return ports_.size(); }
  // Drops the tokens that are not marked, by number. No pod has them. A dropped number is given again.
  void keep_only(const std::vector<bool>& marked);

 private:
  Keyed<HostPort, TokenId> ports_;                      // by their texts
  std::unordered_map<NodeId, std::vector<Held>> held_;  // looked up, never iterated
};

// Ascending, each once.
void one_each(std::vector<TokenId>& tokens);

}  // namespace berth::engine
