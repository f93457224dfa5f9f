#include "dialect/books/promises.h"

#include <algorithm>
#include <utility>

namespace berth::dialect {
namespace {

template <class Map>
const auto* value_of(const Map& map, std::string_view key) {
  if (map.empty()) return static_cast<const typename Map::mapped_type*>(nullptr);
  const auto it = map.find(std::string(key));
  return it == map.end() ? nullptr : &it->second;
}

}  // namespace

bool Promises::set_rest(std::string_view workload, std::optional<Reason> why) {
  if (!why) return rests_.erase(std::string(workload)) > 0;
  rests_.insert_or_assign(std::string(workload), std::move(*why));
  return true;
}

const Reason* Promises::rest(const std::string& workload) const {
  return value_of(rests_, workload);
}

bool Promises::set_standing(std::string_view workload, const Standing& standing) {
  const Standing* known = this->standing(workload);
  if ((known == nullptr ? Standing{} : *known) == standing) return false;
  if (standing == Standing{}) {
    standings_.erase(std::string(workload));
  } else {
    standings_.insert_or_assign(std::string(workload), standing);
  }
  return true;
}

const Standing* Promises::standing(std::string_view workload) const {
  return value_of(standings_, workload);
}

bool Promises::amend(std::string_view owner, std::span<const PodSetUpdate> updates) {
  const auto known = amendments(owner);
  if (std::equal(known.begin(), known.end(), updates.begin(), updates.end())) return false;
  if (updates.empty()) {
    amendments_.erase(std::string(owner));
  } else {
    amendments_.insert_or_assign(std::string(owner), std::vector(updates.begin(), updates.end()));
  }
  return true;
}

std::span<const PodSetUpdate> Promises::amendments(std::string_view owner) const {
  const auto* known = value_of(amendments_, owner);
  return known == nullptr ? std::span<const PodSetUpdate>() : std::span<const PodSetUpdate>(*known);
}

bool Promises::set_nodes_came(std::string_view workload, bool came) {
  const std::string uid(workload);
  return came ? supplied_.insert(uid).second : supplied_.erase(uid) > 0;
}

bool Promises::set_asks_nodes(std::string_view workload, bool asks) {
  const std::string uid(workload);
  return asks ? asking_.insert(uid).second : asking_.erase(uid) > 0;
}

void Promises::forget_owner(const std::string& uid) {
  rests_.erase(uid);
  amendments_.erase(uid);
}

}  // namespace berth::dialect
