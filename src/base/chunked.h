// A list of large items that grows without moving them, and without room for as many again. Items are made in chunks, as T{}.
// Cost: O(1) per call; an access is one step longer than with a vector.
#pragma once

#include <cstddef>
#include <iterator>
#include <memory>
#include <utility>
#include <vector>

namespace berth {

template <class T, std::size_t kChunk = 64>
class Chunked {
  static_assert((kChunk & (kChunk - 1)) == 0);

 public:
  Chunked() = default;
  Chunked(Chunked&& other) noexcept
      : chunks_(std::move(other.chunks_)), size_(std::exchange(other.size_, 0)) {}
  // The other is empty afterwards.
  Chunked& operator=(Chunked&& other) noexcept {
    Chunked taken(std::move(other));
    chunks_.swap(taken.chunks_);
    std::swap(size_, taken.size_);
    return *this;
  }

  T& operator[](std::size_t at) { return chunks_[at / kChunk][at % kChunk]; }
  const T& operator[](std::size_t at) const { return chunks_[at / kChunk][at % kChunk]; }
  T& emplace_back() {
    if (size_ == kChunk * chunks_.size()) chunks_.push_back(std::make_unique<T[]>(kChunk));
    return (*this)[size_++];
  }
  // Keeps the room.
  void clear() {
    for (T& item : *this) item = T{};
    size_ = 0;
  }
  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }

  template <class Of, class Item>
  class Each {
   public:
    using iterator_category = std::forward_iterator_tag;
    using value_type = T;
    using difference_type = std::ptrdiff_t;
    using pointer = Item*;
    using reference = Item&;
    Each() = default;
    Each(Of* of, std::size_t at) : of_(of), at_(at) {}
    Item& operator*() const { return (*of_)[at_]; }
    Item* operator->() const { return &(*of_)[at_]; }
    Each& operator++() {
      ++at_;
      return *this;
    }
    Each operator++(int) {
      Each before = *this;
      ++at_;
      return before;
    }
    bool operator==(const Each&) const = default;

   private:
    Of* of_ = nullptr;
    std::size_t at_ = 0;
  };
  auto begin() { return Each<Chunked, T>(this, 0); }
  auto end() { return Each<Chunked, T>(this, size_); }
  auto begin() const { return Each<const Chunked, const T>(this, 0); }
  auto end() const { return Each<const Chunked, const T>(this, size_); }

 private:
  std::vector<std::unique_ptr<T[]>> chunks_;
  std::size_t size_ = 0;
};

}  // namespace berth
