// Questions to a deciding scheduler: why a workload waits, and its place in line. The follower computes the answers
// (observe/follower.h). Names, and reasons that the engine cannot know, belong to the decision thread; it is asked between two
// batches, for a few look-ups at a time.
//
// Thread-safe, but for open() and close(): those are the decision thread's. Every question is answered within some seconds, or with
// Unavailable.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "dialect/kueue/visibility.h"
#include "observe/follower.h"
#include "scheduler/loop/core.h"
#include "scheduler/wire/inbox.h"

namespace berth::scheduler {

class Questions {
 public:
  // `follower`: nullptr: there is none, and no question is answered. All must outlive this.
  Questions(Inbox& inbox, const observe::Follower* follower) : inbox_(inbox), follower_(follower) {}

  // From now on, and until close(), `core` decides, on the thread that takes from the inbox.
  void open(const Core& core) {
    core_ = &core;
    is_open_ = true;
  }
  void close() { is_open_ = false; }

  // By uid of a workload or pod, or namespace/name of a workload. NotFound.
  Result<Verdict> verdict(const std::string& asked);
  // The same as JSON.
  Result<std::string> explain(const std::string& asked);

  // The Workloads that wait in a queue, in the order in which they are tried: work with a hold stands first. Growth (elastic Jobs)
  // is listed if it has a Workload of its own that waits. A place is counted for work without a Workload, too, which is not listed.
  // NotFound. O(offset + limit) on the follower, O(limit) look-ups.
  Result<std::vector<dialect::PendingPlace>> pending(const dialect::PendingQuestion& asked);

 private:
  // The answer of the decision thread. Unavailable: it is busy.
  template <class T>
  Result<T> look_up(std::function<T(const Core&)> question);

  Inbox& inbox_;
  const observe::Follower* follower_;
  const Core* core_ = nullptr;  // used on the decision thread
  std::atomic<bool> is_open_{false};
};

}  // namespace berth::scheduler
