// The clock of this room: nanoseconds of CLOCK_BOOTTIME, which goes on while the machine is suspended and while the
// process is stopped, and never goes back. Leases are judged by it (a frozen leader must see that its time is over).
#pragma once

#include <cstdint>
#include <ctime>

namespace berth::kube {

using Nanos = std::int64_t;
inline constexpr Nanos kNanosPerMs = 1'000'000;

inline Nanos boottime_ns() {
  timespec ts{};
  clock_gettime(CLOCK_BOOTTIME, &ts);
  return static_cast<Nanos>(ts.tv_sec) * 1'000'000'000 + ts.tv_nsec;
}
inline std::int64_t boottime_ms() {
  return boottime_ns() / kNanosPerMs;
}

// Wall clock in microseconds since 1970, only for time stamps that are shown or stored, never for decisions.
inline std::int64_t wall_us() {
  timespec ts{};
  clock_gettime(CLOCK_REALTIME, &ts);
  return static_cast<std::int64_t>(ts.tv_sec) * 1'000'000 + ts.tv_nsec / 1000;
}

}  // namespace berth::kube
