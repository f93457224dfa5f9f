// "ADDRESS:PORT" of an option.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "observe/http_server.h"

namespace berth::cli {

// "127.0.0.1:10261", "[::1]:10261"; an error names `flag` and shows `example`.
Result<observe::HttpOptions> parse_address(std::string_view flag, const std::string& text,
                                           std::string_view example);
// The same, and an empty text or "off" is none.
Result<std::optional<observe::HttpOptions>> parse_address_or_off(std::string_view flag,
                                                                 const std::string& text,
                                                                 std::string_view example);

}  // namespace berth::cli
