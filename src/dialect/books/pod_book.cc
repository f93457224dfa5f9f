#include "dialect/books/pod_book.h"

#include <fmt/format.h>

#include <utility>

namespace berth::dialect {
namespace {

std::string name_of(const Meta& pod) {
  return fmt::format("{}/{}", pod.ns, pod.name);
}

}  // namespace

std::uint32_t PodBook::add(PodRecord record, const std::string& name) {
  const std::uint32_t ix = records_.take();
  record.used = true;
  by_uid_.insert_or_assign(record.pod.meta.uid, ix);
  by_name_.insert_or_assign(name, ix);
  records_[ix] = std::move(record);
  selectors_.add(ix, records_[ix].pod.meta.labels);
  return ix;
}

void PodBook::erase(std::uint32_t ix) {
  const PodRecord& record = records_[ix];
  selectors_.remove(ix, record.pod.meta.labels);
  by_uid_.erase(record.pod.meta.uid);
  by_name_.erase(name_of(record.pod.meta));
  records_.give_back(ix);
}

std::uint32_t PodBook::find(std::string_view uid) const {
  const auto it = by_uid_.find(std::string(uid));
  return it == by_uid_.end() ? kNoIx : it->second;
}

std::uint32_t PodBook::find_named(const std::string& name) const {
  const auto it = by_name_.find(name);
  return it == by_name_.end() ? kNoIx : it->second;
}

std::vector<std::uint32_t> PodBook::candidates_of(SelectorBook::Number number) {
  std::vector<std::uint32_t> out;
  const std::string& key = selectors_.key(number);
  if (key.empty()) {
    each([&](std::uint32_t ix) { out.push_back(ix); });
    return out;
  }
  if (!selectors_.is_listed(key)) {
    selectors_.list(key);
    each([&](std::uint32_t ix) { selectors_.add(ix, records_[ix].pod.meta.labels, &key); });
  }
  const SelectorBook::Pods pods = selectors_.with_label(number);
  out.assign(pods.begin(), pods.end());
  return out;
}

void PodBook::replace(std::uint32_t ix, Pod&& pod) {
  PodRecord& record = records_[ix];
  const bool moves = selectors_.any() && record.pod.meta.labels != pod.meta.labels;
  if (moves) selectors_.remove(ix, record.pod.meta.labels);
  record.pod = std::move(pod);
  if (moves) selectors_.add(ix, record.pod.meta.labels);
}

}  // namespace berth::dialect
