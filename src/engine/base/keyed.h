// Items with a text key and a dense id. The id of an item that is gone is used again, the last one first; its value stays until then.
// Cost: O(1) per call, amortized.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

namespace berth::engine {

template <class T, class IdType>
class Keyed {
 public:
  std::optional<IdType> find(const std::string& key) const {
    const auto it = index_.find(key);
    return it == index_.end() ? std::nullopt : std::optional(it->second);
  }
  // There is none of this key.
  IdType add(const std::string& key) {
    IdType id(items_.size());
    if (free_.empty()) {
      items_.emplace_back();
    } else {
      id = free_.back();
      free_.pop_back();
      items_[id.index()] = T{};
    }
    index_.emplace(key, id);
    return id;
  }
  void erase(const std::string& key, IdType id) {
    index_.erase(key);
    free_.push_back(id);
  }

  T& operator[](IdType id) { return items_[id.index()]; }
  const T& operator[](IdType id) const { return items_[id.index()]; }
  // Ids that were ever in use.
  std::size_t size() const { return items_.size(); }

 private:
  std::vector<T> items_;
  std::vector<IdType> free_;
  std::unordered_map<std::string, IdType> index_;
};

}  // namespace berth::engine
