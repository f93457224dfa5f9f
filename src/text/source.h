// Bytes from a file, standard input or memory, decompressed on the way where they are gzip or zstd (told by
// their first bytes, never by the name), and lines over them.
//
// Memory is bounded by the buffers (about 400 KiB, and the window of a zstd stream, at most 128 MiB) whatever
// the length of the stream. Errors name the source and the offset: a missing file, a
// truncated or corrupt gzip or zstd stream, more than `max_bytes` decompressed bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"

namespace berth::text {

struct SourceLimits {
  // Decompressed bytes of one source, after which reading fails; streams of any length pass under the
  // default.
  std::uint64_t max_bytes = std::uint64_t{1} << 40;
};

class ByteSource {
 public:
  // `path` "-" is standard input.
  static Result<ByteSource> open(const std::string& path, const SourceLimits& limits = {});
  static Result<ByteSource> standard_input(const SourceLimits& limits = {});
  // `name` stands for the file in messages. Compressed contents are decompressed too.
  static ByteSource memory(std::string bytes, std::string name, const SourceLimits& limits = {});

  ByteSource(ByteSource&&) noexcept;
  ByteSource& operator=(ByteSource&&) noexcept;
  ~ByteSource();

  const std::string& name() const;
  // Fills up to buffer.size() bytes; 0 at the end only. After an error, the same error again.
  Result<std::size_t> read(std::span<char> buffer);
  // The next bytes, at most `most` of them and fewer only where the end or an error comes first, without taking them: read()
  // gives them again. For telling what an input is, also one that cannot be read twice.
  Result<std::string_view> peek(std::size_t most);
  // Decompressed bytes given out so far.
  std::uint64_t offset() const;

 private:
  struct Impl;
  explicit ByteSource(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// Everything that is left of `source`, at most `max_bytes`.
Result<std::string> read_all(ByteSource& source, std::uint64_t max_bytes = std::uint64_t{256} << 20);
// The contents of a file (decompressed).
Result<std::string> read_file(const std::string& path, std::uint64_t max_bytes = std::uint64_t{256} << 20);

// Lines without their ends ("\n" or "\r\n"); a last line without an end counts. A longer line than
// `max_line_bytes` is an error that names the line.
class LineReader {
 public:
  // `source` must outlive the reader.
  explicit LineReader(ByteSource& source, std::size_t max_line_bytes = std::size_t{16} << 20);

  // The next line, or nullopt at the end. The view is valid until the next call.
  Result<std::optional<std::string_view>> next();
  // Number of the line that next() gave last, from 1.
  std::uint32_t line() const { return line_; }
  const std::string& file() const { return source_->name(); }

 private:
  ByteSource* source_;
  std::size_t max_line_bytes_;
  std::string buffer_;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
  std::uint32_t line_ = 0;
  bool ended_ = false;
};

}  // namespace berth::text
