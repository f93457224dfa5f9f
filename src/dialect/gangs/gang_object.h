// An object that says how a gang starts, whichever system it comes from: one struct per system derives from it, and its decoder fills
// it. The pods name the object by a mark (gang_system.h).
//
// A gang starts with at least `least` pods, and with at least as many of each part as the part needs. It may need only some of its parts:
// by labels (GangSplit), or of those of a ring. The others follow, each whole (Turn in books/draft_book.h).
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "dialect/base/kind.h"
#include "dialect/base/meta.h"
#include "model/resources.h"
#include "model/workload.h"

namespace berth::dialect {

// How near to each other pods are to be, by the tiers of a network that objects of the gang's system describe. The lower a tier, the nearer.
struct TierRequest {
  bool strict = true;                // the highest tier is a bound
  std::optional<std::int64_t> most;  // that one
  std::string most_name;             // the same by its name; "" = by its number

  // Without a highest tier, or where it is none, they are to be as near as can be.
  bool hard() const { return strict && (most || !most_name.empty()); }
  bool operator==(const TierRequest&) const = default;
};

struct GangPart {
  std::string name;
  std::int64_t least = 1;
  TopologyRequest topology = {};
  std::string inside = {};  // of the rings around it the innermost; "" = none
  bool operator==(const GangPart&) const = default;
};

// Parts, and rings of them, that together ask for a topology, or of which some are enough.
struct GangRing {
  std::string name;
  std::string inside;  // another ring; "" = none
  TopologyRequest topology;
  std::optional<std::int64_t> needs = {};  // so many of what is directly in it; none: all
  bool operator==(const GangRing&) const = default;
};

// Parts by the labels of pods: pods that the selector selects, and whose labels of these keys are equal, are one part of `least` pods.
struct GangSplit {
  std::string name;
  LabelSelector selector;
  std::vector<std::string> keys;
  std::int64_t least = 1;
  std::int64_t parts = 0;                 // so many of them must be there
  std::optional<TierRequest> tiers = {};  // of each part

  // The part of a pod with these labels, "name:value,value"; "": it is of none, as all pods are where there are no keys.
  std::string part_of(const Labels& labels) const;
  bool has(std::string_view part) const;
};

struct GangObject {
  Meta meta;
  std::int64_t least = 1;
  bool as_one = false;          // those of its pods that have nodes end together, also those beyond `least`
  std::vector<GangPart> parts;  // by a mark of the pod (GangSystem::part)
  std::vector<GangRing> rings;  // of parts; outer ones first
  std::optional<std::int64_t> needs;  // of the parts and rings that are in no ring, so many; none: all
  std::vector<GangSplit> splits;      // else by its labels
  std::string queue;                  // of the object's own system; "" = it names none
  std::string priority_class;         // "" = as its pods say
  bool preemptible = true;
  std::int64_t protected_from = std::numeric_limits<
      std::int64_t>::max();              // at this priority it is no victim; unless it says otherwise itself
  std::optional<DurationMs> broken_for;  // Workload::broken_for, broken_since, preempts_after
  TimeMs broken_since = 0;
  DurationMs preempts_after = 0;
  TopologyRequest topology;
  std::optional<TierRequest> tiers;  // of all its pods together
  std::vector<std::string>
      together;       // gangs of this system that start together, by name, with this one; empty: it alone
  ResourceList asks;  // at least, of all its pods together; base units
  std::string unsupported;         // a field that Berth does not carry out: the gang waits
  std::string wrong;               // a field that cannot be read, or contradicts another: it waits, too
  std::vector<std::string> notes;  // fields that are not carried out, and do not keep it from starting

  // Its status on the server, as its system writes it (GangSystem::status), without times; and since when.
  std::string stands;
  std::string stage;  // of the status, as its system names it
  TimeMs since = 0;
  std::string displaced;  // why it was ended, where its status still says so
  TimeMs displaced_since = 0;

  // The fewest pods of this part; 0: any number.
  std::int64_t least_of(std::string_view part) const;
  const GangPart* part_named(std::string_view name) const;  // nullptr: it has none
  const GangSplit* split_of(std::string_view part) const;
  bool has_part(std::string_view part) const;
  // Some of its parts are enough: they start in turn.
  bool chooses() const;
  // The topology that this part asks for itself, by labels of nodes.
  TopologyRequest topology_of(std::string_view part) const;
  // The rings around this part that ask for a topology, the outermost first.
  std::vector<GangRing> rings_of(std::string_view part) const;
  // Whether any part, or ring of parts, asks for a topology of its own.
  bool parts_ask_for_topology() const;
};

}  // namespace berth::dialect
