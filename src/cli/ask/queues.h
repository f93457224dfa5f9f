// Queues of all systems, and nodes, as API objects say them. Read with the rights of the user alone.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "dialect/base/kind.h"
#include "kube/transport.h"
#include "model/queue.h"

namespace berth::cli {

struct QueueLine {
  struct Amount {                            // of one resource, over all flavors; base units
    std::optional<std::int64_t> guaranteed;  // none: it has no quota of its own (a LocalQueue)
    std::optional<std::int64_t> limit;
    std::optional<std::int64_t> used;  // none: nothing says it
    std::int64_t borrowed = 0;         // of that
  };
  dialect::Kind kind = dialect::Kind::kQueue;
  std::string ns;  // of a LocalQueue
  std::string name;
  std::string parent;  // of a LocalQueue its ClusterQueue
  StopPolicy stop = StopPolicy::kNone;
  bool active = true;
  std::string why;  // it is not active
  std::optional<std::int64_t> pending, running;
  TimeMs created = 0;
  std::map<std::string, Amount> amounts;

  // "team-a/main", "research"
  std::string full_name() const { return ns.empty() ? name : ns + "/" + name; }
};

struct QueueList {
  std::vector<QueueLine> queues;  // parents before their children; LocalQueues last
  std::vector<std::string> notes;
  bool any_served = false;
  bool any_allowed = false;
};

struct NodeLine {
  struct Amount {
    std::int64_t capacity = 0;  // allocatable
    std::int64_t used = 0;      // requests of the pods there
  };
  std::string name;
  bool ready = true;
  bool cordoned = false;
  TimeMs created = 0;
  std::int64_t pods = 0;
  std::vector<std::string> path;    // values of the topology's levels, widest first
  std::vector<std::string> taints;  // "key=value:effect"
  std::map<std::string, Amount> amounts;
};

struct NodeList {
  std::vector<NodeLine> nodes;  // by name
  std::vector<std::string> levels;
  std::vector<std::string> notes;
  bool has_use = true;  // false: pods of all namespaces may not be listed
};

// `ns`: whose LocalQueues; "": all.
Result<QueueList> read_queues(kube::Transport& transport, const std::string& ns);
// Unauthorized: nodes may not be listed.
Result<NodeList> read_nodes(kube::Transport& transport);

// The resources of these that are devices; where none is, all of them.
std::vector<std::string> shown_resources(const std::vector<std::string>& all);

}  // namespace berth::cli
