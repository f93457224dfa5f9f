// The pairs of flavor and resource that quota is counted in, and the resources among them, by number. No number is used again.
// Cost: O(1) per call.
#pragma once

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/interner.h"
#include "engine/quota/tree.h"

namespace berth::engine {

class PairNames {
 public:
  // Its number, made where it is new.
  FlavorResource of(const std::string& flavor, const std::string& resource) {
    const auto [it, fresh] = index_.try_emplace(fmt::format("{}:{}{}", flavor.size(), flavor, resource),
                                                static_cast<std::uint32_t>(flavors_.size()));
    if (fresh) {
      flavors_.push_back(flavor);
      resources_.push_back(resource);
      numbers_.push_back(names_.intern(resource));
    }
    return FlavorResource(it->second);
  }
  std::size_t size() const { return flavors_.size(); }
  std::string_view flavor(FlavorResource pair) const { return flavors_[pair.index()]; }
  std::string_view resource(FlavorResource pair) const { return resources_[pair.index()]; }

  // The number of each pair's resource.
  const std::vector<std::uint32_t>& resource_numbers() const { return numbers_; }
  std::uint32_t resource_number(const std::string& resource) { return names_.intern(resource); }
  std::string_view resource_of_number(std::uint32_t number) const { return names_.name(number); }

 private:
  std::unordered_map<std::string, std::uint32_t> index_;
  std::vector<std::string> flavors_;  // by pair
  std::vector<std::string> resources_;
  std::vector<std::uint32_t> numbers_;
  Interner names_;  // of resources
};

}  // namespace berth::engine
