#include "dialect/books/planned_book.h"

#include <string_view>
#include <utility>

#include "dialect/base/names.h"
#include "dialect/books/draft_book.h"
#include "dialect/kueue/kueue_workload.h"

namespace berth::dialect {

PlannedBook::Object PlannedBook::find(std::string_view key) const {
  const auto it = objects_.find(key);
  return it == objects_.end() ? nullptr : it->second;
}

std::vector<std::string> PlannedBook::put(const std::string& key, Object object) {
  std::set<std::string> others;  // the slice that this one replaces, or replaced
  const auto known = objects_.find(key);
  if (known != objects_.end()) {
    if (const auto name = known->second->meta.annotation(kKueueSliceFor); !name.empty()) {
      others.emplace(name);
      const auto next = slices_.find(name);
      next->second.erase(key);
      if (next->second.empty()) slices_.erase(next);
    }
    objects_.erase(known);
  }
  if (object != nullptr) {
    if (const auto name = object->meta.annotation(kKueueSliceFor); !name.empty()) {
      others.emplace(name);
      slices_[std::string(name)].insert(key);
    }
    objects_.emplace(key, std::move(object));
  }
  others.erase(key);
  std::vector<std::string> out(others.begin(), others.end());
  out.push_back(key);
  if (const auto next = slices_.find(key); next != slices_.end())
    out.insert(out.end(), next->second.begin(), next->second.end());
  return out;
}

// As soon as it has quota for the rest. Candidates ask for no less in any of its pod sets; the first that was created is it.
const KueueWorkload* PlannedBook::next_of(const KueueWorkload& of) const {
  const auto next = slices_.find(key_of(of.meta.ns, of.meta.name));
  if (next == slices_.end() || of.admitted_to.empty() || of.evicted) return nullptr;
  const KueueWorkload* first = nullptr;
  for (const auto& key : next->second) {  // by name: of two made at once the first of them
    const KueueWorkload& to = *objects_.at(key);
    if (&to == &of || !to.admitted_to.empty() || to.meta.ns != of.meta.ns || to.queue != of.queue) continue;
    bool grows = to.pod_sets.size() == of.pod_sets.size();
    for (std::size_t s = 0; grows && s < to.pod_sets.size(); ++s)
      grows = to.pod_sets[s].name == of.pod_sets[s].name && slots_of(to, s) >= slots_of(of, s);
    if (grows && (first == nullptr || to.meta.created < first->meta.created)) first = &to;
  }
  return first;
}

PlannedBook::Object PlannedBook::former_of(const KueueWorkload& object) const {
  Object former = find(object.meta.annotation(kKueueSliceFor));
  return former != nullptr && next_of(*former) == &object ? former : nullptr;
}

}  // namespace berth::dialect
