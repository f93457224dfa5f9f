// A queue of large items that gives its memory back while it drains, chunk by chunk. Chunks double in size up to kMostBytes. Such large
// ones have pages of their own. So a long queue leaves no holes in the heap. A whole queue moves behind another one without a copy.
//
// Cost: O(1) per call, amortized; splice() O(1); each() O(items).
#pragma once

#include <algorithm>
#include <cstddef>
#include <list>
#include <utility>
#include <vector>

namespace berth {

template <class T, std::size_t kMostBytes = std::size_t{2} << 20>
class ChunkQueue {
 public:
  ChunkQueue() = default;
  ChunkQueue(ChunkQueue&& other) noexcept
      : chunks_(std::move(other.chunks_)), size_(std::exchange(other.size_, 0)) {}
  // Its own items are gone, and the other is empty.
  ChunkQueue& operator=(ChunkQueue&& other) noexcept {
    ChunkQueue taken(std::move(other));
    chunks_.swap(taken.chunks_);
    std::swap(size_, taken.size_);
    return *this;
  }

  void push_back(T item) {
    if (chunks_.empty() || chunks_.back().items.size() == chunks_.back().items.capacity()) add_chunk();
    chunks_.back().items.push_back(std::move(item));
    ++size_;
  }
  // Not of an empty queue.
  T& front() { return chunks_.front().items[chunks_.front().first]; }
  void pop_front() {
    (void)T(std::move(front()));  // its memory is free at once
    Chunk& chunk = chunks_.front();
    if (++chunk.first == chunk.items.size()) chunks_.pop_front();
    --size_;
  }
  // Moves all of the other queue behind this one.
  void splice(ChunkQueue&& other) {
    chunks_.splice(chunks_.end(), other.chunks_);
    size_ += std::exchange(other.size_, 0);
  }
  template <class F>
  void each(F&& f) const {
    for (const Chunk& chunk : chunks_) {
      for (std::size_t at = chunk.first; at < chunk.items.size(); ++at) f(chunk.items[at]);
    }
  }
  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }

 private:
  struct Chunk {
    std::vector<T> items;   // never more than it has room for
    std::size_t first = 0;  // those before it are gone
  };
  static constexpr std::size_t kLeast = 16;
  static constexpr std::size_t kMost = std::max(kLeast, kMostBytes / sizeof(T));

  void add_chunk() {
    const std::size_t room = chunks_.empty() ? kLeast : std::min(kMost, 2 * chunks_.back().items.capacity());
    chunks_.emplace_back().items.reserve(room);
  }

  std::list<Chunk> chunks_;
  std::size_t size_ = 0;
};

}  // namespace berth
