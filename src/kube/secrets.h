// Reading what must not be shown: files with tokens and keys, base64. Messages name files and reasons, never contents.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace berth::kube {

// The bytes of a file of at most `max_bytes`. Errors: "<path>: cannot be read: <why>".
Result<std::string> read_text_file(const std::string& path, std::uint64_t max_bytes);
// Standard base64; line breaks and blanks inside are skipped.
Result<std::string> decode_base64(std::string_view text);
// Without blanks and line breaks at both ends.
std::string trimmed(std::string_view text);

}  // namespace berth::kube
