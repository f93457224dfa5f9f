#include "memory.h"

#include <malloc.h>

#include <cstdlib>
#include <new>

namespace {

std::int64_t calls = 0;
std::int64_t bytes = 0;

void* take(std::size_t size, std::size_t alignment = 0) {
  void* block = alignment == 0
                    ? std::malloc(size)
                    : std::aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
  if (block == nullptr) throw std::bad_alloc();
  ++calls;
  bytes += static_cast<std::int64_t>(malloc_usable_size(block));
  return block;
}

void give_back(void* block) {
  if (block == nullptr) return;
  bytes -= static_cast<std::int64_t>(malloc_usable_size(block));
  std::free(block);
}

}  // namespace

// The forms for arrays, and the ones that do not throw, call these.
void* operator new(std::size_t size) {
  return take(size == 0 ? 1 : size);
}
void* operator new(std::size_t size, std::align_val_t alignment) {
  return take(size == 0 ? 1 : size, static_cast<std::size_t>(alignment));
}
void operator delete(void* block) noexcept {
  give_back(block);
}
void operator delete(void* block, std::size_t) noexcept {
  give_back(block);
}
void operator delete(void* block, std::align_val_t) noexcept {
  give_back(block);
}
void operator delete(void* block, std::size_t, std::align_val_t) noexcept {
  give_back(block);
}

namespace berth::bench {

std::int64_t allocations() {
  return calls;
}
std::int64_t bytes_in_use() {
  return bytes;
}

}  // namespace berth::bench
