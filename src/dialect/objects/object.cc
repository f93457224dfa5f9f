#include "dialect/objects/object.h"

#include <type_traits>

namespace berth::dialect {

Kind kind_of(const Object& object) {
  return std::visit([](const auto& o) { return std::decay_t<decltype(o)>::kKind; }, object);
}

const Meta& meta_of(const Object& object) {
  return std::visit([](const auto& o) -> const Meta& { return o.meta; }, object);
}

}  // namespace berth::dialect
