// Bytes into a file or to standard output, compressed on the way where the name ends in .gz or .zst. A file
// appears under its name only when it is whole: it is written beside its place and renamed by commit().
//
// Memory: the buffer (256 KiB) and the compressor. Errors name the file: a folder that does not exist, a full
// disk. After an error every further call gives the same error and writes nothing.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"

namespace berth::text {

class ByteSink {
 public:
  // `path` "-" is standard output, never compressed.
  static Result<ByteSink> open(const std::string& path);
  ByteSink(ByteSink&&) noexcept;
  ByteSink& operator=(ByteSink&&) noexcept;
  ~ByteSink();  // without commit(): what was written is removed

  Status write(std::string_view bytes);
  // Hands everything over and gives the file its name. Nothing can be written after it.
  Status commit();

 private:
  struct Impl;
  explicit ByteSink(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace berth::text
