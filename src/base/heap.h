// The heap of this process, as its allocator counts it. Berth's programs use jemalloc (heap.cc has its settings). Threads free what
// others took without a lock that they share. Memory that is free goes back to the system within seconds.
//
// A build with a sanitizer has the sanitizer's allocator, which counts nothing here: all figures are 0 then.
// Cost: some microseconds per call, and for give_heap_back() some for each free run of pages. Thread-safe.
#pragma once

#include <cstddef>

namespace berth {

struct HeapUse {
  std::size_t in_use = 0;  // bytes of all blocks that are not freed; blocks that a thread keeps at hand count
  std::size_t free = 0;    // bytes of pages without such a block that have not gone back to the system
};

// Counts all threads. Blocks that the calling thread keeps at hand are given to the heap first.
HeapUse heap_use();

// All free pages of all threads go back to the system now.
void give_heap_back();

}  // namespace berth
