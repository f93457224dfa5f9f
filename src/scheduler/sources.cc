#include "scheduler/sources.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <array>

#include "dialect/names.h"
#include "kube/paths.h"

namespace berth::scheduler {
namespace {

struct Source {
  dialect::Kind kind;
  std::string_view group;
  std::string_view resource;
  bool
      vital;  // nothing can be decided without it; others may not be served (a CRD, an API that is turned off)
};

constexpr std::array kSources = {
    Source{dialect::Kind::kNode, "", "nodes", true},
    Source{dialect::Kind::kPod, "", "pods", true},
    Source{dialect::Kind::kNamespace, "", "namespaces", false},
    Source{dialect::Kind::kPriorityClass, "scheduling.k8s.io", "priorityclasses", false},
    Source{dialect::Kind::kJob, "batch", "jobs", false},
    Source{dialect::Kind::kPodGroup, dialect::kCoschedulingGroup, "podgroups", false},
    Source{dialect::Kind::kClusterQueue, dialect::kKueueGroup, "clusterqueues", false},
    Source{dialect::Kind::kCohort, dialect::kKueueGroup, "cohorts", false},
    Source{dialect::Kind::kLocalQueue, dialect::kKueueGroup, "localqueues", false},
    Source{dialect::Kind::kResourceFlavor, dialect::kKueueGroup, "resourceflavors", false},
    Source{dialect::Kind::kTopology, dialect::kKueueGroup, "topologies", false},
    Source{dialect::Kind::kWorkloadPriorityClass, dialect::kKueueGroup, "workloadpriorityclasses", false},
    Source{dialect::Kind::kQueue, dialect::kBerthGroup, "queues", false},
    Source{dialect::Kind::kVolcanoQueue, dialect::kVolcanoGroup, "queues", false},
    Source{dialect::Kind::kKaiQueue, dialect::kKaiGroup, "queues", false},
};

}  // namespace

Result<std::unique_ptr<Sources>> Sources::start(kube::Transport& transport, Inbox& inbox) {
  std::unique_ptr<Sources> sources(new Sources(transport, inbox));
  BERTH_ASSIGN([[maybe_unused]] const bool any, sources->look_again());
  for (const Source& source : kSources) {
    if (source.vital && !sources->reflectors_.contains(source.kind)) {
      return fail(ErrorCode::kUnsupported, "{} does not serve {}, without which nothing can be scheduled",
                  transport.config().server, source.resource);
    }
  }
  return sources;
}

Result<bool> Sources::look_again() {
  BERTH_TRY(discovery_.refresh());
  const auto served = discovery_.served();
  bool any = false;
  for (const Source& source : kSources) {
    if (reflectors_.contains(source.kind)) continue;
    const std::string_view version = served->version_of(source.group, source.resource);
    if (version.empty()) continue;
    kube::ReflectorOptions options;
    options.path = kube::ResourcePath{source.group, version, source.resource}.collection();
    if (source.kind == dialect::Kind::kPod)
      options.field_selector = "status.phase!=Succeeded,status.phase!=Failed";
    options.seed = static_cast<std::uint64_t>(source.kind) + 1;
    options.ready = [this] { return inbox_.accepts(); };
    reflectors_.emplace(source.kind, std::make_unique<kube::Reflector>(
                                         transport_, std::move(options),
                                         [this, kind = source.kind](const kube::Change& change) {
                                           inbox_.push(kind, change);
                                         }));
    any = true;
  }
  return any;
}

bool Sources::all_synced() const {
  for (const auto& [kind, reflector] : reflectors_) {
    if (!reflector->stats().synced.load(std::memory_order_acquire)) return false;
  }
  return true;
}

std::vector<dialect::Kind> Sources::kinds() const {
  std::vector<dialect::Kind> out;
  for (const auto& [kind, reflector] : reflectors_) out.push_back(kind);
  return out;
}

std::vector<std::string> Sources::problems() const {
  std::vector<std::string> out;
  for (const auto& [kind, reflector] : reflectors_) {
    if (auto problem = reflector->last_problem(); !problem.empty()) {
      out.push_back(fmt::format("{}: {}", enum_name(kind), problem));
    }
  }
  return out;
}

}  // namespace berth::scheduler
