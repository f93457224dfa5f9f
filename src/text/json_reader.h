// The strict JSON reader behind text/document.h.
#pragma once

#include <cstdint>
#include <string>

#include "text/tree_builder.h"

namespace berth::text {

// Reads the one JSON value that `text` holds, whose first character stands at `line` and `column` of the
// file. Columns count bytes.
Result<Document> build_json(TreeBuilder& builder, std::string text, std::string file, std::uint32_t line,
                            std::uint32_t column);

}  // namespace berth::text
