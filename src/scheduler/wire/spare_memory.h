// Gives memory that is free in this process back to the system. The allocator keeps freed memory between blocks in use. After many
// large objects are gone, a process would keep its largest size, and be killed for it.
//
// Not thread-safe; what is given back is that of all threads.
#pragma once

#include <cstddef>

#include "base/time.h"

namespace berth::scheduler {

class SpareMemory {
 public:
  static constexpr DurationMs kEvery = 15 * kSecond;
  static constexpr std::size_t kWorthwhile = std::size_t{8}
                                             << 20;  // bytes; giving back costs some milliseconds

  // Large blocks come from the system one by one from now on, and go back to it when they are freed. Once per process.
  static void set_up();
  // Looks at most every kEvery, and gives back where much is free: more than kWorthwhile, and a quarter of what is in use. True: it
  // has.
  bool give_back(TimeMs now);

 private:
  TimeMs next_ = 0;
};

}  // namespace berth::scheduler
