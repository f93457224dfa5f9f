// A grant is what one slot has on its node beyond plain amounts: pieces of devices, and tokens (nodes/tokens.h). Grants are values
// and interned: slots that have the same share one entry, and a slot, a charge and the undo log keep its number.
//
// The table takes O(pieces and tokens) for each look-up, and no memory for a grant that it knows. keep_only() drops what nothing refers to;
// the other numbers stay.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/ids.h"
#include "model/resources.h"

namespace berth::engine {

using GrantId = Id<struct GrantTag>;
using TokenId = Id<struct TokenTag>;

// A device of the node, or a part of one.
struct Piece {
  std::uint16_t device = 0;  // its number on the node
  std::uint16_t start = 0;   // of a partition: where it begins on the device
  std::int32_t milli = kWholeDevice;
  auto operator<=>(const Piece&) const = default;
};

struct Grant {
  std::vector<Piece> pieces;    // ascending
  std::vector<TokenId> tokens;  // ascending

  void clear() {
    pieces.clear();
    tokens.clear();
  }
};

// The same, where others keep it.
struct GrantView {
  std::span<const Piece> pieces;
  std::span<const TokenId> tokens;

  GrantView(std::span<const Piece> of_pieces, std::span<const TokenId> of_tokens)
      : pieces(of_pieces), tokens(of_tokens) {}
  GrantView(const Grant& grant) : pieces(grant.pieces), tokens(grant.tokens) {}
  bool empty() const { return pieces.empty() && tokens.empty(); }
};

class Grants {
 public:
  Grants();

  // The grant of a slot that has plain amounts alone.
  static constexpr GrantId nothing() { return GrantId(0u); }
  GrantId intern(const GrantView& grant);
  // Valid until the next intern() or keep_only().
  GrantView operator[](GrantId id) const {
    const Entry& entry = entries_[id.index()];
    return {{pieces_.data() + entry.first_piece, entry.pieces},
            {tokens_.data() + entry.first_token, entry.tokens}};
  }
  // The numbers of its devices, as decisions name them.
  std::vector<std::int64_t> device_list(GrantId id) const;

  // A grant to fill and to intern next: its memory is used again.
  Grant& blank() { return blank_; }
  GrantId intern_blank() { return intern(blank_); }

  // Numbers that have been given, in use or not.
  std::size_t size() const { return entries_.size(); }
  // How many grants it knows.
  std::size_t known() const { return entries_.size() - free_.size(); }
  // It knows more than twice as many as the last keep_only() left.
  bool grown() const { return known() > 2 * kept_ + kSpare; }
  // Drops the grants that are not marked, by number. A dropped number is given again.
  void keep_only(const std::vector<bool>& marked);

 private:
  static constexpr std::size_t kSpare = 1024;

  struct Entry {
    std::uint32_t first_piece = 0;
    std::uint32_t first_token = 0;
    std::uint32_t pieces = 0;
    std::uint32_t tokens = 0;
  };

  void index_again(std::size_t places);
  void put(std::uint32_t id);

  std::vector<Entry> entries_;
  std::vector<Piece> pieces_;
  std::vector<TokenId> tokens_;
  std::vector<std::uint32_t> free_;  // numbers of dropped grants, the lowest last
  std::size_t kept_ = 0;
  Grant blank_;
  std::vector<std::uint32_t> index_;  // open addressing over the values: number + 1, or 0
};

}  // namespace berth::engine
