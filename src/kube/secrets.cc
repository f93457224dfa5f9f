#include "kube/secrets.h"

#include <fcntl.h>
#include <openssl/evp.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <iterator>
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
  std::string symbols;
  symbols.reserve(text.size());
  std::copy_if(text.begin(), text.end(), std::back_inserter(symbols),
               [](char c) { return c != '\n' && c != '\r' && c != ' ' && c != '\t'; });
  const std::size_t padding = symbols.size() - (symbols.find_last_not_of('=') + 1);
  if (symbols.size() % 4 != 0 || padding > 2) return fail(ErrorCode::kInvalid, "it is cut off");
  std::string out(symbols.size() / 4 * 3, '\0');
  const int length = EVP_DecodeBlock(reinterpret_cast<unsigned char*>(out.data()),
                                     reinterpret_cast<const unsigned char*>(symbols.data()),
                                     static_cast<int>(symbols.size()));
  const bool inside = symbols.find('=') < symbols.size() - padding;
  if (length < 0 || inside) return fail(ErrorCode::kInvalid, "a character that does not belong into base64");
  out.resize(static_cast<std::size_t>(length) - padding);
  return out;
}

std::string trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t\r\n");
  if (begin == std::string_view::npos) return {};
  const std::size_t end = text.find_last_not_of(" \t\r\n");
  return std::string(text.substr(begin, end - begin + 1));
}

}  // namespace berth::kube
