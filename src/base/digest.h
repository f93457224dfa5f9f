// Keys of bounded length for texts of any length. A long text is replaced by its SHA-256, because tenants choose these texts and
// must not be able to make two equal keys.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>

namespace berth {

// FIPS 180-4. O(length).
std::array<std::uint8_t, 32> sha256(std::string_view text);

inline constexpr std::size_t kShortKey = 1024;  // texts up to this length stay as they are
inline constexpr char kDigestMark =
    '\x01';  // stands before the digest of a longer one; no text may begin with it

void put_number(std::string& key, std::int64_t number);

// Appends characters and texts as they are, and whole numbers in decimal. Each decision makes keys. fmt::format_to() takes several
// times as long.
template <typename... Parts>
void put_all(std::string& key, const Parts&... parts) {
  const auto put = [&key](const auto& part) {
    using Part = std::remove_cvref_t<decltype(part)>;
    if constexpr (std::is_same_v<Part, char>) {
      key += part;
    } else if constexpr (std::is_integral_v<Part>) {
      put_number(key, static_cast<std::int64_t>(part));
    } else {
      key.append(std::string_view(part));
    }
  };
  (put(parts), ...);
}

// Appends a part of a key, with its length before it: no choice of parts makes two different keys look alike.
void put_part(std::string& key, std::string_view part);

// `text`, or kDigestMark and its digest (33 bytes).
std::string short_key(std::string text);
inline bool is_digest(std::string_view key) {
  return !key.empty() && key.front() == kDigestMark;
}

}  // namespace berth
