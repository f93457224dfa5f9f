#include "text/sink.h"

#include <zlib.h>
#include <zstd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

namespace berth::text {
namespace {

enum class Compression : std::uint8_t { kNone, kGzip, kZstd };
enum class How : std::uint8_t { kMore, kEnd };

constexpr std::size_t kBuffer = std::size_t{256} << 10;

}  // namespace

struct ByteSink::Impl {
  std::string path;
  std::string beside;  // "" for standard output
  std::FILE* file = nullptr;
  Compression compression = Compression::kNone;
  z_stream gzip{};
  bool gzip_open = false;
  ZSTD_CStream* zstd = nullptr;
  std::string buffer;
  std::array<char, (64 << 10)> packed{};
  Status status;
  bool committed = false;

  ~Impl() {
    if (gzip_open) deflateEnd(&gzip);
    if (zstd != nullptr) ZSTD_freeCStream(zstd);
    if (beside.empty()) return;
    if (file != nullptr) (void)std::fclose(file);
    if (!committed) (void)std::remove(beside.c_str());
  }

  tl::unexpected<Error> failed(std::string_view why) const {
    return tl::unexpected<Error>(
        Error{ErrorCode::kUnavailable, fmt::format("cannot be written: {}", why), {path, 0, 0}});
  }

  Status start() {
    if (compression == Compression::kGzip) {
      constexpr int kGzipWindow = 15 + 16;
      if (deflateInit2(&gzip, 6, Z_DEFLATED, kGzipWindow, 8, Z_DEFAULT_STRATEGY) != Z_OK) {
        return failed("no memory to compress it");
      }
      gzip_open = true;
    } else if (compression == Compression::kZstd) {
      zstd = ZSTD_createCStream();
      if (zstd == nullptr) return failed("no memory to compress it");
      ZSTD_CCtx_setParameter(zstd, ZSTD_c_compressionLevel, 6);
      ZSTD_CCtx_setParameter(zstd, ZSTD_c_checksumFlag, 1);
    }
    return {};
  }

  Status put(const char* data, std::size_t size) {
    if (size == 0 || std::fwrite(data, 1, size, file) == size) return {};
    return failed(std::strerror(errno));
  }

  Status drain_gzip(How how) {
    gzip.next_in = reinterpret_cast<Bytef*>(buffer.data());
    gzip.avail_in = static_cast<uInt>(buffer.size());
    for (;;) {
      gzip.next_out = reinterpret_cast<Bytef*>(packed.data());
      gzip.avail_out = static_cast<uInt>(packed.size());
      if (deflate(&gzip, how == How::kEnd ? Z_FINISH : Z_NO_FLUSH) == Z_STREAM_ERROR) {
        return failed("the compressor gave up");
      }
      BERTH_TRY(put(packed.data(), packed.size() - gzip.avail_out));
      if (gzip.avail_out != 0) return {};
    }
  }

  Status drain_zstd(How how) {
    ZSTD_inBuffer in{buffer.data(), buffer.size(), 0};
    for (;;) {
      ZSTD_outBuffer out{packed.data(), packed.size(), 0};
      const std::size_t left =
          ZSTD_compressStream2(zstd, &out, &in, how == How::kEnd ? ZSTD_e_end : ZSTD_e_continue);
      if (ZSTD_isError(left) != 0) return failed(ZSTD_getErrorName(left));
      BERTH_TRY(put(packed.data(), out.pos));
      if (how == How::kEnd ? left == 0 : in.pos == in.size) return {};
    }
  }

  Status drain(How how) {
    switch (compression) {
      case Compression::kNone:
        status = put(buffer.data(), buffer.size());
        break;
      case Compression::kGzip:
        status = drain_gzip(how);
        break;
      case Compression::kZstd:
        status = drain_zstd(how);
        break;
    }
    buffer.clear();
    return status;
  }
};

Result<ByteSink> ByteSink::open(const std::string& path) {
  auto impl = std::make_unique<Impl>();
  impl->path = path == "-" ? "standard output" : path;
  if (path == "-") {
    impl->file = stdout;
  } else {
    if (path.ends_with(".gz")) impl->compression = Compression::kGzip;
    if (path.ends_with(".zst")) impl->compression = Compression::kZstd;
    const std::string beside = path + ".part";
    impl->file = std::fopen(beside.c_str(), "wb");
    if (impl->file == nullptr) return impl->failed(std::strerror(errno));
    impl->beside = beside;
  }
  BERTH_TRY(impl->start());
  impl->buffer.reserve(kBuffer);
  return ByteSink(std::move(impl));
}

ByteSink::ByteSink(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
ByteSink::ByteSink(ByteSink&&) noexcept = default;
ByteSink& ByteSink::operator=(ByteSink&&) noexcept = default;
ByteSink::~ByteSink() = default;

Status ByteSink::write(std::string_view bytes) {
  BERTH_TRY(impl_->status);
  impl_->buffer += bytes;
  return impl_->buffer.size() < kBuffer ? Status() : impl_->drain(How::kMore);
}

Status ByteSink::commit() {
  BERTH_TRY(impl_->status);
  BERTH_TRY(impl_->drain(How::kEnd));
  if (std::fflush(impl_->file) != 0) return impl_->failed(std::strerror(errno));
  if (impl_->beside.empty()) return {};
  const int closed = std::fclose(std::exchange(impl_->file, nullptr));
  if (closed != 0) return impl_->failed(std::strerror(errno));
  if (std::rename(impl_->beside.c_str(), impl_->path.c_str()) != 0) {
    return impl_->failed(std::strerror(errno));
  }
  impl_->committed = true;
  return {};
}

}  // namespace berth::text
