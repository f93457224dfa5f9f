#include "cli/ask/events.h"

#include <fmt/format.h>
#include <simdjson.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/enums.h"
#include "kube/api_status.h"
#include "kube/paths.h"
#include "text/time.h"

namespace berth::cli {
namespace {

using simdjson::dom::element;

constexpr std::size_t kMostPageBytes = std::size_t{64} << 20;

std::string_view word_at(const element& from, std::string_view pointer) {
  std::string_view out;
  return from.at_pointer(pointer).get(out) == simdjson::SUCCESS ? out : std::string_view();
}

EventLine read_event(const element& event) {
  EventLine out;
  out.ns = word_at(event, "/metadata/namespace");
  out.kind = word_at(event, "/regarding/kind");
  out.name = word_at(event, "/regarding/name");
  out.uid = word_at(event, "/regarding/uid");
  out.reason = word_at(event, "/reason");
  out.note = word_at(event, "/note");
  out.controller = word_at(event, "/reportingController");
  if (event.at_pointer("/series/count").get(out.count) != simdjson::SUCCESS) out.count = 1;
  for (const std::string_view at : {"/series/lastObservedTime", "/eventTime", "/deprecatedLastTimestamp",
                                    "/metadata/creationTimestamp"}) {
    const auto time = text::parse_time_ms(word_at(event, at));
    if (!time) continue;
    out.at = *time;
    break;
  }
  return out;
}

}  // namespace

std::string EventLine::about() const {
  return ns.empty() ? fmt::format("{} {}", kind, name) : fmt::format("{} {}/{}", kind, ns, name);
}

std::optional<EventLine> event_of(std::string_view json) {
  simdjson::dom::parser parser;
  element root;
  if (parser.parse(json.data(), json.size()).get(root) != simdjson::SUCCESS) return std::nullopt;
  return read_event(root);
}

Status each_event(kube::Transport& transport, const std::string& ns, std::string_view selector,
                  const std::function<void(EventLine)>& f) {
  std::string path = kube::kEvents.collection(ns) + "?limit=500";
  if (!selector.empty()) path += "&fieldSelector=" + kube::escape(selector);
  simdjson::dom::parser parser;
  std::string token;
  for (int page = 0; page < kMostPages; ++page) {
    kube::Request request;
    request.path = token.empty() ? path : path + "&continue=" + kube::escape(token);
    request.max_response = kMostPageBytes;
    const kube::Response response = transport.call(std::move(request));
    if (response.status == 410) return {};  // what was read is older than what is gone
    if (!response.ok()) return tl::unexpected<Error>(kube::response_error("LIST events", response));
    element root;
    simdjson::dom::array items;
    if (parser.parse(response.body).get(root) != simdjson::SUCCESS ||
        root["items"].get(items) != simdjson::SUCCESS) {
      return fail(ErrorCode::kUnavailable, "LIST events: the answer is no list");
    }
    for (const element event : items) f(read_event(event));
    token = word_at(root, "/metadata/continue");
    if (token.empty()) return {};
  }
  return {};
}

Status may_list_events(kube::Transport& transport, const std::string& ns) {
  kube::Request request;
  request.path = kube::kEvents.collection(ns) + "?limit=1";
  request.max_response = kMostPageBytes;
  const kube::Response response = transport.call(std::move(request));
  if (response.ok()) return {};
  return tl::unexpected<Error>(kube::response_error("LIST events", response));
}

bool is_decision(const EventLine& event, const std::vector<std::string>& scheduler_names) {
  static constexpr std::array kReasons = {"Scheduled"sv,    "FailedScheduling"sv, "Preempted"sv,
                                          "Waiting"sv,      "Released"sv,         "Withdrawn"sv,
                                          "OwnerNotRead"sv, "AuditDifference"sv};
  const bool ours = event.controller == "berth" || std::find(scheduler_names.begin(), scheduler_names.end(),
                                                             event.controller) != scheduler_names.end();
  return ours && std::find(kReasons.begin(), kReasons.end(), event.reason) != kReasons.end();
}

}  // namespace berth::cli
