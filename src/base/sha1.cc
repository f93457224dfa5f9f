#include "base/sha1.h"

#include <fmt/format.h>

#include <array>
#include <bit>
#include <cstdint>

namespace berth {

std::string sha1(std::string_view bytes) {
  std::array<std::uint32_t, 5> h{0x67452301u, 0xEFCDAB89u, 0x98BADCFEu, 0x10325476u, 0xC3D2E1F0u};
  std::string text(bytes);
  text.push_back('\x80');
  while (text.size() % 64 != 56) text.push_back('\0');
  for (int shift = 56; shift >= 0; shift -= 8)
    text.push_back(static_cast<char>((static_cast<std::uint64_t>(bytes.size()) * 8) >> shift));
  for (std::size_t block = 0; block < text.size(); block += 64) {
    std::array<std::uint32_t, 80> w{};
    for (std::size_t i = 0; i < 16; ++i) {
      for (std::size_t j = 0; j < 4; ++j)
        w[i] = (w[i] << 8) | static_cast<unsigned char>(text[block + i * 4 + j]);
    }
    for (std::size_t i = 16; i < 80; ++i) w[i] = std::rotl(w[i - 3] ^ w[i - 8] ^ w[i - 14] ^ w[i - 16], 1);
    auto [a, b, c, d, e] = h;
    for (std::size_t i = 0; i < 80; ++i) {
      std::uint32_t f = 0;
      std::uint32_t k = 0;
      if (i < 20) {
        f = (b & c) | (~b & d);
        k = 0x5A827999u;
      } else if (i < 40) {
        f = b ^ c ^ d;
        k = 0x6ED9EBA1u;
      } else if (i < 60) {
        f = (b & c) | (b & d) | (c & d);
        k = 0x8F1BBCDCu;
      } else {
        f = b ^ c ^ d;
        k = 0xCA62C1D6u;
      }
      const std::uint32_t next = std::rotl(a, 5) + f + e + k + w[i];
      e = d;
      d = c;
      c = std::rotl(b, 30);
      b = a;
      a = next;
    }
    h[0] += a;
    h[1] += b;
    h[2] += c;
    h[3] += d;
    h[4] += e;
  }
  std::string out;
  for (const std::uint32_t word : h) out += fmt::format("{:08x}", word);
  return out;
}

}  // namespace berth
