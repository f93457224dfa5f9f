// Facts about workloads and nodes that metrics need and the engine does not tell: queues, requests, pools of nodes, since when
// something waits. From the follower's events.
//
// Not thread-safe. O(1) per event and slot.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/by_name.h"
#include "base/time.h"
#include "model/decision.h"
#include "model/event.h"

namespace berth::observe {

struct KnownWork {
  struct Set {
    std::vector<DeviceRequest> devices;
    std::int64_t count = 0;
    std::vector<bool> live;  // slots with a place
  };
  std::string queue;
  std::int64_t priority = 0;
  bool active = true;
  TimeMs created = 0;
  TimeMs since = 0;  // of its present wait; 0: its next decide() says
  std::vector<Set> sets;
  std::int64_t pods = 0;  // that it asks for
  std::int64_t live = 0;
  bool started = false;  // ever
  bool preempted = false;

  bool has_devices() const;
};

struct KnownNode {
  std::string pool;
  bool cordoned = false;
};

// A start of a workload that had no place before.
struct FreshStart {
  const KnownWork* work = nullptr;
  DurationMs waited = 0;
  std::int64_t pods = 0;
  bool first = false;  // it has never started before
};

class WorkBook {
 public:
  explicit WorkBook(std::vector<std::string> pool_labels) : pool_labels_(std::move(pool_labels)) {}

  void clear();
  void took(const Event& event);
  // The starts of one decide() call. To be called for each call, also without decisions. Valid until the next event.
  std::vector<FreshStart> decided(TimeMs now, const std::vector<Decision>& decisions);
  // Marks the workload of an eviction; true: it was not preempted before.
  bool first_preemption(const Decision& decision);

  // nullptr: unknown.
  const KnownWork* work(std::string_view uid) const;
  const KnownNode* node(std::string_view name) const;
  const auto& all_work() const { return work_; }

 private:
  void upsert(const Workload& workload);
  void mark(const std::string& uid, std::int64_t set, std::int64_t index, bool live);
  void waits_anew(const std::string& uid, KnownWork& work);
  std::string pool_of(const Node& node) const;

  const std::vector<std::string> pool_labels_;
  ByName<KnownWork> work_;
  ByName<KnownNode> nodes_;
  std::vector<std::string> anew_;  // work whose wait begins with the next decide()
};

}  // namespace berth::observe
