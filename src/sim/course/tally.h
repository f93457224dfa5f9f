// Sums by key over a stream of any length: equal keys share one entry. With too many entries the owner makes the keys coarser
// (rekey()), so that memory is bounded and only detail is lost. The sums do not depend on the order of the stream.
//
// Memory: `most` entries and a buffer of a quarter as many, at most 65,536. add() costs O(log(buffer)), and each
// full buffer one pass over the entries.
#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

namespace berth::sim {

// Key has a total order; Sum has += and begins at Sum().
template <class Key, class Sum>
class Tally {
 public:
  using Entry = std::pair<Key, Sum>;

  // `most` entries are what the owner leaves after rekey().
  explicit Tally(std::size_t most) : most_(most), buffer_(std::min(kMostBuffer, most / 4 + 1)) {}

  void add(const Key& key, const Sum& sum) {
    if (!fresh_.empty() && fresh_.back().first == key) {
      fresh_.back().second += sum;
    } else {
      fresh_.emplace_back(key, sum);
    }
  }
  // settle() is due: the buffer grows no further.
  bool full() const { return fresh_.size() >= buffer_; }

  // Brings the buffer into the entries.
  void settle() {
    if (fresh_.empty()) return;
    std::sort(fresh_.begin(), fresh_.end(), by_key);
    unite(fresh_);
    const auto middle = static_cast<std::ptrdiff_t>(entries_.size());
    const std::size_t wanted = entries_.size() + fresh_.size();
    if (wanted > entries_.capacity()) {  // doubled, but for the last time no further than needed
      entries_.reserve(std::max(wanted, std::min(2 * wanted, most_ + 2 * buffer_)));
    }
    entries_.insert(entries_.end(), fresh_.begin(), fresh_.end());
    std::inplace_merge(entries_.begin(), entries_.begin() + middle, entries_.end(), by_key);
    unite(entries_);
    fresh_.clear();
  }
  // Ascending, each key once; without what was added since settle().
  const std::vector<Entry>& entries() const { return entries_; }
  // Replaces every key by `coarser(key)`, which must keep their order. After settle().
  template <class Coarser>
  void rekey(Coarser&& coarser) {
    for (Entry& entry : entries_) entry.first = coarser(entry.first);
    unite(entries_);
  }

  std::size_t memory_bytes() const { return (entries_.capacity() + fresh_.capacity()) * sizeof(Entry); }

 private:
  static bool by_key(const Entry& a, const Entry& b) { return a.first < b.first; }
  static void unite(std::vector<Entry>& sorted) {
    if (sorted.empty()) return;
    std::size_t last = 0;
    for (std::size_t i = 1; i < sorted.size(); ++i) {
      if (sorted[last].first == sorted[i].first) {
        sorted[last].second += sorted[i].second;
      } else if (++last != i) {
        sorted[last] = sorted[i];
      }
    }
    sorted.resize(last + 1);
  }

  static constexpr std::size_t kMostBuffer = std::size_t{1} << 16;
  std::size_t most_;
  std::size_t buffer_;
  std::vector<Entry> entries_;
  std::vector<Entry> fresh_;
};

}  // namespace berth::sim
