// A queue of variants, each in the room of its own kind. A std::variant takes the room of its largest kind, which is a waste where small
// ones are many. Like ChunkQueue it gives its memory back while it drains.
//
// Cost: O(1) per call, amortized; splice() O(kinds); each_of() and erase_if() O(items).
#pragma once

#include <cstddef>
#include <cstdint>
#include <tuple>
#include <utility>
#include <variant>

#include "base/chunk_queue.h"

namespace berth {

template <class Variant>
class VariantQueue;

template <class... Kinds>
class VariantQueue<std::variant<Kinds...>> {
 public:
  using Item = std::variant<Kinds...>;

  VariantQueue() = default;
  VariantQueue(VariantQueue&& other) noexcept
      : of_(std::move(other.of_)), order_(std::move(other.order_)), size_(std::exchange(other.size_, 0)) {}
  // Its own items are gone, and the other is empty.
  VariantQueue& operator=(VariantQueue&& other) noexcept {
    of_ = std::move(other.of_);
    order_ = std::move(other.order_);
    size_ = std::exchange(other.size_, 0);
    return *this;
  }

  void push_back(Item item) {
    order_.push_back(static_cast<std::uint8_t>(item.index()));
    std::visit([&]<class Kind>(Kind& value) { of<Kind>().push_back(std::move(value)); }, item);
    ++size_;
  }
  // The first one. Not of an empty queue.
  Item take() {
    static constexpr Item (*kTake[])(VariantQueue&) = {&take_of<Kinds>...};
    const std::uint8_t kind = order_.front();
    order_.pop_front();
    --size_;
    return kTake[kind](*this);
  }
  // Moves all of the other queue behind this one.
  void splice(VariantQueue&& other) {
    (of<Kinds>().splice(std::move(other.template of<Kinds>())), ...);
    order_.splice(std::move(other.order_));
    size_ += std::exchange(other.size_, 0);
  }
  // Those of one kind, in order.
  template <class Kind, class F>
  void each_of(F&& f) const {
    std::get<ChunkQueue<Kind>>(of_).each(f);
  }
  // Asked of each once, in order.
  template <class Is>
  void erase_if(Is&& is) {
    VariantQueue kept;
    while (!empty()) {
      Item item = take();
      if (!is(std::as_const(item))) kept.push_back(std::move(item));
    }
    *this = std::move(kept);
  }
  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }

 private:
  template <class Kind>
  ChunkQueue<Kind>& of() {
    return std::get<ChunkQueue<Kind>>(of_);
  }
  template <class Kind>
  static Item take_of(VariantQueue& queue) {
    Item item(std::in_place_type<Kind>, std::move(queue.of<Kind>().front()));
    queue.of<Kind>().pop_front();
    return item;
  }

  std::tuple<ChunkQueue<Kinds>...> of_;
  ChunkQueue<std::uint8_t> order_;  // which kind comes next
  std::size_t size_ = 0;
};

}  // namespace berth
