#include "kube/secrets.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <system_error>

namespace berth::kube {

Result<std::string> read_text_file(const std::string& path, std::uint64_t max_bytes) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) {
    const int why = errno;
    return fail(why == ENOENT ? ErrorCode::kNotFound : ErrorCode::kInvalid, "{}: cannot be read: {}", path,
                std::generic_category().message(why));
  }
  std::string out;
  std::array<char, 16384> buffer;
  for (;;) {
    const ssize_t n = read(fd, buffer.data(), buffer.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) {
      const int why = errno;
      close(fd);
      return fail(ErrorCode::kInvalid, "{}: cannot be read: {}", path, std::generic_category().message(why));
    }
    if (n == 0) break;
    out.append(buffer.data(), static_cast<std::size_t>(n));
    if (out.size() > max_bytes) {
      close(fd);
      return fail(ErrorCode::kExhausted, "{}: is larger than {} bytes", path, max_bytes);
    }
  }
  close(fd);
  return out;
}

Result<std::string> decode_base64(std::string_view text) {
  std::string out;
  out.reserve(text.size() * 3 / 4);
  std::uint32_t bits = 0;
  int have = 0;
  std::size_t symbols = 0;
  std::size_t padding = 0;
  for (const char c : text) {
    std::uint32_t value = 0;
    if (c >= 'A' && c <= 'Z') {
      value = static_cast<std::uint32_t>(c - 'A');
    } else if (c >= 'a' && c <= 'z') {
      value = static_cast<std::uint32_t>(c - 'a' + 26);
    } else if (c >= '0' && c <= '9') {
      value = static_cast<std::uint32_t>(c - '0' + 52);
    } else if (c == '+') {
      value = 62;
    } else if (c == '/') {
      value = 63;
    } else if (c == '=') {
      ++padding;
      continue;
    } else if (c == '\n' || c == '\r' || c == ' ' || c == '\t') {
      continue;
    } else {
      return fail(ErrorCode::kInvalid, "a character that does not belong into base64");
    }
    if (padding > 0) return fail(ErrorCode::kInvalid, "characters after the padding");
    ++symbols;
    bits = (bits << 6) | value;
    have += 6;
    if (have >= 8) {
      have -= 8;
      out.push_back(static_cast<char>((bits >> have) & 0xff));
    }
  }
  if ((symbols + padding) % 4 != 0 || padding > 2) return fail(ErrorCode::kInvalid, "it is cut off");
  return out;
}

std::string trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t\r\n");
  if (begin == std::string_view::npos) return {};
  const std::size_t end = text.find_last_not_of(" \t\r\n");
  return std::string(text.substr(begin, end - begin + 1));
}

}  // namespace berth::kube
