// Errors as values. Nothing in Berth throws across a room's boundary: a function that can fail returns
// Result<T>.
//
// An Error names the place (file, line, column, field, or URL) and, if known, the fix. The reader must be able to act on it without
// reading our source.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <utility>

namespace berth {

enum class ErrorCode : std::uint8_t {
  kInvalid,       // the input is wrong; trying again cannot help
  kNotFound,      // the thing named does not exist
  kConflict,      // another client changed it first (HTTP 409)
  kExpired,       // a resourceVersion or token is too old (HTTP 410)
  kUnavailable,   // try again later (connection lost, HTTP 429 and 5xx, time-out)
  kUnauthorized,  // identity or permission missing (HTTP 401 and 403)
  kExhausted,     // a bound of ours was reached (size, depth, memory)
  kUnsupported,   // understood, but not supported by this version
  kInternal,      // a defect of ours
};

std::string_view to_string(ErrorCode code);

// Where in an input an error lies. Lines and columns count from 1; 0 means unknown.
struct SourcePlace {
  std::string file;
  std::uint32_t line = 0;
  std::uint32_t column = 0;

  // "file:line:column", leaving out what is unknown.
  std::string str() const;
};

struct Error {
  ErrorCode code = ErrorCode::kInternal;
  std::string message;  // says what is wrong and, where known, what to do
  SourcePlace place;

  // "file:line:column: message"
  std::string str() const;
};

template <class T>
using Result = tl::expected<T, Error>;
using Status = Result<void>;

template <class... Args>
tl::unexpected<Error> fail(ErrorCode code, fmt::format_string<Args...> format, Args&&... args) {
  return tl::unexpected<Error>(Error{code, fmt::format(format, std::forward<Args>(args)...), {}});
}

template <class... Args>
tl::unexpected<Error> fail_at(SourcePlace place, fmt::format_string<Args...> format, Args&&... args) {
  return tl::unexpected<Error>(
      Error{ErrorCode::kInvalid, fmt::format(format, std::forward<Args>(args)...), std::move(place)});
}

// BERTH_TRY(expr): returns the error of `expr` from the enclosing function; otherwise goes on.
#define BERTH_TRY(expr)                                                       \
  do {                                                                        \
    if (auto&& berth_try_ = (expr); !berth_try_.has_value()) {                \
      return ::tl::unexpected<::berth::Error>(std::move(berth_try_).error()); \
    }                                                                         \
  } while (false)

#define BERTH_CONCAT_(a, b) a##b
#define BERTH_CONCAT(a, b) BERTH_CONCAT_(a, b)
// BERTH_ASSIGN(declaration, expr): declaration = the value of `expr`, or returns its error.
#define BERTH_ASSIGN(declaration, expr) \
  BERTH_ASSIGN_(BERTH_CONCAT(berth_assign_, __LINE__), declaration, expr)
#define BERTH_ASSIGN_(temp, declaration, expr)                        \
  auto temp = (expr);                                                 \
  if (!temp.has_value()) {                                            \
    return ::tl::unexpected<::berth::Error>(std::move(temp).error()); \
  }                                                                   \
  declaration = std::move(*temp)

}  // namespace berth
