// Something that an owner of objects should know.
#pragma once

#include <string>

namespace berth::dialect {

struct Problem {
  std::string object;  // "ClusterQueue team-a"
  std::string message;
  bool cycle = false;  // its parents lead back to it: no object that comes later mends that
  bool operator==(const Problem&) const = default;
};

}  // namespace berth::dialect
