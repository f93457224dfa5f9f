#include "kube/api_status.h"

#include <simdjson.h>

#include <algorithm>

#include "kube/protobuf_json.h"

namespace berth::kube {

namespace {

std::string string_of(const simdjson::dom::element& root, std::string_view key) {
  std::string_view text;
  if (root[key].get(text) != simdjson::SUCCESS) return {};
  return std::string(text);
}

}  // namespace

std::string_view http_phrase(int status) {
  switch (status) {
    case 200:
      return "OK";
    case 201:
      return "Created";
    case 400:
      return "Bad Request";
    case 401:
      return "Unauthorized";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 409:
      return "Conflict";
    case 410:
      return "Gone";
    case 422:
      return "Unprocessable Entity";
    case 429:
      return "Too Many Requests";
    case 500:
      return "Internal Server Error";
    case 503:
      return "Service Unavailable";
    case 504:
      return "Gateway Timeout";
    default:
      return "";
  }
}

bool parse_api_status(std::string_view body, ApiStatus& out) {
  Result<std::string> json("");
  if (is_binary(body)) {
    json = json_of_envelope(body);
    if (!json) return false;
    body = *json;
  }
  simdjson::dom::parser parser;
  simdjson::dom::element root;
  if (parser.parse(body.data(), body.size()).get(root) != simdjson::SUCCESS || !root.is_object())
    return false;
  if (string_of(root, "kind") != "Status") return false;
  std::int64_t code = 0;
  if (root["code"].get(code) == simdjson::SUCCESS)
    out.code = static_cast<int>(std::clamp<std::int64_t>(code, 0, 999));
  out.reason = string_of(root, "reason");
  out.message = string_of(root, "message");
  simdjson::dom::element details;
  if (root["details"].get(details) == simdjson::SUCCESS && details.is_object()) {
    std::int64_t seconds = 0;
    if (details["retryAfterSeconds"].get(seconds) == simdjson::SUCCESS) {
      out.retry_after = std::clamp<std::int64_t>(seconds, 0, 3600) * kSecond;
    }
    simdjson::dom::array causes;
    if (details["causes"].get(causes) == simdjson::SUCCESS) {
      for (const simdjson::dom::element cause : causes) {
        if (!cause.is_object()) continue;
        out.cause = string_of(cause, "reason");
        break;
      }
    }
  }
  return true;
}

Outcome classify(const Response& response) {
  if (response.fenced) return response.sent ? Outcome::kUnknown : Outcome::kFenced;
  const int status = response.status;
  if (status == 0) return response.sent ? Outcome::kUnknown : Outcome::kUnavailable;
  if (status >= 200 && status < 300) return Outcome::kOk;
  if (status == 409) return Outcome::kConflict;
  if (status == 404) return Outcome::kNotFound;
  if (status == 410) return Outcome::kGone;
  if (status == 401 || status == 403) return Outcome::kForbidden;
  if (status == 429) return Outcome::kUnavailable;
  if (status >= 500) return Outcome::kUnknown;
  return Outcome::kInvalid;
}

Error response_error(std::string_view what, const Response& response) {
  Error error;
  if (response.status == 0) {
    error.code = ErrorCode::kUnavailable;
    error.message = fmt::format("{}: {}", what, response.error);
    return error;
  }
  switch (classify(response)) {
    case Outcome::kConflict:
      error.code = ErrorCode::kConflict;
      break;
    case Outcome::kNotFound:
      error.code = ErrorCode::kNotFound;
      break;
    case Outcome::kGone:
      error.code = ErrorCode::kExpired;
      break;
    case Outcome::kForbidden:
      error.code = ErrorCode::kUnauthorized;
      break;
    case Outcome::kInvalid:
      error.code = ErrorCode::kInvalid;
      break;
    case Outcome::kOk:
      error.code = ErrorCode::kInternal;
      break;
    default:
      error.code = ErrorCode::kUnavailable;
      break;
  }
  ApiStatus status;
  const bool parsed = parse_api_status(response.body, status);
  const std::string_view name = http_phrase(response.status);
  error.message = fmt::format("{}: {}{}{}{}{}", what, response.status, name.empty() ? "" : " ", name,
                              parsed && !status.message.empty() ? ": " : "", parsed ? status.message : "");
  return error;
}

}  // namespace berth::kube
