#include "engine/nodes/grant.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace berth::engine {
namespace {

constexpr std::size_t kFirstPlaces = 64;

std::size_t hash_of(const GrantView& grant) {
  std::uint64_t hash = grant.pieces.size();
  const auto mix = [&](std::uint64_t value) {
    hash = (hash ^ value) * 0x9e3779b97f4a7c15u;
    hash ^= hash >> 29;
  };
  for (const Piece piece : grant.pieces) mix(std::bit_cast<std::uint64_t>(piece));
  for (const TokenId token : grant.tokens) mix(token.value);
  return static_cast<std::size_t>(hash);
}

bool equal(const GrantView& a, const GrantView& b) {
  return std::ranges::equal(a.pieces, b.pieces) && std::ranges::equal(a.tokens, b.tokens);
}

}  // namespace

Grants::Grants() {
  entries_.emplace_back();  // nothing()
  index_again(kFirstPlaces);
}

GrantId Grants::intern(const GrantView& grant) {
  if (grant.empty()) return nothing();
  const std::size_t mask = index_.size() - 1;
  for (std::size_t at = hash_of(grant) & mask; index_[at] != 0; at = (at + 1) & mask) {
    const GrantId known(index_[at] - 1);
    if (equal((*this)[known], grant)) return known;
  }
  std::uint32_t id = static_cast<std::uint32_t>(entries_.size());
  if (free_.empty()) {
    entries_.emplace_back();
  } else {
    id = free_.back();
    free_.pop_back();
  }
  entries_[id] = {static_cast<std::uint32_t>(pieces_.size()), static_cast<std::uint32_t>(tokens_.size()),
                  static_cast<std::uint32_t>(grant.pieces.size()),
                  static_cast<std::uint32_t>(grant.tokens.size())};
  pieces_.insert(pieces_.end(), grant.pieces.begin(), grant.pieces.end());
  tokens_.insert(tokens_.end(), grant.tokens.begin(), grant.tokens.end());
  if (2 * known() > index_.size()) {
    index_again(2 * index_.size());
  } else {
    put(id);
  }
  return GrantId(id);
}

std::vector<std::int64_t> Grants::device_list(GrantId id) const {
  std::vector<std::int64_t> out;
  for (const Piece& piece : (*this)[id].pieces) out.push_back(piece.device);
  return out;
}

void Grants::keep_only(const std::vector<bool>& marked) {
  const std::vector<Piece> pieces = std::exchange(pieces_, {});
  const std::vector<TokenId> tokens = std::exchange(tokens_, {});
  const auto take = [](auto& to, const auto& from, std::uint32_t& first, std::uint32_t count) {
    const auto begin = from.begin() + first;
    first = static_cast<std::uint32_t>(to.size());
    to.insert(to.end(), begin, begin + count);
  };
  free_.clear();
  for (std::size_t i = entries_.size(); i-- > 1;) {
    Entry& entry = entries_[i];
    if (i < marked.size() && marked[i]) {
      take(pieces_, pieces, entry.first_piece, entry.pieces);
      take(tokens_, tokens, entry.first_token, entry.tokens);
    } else {
      entry = Entry{};
      free_.push_back(static_cast<std::uint32_t>(i));
    }
  }
  kept_ = known();
  index_again(std::max(kFirstPlaces, std::bit_ceil(2 * known())));
}

void Grants::index_again(std::size_t places) {
  index_.assign(places, 0);
  for (std::size_t i = 1; i < entries_.size(); ++i) {
    if (entries_[i].pieces + entries_[i].tokens > 0) put(static_cast<std::uint32_t>(i));
  }
}

void Grants::put(std::uint32_t id) {
  const std::size_t mask = index_.size() - 1;
  std::size_t at = hash_of((*this)[GrantId(id)]) & mask;
  while (index_[at] != 0) at = (at + 1) & mask;
  index_[at] = id + 1;
}

}  // namespace berth::engine
