#include "scheduler/kueue/ownership.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace berth::scheduler {

const std::string* Ownership::record_of(const std::string& key) const {
  const auto it = by_key_.find(key);
  return it == by_key_.end() ? nullptr : &it->second;
}

void Ownership::set_foreign(const std::string& key, std::vector<std::string> owners) {
  auto& now = foreign_[key];
  for (const auto& owner : now) foreign_owners_.erase(owner);
  now = std::move(owners);
  for (const auto& owner : now) foreign_owners_.insert_or_assign(owner, key);
}

std::vector<std::string> Ownership::forget_foreign(const std::string& key) {
  std::vector<std::string> out;
  const auto it = foreign_.find(key);
  if (it == foreign_.end()) return out;
  for (const auto& owner : it->second) {
    foreign_owners_.erase(owner);
    out.push_back(owner.substr(owner.find('/') + 1));
    told_.erase(out.back());
  }
  foreign_.erase(it);
  return out;
}

bool Ownership::is_foreign(const dialect::WorkloadSketch& sketch) const {
  const std::string key = fmt::format("{}/{}", sketch.ns, sketch.name);
  const std::string* other = record_of(key);
  if (other != nullptr && *other != sketch.uid) return true;
  if (foreign_.empty()) return false;
  if (foreign_.contains(key)) return true;
  return std::any_of(sketch.owners.begin(), sketch.owners.end(), [&](const auto& owner) {
    return foreign_owners_.contains(fmt::format("{}/{}", sketch.ns, owner.uid));
  });
}

std::string Ownership::take_redirected(const std::string& record) {
  const auto it = moved_.find(record);
  if (it == moved_.end()) return record;
  std::string out = std::move(it->second);
  moved_.erase(it);
  return out;
}

}  // namespace berth::scheduler
