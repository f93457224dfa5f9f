#include "dialect/kueue/visibility.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "base/checked.h"
#include "text/json.h"
#include "text/time.h"

namespace berth::dialect {
namespace {

constexpr std::array<std::string_view, 2> kVersions = {"v1beta2", "v1beta1"};  // the preferred one first
constexpr std::int64_t kDefaultLimit = 1000;
constexpr std::int64_t kMostLimit = 100'000;

std::string group_version(std::string_view version) {
  return fmt::format("{}/{}", kVisibilityGroup, version);
}

void write_group(text::JsonWriter& json) {
  json.field("name", kVisibilityGroup).key("versions").begin_array();
  const auto write_version = [&](std::string_view version) {
    json.begin_object().field("groupVersion", group_version(version)).field("version", version).end_object();
  };
  for (const auto version : kVersions) write_version(version);
  json.end_array().key("preferredVersion");
  write_version(kVersions.front());
}

std::string group_page() {
  text::JsonWriter json;
  json.begin_object().field("kind", "APIGroup").field("apiVersion", "v1");
  write_group(json);
  json.end_object();
  return json.take();
}

std::string groups_page() {
  text::JsonWriter json;
  json.begin_object().field("kind", "APIGroupList").field("apiVersion", "v1").key("groups").begin_array();
  json.begin_object();
  write_group(json);
  json.end_object().end_array().end_object();
  return json.take();
}

std::string resources_page(std::string_view version) {
  text::JsonWriter json;
  json.begin_object()
      .field("kind", "APIResourceList")
      .field("apiVersion", "v1")
      .field("groupVersion", group_version(version))
      .key("resources")
      .begin_array();
  const auto resource = [&](std::string_view name, bool namespaced) {
    json.begin_object()
        .field("name", name)
        .field("singularName", "")
        .field("namespaced", namespaced)
        .field("kind", "PendingWorkloadsSummary");
    json.key("verbs").begin_array().value("get").end_array().end_object();
  };
  resource("clusterqueues/pendingworkloads", false);
  resource("localqueues/pendingworkloads", true);
  json.end_array().end_object();
  return json.take();
}

std::vector<std::string_view> parts_of(std::string_view path) {
  std::vector<std::string_view> out;
  while (!path.empty()) {
    const auto end = std::min(path.find('/'), path.size());
    if (end > 0) out.push_back(path.substr(0, end));
    path.remove_prefix(std::min(end + 1, path.size()));
  }
  return out;
}

bool is_version(std::string_view version) {
  return std::find(kVersions.begin(), kVersions.end(), version) != kVersions.end();
}

Result<std::int64_t> number_of(const std::map<std::string, std::string>& query, const std::string& name) {
  const auto it = query.find(name);
  if (it == query.end() || it->second.empty()) return 0;
  const std::string& text = it->second;
  std::int64_t out = 0;
  const auto [at, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  if (error != std::errc() || at != text.data() + text.size())
    return fail(ErrorCode::kInvalid, "{}: \"{}\" is no whole number", name, text);
  return std::max<std::int64_t>(0, out);
}

}  // namespace

std::optional<std::string> visibility_discovery(std::string_view path) {
  const auto parts = parts_of(path);
  if (parts.empty() || parts[0] != "apis" || parts.size() > 3) return std::nullopt;
  if (parts.size() == 1) return groups_page();
  if (parts[1] != kVisibilityGroup) return std::nullopt;
  if (parts.size() == 2) return group_page();
  if (!is_version(parts[2])) return std::nullopt;
  return resources_page(parts[2]);
}

Result<PendingQuestion> read_pending_question(std::string_view path,
                                              const std::map<std::string, std::string>& query) {
  const auto parts = parts_of(path);
  PendingQuestion out;
  const bool of_group = parts.size() >= 3 && parts[0] == "apis" && parts[1] == kVisibilityGroup &&
                        is_version(parts[2]) && parts.back() == "pendingworkloads";
  if (of_group && parts.size() == 6 && parts[3] == "clusterqueues") {
    out.queue = parts[4];
  } else if (of_group && parts.size() == 8 && parts[3] == "namespaces" && parts[5] == "localqueues") {
    out.ns = parts[4];
    out.queue = parts[6];
  } else {
    return fail(ErrorCode::kNotFound, "the server could not find the requested resource");
  }
  out.version = parts[2];
  BERTH_ASSIGN(out.offset, number_of(query, "offset"));
  BERTH_ASSIGN(const std::int64_t limit, number_of(query, "limit"));
  out.limit = limit == 0 ? kDefaultLimit : std::min(limit, kMostLimit);
  return out;
}

std::string pending_summary(std::string_view version, std::span<const PendingPlace> places) {
  text::JsonWriter json;
  json.begin_object()
      .field("kind", "PendingWorkloadsSummary")
      .field("apiVersion", group_version(version))
      .key("metadata")
      .begin_object()
      .end_object()
      .key("items")
      .begin_array();
  for (const PendingPlace& place : places) {
    json.begin_object().key("metadata").begin_object().field("name", place.name).field("namespace", place.ns);
    if (place.created > 0)
      json.field("creationTimestamp", text::format_time_seconds(place.created));
    else
      json.key("creationTimestamp").null();
    if (!place.owners.empty()) {
      json.key("ownerReferences").begin_array();
      for (const auto& owner : place.owners) {
        json.begin_object()
            .field("apiVersion", owner.api_version)
            .field("kind", owner.kind)
            .field("name", owner.name)
            .field("uid", owner.uid)
            .end_object();
      }
      json.end_array();
    }
    json.end_object();
    // 32 bits in the API.
    constexpr std::int64_t kMost = INT32_MAX;
    json.field("priority", std::clamp<std::int64_t>(place.priority, INT32_MIN, kMost))
        .field("localQueueName", place.local_queue)
        .field("positionInClusterQueue", std::min(place.in_cluster_queue, kMost))
        .field("positionInLocalQueue", std::min(place.in_local_queue, kMost))
        .end_object();
  }
  json.end_array().end_object();
  return json.take();
}

ApiError api_error(const Error& error) {
  ApiError out;
  std::string_view reason = "InternalError";
  switch (error.code) {
    case ErrorCode::kNotFound:
      out.http_status = 404;
      reason = "NotFound";
      break;
    case ErrorCode::kInvalid:
      out.http_status = 400;
      reason = "BadRequest";
      break;
    case ErrorCode::kUnavailable:
      out.http_status = 503;
      reason = "ServiceUnavailable";
      break;
    default:
      break;
  }
  text::JsonWriter json;
  json.begin_object()
      .field("kind", "Status")
      .field("apiVersion", "v1")
      .key("metadata")
      .begin_object()
      .end_object()
      .field("status", "Failure")
      .field("message", error.message)
      .field("reason", reason)
      .field("code", out.http_status)
      .end_object();
  out.body = json.take();
  return out;
}

}  // namespace berth::dialect
