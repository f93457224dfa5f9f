// What the program has taken from the heap. memory.cc replaces operator new and delete to count; the engine and everything
// below it allocate through them. One thread.
#pragma once

#include <cstdint>

namespace berth::bench {

std::int64_t allocations();   // calls of operator new since the start
std::int64_t bytes_in_use();  // as malloc counts its blocks, without its own bookkeeping

}  // namespace berth::bench
