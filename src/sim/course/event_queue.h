// The future of a simulation: what happens when. Events come out by time, then by kind, then in the order of insertion, so that a
// run is the same on every machine. push and pop: O(log n).
//
// Failures alone keep no simulation going. busy() says whether another event is ahead, or a repair, which may let work start.
#pragma once

#include <cstdint>
#include <queue>
#include <tuple>
#include <vector>

#include "base/time.h"

namespace berth::sim {

// In the order in which they take place at one moment: room becomes free before new work asks for it.
enum class SimEventKind : std::uint8_t {
  kFinish,    // subject = job
  kRoomFree,  // subject = job or service
  kReady,     // slots that joined later begin to work; subject = job or service
  kRepair,    // subject = a failure that is being repaired
  kFail,      // subject = rule of failures
  kService,   // its load or its target changes; subject = service
  kSubmit,
};

struct SimEvent {
  TimeMs at = 0;
  SimEventKind kind = SimEventKind::kSubmit;
  std::uint64_t sequence = 0;
  std::uint32_t subject = 0;
  std::uint32_t run = 0;  // kFinish: an event of an earlier run is void
};

class EventQueue {
 public:
  bool empty() const { return heap_.empty(); }
  // Something other than failures is ahead.
  bool busy() const { return work_ + repairs_ > 0; }
  // Something other than failures and repairs is ahead.
  bool working() const { return work_ > 0; }
  TimeMs next_time() const { return heap_.empty() ? kEndOfTime : heap_.top().at; }
  void push(TimeMs at, SimEventKind kind, std::uint32_t subject, std::uint32_t run) {
    heap_.push({at, kind, sequence_++, subject, run});
    count(kind, 1);
  }
  SimEvent pop() {
    const SimEvent event = heap_.top();
    heap_.pop();
    count(event.kind, -1);
    return event;
  }

 private:
  void count(SimEventKind kind, std::int64_t change) {
    if (kind == SimEventKind::kRepair) {
      repairs_ += change;
    } else if (kind != SimEventKind::kFail) {
      work_ += change;
    }
  }
  struct Later {
    bool operator()(const SimEvent& a, const SimEvent& b) const {
      return std::tie(a.at, a.kind, a.sequence) > std::tie(b.at, b.kind, b.sequence);
    }
  };
  std::priority_queue<SimEvent, std::vector<SimEvent>, Later> heap_;
  std::uint64_t sequence_ = 0;
  std::int64_t work_ = 0;
  std::int64_t repairs_ = 0;
};

}  // namespace berth::sim
