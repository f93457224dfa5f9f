// Failures and their times: nodes, single devices, and whole domains (racks, power feeds: nodes that share the value of a label).
// Scripted failures happen at their time. Random ones are a Poisson process: each unit fails on average once in `every`,
// independently of the others and of its own past. A unit that is hit while it is out already is not hit again. The failures follow
// from the seed and the rules, whatever the scheduler does, as long as there is work: where there is none they rest.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/enums.h"
#include "base/random.h"
#include "base/result.h"
#include "base/time.h"
#include "model/node.h"

namespace berth::sim {

enum class FaultUnit : std::uint8_t { kNode, kDevice, kDomain };
// How long a repair takes: always the same; exponential around the mean; or anything from a quarter to four times as likely per
// doubling (log-uniform).
enum class RepairSpread : std::uint8_t { kFixed, kExponential, kWide };

struct FaultRule {
  FaultUnit unit = FaultUnit::kNode;
  DurationMs every = 0;      // random: mean time between failures of one unit; 0 = scripted
  std::optional<TimeMs> at;  // scripted: when, in the trace's time
  DurationMs repair = 0;
  RepairSpread spread = RepairSpread::kFixed;
  std::string node;          // "" = all nodes (random)
  std::int64_t device = -1;  // -1 = all devices (random); counted over all pools of the node
  std::string label;         // domains: the label key
  std::string value;         // "" = all values (random)
  SourcePlace place;
};

// The units that one failure takes out.
struct Fault {
  std::vector<std::uint32_t> nodes;  // indices; whole nodes where device is -1
  std::int64_t device = -1;
  DurationMs repair = 0;
};

class Faults {
 public:
  Faults() = default;
  // Errors name the rule's place: a node, device or label that the cluster does not have.
  static Result<Faults> make(const std::vector<FaultRule>& rules, const std::vector<Node>& nodes,
                             std::uint64_t seed);

  std::size_t rules() const { return processes_.size(); }
  // When the rule strikes first in a simulation that begins at `begin`, and when next after it has struck at `now`. kEndOfTime:
  // never.
  TimeMs first(std::size_t rule, TimeMs begin);
  TimeMs next(std::size_t rule, TimeMs now);
  // Draws what the strike takes out and for how long.
  Fault strike(std::size_t rule);

 private:
  struct Process {
    FaultRule rule;
    std::vector<Fault> units;  // the repair is drawn anew each time
    Random random{0};
  };
  std::vector<Process> processes_;
};

}  // namespace berth::sim
namespace berth {
template <>
struct EnumNames<sim::FaultUnit> {
  static constexpr std::array names{"node"sv, "device"sv, "domain"sv};
};
template <>
struct EnumNames<sim::RepairSpread> {
  static constexpr std::array names{"fixed"sv, "exponential"sv, "wide"sv};
};
}  // namespace berth
