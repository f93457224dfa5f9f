// The writing half of the decision log: buffer, compression, file.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "observe/decision_log.h"

namespace berth::observe {
namespace {

class File {
 public:
  explicit File(int fd) : fd_(fd) {}
  File(File&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  File& operator=(File&&) = delete;
  ~File() {
    if (fd_ >= 0) ::close(fd_);
  }
  int fd() const { return fd_; }
  int release() { return std::exchange(fd_, -1); }

 private:
  int fd_;
};

tl::unexpected<Error> system_error(const std::string& path, std::string_view doing) {
  return tl::unexpected<Error>(
      Error{ErrorCode::kUnavailable,
            fmt::format("cannot {} the decision log: {}", doing, std::strerror(errno)),
            {path, 0, 0}});
}

// Nothing but a decision log is appended to.
Status check_is_log(const File& file, const std::string& path) {
  const std::string begin = fmt::format("{{\"format\":\"{}\"", kLogFormat);
  std::string there(begin.size(), '\0');
  const auto got = ::pread(file.fd(), there.data(), there.size(), 0);
  if (got < 0) return system_error(path, "read");
  there.resize(static_cast<std::size_t>(got));
  // A crash may have left less than the first line.
  if (begin.starts_with(there) || there == begin) return {};
  return tl::unexpected<Error>(Error{ErrorCode::kConflict,
                                     "the file exists and is no plain decision log: choose another name",
                                     {path, 0, 0}});
}

// Cuts an unfinished last line off a plain log that is appended to.
Status cut_unfinished_line(const File& file, const std::string& path, std::int64_t size) {
  std::int64_t end = size;
  char block[4096];
  while (end > 0) {
    const auto begin =
        end > static_cast<std::int64_t>(sizeof(block)) ? end - static_cast<std::int64_t>(sizeof(block)) : 0;
    const auto got = ::pread(file.fd(), block, static_cast<std::size_t>(end - begin), begin);
    if (got != end - begin) return system_error(path, "read the end of");
    for (auto i = got; i > 0; --i) {
      if (block[i - 1] != '\n') continue;
      if (begin + i == size) return {};
      return ::ftruncate(file.fd(), begin + i) == 0 ? Status() : Status(system_error(path, "shorten"));
    }
    end = begin;
  }
  return ::ftruncate(file.fd(), 0) == 0 ? Status() : Status(system_error(path, "shorten"));
}

}  // namespace

struct LogWriter::Impl {
  Impl(File opened, std::string name, const LogOptions& chosen)
      : file(std::move(opened)), path(std::move(name)), options(chosen) {}
  ~Impl() {
    (void)close();
    if (gzip_open) deflateEnd(&gzip);
    if (zstd != nullptr) ZSTD_freeCStream(zstd);
  }

  Status start() {
    if (options.compression == LogCompression::kGzip) {
      constexpr int kGzipWindow = 15 + 16;
      if (deflateInit2(&gzip, 4, Z_DEFLATED, kGzipWindow, 8, Z_DEFAULT_STRATEGY) != Z_OK) {
        return fail(ErrorCode::kExhausted, "no memory to compress the decision log {}", path);
      }
      gzip_open = true;
    } else if (options.compression == LogCompression::kZstd) {
      zstd = ZSTD_createCStream();
      if (zstd == nullptr)
        return fail(ErrorCode::kExhausted, "no memory to compress the decision log {}", path);
      ZSTD_CCtx_setParameter(zstd, ZSTD_c_compressionLevel, 3);
      ZSTD_CCtx_setParameter(zstd, ZSTD_c_checksumFlag, 1);
    }
    return {};
  }

  Status put(const char* data, std::size_t size) {
    while (size > 0) {
      const auto written = ::write(file.fd(), data, size);
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) return system_error(path, "write");
      data += written;
      size -= static_cast<std::size_t>(written);
    }
    return {};
  }

  enum class How { kMore, kFlush, kEnd };

  Status put_gzip(How how) {
    gzip.next_in = reinterpret_cast<Bytef*>(buffer.data());
    gzip.avail_in = static_cast<uInt>(buffer.size());
    const int mode = how == How::kEnd ? Z_FINISH : how == How::kFlush ? Z_SYNC_FLUSH : Z_NO_FLUSH;
    char out[64 << 10];
    for (;;) {
      gzip.next_out = reinterpret_cast<Bytef*>(out);
      gzip.avail_out = sizeof(out);
      const int result = deflate(&gzip, mode);
      if (result == Z_STREAM_ERROR) return fail(ErrorCode::kInternal, "{}: the gzip stream is broken", path);
      BERTH_TRY(put(out, sizeof(out) - gzip.avail_out));
      if (gzip.avail_out != 0) return {};
    }
  }

  Status put_zstd(How how) {
    ZSTD_inBuffer in{buffer.data(), buffer.size(), 0};
    const auto mode = how == How::kEnd ? ZSTD_e_end : how == How::kFlush ? ZSTD_e_flush : ZSTD_e_continue;
    char out[64 << 10];
    for (;;) {
      ZSTD_outBuffer space{out, sizeof(out), 0};
      const auto left = ZSTD_compressStream2(zstd, &space, &in, mode);
      if (ZSTD_isError(left)) return fail(ErrorCode::kInternal, "{}: {}", path, ZSTD_getErrorName(left));
      BERTH_TRY(put(out, space.pos));
      if (mode == ZSTD_e_continue ? in.pos == in.size : left == 0) return {};
    }
  }

  Status drain(How how) {
    Status status;
    if (options.compression == LogCompression::kGzip) {
      status = put_gzip(how);
    } else if (options.compression == LogCompression::kZstd) {
      status = put_zstd(how);
    } else {
      status = put(buffer.data(), buffer.size());
    }
    buffer.clear();
    if (!status) error = status;
    return status;
  }

  Status write(std::string_view line) {
    BERTH_TRY(error);
    if (closed) return fail(ErrorCode::kInternal, "the decision log {} is closed", path);
    if (ended) return {};
    const auto size = static_cast<std::int64_t>(line.size()) + 1;
    if (size > options.most_bytes - bytes) {
      ended = true;
      append_end_line(buffer, fmt::format("the log reached its bound of {} bytes", options.most_bytes));
    } else {
      bytes += size;
      buffer += line;
    }
    buffer += '\n';
    return buffer.size() >= options.buffer_bytes ? drain(How::kMore) : Status();
  }

  Status close() {
    if (closed) return error;
    closed = true;
    if (error) (void)drain(How::kEnd);
    if (::close(file.release()) != 0 && error) error = system_error(path, "close");
    return error;
  }

  File file;
  std::string path;
  LogOptions options;
  std::string buffer;
  z_stream gzip{};
  bool gzip_open = false;
  ZSTD_CStream* zstd = nullptr;
  Status error;
  std::int64_t bytes = 0;
  bool ended = false;
  bool closed = false;
};

LogWriter::LogWriter(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
LogWriter::LogWriter(LogWriter&&) noexcept = default;
LogWriter& LogWriter::operator=(LogWriter&&) noexcept = default;
LogWriter::~LogWriter() = default;

Result<LogWriter> LogWriter::open(const std::string& path, const LogOptions& options) {
  File file(::open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0644));
  if (file.fd() < 0) return system_error(path, "open");
  struct stat info {};
  if (::fstat(file.fd(), &info) != 0) return system_error(path, "look at");
  if (S_ISREG(info.st_mode) && info.st_size > 0) {
    if (options.compression != LogCompression::kNone) {
      return tl::unexpected<Error>(
          Error{ErrorCode::kConflict,
                "the file exists, and a compressed decision log cannot be continued: choose another name",
                {path, 0, 0}});
    }
    BERTH_TRY(check_is_log(file, path));
    BERTH_TRY(cut_unfinished_line(file, path, info.st_size));
  }
  auto impl = std::make_unique<Impl>(std::move(file), path, options);
  BERTH_TRY(impl->start());
  return LogWriter(std::move(impl));
}

Status LogWriter::write(std::string_view line) {
  return impl_->write(line);
}
Status LogWriter::flush() {
  BERTH_TRY(impl_->error);
  return impl_->closed ? Status() : impl_->drain(Impl::How::kFlush);
}
Status LogWriter::close() {
  return impl_->close();
}
std::int64_t LogWriter::bytes() const {
  return impl_->bytes;
}
bool LogWriter::ended() const {
  return impl_->ended;
}

}  // namespace berth::observe
