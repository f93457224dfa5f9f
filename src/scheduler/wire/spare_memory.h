// Gives memory that is free in this process back to the system. The allocator gives back what a thread freed when that thread allocates
// again, later on. A process in which nothing happens would keep its largest size, and be killed for it.
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

  // Looks at most every kEvery, and gives back where much is free: more than kWorthwhile, and a quarter of what is in use. True: it
  // has.
  bool give_back(TimeMs now);

 private:
  TimeMs next_ = 0;
};

}  // namespace berth::scheduler
