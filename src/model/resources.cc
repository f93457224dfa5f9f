#include "model/resources.h"

#include <algorithm>

#include "base/checked.h"

namespace berth {
namespace {

auto position(auto& entries, std::string_view resource) {
  return std::lower_bound(entries.begin(), entries.end(), resource,
                          [](const auto& entry, std::string_view name) { return entry.first < name; });
}

std::string format_bytes(std::int64_t value) {
  static constexpr std::string_view kSuffix[] = {"", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"};
  std::size_t step = 0;
  while (step < 6 && value != 0 && value % 1024 == 0) {
    value /= 1024;
    ++step;
  }
  return fmt::format("{}{}", value, kSuffix[step]);
}

}  // namespace

std::int64_t units_per_one(std::string_view resource) {
  return resource == "cpu" || resource.find('/') != std::string_view::npos ? 1000 : 1;
}

std::string format_amount(std::string_view resource, std::int64_t base_units) {
  if (units_per_one(resource) == 1000) {
    return base_units % 1000 == 0 ? fmt::format("{}", base_units / 1000) : fmt::format("{}m", base_units);
  }
  const bool bytes =
      resource == "memory" || resource == "ephemeral-storage" || resource.starts_with("hugepages-");
  return bytes ? format_bytes(base_units) : fmt::format("{}", base_units);
}

ResourceList::ResourceList(std::initializer_list<Entry> entries) {
  for (const auto& [name, amount] : entries) set(name, amount);
}

std::int64_t ResourceList::get(std::string_view resource) const {
  const auto it = position(entries_, resource);
  return it != entries_.end() && it->first == resource ? it->second : 0;
}

bool ResourceList::has(std::string_view resource) const {
  const auto it = position(entries_, resource);
  return it != entries_.end() && it->first == resource;
}

void ResourceList::set(std::string_view resource, std::int64_t amount) {
  const auto it = position(entries_, resource);
  if (it != entries_.end() && it->first == resource) {
    it->second = amount;
  } else {
    entries_.insert(it, Entry{std::string(resource), amount});
  }
}

void ResourceList::erase(std::string_view resource) {
  const auto it = position(entries_, resource);
  if (it != entries_.end() && it->first == resource) entries_.erase(it);
}

Status ResourceList::add(std::string_view resource, std::int64_t amount) {
  if (amount == 0 && !has(resource)) return {};
  const auto sum = checked_add(get(resource), amount);
  if (!sum)
    return fail(ErrorCode::kInvalid, "the amounts of {} add up to more than fits in 64 bits", resource);
  set(resource, *sum);
  return {};
}

Status ResourceList::add(const ResourceList& other) {
  ResourceList sum = *this;
  for (const auto& [name, amount] : other) BERTH_TRY(sum.add(name, amount));
  *this = std::move(sum);
  return {};
}

void ResourceList::raise_to(const ResourceList& other) {
  for (const auto& [name, amount] : other) {
    if (amount > get(name)) set(name, amount);
  }
}

Status ResourceList::check_not_negative() const {
  for (const auto& [name, amount] : entries_) {
    if (amount < 0) {
      return fail(ErrorCode::kInvalid, "{} is {}, but an amount must not be negative", name,
                  format_amount(name, amount));
    }
  }
  return {};
}

std::string ResourceList::str() const {
  std::string out;
  for (const auto& [name, amount] : entries_) {
    if (!out.empty()) out += ", ";
    out += fmt::format("{} {}", name, format_amount(name, amount));
  }
  return out;
}

Status DeviceRequest::check() const {
  if (count < 1)
    return fail(ErrorCode::kInvalid, "{}: the number of devices is {}, but must be at least 1", resource,
                count);
  if (milli < 1 || milli > kWholeDevice) {
    return fail(ErrorCode::kInvalid, "{}: a share of {} thousandths of a device; it must be 1 to 1000",
                resource, milli);
  }
  if (count > 1 && milli != kWholeDevice) {
    return fail(ErrorCode::kInvalid,
                "{}: {} shares of {} thousandths each; a share is possible of one device only", resource,
                count, milli);
  }
  if (count > 1'000'000'000)
    return fail(ErrorCode::kInvalid, "{}: {} devices is more than any node has", resource, count);
  return {};
}

}  // namespace berth
