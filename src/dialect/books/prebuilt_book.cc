#include "dialect/books/prebuilt_book.h"

#include "dialect/base/names.h"

namespace berth::dialect {

std::vector<std::string> PrebuiltBook::keys() const {
  std::vector<std::string> out;
  for (const auto& [key, object] : objects_) out.push_back(key);
  return out;
}

PrebuiltBook::Object PrebuiltBook::find(const std::string& key) const {
  const auto it = objects_.find(key);
  return it == objects_.end() ? nullptr : it->second;
}

void PrebuiltBook::put(const std::string& key, Object object) {
  if (const auto former = object->meta.annotation(kKueueSliceFor); !former.empty())
    slices_[std::string(former)].insert(key);
  objects_.insert_or_assign(key, std::move(object));
}

std::string PrebuiltBook::erase(const std::string& key) {
  const auto known = objects_.find(key);
  if (known == objects_.end()) return {};
  std::string former(known->second->meta.annotation(kKueueSliceFor));
  objects_.erase(known);
  if (const auto slices = slices_.find(former); slices != slices_.end()) {
    slices->second.erase(key);
    if (slices->second.empty()) slices_.erase(slices);
  }
  return former;
}

const std::string* PrebuiltBook::owner_of(const std::string& key) const {
  const auto it = owners_.find(key);
  return it == owners_.end() ? nullptr : &it->second;
}

void PrebuiltBook::claim(const std::string& key, const std::string& workload) {
  owners_.insert_or_assign(key, workload);
  new_claims_.insert(key);
  unsettled_.insert(key);
}

void PrebuiltBook::release(const std::string& key) {
  owners_.erase(key);
  new_claims_.erase(key);
  unsettled_.insert(key);
}

bool PrebuiltBook::take_claim(const std::string& key) {
  return new_claims_.erase(key) > 0 && owners_.contains(key);
}

void PrebuiltBook::unsettle_successors(const std::string& key) {
  if (const auto slices = slices_.find(key); slices != slices_.end())
    unsettled_.insert(slices->second.begin(), slices->second.end());
}

std::optional<std::string> PrebuiltBook::next_unsettled() const {
  return unsettled_.empty() ? std::nullopt : std::optional(*unsettled_.begin());
}

void PrebuiltBook::finish(const std::string& key) {
  auto over = std::make_shared<KueueWorkload>(*objects_.at(key));
  over->finished = true;
  objects_[key] = std::move(over);
  finished_.insert(key);
  unsettled_.insert(key);
}

std::vector<std::string> PrebuiltBook::take_finished() {
  const auto keys = std::exchange(finished_, {});
  return {keys.begin(), keys.end()};
}

}  // namespace berth::dialect
