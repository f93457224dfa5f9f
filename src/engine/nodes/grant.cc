#include "engine/nodes/grant.h"

#include <algorithm>
#include <bit>

namespace berth::engine {
namespace {

constexpr std::size_t kFirstPlaces = 64;

std::size_t hash_of(std::span<const Piece> pieces) {
  std::uint64_t hash = pieces.size();
  for (const Piece piece : pieces) {
    hash = (hash ^ std::bit_cast<std::uint64_t>(piece)) * 0x9e3779b97f4a7c15u;
    hash ^= hash >> 29;
  }
  return static_cast<std::size_t>(hash);
}

}  // namespace

Grants::Grants() {
  entries_.emplace_back();  // nothing()
  index_again(kFirstPlaces);
}

GrantId Grants::intern(const Grant& grant) {
  if (grant.pieces.empty()) return nothing();
  const std::size_t mask = index_.size() - 1;
  for (std::size_t at = hash_of(grant.pieces) & mask; index_[at] != 0; at = (at + 1) & mask) {
    const GrantId known(index_[at] - 1);
    if (std::ranges::equal(pieces(known), grant.pieces)) return known;
  }
  std::uint32_t id = static_cast<std::uint32_t>(entries_.size());
  if (free_.empty()) {
    entries_.emplace_back();
  } else {
    id = free_.back();
    free_.pop_back();
  }
  entries_[id] = {static_cast<std::uint32_t>(pieces_.size()),
                  static_cast<std::uint32_t>(grant.pieces.size())};
  pieces_.insert(pieces_.end(), grant.pieces.begin(), grant.pieces.end());
  if (2 * known() > index_.size()) {
    index_again(2 * index_.size());
  } else {
    put(id);
  }
  return GrantId(id);
}

std::vector<std::int64_t> Grants::device_list(GrantId id) const {
  std::vector<std::int64_t> out;
  for (const Piece& piece : pieces(id)) out.push_back(piece.device);
  return out;
}

void Grants::keep_only(const std::vector<bool>& marked) {
  std::vector<Piece> kept;
  free_.clear();
  for (std::size_t i = entries_.size(); i-- > 1;) {
    Entry& entry = entries_[i];
    if (i < marked.size() && marked[i]) {
      const auto from = pieces_.begin() + entry.begin;
      entry.begin = static_cast<std::uint32_t>(kept.size());
      kept.insert(kept.end(), from, from + entry.count);
    } else {
      entry = Entry{};
      free_.push_back(static_cast<std::uint32_t>(i));
    }
  }
  pieces_ = std::move(kept);
  kept_ = known();
  index_again(std::max(kFirstPlaces, std::bit_ceil(2 * known())));
}

void Grants::index_again(std::size_t places) {
  index_.assign(places, 0);
  for (std::size_t i = 1; i < entries_.size(); ++i) {
    if (entries_[i].count > 0) put(static_cast<std::uint32_t>(i));
  }
}

void Grants::put(std::uint32_t id) {
  const std::size_t mask = index_.size() - 1;
  std::size_t at = hash_of(pieces(GrantId(id))) & mask;
  while (index_[at] != 0) at = (at + 1) & mask;
  index_[at] = id + 1;
}

}  // namespace berth::engine
