// The engine's state as values, for those that show it. Names are views into the engine: they are valid until it changes.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "model/event.h"

namespace berth::engine {

// The known state of one slot.
struct SlotView {
  SlotState state = SlotState::kAbsent;
  std::string_view node;  // "" where it has none
};

// Use of a queue, per flavor and resource.
struct QuotaView {
  std::string_view flavor;
  std::string_view resource;
  std::int64_t nominal = 0;
  std::int64_t usage = 0;      // binding, running and releasing
  std::int64_t available = 0;  // the amount that the queue could still use now
};

struct QueueView {
  std::string_view name;
  // Its dominant share of what its parent could lend, by weight, in thousandths, rounded up; 0: it does not borrow, or its
  // parent does not share so. kInt64Max: its weight is 0.
  std::int64_t share_milli = 0;
  std::int64_t pending = 0;
  std::int64_t started = 0;
  bool leaf = true;  // it takes work itself
  std::vector<QuotaView> quotas;
};

struct NodeView {
  std::string_view name;
  // Per resource: capacity, used now (with releasing), and promised (binding, running and held). Base units.
  struct Amount {
    std::string_view resource;
    std::int64_t capacity = 0;
    std::int64_t used = 0;
    std::int64_t promised = 0;
  };
  std::vector<Amount> amounts;
  // Per device: thousandths used now and promised.
  struct Device {
    std::string_view resource;
    std::int64_t used = 0;
    std::int64_t promised = 0;
    bool healthy = true;
  };
  std::vector<Device> devices;
  std::vector<std::string_view> counted;  // devices without numbers: their amounts say all
};

struct WorkloadView {
  std::string_view uid;
  std::string_view queue;
  std::int64_t priority = 0;
  TimeMs started = 0;              // 0 = not started
  std::int64_t slots_running = 0;  // binding or running
  std::int64_t slots_held = 0;
  std::int64_t slots_releasing = 0;
  std::int64_t slots_waiting = 0;
  TimeMs created = 0;
};

// A workload that waits in the line of its queue.
struct LineView {
  std::string_view uid;
  std::string_view lane;      // of its queue; "" where it has none
  std::int64_t priority = 0;  // as it was given
  bool holds = false;         // it has a hold, and starts when the pods there are gone
  bool grows = false;         // some of it runs already
};

// Idle devices, and the part of them that the present demand mix cannot use (nodes/fragments.h: the published amount). Thousandths
// of devices.
struct FragmentationView {
  std::int64_t capacity = 0;
  std::int64_t idle = 0;
  std::int64_t fragments = 0;  // rounded to nearest
  std::int64_t mix_epoch = 0;  // 0: no demand is known yet, nothing counts as a fragment
  bool mix_given = false;
};

}  // namespace berth::engine
