#include "dialect/upstream/objects.h"

#include <algorithm>

namespace berth::dialect {

bool Repulsion::concerns(std::string_view ns, const Labels& labels) const {
  const bool here = all_namespaces || std::find(namespaces.begin(), namespaces.end(), ns) != namespaces.end();
  return here && selector.matches(labels);
}

}  // namespace berth::dialect
