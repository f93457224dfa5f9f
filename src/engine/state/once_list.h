// Ids in the order in which they came, each once. Cost: O(1) per call, amortized.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace berth::engine {

template <class IdType>
class OnceList {
 public:
  void add(IdType id) {
    if (is_in_.size() <= id.index()) is_in_.resize(id.index() + 1, 0);
    if (std::exchange(is_in_[id.index()], 1) == 0) ids_.push_back(id);
  }
  bool empty() const { return ids_.empty(); }
  std::vector<IdType> take() {
    for (const IdType id : ids_) is_in_[id.index()] = 0;
    return std::exchange(ids_, {});
  }

 private:
  std::vector<IdType> ids_;
  std::vector<std::uint8_t> is_in_;  // by id
};

}  // namespace berth::engine
