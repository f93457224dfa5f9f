#include "scheduler/wire/spare_memory.h"

#include "base/heap.h"

namespace berth::scheduler {

bool SpareMemory::give_back(TimeMs now) {
  if (now < next_) return false;
  next_ = now + kEvery;
  const HeapUse heap = heap_use();
  if (heap.free < kWorthwhile || heap.free < heap.in_use / 4) return false;
  give_heap_back();
  return true;
}

}  // namespace berth::scheduler
