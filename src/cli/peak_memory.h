// The most memory that this process has held so far (the peak of its resident set), for messages to people.
#pragma once

#include <sys/resource.h>

#include <cstdint>

namespace berth::cli {

inline std::int64_t peak_memory_bytes() {
  rusage usage{};
  if (getrusage(RUSAGE_SELF, &usage) != 0) return 0;
  return static_cast<std::int64_t>(usage.ru_maxrss) * 1024;  // Linux counts in KiB
}

}  // namespace berth::cli
