// A cluster as it is now: every object that Berth reads, listed once. Nothing is watched, and nothing is written.
//
// Each kind is listed in pages, which all show the state of one moment; between two kinds time passes. Kinds that the server does
// not serve are left out. A right that is missing is an error, since a plan without what it hides would be another plan. With
// SnapshotOptions::partial it leaves its kind out, and is named.
//
// Members of gangs that have ended are listed, where all kinds are: a gang does not wait for those that succeeded. They are
// listed in the namespaces that have gangs of pods; where these are more than kMostEndedLists, once in all of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "dialect/objects/object.h"
#include "kube/transport.h"

namespace berth::scheduler {

inline constexpr std::size_t kMostEndedLists = 20;

struct Snapshot {
  std::vector<dialect::Object>
      objects;                          // kind after kind (dialect/base/kind.h), each as the server orders it
  std::vector<std::string> unread;      // with the field that is wrong: they are left out
  std::vector<dialect::Kind> refused;   // of kinds that may not be listed
  std::vector<dialect::Kind> unserved;  // of kinds that the server does not serve
};

struct SnapshotOptions {
  std::string ns;                    // of kinds that live in namespaces; "": all of them
  std::vector<dialect::Kind> kinds;  // empty: all
  bool partial = false;
  std::uint32_t page = 500;
  std::size_t max_objects = 1'000'000;
  std::size_t max_page = std::size_t{512} << 20;  // bytes of one page
  // 429, 5xx and lost connections: this often, after a pause that doubles and is at least what the server asks for.
  int retries = 5;
  DurationMs first_pause = 500;
  // After each page: the kind, and how many objects there are so far.
  std::function<void(dialect::Kind, std::size_t)> progress;
  // Each object that could be read, with its JSON as the server sent it; the text is valid during the call.
  std::function<void(const dialect::Object&, std::string_view)> seen;
};

// Waits for the server. The use of Kueue's Workloads in a plan: docs/scenarios.md.
Result<Snapshot> take_snapshot(kube::Transport& transport, const SnapshotOptions& options = {});

}  // namespace berth::scheduler
