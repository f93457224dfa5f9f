// SHA-1 (FIPS 180-4), for names that other systems make with it. No secret rests on it.
#pragma once

#include <string>
#include <string_view>

namespace berth {

// In hexadecimal. O(length).
std::string sha1(std::string_view bytes);

}  // namespace berth
