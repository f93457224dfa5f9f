#include "dialect/intake/pod_book.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <utility>

namespace berth::dialect {
namespace {

std::string text_of(const Repulsion& r) {
  std::string out = r.all_namespaces ? "*" : fmt::format("{}", fmt::join(r.namespaces, ","));
  for (const auto& q : r.selector.requirements) {
    out += fmt::format(";{} {} {}", q.key, enum_name(q.op), fmt::join(q.values, ","));
  }
  return out + (r.selector.nothing ? ";nothing" : "");
}

std::string name_of(const Meta& pod) {
  return fmt::format("{}/{}", pod.ns, pod.name);
}

}  // namespace

std::uint32_t PodBook::add(PodRecord record, const std::string& name) {
  std::uint32_t ix = 0;
  if (free_.empty()) {
    ix = static_cast<std::uint32_t>(records_.size());
    records_.emplace_back();
  } else {
    ix = free_.back();
    free_.pop_back();
  }
  record.used = true;
  by_uid_.insert_or_assign(record.pod.meta.uid, ix);
  by_name_.insert_or_assign(name, ix);
  records_[ix] = std::move(record);
  return ix;
}

void PodBook::erase(std::uint32_t ix) {
  PodRecord& record = records_[ix];
  by_uid_.erase(record.pod.meta.uid);
  by_name_.erase(name_of(record.pod.meta));
  record = PodRecord{};
  free_.push_back(ix);
}

std::uint32_t PodBook::find(std::string_view uid) const {
  const auto it = by_uid_.find(std::string(uid));
  return it == by_uid_.end() ? kNoIx : it->second;
}

std::uint32_t PodBook::find_named(const std::string& name) const {
  const auto it = by_name_.find(name);
  return it == by_name_.end() ? kNoIx : it->second;
}

bool PodBook::repel(const PodRecord& record, int delta) {
  bool changed = false;
  for (const auto& what : record.pod.spec.repulsions) {
    const auto it = repellers_.try_emplace(text_of(what)).first;
    if (it->second.pods == 0) {
      it->second.what = what;
      it->second.who = name_of(record.pod.meta);
      changed = true;
    }
    it->second.pods += delta;
    if (it->second.pods == 0) {
      repellers_.erase(it);
      changed = true;
    }
  }
  return changed;
}

std::string_view PodBook::repeller_of(const Meta& pod) const {
  for (const auto& [text, repeller] : repellers_) {
    if (repeller.what.concerns(pod.ns, pod.labels)) return repeller.who;
  }
  return {};
}

}  // namespace berth::dialect
