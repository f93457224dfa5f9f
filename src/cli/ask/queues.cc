#include "cli/ask/queues.h"

#include <fmt/format.h>
#include <simdjson.h>

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>
#include <variant>

#include "base/checked.h"
#include "cli/ask/cluster.h"
#include "dialect/base/fields.h"
#include "dialect/kueue/queue_status.h"
#include "dialect/objects/object.h"
#include "scheduler/read/snapshot.h"

namespace berth::cli {
namespace {

using dialect::Kind;
using Amounts = std::map<std::string, QueueLine::Amount>;

constexpr std::string_view kZone = "topology.kubernetes.io/zone";

void add_limit(QueueLine::Amount& amount, std::int64_t guaranteed, std::optional<std::int64_t> limit,
               bool first) {
  amount.guaranteed = saturating_add(amount.guaranteed.value_or(0), guaranteed);
  // One flavor without a limit leaves the sum without one.
  if (first) {
    amount.limit = limit;
  } else if (amount.limit) {
    amount.limit = limit ? std::optional(saturating_add(*amount.limit, *limit)) : std::nullopt;
  }
}

void read_quotas(QueueLine& out, const std::vector<Quota>& quotas) {
  for (const Quota& quota : quotas) {
    const auto [at, first] = out.amounts.try_emplace(quota.resource);
    std::optional<std::int64_t> limit;
    if (quota.borrowing_limit) limit = saturating_add(quota.nominal, *quota.borrowing_limit);
    add_limit(at->second, quota.nominal, limit, first);
  }
}

void read_tree(QueueLine& out, const dialect::TreeQueue& queue) {
  out.parent = queue.parent;
  out.stop = queue.stop;
  for (const auto& amount : queue.amounts) {
    const auto [at, first] = out.amounts.try_emplace(amount.resource);
    add_limit(at->second, amount.guaranteed, amount.limit, first);
  }
}

void read_status(QueueLine& out, std::string_view json) {
  const auto status = dialect::read_queue_status(out.kind, json);
  if (!status) return;
  if (!status->active && !status->reason.empty()) {
    out.active = false;
    if (out.why.empty()) out.why = status->message;
  }
  out.pending = status->pending;
  out.running = status->reserving;
  for (auto& [resource, amount] : out.amounts) amount.used = 0;
  for (const auto& use : status->uses) {
    QueueLine::Amount& amount = out.amounts[use.resource];
    amount.used = saturating_add(amount.used.value_or(0), use.reserved.total);
    amount.borrowed = saturating_add(amount.borrowed, use.reserved.borrowed);
  }
}

// Nothing writes a status on Cohorts, and on a new queue none was written yet.
bool has_status(std::string_view json) {
  simdjson::dom::parser parser;
  simdjson::dom::element root;
  simdjson::dom::object status;
  return parser.parse(json.data(), json.size()).get(root) == simdjson::SUCCESS &&
         root["status"].get(status) == simdjson::SUCCESS && status.size() > 0;
}

// Nothing where it is no queue.
std::optional<QueueLine> queue_of(const dialect::Object& object, std::string_view json) {
  QueueLine out;
  const dialect::Meta& meta = dialect::meta_of(object);
  out.kind = dialect::kind_of(object);
  out.ns = meta.ns;
  out.name = meta.name;
  out.created = meta.created;
  if (const auto* queue = std::get_if<dialect::ClusterQueue>(&object)) {
    out.parent = queue->cohort;
    out.stop = queue->stop;
    read_quotas(out, queue->quotas);
    if (!queue->problem.empty()) {
      out.active = false;
      out.why = queue->problem;
    }
  } else if (const auto* cohort = std::get_if<dialect::Cohort>(&object)) {
    out.parent = cohort->parent;
    read_quotas(out, cohort->quotas);
  } else if (const auto* local = std::get_if<dialect::LocalQueue>(&object)) {
    out.parent = local->cluster_queue;
    out.stop = local->stop;
  } else if (const auto* own = std::get_if<dialect::BerthQueue>(&object)) {
    read_tree(out, *own);
  } else if (const auto* volcano = std::get_if<dialect::VolcanoQueue>(&object)) {
    read_tree(out, *volcano);
    return out;
  } else if (const auto* kai = std::get_if<dialect::KaiQueue>(&object)) {
    read_tree(out, *kai);
    return out;
  } else {
    return std::nullopt;
  }
  if (out.kind != Kind::kCohort && has_status(json)) read_status(out, json);
  return out;
}

// Parents first, then by name; LocalQueues last.
void sort_as_tree(std::vector<QueueLine>& queues) {
  std::map<std::string, const QueueLine*> by_name;
  for (const auto& queue : queues) {
    if (queue.kind != Kind::kLocalQueue) by_name.emplace(queue.name, &queue);
  }
  constexpr int kMostLevels = 64;
  const auto path_of = [&](const QueueLine& queue) {
    std::string path = queue.name;
    std::string_view above = queue.parent;
    for (int i = 0; i < kMostLevels && !above.empty(); ++i) {
      path = fmt::format("{}\n{}", above, path);
      const auto it = by_name.find(std::string(above));
      above = it == by_name.end() ? std::string_view() : std::string_view(it->second->parent);
    }
    return path;
  };
  std::vector<std::pair<std::tuple<bool, std::string, std::string>, std::size_t>> order;
  for (std::size_t i = 0; i < queues.size(); ++i) {
    const bool local = queues[i].kind == Kind::kLocalQueue;
    order.push_back({{local, local ? queues[i].ns : path_of(queues[i]), queues[i].name}, i});
  }
  std::sort(order.begin(), order.end());
  std::vector<QueueLine> sorted;
  for (const auto& [key, i] : order) sorted.push_back(std::move(queues[i]));
  queues = std::move(sorted);
}

bool is_ready(std::string_view json) {
  simdjson::dom::parser parser;
  simdjson::dom::element root;
  simdjson::dom::array conditions;
  if (parser.parse(json.data(), json.size()).get(root) != simdjson::SUCCESS ||
      root.at_pointer("/status/conditions").get(conditions) != simdjson::SUCCESS) {
    return true;  // nothing says otherwise
  }
  for (const auto condition : conditions) {
    std::string_view type, status;
    if (condition["type"].get(type) == simdjson::SUCCESS && type == "Ready" &&
        condition["status"].get(status) == simdjson::SUCCESS) {
      return status == "True";
    }
  }
  return true;
}

std::string text_of(const Taint& taint) {
  return fmt::format("{}{}{}:{}", taint.key, taint.value.empty() ? "" : "=", taint.value,
                     enum_name(taint.effect));
}

}  // namespace

Result<QueueList> read_queues(kube::Transport& transport, const std::string& ns) {
  QueueList out;
  scheduler::SnapshotOptions list;
  list.ns = ns;
  list.kinds = {Kind::kQueue,        Kind::kVolcanoQueue, Kind::kKaiQueue,
                Kind::kClusterQueue, Kind::kCohort,       Kind::kLocalQueue};
  list.partial = true;
  list.seen = [&](const dialect::Object& object, std::string_view json) {
    if (auto queue = queue_of(object, json)) out.queues.push_back(std::move(*queue));
  };
  BERTH_ASSIGN(const auto snapshot, scheduler::take_snapshot(transport, list));
  out.any_served = snapshot.unserved.size() < list.kinds.size();
  out.any_allowed = snapshot.unserved.size() + snapshot.refused.size() < list.kinds.size();
  for (const Kind kind : snapshot.refused) {
    const auto& info = dialect::info_of(kind);
    out.notes.push_back(
        fmt::format("not shown: {}, for lack of {} (the ClusterRole berth-view has it)", info.resource,
                    lacks_right("list", info.resource, info.group, info.namespaced ? ns : "")));
  }
  for (const std::string& unread : snapshot.unread) out.notes.push_back(fmt::format("not read: {}", unread));
  sort_as_tree(out.queues);
  return out;
}

Result<NodeList> read_nodes(kube::Transport& transport) {
  NodeList out;
  std::map<std::string, NodeLine> nodes;
  std::map<std::string, Labels> labels;
  scheduler::SnapshotOptions list;
  list.kinds = {Kind::kNode, Kind::kPod, Kind::kTopology};
  list.partial = true;
  list.seen = [&](const dialect::Object& object, std::string_view json) {
    const auto* node = std::get_if<dialect::NodeObject>(&object);
    if (node == nullptr) return;
    NodeLine line;
    line.name = node->meta.name;
    line.created = node->meta.created;
    line.cordoned = node->unschedulable;
    line.ready = is_ready(json);
    for (const Taint& taint : node->taints) line.taints.push_back(text_of(taint));
    for (const auto& [resource, amount] : node->allocatable) line.amounts[resource].capacity = amount;
    labels[line.name] = node->meta.labels;
    nodes.insert_or_assign(line.name, std::move(line));
  };
  BERTH_ASSIGN(const auto snapshot, scheduler::take_snapshot(transport, list));
  for (const Kind kind : snapshot.refused) {
    const auto& info = dialect::info_of(kind);
    const std::string right = lacks_right("list", info.resource, info.group, "");
    if (kind == Kind::kNode) {
      return fail(ErrorCode::kUnauthorized, "{} (context {}) refuses {}; the ClusterRole berth-plan has it",
                  transport.config().server, transport.config().context, right);
    }
    if (kind == Kind::kPod) {
      out.has_use = false;
      out.notes.push_back(fmt::format("not shown: what is in use on nodes, for lack of {}", right));
    }
  }
  out.levels = {std::string(kZone)};
  std::size_t most = 0;
  for (const auto& object : snapshot.objects) {
    if (const auto* topology = std::get_if<dialect::TopologyObject>(&object);
        topology != nullptr && topology->levels.size() > most) {
      most = topology->levels.size();
      out.levels = topology->levels;
    }
    const auto* pod = std::get_if<dialect::Pod>(&object);
    if (pod == nullptr || pod->spec.node_name.empty()) continue;
    const auto at = nodes.find(pod->spec.node_name);
    if (at == nodes.end()) continue;
    ++at->second.pods;
    const auto total = pod->spec.pod->total();
    if (!total) continue;
    for (const auto& [resource, amount] : *total) {
      NodeLine::Amount& known = at->second.amounts[resource];
      known.used = saturating_add(known.used, amount);
    }
  }
  std::erase(out.levels, "kubernetes.io/hostname");
  for (auto& [name, line] : nodes) {
    for (const auto& level : out.levels) {
      const auto it = labels[name].find(level);
      if (it == labels[name].end()) break;
      line.path.push_back(it->second);
    }
    out.nodes.push_back(std::move(line));
  }
  return out;
}

std::vector<std::string> shown_resources(const std::vector<std::string>& all) {
  std::vector<std::string> out;
  const dialect::DeviceNames names;
  for (const auto& resource : all) {
    if (names.is_device(resource)) out.push_back(resource);
  }
  return out.empty() ? all : out;
}

}  // namespace berth::cli
