// Names to dense indices and back. Indices are given out in order of first appearance and never change. So the same sequence of
// calls gives the same indices on every machine. Nothing may iterate the hash map inside.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

namespace berth {

class Interner {
 public:
  // The index of `name`, which is added when it is new. O(1) expected.
  std::uint32_t intern(std::string_view name) {
    if (const auto it = index_.find(name); it != index_.end()) return it->second;
    const auto id = static_cast<std::uint32_t>(names_.size());
    names_.emplace_back(name);
    index_.emplace(names_.back(), id);
    return id;
  }
  std::optional<std::uint32_t> find(std::string_view name) const {
    const auto it = index_.find(name);
    if (it == index_.end()) return std::nullopt;
    return it->second;
  }
  const std::string& name(std::uint32_t id) const { return names_[id]; }
  std::size_t size() const { return names_.size(); }

 private:
  std::deque<std::string>
      names_;  // a deque: growing never moves a name, so that the views in index_ stay good
  std::unordered_map<std::string_view, std::uint32_t> index_;
};

}  // namespace berth
