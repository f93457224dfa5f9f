// Times (RFC 3339) and durations as text, exact, in whole milli- or microseconds since 1970-01-01T00:00:00Z.
//
// Range of times: years 0001 to 9999. A leap second (:60) is read as the second that follows. Digits of a
// fraction beyond the unit are cut off (towards the past), as Kubernetes' clients do. Errors:
// ErrorCode::kInvalid, saying what is expected.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace berth::text {

// "2026-11-21T06:39:27Z", "2026-11-21T06:39:27.123456+02:00"
Result<std::int64_t> parse_time_ms(std::string_view text);
Result<std::int64_t> parse_time_us(std::string_view text);

// In UTC. Milliseconds appear only where they are not zero ("2026-11-21T06:39:27Z", "...27.250Z").
std::string format_time_ms(std::int64_t ms);
// Kubernetes' metav1.Time: whole seconds, cut off ("2026-11-21T06:39:27Z").
std::string format_time_seconds(std::int64_t ms);
// Kubernetes' metav1.MicroTime: always six digits ("2026-11-21T06:39:27.123456Z").
std::string format_time_us(std::int64_t us);

// Durations in the form of Go, with days and weeks: numbers with units w d h m s ms us ns, possibly with a
// fraction and several in a row: "5m", "1h30m", "90s", "250ms", "1.5h", "2d", "0". A leading minus is
// accepted; the caller bounds. The result is exact: a duration that is no whole number of milliseconds is an
// error.
Result<std::int64_t> parse_duration_ms(std::string_view text);
// The shortest exact text with units d h m s ms: "1h30m", "2d", "250ms", "0s".
std::string format_duration_ms(std::int64_t ms);

}  // namespace berth::text
