#include "dialect/books/pod_book.h"

#include <fmt/format.h>

#include <utility>

namespace berth::dialect {
namespace {

std::string name_of(const Meta& pod) {
  return fmt::format("{}/{}", pod.ns, pod.name);
}

bool is_named(const Meta& pod, std::string_view name) {
  return name.size() == pod.ns.size() + 1 + pod.name.size() && name.starts_with(pod.ns) &&
         name[pod.ns.size()] == '/' && name.ends_with(pod.name);
}

}  // namespace

std::uint32_t PodBook::add(PodRecord record, const std::string& name) {
  const std::uint32_t ix = records_.take();
  record.used = true;
  // Should two pods have one uid, the later one is found by it.
  const std::string& uid = record.pod.meta.uid;
  by_uid_.erase(uid, [&](std::uint32_t at) { return records_[at].pod.meta.uid == uid; });
  by_uid_.add(uid, ix);
  by_name_.add(name, ix);
  records_[ix] = std::move(record);
  selectors_.add(ix, records_[ix].pod.meta.labels);
  return ix;
}

void PodBook::erase(std::uint32_t ix) {
  const PodRecord& record = records_[ix];
  selectors_.remove(ix, record.pod.meta.labels);
  const auto is_this = [&](std::uint32_t at) { return at == ix; };
  by_uid_.erase(record.pod.meta.uid, is_this);
  by_name_.erase(name_of(record.pod.meta), is_this);
  records_.give_back(ix);
}

std::uint32_t PodBook::find(std::string_view uid) const {
  return by_uid_.find(uid, [&](std::uint32_t at) { return records_[at].pod.meta.uid == uid; });
}

std::uint32_t PodBook::find_named(std::string_view name) const {
  return by_name_.find(name, [&](std::uint32_t at) { return is_named(records_[at].pod.meta, name); });
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
