// The parts of random histories: nodes, queues and workloads, each drawn from a seed of its own. A new value of an enumeration is
// drawn without a change here (any()); the checks of coverage ask that it is met (coverage.h).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/enums.h"
#include "base/random.h"
#include "model/mix.h"
#include "model/node.h"
#include "model/queue.h"
#include "model/workload.h"

namespace berth::property {

inline constexpr std::string_view kGpu = "nvidia.com/gpu";

// One of all values of the enumeration.
template <NamedEnum E>
E any(Random& r) {
  return static_cast<E>(r.below(EnumNames<E>::names.size()));
}

// Data that all steps of a history share.
struct Profile {
  std::int64_t flavors = 1;
  bool topology = false;
  std::int64_t levels = 1;  // of the queue tree
  std::vector<std::string> leaves;
  std::vector<std::pair<std::string, std::string>> inner;  // name, parent
  std::vector<std::string> parent_of_leaf;
  bool policies = false;  // preemption at all
  bool outside = false;   // faults from outside
  bool orders = false;    // other orders than by priority and creation
  bool opaque = false;    // no flavor's nodes are known: quota is all that its work gets
  bool awaits = false;    // some work gets quota alone in some flavors, until its nodes have come
  bool ports = false;     // some pods take host ports
  bool terms = false;     // pods must be apart from others, or near to some
  bool spreads = false;   // pods must be spread: only with terms
  bool budgets = false;   // some pods have disruption budgets
  bool volumes = false;   // pods have volumes that are on some nodes only
  // Most work has one of two shapes, drawn from this; 0: each workload has a shape of its own.
  std::uint64_t twins = 0;
};
Profile profile_of(std::uint64_t seed);

std::string flavor_name(std::int64_t i);
inline constexpr std::int64_t kBudgetCount = 3;
std::string budget_name(std::int64_t i);

// `id` names what is made; queues are numbered through the inner ones and then the leaves.
Node make_node(const Profile& p, std::int64_t id, std::uint64_t seed);
Ordering make_ordering(Random& r);
Queue make_queue(const Profile& p, std::int64_t id, std::uint64_t seed);
Workload make_workload(const Profile& p, std::int64_t id, std::uint64_t seed);
// For some workloads' pods; sometimes empty.
DemandMix make_mix(const Profile& p, std::uint64_t seed);

// Terms about other pods, and selectors that count the pod; often none.
void draw_terms(Random& r, std::vector<CountedTerm>& terms, std::vector<std::string>& selected);
// How a pod is spread; often not at all.
void draw_spreads(Random& r, std::vector<CountedTerm>& terms);
// Preferred terms; often none.
void draw_wishes(Random& r, std::vector<PreferredCountedTerm>& wishes);
bool has_terms(const Workload& w);

// In all pod sets: in which flavors they get quota alone until nodes have come.
void set_awaited(Group& group, const std::vector<std::string>& flavors);

// Volumes of few that there are, so that pods often share them; often none.
void draw_shared_volumes(Random& r, std::vector<SharedVolume>& out);

// One or two, of few that there are: they often stand in each other's way.
std::vector<HostPort> make_ports(Random& r);

// Thousandths of devices that all pods of the workload ask for.
std::int64_t devices_of(const Workload& w);

}  // namespace berth::property
