// The events for the engine that wait for the next drain(). Private to the intake.
//
// If a workload is told whole again, its earlier events of the same batch are dropped. Otherwise the engine could refuse them, for a
// queue not seen yet, and its running pods would be charged twice.
// Cost: O(1) per event.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "dialect/books/draft_book.h"
#include "model/event.h"

namespace berth::dialect {

class EngineEvents {
 public:
  void add(Event event) { events_.push_back(std::move(event)); }
  void add(const std::vector<SlotUpdate>& updates) {
    for (const SlotUpdate& update : updates) events_.push_back(update);
  }
  // A slot that no pod has.
  void add_empty_slot(const Draft& draft, std::size_t role, std::int64_t index, SlotState state);
  // A draft is told; `again`: the whole of it, which the engine forgets first. Its events follow.
  void begin(Draft& draft, bool again);
  // The events since the last call.
  EventQueue take(const DraftBook& drafts);

 private:
  EventQueue events_;
  std::uint64_t batch_ = 1;
  bool retold_ = false;  // some draft is told whole again in this batch
};

// The update of a slot that no pod has.
SlotUpdate empty_slot(const Draft& draft, std::size_t role, std::int64_t index, SlotState state);

}  // namespace berth::dialect
