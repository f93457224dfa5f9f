// Refusals of the API server: metav1.Status, and the outcomes of HTTP answers.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/enums.h"
#include "base/result.h"
#include "kube/transport.h"

namespace berth::kube {

// "Not Found"; "" for a status that the API server does not use.
std::string_view http_phrase(int status);

struct ApiStatus {
  int code = 0;
  std::string reason;  // "Conflict", "AlreadyExists", "Expired", ...
  std::string message;
  std::string cause;  // reason of the first cause in details ("ResourceVersionTooLarge", "DisruptionBudget")
  DurationMs retry_after = 0;
};

// Reads a Status, in JSON or binary form; false where `body` is something else.
bool parse_api_status(std::string_view body, ApiStatus& out);

enum class Outcome : std::uint8_t {
  kOk,
  kConflict,     // 409: another client was first, or a precondition (uid, resourceVersion) did not hold
  kNotFound,     // 404
  kGone,         // 410
  kForbidden,    // 401, 403
  kInvalid,      // another 4xx: the request is wrong; trying again cannot help
  kUnavailable,  // certainly not executed, and no time is left to try again (429, no connection, deadline)
  kUnknown,      // may have been executed: time-out, 5xx or a lost connection after sending
  kFenced,       // the fence said no before sending: certainly not executed
  kDropped,      // our own queue was full, or the client is shutting down: certainly not sent
};

}  // namespace berth::kube

template <>
struct berth::EnumNames<berth::kube::Outcome> {
  static constexpr std::array names{std::string_view("ok"),          std::string_view("conflict"),
                                    std::string_view("not-found"),   std::string_view("gone"),
                                    std::string_view("forbidden"),   std::string_view("invalid"),
                                    std::string_view("unavailable"), std::string_view("unknown"),
                                    std::string_view("fenced"),      std::string_view("dropped")};
};

namespace berth::kube {

// 2xx kOk, 409 kConflict, ... 429 kUnavailable; 5xx and broken answers kUnknown where the request was sent.
Outcome classify(const Response& response);
// The answer as an error for people: "GET /api/v1/pods: 403 Forbidden: <message of the server>".
Error response_error(std::string_view what, const Response& response);

}  // namespace berth::kube
