// Something that an owner of objects should know.
#pragma once

#include <string>

namespace berth::dialect {

struct Problem {
  std::string object;  // "ClusterQueue team-a"
  std::string message;
  bool operator==(const Problem&) const = default;
};

}  // namespace berth::dialect
