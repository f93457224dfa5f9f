// Objects of YAML for a book of volumes.
#pragma once

#include <string>
#include <utility>
#include <variant>

#include "dialect/dialect_support.h"
#include "dialect/volumes/volume_book.h"

namespace berth::dialect::testing {

// The claims that the last of them concerns.
inline VolumeBook::Keys put(VolumeBook& book, const std::string& yaml) {
  VolumeBook::Keys out;
  for (Object& object : objects_of(yaml)) {
    std::visit(
        [&](auto&& value) {
          if constexpr (requires { book.put(std::move(value)); }) out = book.put(std::move(value));
        },
        std::move(object));
  }
  return out;
}

}  // namespace berth::dialect::testing
