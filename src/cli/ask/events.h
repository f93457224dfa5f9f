// Events of the API server (events.k8s.io): what Berth writes about the work that it decides about. API servers keep them for an hour
// unless they are told otherwise.
//
// Bounds: kMostPages pages of 500 events. Users write events in their own namespaces, so an event says something about the objects of
// its own namespace alone.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "kube/transport.h"

namespace berth::cli {

struct EventLine {
  TimeMs at = 0;
  std::string ns;  // of the event and of what it is about
  std::string kind, name, uid;
  std::string reason;
  std::string note;
  std::string controller;
  std::int64_t count = 1;

  // "Pod team-a/train-0"
  std::string about() const;
};

inline constexpr int kMostPages = 20;

// From JSON that parts of are missing of too.
std::optional<EventLine> event_of(std::string_view json);

// The field selector of what Berth says about work without pods.
inline constexpr std::string_view kWaitingEvents = "reason=Waiting";

// `selector`: field selector, "" = none. Calls `f` for each; Unauthorized: they may not be listed.
Status each_event(kube::Transport& transport, const std::string& ns, std::string_view selector,
                  const std::function<void(EventLine)>& f);

// Unauthorized: events may not be listed there.
Status may_list_events(kube::Transport& transport, const std::string& ns);

// Whether Berth decided something there, or looks at it: the reasons of its events, from a scheduler of these names.
bool is_decision(const EventLine& event, const std::vector<std::string>& scheduler_names);

}  // namespace berth::cli
