// A document with some of its values replaced: for programs that run one file in several variants.
//
// A path names a value: keys with dots between them, and [N] (from 0) or [*] (each) for elements of a list:
//   policy.placement    cluster[0].count    queues[0].children[*].order
// A key that is not there is added to its mapping, and so are the mappings on the way to it; a list element
// must exist. Values keep the place (line, column) of what stood there before, or of the mapping they were
// added to.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"
#include "text/document.h"

namespace berth::text {

// A step of a path: a key, or an element of a list.
struct PathStep {
  static constexpr std::size_t kEach = static_cast<std::size_t>(-1);
  std::string key;        // not empty: a key
  std::size_t index = 0;  // otherwise an element, or kEach
};
// Errors: kInvalid, with the path and what is wrong with it.
Result<std::vector<PathStep>> parse_path(std::string_view path);

struct Change {
  std::string path;
  const Node* value = nullptr;  // must live until with_changes() is done
};

// The document with all changes made, in their order. O(document x changes). Errors: a path that leads
// nowhere (an element that is not there, a key in something that is no mapping), with the path and the place
// where it ends; a bound of `limits`.
Result<Document> with_changes(const Document& document, std::span<const Change> changes,
                              const Limits& limits = {});

}  // namespace berth::text
