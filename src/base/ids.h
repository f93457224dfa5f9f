// Dense identifiers: indices into tables, typed so that a node's index is never used as a queue's.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>

namespace berth {

template <class Tag>
struct Id {
  static constexpr std::uint32_t kNone = 0xffffffffu;
  std::uint32_t value = kNone;

  constexpr Id() = default;
  constexpr explicit Id(std::uint32_t v) : value(v) {}
  constexpr explicit Id(std::size_t v) : value(static_cast<std::uint32_t>(v)) {}
  constexpr bool valid() const { return value != kNone; }
  constexpr std::size_t index() const { return value; }
  constexpr auto operator<=>(const Id&) const = default;
};

using NodeId = Id<struct NodeTag>;
using QueueId = Id<struct QueueTag>;
using ShapeId = Id<struct ShapeTag>;
using WorkloadId = Id<struct WorkloadTag>;
using ResourceId = Id<struct ResourceTag>;

}  // namespace berth

template <class Tag>
struct std::hash<berth::Id<Tag>> {
  std::size_t operator()(berth::Id<Tag> id) const noexcept { return std::hash<std::uint32_t>()(id.value); }
};
