#include "base/result.h"

namespace berth {

std::string_view to_string(ErrorCode code) {
  switch (code) {
    case ErrorCode::kInvalid:
      return "invalid";
    case ErrorCode::kNotFound:
      return "not found";
    case ErrorCode::kConflict:
      return "conflict";
    case ErrorCode::kExpired:
      return "expired";
    case ErrorCode::kUnavailable:
      return "unavailable";
    case ErrorCode::kUnauthorized:
      return "unauthorized";
    case ErrorCode::kExhausted:
      return "exhausted";
    case ErrorCode::kUnsupported:
      return "unsupported";
    case ErrorCode::kInternal:
      return "internal";
  }
  return "unknown";
}

std::string SourcePlace::str() const {
  if (line == 0) return file;
  if (column == 0) return fmt::format("{}:{}", file, line);
  return fmt::format("{}:{}:{}", file, line, column);
}

std::string Error::str() const {
  const std::string where = place.str();
  return where.empty() ? message : fmt::format("{}: {}", where, message);
}

}  // namespace berth
