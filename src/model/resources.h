// Amounts of resources, exact.
//
// Every amount is an int64 in the base unit of its resource: thousandths for "cpu" and for extended resources
// (names with a domain, such as nvidia.com/gpu: 1000 is one GPU, 250 a quarter), ones for everything else
// (bytes, pods). One rule for all doors, so that a fraction of a GPU and a whole one are the same kind of
// number.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace berth {

// Base units in one unit as people write it: 1000 or 1.
std::int64_t units_per_one(std::string_view resource);

// "1500m", "8", "2Gi": an amount as people write it. For messages only.
std::string format_amount(std::string_view resource, std::int64_t base_units);

// Resource name -> amount, sorted by name, no zero entries unless set() put one there on purpose.
class ResourceList {
 public:
  using Entry = std::pair<std::string, std::int64_t>;

  ResourceList() = default;
  ResourceList(std::initializer_list<Entry> entries);

  // The amount, 0 when absent. O(log n).
  std::int64_t get(std::string_view resource) const;
  bool has(std::string_view resource) const;
  void set(std::string_view resource, std::int64_t amount);
  void erase(std::string_view resource);
  // Adds; an amount that would leave the range of int64 is an error and leaves the list unchanged.
  Status add(std::string_view resource, std::int64_t amount);
  Status add(const ResourceList& other);
  // Per resource the larger of both (init containers).
  void raise_to(const ResourceList& other);
  // An error that names the first negative amount.
  Status check_not_negative() const;

  bool empty() const { return entries_.empty(); }
  std::size_t size() const { return entries_.size(); }
  auto begin() const { return entries_.begin(); }
  auto end() const { return entries_.end(); }
  // "cpu 4, memory 16Gi"
  std::string str() const;
  bool operator==(const ResourceList&) const = default;

 private:
  std::vector<Entry> entries_;
};

inline constexpr std::int64_t kWholeDevice = 1000;  // thousandths

// Device share of a pod: `count` devices of the pool of this resource, `milli` of each (1000 = the whole
// device; less only for one device). Whole GPUs, shares, and later MIG profiles and DRA requests are forms of
// it.
struct DeviceRequest {
  std::string resource;
  std::int64_t count = 0;
  std::int64_t milli = kWholeDevice;

  std::int64_t total() const { return count * milli; }
  // count >= 1, 1 <= milli <= 1000, below 1000 only for one device, and no overflow.
  Status check() const;
  template <class Self, class Visitor>
  static void fields(Self& s, Visitor&& v) {
    v("resource", s.resource);
    v("count", s.count);
    v("milli", s.milli);
  }
  bool operator==(const DeviceRequest&) const = default;
};

// The device request of a pod. An object with its own life (DRA) has a name and may have several consumers; the claim that is made
// from a pod's own requests has no name and exactly one.
struct DeviceClaim {
  std::string name;
  std::vector<DeviceRequest> requests;

  template <class Self, class Visitor>
  static void fields(Self& s, Visitor&& v) {
    v("name", s.name);
    v("requests", s.requests);
  }
  bool operator==(const DeviceClaim&) const = default;
};

}  // namespace berth
