// Dense ids for text keys, and items with such an id. The id of an item that is gone is used again, the last one first; its value stays
// until then. Cost: O(1) per call, amortized.
//
// OwnKeyIds is for many items that hold their keys themselves: it has no copy of them.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/text_index.h"

namespace berth::engine {

// Ids for new items.
template <class IdType>
class FreeIds {
 public:
  IdType take() {
    if (free_.empty()) return IdType(used_++);
    const IdType id = free_.back();
    free_.pop_back();
    return id;
  }
  void give_back(IdType id) { free_.push_back(id); }

 private:
  std::vector<IdType> free_;
  std::size_t used_ = 0;  // that were ever in use
};

template <class IdType>
class KeyedIds {
 public:
  std::optional<IdType> find(const std::string& key) const {
    const auto it = index_.find(key);
    return it == index_.end() ? std::nullopt : std::optional(it->second);
  }
  // There is none of this key.
  IdType add(const std::string& key) {
    const IdType id = ids_.take();
    index_.emplace(key, id);
    return id;
  }
  void erase(const std::string& key, IdType id) {
    index_.erase(key);
    ids_.give_back(id);
  }

 private:
  std::unordered_map<std::string, IdType> index_;
  FreeIds<IdType> ids_;
};

template <class IdType>
class OwnKeyIds {
 public:
  // `key_of(id)`: the key of an item.
  template <class KeyOf>
  std::optional<IdType> find(std::string_view key, KeyOf&& key_of) const {
    const std::uint32_t at =
        index_.find(key, [&](std::uint32_t item) { return key_of(IdType(item)) == key; });
    return at == TextIndex::kNone ? std::nullopt : std::optional(IdType(at));
  }
  // There is none of this key.
  IdType add(std::string_view key) {
    const IdType id = ids_.take();
    index_.add(key, static_cast<std::uint32_t>(id.index()));
    return id;
  }
  void erase(std::string_view key, IdType id) {
    index_.erase(key, [&](std::uint32_t item) { return item == id.index(); });
    ids_.give_back(id);
  }

 private:
  TextIndex index_;
  FreeIds<IdType> ids_;
};

template <class T, class IdType>
class Keyed {
 public:
  std::optional<IdType> find(const std::string& key) const { return ids_.find(key); }
  // There is none of this key.
  IdType add(const std::string& key) {
    const IdType id = ids_.add(key);
    if (id.index() == items_.size()) {
      items_.emplace_back();
    } else {
      items_[id.index()] = T{};
    }
    return id;
  }
  void erase(const std::string& key, IdType id) { ids_.erase(key, id); }

  T& operator[](IdType id) { return items_[id.index()]; }
  const T& operator[](IdType id) const { return items_[id.index()]; }
  // Ids that were ever in use.
  std::size_t size() const { return items_.size(); }

 private:
  KeyedIds<IdType> ids_;
  std::vector<T> items_;
};

}  // namespace berth::engine
