// Numbers by text, where the numbered items hold the text themselves: the index has eight bytes for each, and no copy of the text.
//
//   index.find(uid, [&](std::uint32_t at) { return pods[at].uid == uid; })
//
// Linear probing; a removal moves what follows back (Knuth, The Art of Computer Programming 3, 6.4, algorithm R). Cost: O(1) per call,
// amortized; a lookup compares the text of the items with the same hash only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string_view>
#include <utility>
#include <vector>

namespace berth {

class TextIndex {
 public:
  static constexpr std::uint32_t kNone = 0xffffffffu;

  // `is`: whether the item of a number has this text.
  template <class Is>
  std::uint32_t find(std::string_view text, Is&& is) const {
    const std::size_t place = place_of(text, is);
    return place == kNowhere ? kNone : slots_[place].item;
  }
  // No item has this text.
  void add(std::string_view text, std::uint32_t item) {
    if (2 * (size_ + 1) > slots_.size()) grow();
    put({hash(text), item});
    ++size_;
  }
  // False: no item has it.
  template <class Is>
  bool erase(std::string_view text, Is&& is) {
    std::size_t hole = place_of(text, is);
    if (hole == kNowhere) return false;
    for (std::size_t at = next(hole); slots_[at].item != kNone; at = next(at)) {
      const std::size_t home = slots_[at].hash & mask();
      // It stays where it is if its home lies behind the hole, in the order of the probes.
      if (((at - home) & mask()) < ((at - hole) & mask())) continue;
      slots_[hole] = slots_[at];
      hole = at;
    }
    slots_[hole] = {};
    --size_;
    return true;
  }
  std::size_t size() const { return size_; }

 private:
  struct Slot {
    std::uint32_t hash = 0;
    std::uint32_t item = kNone;
  };
  static constexpr std::size_t kNowhere = static_cast<std::size_t>(-1);

  static std::uint32_t hash(std::string_view text) {
    return static_cast<std::uint32_t>(std::hash<std::string_view>{}(text));
  }
  std::size_t mask() const { return slots_.size() - 1; }
  std::size_t next(std::size_t at) const { return (at + 1) & mask(); }
  template <class Is>
  std::size_t place_of(std::string_view text, Is&& is) const {
    if (slots_.empty()) return kNowhere;
    const std::uint32_t wanted = hash(text);
    for (std::size_t at = wanted & mask(); slots_[at].item != kNone; at = next(at)) {
      if (slots_[at].hash == wanted && is(slots_[at].item)) return at;
    }
    return kNowhere;
  }
  void put(Slot slot) {
    std::size_t at = slot.hash & mask();
    while (slots_[at].item != kNone) at = next(at);
    slots_[at] = slot;
  }
  void grow() {
    const std::vector<Slot> before =
        std::exchange(slots_, std::vector<Slot>(slots_.empty() ? 16 : 2 * slots_.size()));
    for (const Slot& slot : before) {
      if (slot.item != kNone) put(slot);
    }
  }

  std::vector<Slot> slots_;  // a power of two, at most half of them taken
  std::size_t size_ = 0;
};

}  // namespace berth
