// When the slots with devices of a node began. Work that has run for long goes on for long, as a rule: most run times are short, and a few
// are very long. So the oldest slot says how soon the node may be free as a whole.
//
// Cost: O(slots with devices on the node) for each that comes or goes; 24 bytes for each.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/ids.h"
#include "base/time.h"
#include "engine/nodes/changes.h"

namespace berth::engine {

struct SlotKey {
  WorkloadId workload;
  std::uint32_t set = 0;
  std::uint32_t index = 0;
  bool operator==(const SlotKey&) const = default;
};

class Ages {
 public:
  // Such a slot came, and has its devices from that time on; kEndOfTime: not known. Or it went, or is known to have begun by then.
  void came(NodeId node, const SlotKey& slot, TimeMs start);
  void went(NodeId node, const SlotKey& slot);
  void began(NodeId node, const SlotKey& slot, TimeMs start);

  // The start of the oldest of those that are there. Unknown ones are behind all that are known; kEndOfTime: there are none.
  TimeMs oldest(NodeId node) const {
    return node.index() < oldest_.size() ? oldest_[node.index()] : kEndOfTime;
  }
  std::size_t slots(NodeId node) const {
    return node.index() < slots_.size() ? slots_[node.index()].size() : 0;
  }
  // The nodes whose oldest() has changed, which is no change of the node.
  const ChangeLog& log() const { return log_; }

 private:
  struct Entry {
    SlotKey slot;
    TimeMs start = 0;
  };
  void follow(NodeId node);

  std::vector<std::vector<Entry>> slots_;  // by node, in no order
  std::vector<TimeMs> oldest_;             // of those: read far more often
  ChangeLog log_;
};

}  // namespace berth::engine
