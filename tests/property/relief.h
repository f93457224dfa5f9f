// Frees what a reason names, and nothing else. Nodes that are made for it carry labels as the generator draws them
// (objects.h): "pool" of flavors and selectors, "zone", "rack" and "host" of the topology.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/decision.h"
#include "property/ledger.h"

namespace berth::property {

// The request of a pod set to quota or nodes for its start: the number of slots, and each slot's request.
struct Need {
  std::size_t set = 0;
  std::int64_t slots = 0;  // that must still start: its least count, or one
};
// For every pod set with waiting slots, in order.
std::vector<Need> needs_of(const WorkloadRecord& w);

// The leaves of the reason that name something which can be freed, in their order.
std::vector<Reason> named(const Reason& reason);

class Relief {
 public:
  Relief(const Ledger& ledger, std::string uid) : ledger_(ledger), uid_(std::move(uid)) {}

  // The events that free `amount` of what the reason names (of quotas and nodes; other reasons are lifted whole). None where
  // no such thing exists, for example a node that the pod's selector would let it run on.
  // `short_by`: how much of it is still left to free after them (0 or 1).
  std::vector<Event> events(const Reason& reason, std::int64_t amount, std::int64_t short_by = 0);

  // The numbers that the reason should have, reckoned from the ledger; none where it cannot say. For one pod set.
  struct Numbers {
    std::int64_t need = 0;
    std::int64_t have = 0;
  };
  std::optional<Numbers> numbers(const Reason& reason) const;
  // Whether room on nodes is certain for all pod sets (Ledger::room_is_known), so that a relief by nodes is exact.
  bool room_is_known() const;
  // How many limits of its lanes the queue has for this resource: one for each flavor.
  std::int64_t lane_limits(const std::string& resource) const;
  // How many limits bind its firm work in this resource: for each flavor, of its queue and of those above.
  std::int64_t firm_limits(const std::string& resource) const;
  // Whether the quota that it names lies below a limit of a subtree.
  bool is_cut(const Reason& reason) const;
  // Some pod set must be laid in segments.
  bool in_segments() const;

 private:
  const WorkloadRecord& record() const { return ledger_.workloads.at(uid_); }
  std::vector<Event> more_quota(const Reason& reason, std::int64_t amount) const;
  std::vector<Event> cover(const std::string& resource) const;
  std::vector<Event> more_nodes(std::int64_t amount, std::int64_t short_by);
  std::vector<Event> a_domain();
  std::vector<Event> mended_queue() const;
  std::vector<Event> usable_flavors() const;
  // In the flavor with the most room where that can be, otherwise in another one.
  struct Made {
    Node node;
    std::vector<std::string> flavors;
    bool elsewhere = false;
  };
  std::optional<Made> node_for(const Need& need, std::int64_t slots);
  std::vector<std::vector<std::string>> flavor_choices(std::size_t set) const;
  std::vector<std::vector<std::string>> choices_with_quota(const Need& need) const;
  std::int64_t room(const Need& need, const std::vector<std::string>& flavors,
                    const std::vector<std::string>& domain, const std::string& level) const;

  const Ledger& ledger_;
  std::string uid_;
  std::int64_t made_ = 0;
};

}  // namespace berth::property
