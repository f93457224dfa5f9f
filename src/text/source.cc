#include "text/source.h"

#include <fcntl.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>
#include <vector>

namespace berth::text {
namespace {

constexpr std::size_t kChunk = std::size_t{128} << 10;

}  // namespace

struct ByteSource::Impl {
  enum class Coding { kUnknown, kPlain, kGzip, kZstd };

  Impl(std::string title, const SourceLimits& bounds) : name(std::move(title)), limits(bounds) {}
  ~Impl() {
    if (owned && descriptor >= 0) ::close(descriptor);
    if (gzip_live) inflateEnd(&gzip);
    if (zstd != nullptr) ZSTD_freeDStream(zstd);
  }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  tl::unexpected<Error> wrong(ErrorCode code, std::string message) {
    broken = Error{code, std::move(message), {name, 0, 0}};
    return tl::unexpected<Error>(*broken);
  }

  // Adds raw bytes to those that are waiting; false at the end.
  Result<bool> fill() {
    if (ended) return false;
    if (begin == end) begin = end = 0;
    if (raw.empty()) raw.resize(kChunk);
    if (end == raw.size()) return true;
    if (descriptor < 0) {
      const std::size_t n = std::min(raw.size() - end, bytes.size() - taken);
      std::memcpy(raw.data() + end, bytes.data() + taken, n);
      taken += n;
      end += n;
      ended = n == 0;
      return n > 0;
    }
    for (;;) {
      const ssize_t n = ::read(descriptor, raw.data() + end, raw.size() - end);
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) return wrong(ErrorCode::kUnavailable, fmt::format("cannot read: {}", std::strerror(errno)));
      taken += static_cast<std::size_t>(n);
      end += static_cast<std::size_t>(n);
      ended = n == 0;
      return n > 0;
    }
  }

  // Offset in the raw (compressed) bytes of the next byte that is waiting.
  std::uint64_t raw_offset() const { return taken - (end - begin); }

  Result<bool> detect() {
    while (end - begin < 4) {
      BERTH_ASSIGN(const bool more, fill());
      if (!more) break;
    }
    const auto byte = [&](std::size_t i) {
      return static_cast<unsigned char>(begin + i < end ? raw[begin + i] : 0);
    };
    coding = Coding::kPlain;
    if (byte(0) == 0x1F && byte(1) == 0x8B) {
      coding = Coding::kGzip;
      if (inflateInit2(&gzip, 15 + 16) != Z_OK) return wrong(ErrorCode::kExhausted, "out of memory");
      gzip_live = true;
    } else if ((byte(0) == 0x28 && byte(1) == 0xB5 && byte(2) == 0x2F && byte(3) == 0xFD) ||
               ((byte(0) & 0xF0) == 0x50 && byte(1) == 0x2A && byte(2) == 0x4D && byte(3) == 0x18)) {
      coding = Coding::kZstd;
      zstd = ZSTD_createDStream();
      if (zstd == nullptr) return wrong(ErrorCode::kExhausted, "out of memory");
    }
    return true;
  }

  Result<std::size_t> read_plain(std::span<char> out) {
    if (begin == end) {
      BERTH_ASSIGN(const bool more, fill());
      if (!more) return std::size_t{0};
    }
    const std::size_t n = std::min(out.size(), end - begin);
    std::memcpy(out.data(), raw.data() + begin, n);
    begin += n;
    return n;
  }

  Result<std::size_t> read_gzip(std::span<char> out) {
    for (;;) {
      if (begin == end) {
        BERTH_ASSIGN(const bool more, fill());
        if (!more) {
          if (member_done) return std::size_t{0};
          return wrong(
              ErrorCode::kInvalid,
              fmt::format("the gzip stream is cut off at byte {}; copy the file again", raw_offset()));
        }
      }
      if (member_done) {
        // Another member, or zeros that pad the last block of a tape or a disk.
        if (raw[begin] == 0) {
          ++begin;
          padded = true;
          continue;
        }
        if (padded || static_cast<unsigned char>(raw[begin]) != 0x1F) {
          return wrong(ErrorCode::kInvalid,
                       fmt::format("bytes that are no gzip follow at byte {}", raw_offset()));
        }
        inflateReset(&gzip);
        member_done = false;
      }
      gzip.next_in = reinterpret_cast<Bytef*>(raw.data() + begin);
      gzip.avail_in = static_cast<uInt>(end - begin);
      gzip.next_out = reinterpret_cast<Bytef*>(out.data());
      gzip.avail_out = static_cast<uInt>(std::min<std::size_t>(out.size(), std::size_t{1} << 30));
      const uInt room = gzip.avail_out;
      const int state = inflate(&gzip, Z_NO_FLUSH);
      begin = end - gzip.avail_in;
      if (state == Z_STREAM_END) {
        member_done = true;
      } else if (state != Z_OK && state != Z_BUF_ERROR) {
        return wrong(ErrorCode::kInvalid,
                     fmt::format("the gzip stream is damaged at byte {}: {}", raw_offset(),
                                 gzip.msg == nullptr ? "wrong data" : gzip.msg));
      }
      if (gzip.avail_out != room) return std::size_t{room - gzip.avail_out};
    }
  }

  Result<std::size_t> read_zstd(std::span<char> out) {
    for (;;) {
      // The decoder may still hold output of input that it took before.
      if (begin == end && !flush) {
        BERTH_ASSIGN(const bool more, fill());
        if (!more) {
          if (member_done) return std::size_t{0};
          return wrong(
              ErrorCode::kInvalid,
              fmt::format("the zstd stream is cut off at byte {}; copy the file again", raw_offset()));
        }
      }
      ZSTD_inBuffer in{raw.data() + begin, end - begin, 0};
      ZSTD_outBuffer to{out.data(), out.size(), 0};
      const std::size_t state = ZSTD_decompressStream(zstd, &to, &in);
      begin += in.pos;
      if (ZSTD_isError(state) != 0) {
        return wrong(ErrorCode::kInvalid, fmt::format("the zstd stream is damaged near byte {}: {}",
                                                      raw_offset(), ZSTD_getErrorName(state)));
      }
      flush = to.pos == to.size && state != 0;
      member_done = state == 0;
      if (to.pos > 0) return to.pos;
    }
  }

  Result<std::size_t> read(std::span<char> out) {
    if (peeked_at < peeked.size()) {
      const std::size_t n = std::min(out.size(), peeked.size() - peeked_at);
      std::memcpy(out.data(), peeked.data() + peeked_at, n);
      peeked_at += n;
      given += n;
      return n;
    }
    BERTH_ASSIGN(const std::size_t n, decompress(out));
    given += n;
    return n;
  }

  Result<std::string_view> peek(std::size_t most) {
    peeked.erase(0, peeked_at);
    peeked_at = 0;
    while (peeked.size() < most) {
      const std::size_t old = peeked.size();
      peeked.resize(most);
      auto n = decompress({peeked.data() + old, most - old});
      peeked.resize(old + (n ? *n : 0));
      if (!n && peeked.empty()) return tl::unexpected<Error>(std::move(n).error());
      if (!n || *n == 0) break;  // an error comes again when it is read
    }
    return std::string_view(peeked);
  }

  Result<std::size_t> decompress(std::span<char> out) {
    if (broken) return tl::unexpected<Error>(*broken);
    if (out.empty()) return std::size_t{0};
    if (coding == Coding::kUnknown) BERTH_TRY(detect());
    BERTH_ASSIGN(const std::size_t n, coding == Coding::kPlain  ? read_plain(out)
                                      : coding == Coding::kGzip ? read_gzip(out)
                                                                : read_zstd(out));
    produced += n;
    if (produced > limits.max_bytes) {
      return wrong(ErrorCode::kExhausted,
                   fmt::format("more than {} bytes{}; split the input or raise the bound", limits.max_bytes,
                               coding == Coding::kPlain ? "" : " after decompression"));
    }
    return n;
  }

  std::string name;
  SourceLimits limits;
  int descriptor = -1;  // -1: memory
  bool owned = false;
  std::string bytes;        // of memory
  std::uint64_t taken = 0;  // raw bytes read so far
  std::vector<char> raw;
  std::size_t begin = 0;
  std::size_t end = 0;
  bool ended = false;
  Coding coding = Coding::kUnknown;
  z_stream gzip{};
  bool gzip_live = false;
  ZSTD_DStream* zstd = nullptr;
  bool member_done = false;  // the compressed stream may end here
  bool padded = false;
  bool flush = false;
  std::string peeked;  // decompressed, not given out yet from peeked_at on
  std::size_t peeked_at = 0;
  std::uint64_t produced = 0;
  std::uint64_t given = 0;
  std::optional<Error> broken;
};

ByteSource::ByteSource(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
ByteSource::ByteSource(ByteSource&&) noexcept = default;
ByteSource& ByteSource::operator=(ByteSource&&) noexcept = default;
ByteSource::~ByteSource() = default;

Result<ByteSource> ByteSource::open(const std::string& path, const SourceLimits& limits) {
  if (path == "-") return standard_input(limits);
  auto impl = std::make_unique<Impl>(path, limits);
  impl->descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (impl->descriptor < 0) {
    const ErrorCode code = errno == ENOENT   ? ErrorCode::kNotFound
                           : errno == EACCES ? ErrorCode::kUnauthorized
                                             : ErrorCode::kUnavailable;
    return impl->wrong(code, fmt::format("cannot open: {}", std::strerror(errno)));
  }
  impl->owned = true;
  return ByteSource(std::move(impl));
}

Result<ByteSource> ByteSource::standard_input(const SourceLimits& limits) {
  auto impl = std::make_unique<Impl>("standard input", limits);
  impl->descriptor = STDIN_FILENO;
  return ByteSource(std::move(impl));
}

ByteSource ByteSource::memory(std::string bytes, std::string name, const SourceLimits& limits) {
  auto impl = std::make_unique<Impl>(std::move(name), limits);
  impl->bytes = std::move(bytes);
  return ByteSource(std::move(impl));
}

const std::string& ByteSource::name() const {
  return impl_->name;
}
std::uint64_t ByteSource::offset() const {
  return impl_->given;
}
Result<std::size_t> ByteSource::read(std::span<char> buffer) {
  return impl_->read(buffer);
}

Result<std::string_view> ByteSource::peek(std::size_t most) {
  return impl_->peek(most);
}

Result<std::string> read_all(ByteSource& source, std::uint64_t max_bytes) {
  std::string all;
  for (;;) {
    const std::size_t old = all.size();
    const std::size_t want = std::max(kChunk, old / 2);
    all.resize(old + want);
    BERTH_ASSIGN(const std::size_t n, source.read({all.data() + old, want}));
    all.resize(old + n);
    if (n == 0) return all;
    if (all.size() > max_bytes) {
      return tl::unexpected<Error>(
          Error{ErrorCode::kExhausted, fmt::format("more than {} bytes", max_bytes), {source.name(), 0, 0}});
    }
  }
}

Result<std::string> read_file(const std::string& path, std::uint64_t max_bytes) {
  BERTH_ASSIGN(ByteSource source, ByteSource::open(path));
  return read_all(source, max_bytes);
}

LineReader::LineReader(ByteSource& source, std::size_t max_line_bytes)
    : source_(&source), max_line_bytes_(max_line_bytes) {}

Result<std::optional<std::string_view>> LineReader::next() {
  std::size_t looked = begin_;
  for (;;) {
    const void* found = looked < end_ ? std::memchr(buffer_.data() + looked, '\n', end_ - looked) : nullptr;
    const std::size_t stop =
        found != nullptr ? static_cast<std::size_t>(static_cast<const char*>(found) - buffer_.data()) : end_;
    if (stop - begin_ > max_line_bytes_) {
      return tl::unexpected<Error>(Error{ErrorCode::kExhausted,
                                         fmt::format("the line is longer than {} bytes", max_line_bytes_),
                                         {source_->name(), line_ + 1, 0}});
    }
    if (found != nullptr || (ended_ && begin_ < end_)) {
      std::string_view line(buffer_.data() + begin_, stop - begin_);
      begin_ = found != nullptr ? stop + 1 : end_;
      if (line_++ == 0 && line.starts_with("\xEF\xBB\xBF")) line.remove_prefix(3);
      if (line.ends_with('\r')) line.remove_suffix(1);
      return std::optional<std::string_view>(line);
    }
    if (ended_) return std::optional<std::string_view>();
    std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
    end_ -= begin_;
    begin_ = 0;
    looked = end_;
    if (buffer_.size() < end_ + kChunk / 2) buffer_.resize(std::max(kChunk, buffer_.size() * 2));
    BERTH_ASSIGN(const std::size_t n, source_->read({buffer_.data() + end_, buffer_.size() - end_}));
    end_ += n;
    ended_ = n == 0;
  }
}

}  // namespace berth::text
