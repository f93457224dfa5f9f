// The future of a simulation: what happens when. Events come out by time, then by kind, then in the order in
// which they were put in, so that a run is the same on every machine. push and pop: O(log n).
#pragma once

#include <cstdint>
#include <queue>
#include <tuple>
#include <vector>

#include "base/time.h"

namespace berth::sim {

// In the order in which they take place at one moment: room becomes free before new work asks for it.
enum class SimEventKind : std::uint8_t { kFinish, kRoomFree, kSubmit };

struct SimEvent {
  TimeMs at = 0;
  SimEventKind kind = SimEventKind::kSubmit;
  std::uint64_t sequence = 0;
  std::uint32_t job = 0;
  std::uint32_t run = 0;  // of the job, counted from 1: an event of an earlier run is void
};

class EventQueue {
 public:
  bool empty() const { return heap_.empty(); }
  TimeMs next_time() const { return heap_.empty() ? kEndOfTime : heap_.top().at; }
  void push(TimeMs at, SimEventKind kind, std::uint32_t job, std::uint32_t run) {
    heap_.push({at, kind, sequence_++, job, run});
  }
  SimEvent pop() {
    const SimEvent event = heap_.top();
    heap_.pop();
    return event;
  }

 private:
  struct Later {
    bool operator()(const SimEvent& a, const SimEvent& b) const {
      return std::tie(a.at, a.kind, a.sequence) > std::tie(b.at, b.kind, b.sequence);
    }
  };
  std::priority_queue<SimEvent, std::vector<SimEvent>, Later> heap_;
  std::uint64_t sequence_ = 0;
};

}  // namespace berth::sim
