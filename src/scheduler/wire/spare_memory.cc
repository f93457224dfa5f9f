#include "scheduler/wire/spare_memory.h"

#include <malloc.h>

namespace berth::scheduler {

void SpareMemory::set_up() {
  // By itself the allocator raises this with every large block that is freed, up to 32 MiB.
  mallopt(M_MMAP_THRESHOLD, 1 << 20);
}

bool SpareMemory::give_back(TimeMs now) {
  if (now < next_) return false;
  next_ = now + kEvery;
  const struct mallinfo2 info = mallinfo2();  // of all arenas
  if (info.fordblks < kWorthwhile || info.fordblks < info.uordblks / 4) return false;
  return malloc_trim(0) == 1;
}

}  // namespace berth::scheduler
