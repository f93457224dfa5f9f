// Other schedulers on the same cluster: leases of those that lead, and pods that name them.
#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <iterator>
#include <map>
#include <optional>
#include <utility>
#include <variant>

#include "cli/commands/check.h"
#include "dialect/base/names.h"
#include "dialect/objects/object.h"
#include "kube/paths.h"
#include "scheduler/read/snapshot.h"
#include "text/document.h"
#include "text/time.h"

namespace berth::cli {
namespace {

constexpr std::string_view kKueueLease = "c1f6bfd2.kueue.x-k8s.io";
constexpr std::string_view kDefaultScheduler = "default-scheduler";
constexpr std::string_view kKubeScheduler = "kube-scheduler";
constexpr DurationMs kFresh = 30 * kSecond;  // clocks differ
constexpr text::Limits kLeaseLimits{.max_depth = 64, .max_nodes = 100'000, .max_document_bytes = 4 << 20};

std::string word_of(const text::Node& lease, std::initializer_list<std::string_view> path) {
  const text::Node* node = lease.at(path);
  return node == nullptr ? std::string() : std::string(node->text());
}

// By a holder that renews it.
bool is_held(const text::Node& lease, TimeMs now) {
  const auto renewed = text::parse_time_ms(word_of(lease, {"spec", "renewTime"}));
  const text::Node* seconds = lease.at({"spec", "leaseDurationSeconds"});
  const std::int64_t length =
      std::clamp<std::int64_t>(seconds == nullptr ? 0 : seconds->as_int().value_or(0), 0, 3600);
  return renewed && !word_of(lease, {"spec", "holderIdentity"}).empty() && *renewed <= now + kFresh &&
         now < *renewed + length * kSecond + kFresh;
}

bool answers_to(const CheckOptions& options, std::string_view name) {
  return std::find(options.scheduler_names.begin(), options.scheduler_names.end(), name) !=
         options.scheduler_names.end();
}

struct Foreign {
  std::int64_t with_devices = 0;
  std::int64_t with_queue = 0;
  std::string example;
};

bool names_queue(const dialect::Pod& pod) {
  return !pod.meta.mark(dialect::kKueueQueue).empty() || !pod.meta.mark(dialect::kBerthQueue).empty();
}

void say_pods(const std::map<std::string, Foreign>& foreign, std::vector<Finding>& out) {
  for (const auto& [name, pods] : foreign) {
    if (pods.with_queue > 0) {
      out.push_back(
          {Level::kError, "pods",
           fmt::format("{} pods name a queue and the scheduler {}, such as {}: they go past every queue",
                       pods.with_queue, name, pods.example),
           "let the API server write the scheduler name (deploy/admission-policy.yaml or webhook.yaml), "
           "or set schedulerName: berth"});
    } else if (pods.with_devices > 0) {
      out.push_back(
          {Level::kWarning, "pods",
           fmt::format("{} pods that ask for devices name the scheduler {}, such as {}: two schedulers on "
                       "the same nodes may give one GPU away twice",
                       pods.with_devices, name, pods.example),
           "keep the two apart by taints and selectors, or let Berth have all pods that ask for GPUs"});
    }
  }
  if (foreign.empty())
    out.push_back({Level::kOk, "pods", "no pod with devices, or of a queue, names another scheduler", {}});
}

void check_pods(kube::Transport& transport, const CheckOptions& options, std::vector<Finding>& out) {
  std::map<std::string, Foreign> foreign;
  scheduler::SnapshotOptions list;
  list.kinds = {dialect::Kind::kPod};
  list.partial = true;
  list.seen = [&](const dialect::Object& object, std::string_view) {
    const auto* pod = std::get_if<dialect::Pod>(&object);
    if (pod == nullptr) return;
    const std::string name(pod->spec.scheduler_name.empty() ? kDefaultScheduler
                                                            : std::string_view(pod->spec.scheduler_name));
    const bool queue = names_queue(*pod);
    const bool devices = !pod->spec.pod->claim.requests.empty();
    if (answers_to(options, name) || (!queue && !devices)) return;
    Foreign& known = foreign[name];
    known.with_devices += devices ? 1 : 0;
    known.with_queue += queue ? 1 : 0;
    if (known.example.empty() || (queue && known.with_queue == 1))
      known.example = fmt::format("{}/{}", pod->meta.ns, pod->meta.name);
  };
  const auto read = scheduler::take_snapshot(transport, list);
  if (!read) {
    out.push_back({Level::kWarning, "pods", read.error().str(), "run the check again"});
  } else if (!read->refused.empty()) {
    out.push_back(
        {Level::kNote, "pods", "pods may not be listed: which schedulers they name is not checked", {}});
  } else {
    say_pods(foreign, out);
  }
}

bool is_own(const text::Node& lease, const CheckOptions& options) {
  return word_of(lease, {"metadata", "name"}) == options.rights.lease_name &&
         word_of(lease, {"metadata", "namespace"}) == options.rights.lease_namespace;
}

// The finding about a lease that is held.
std::optional<Finding> finding_of(const text::Node& lease, const CheckOptions& options) {
  const std::string name = word_of(lease, {"metadata", "name"});
  const std::string ns = word_of(lease, {"metadata", "namespace"});
  if (name == kKueueLease) {
    return Finding{Level::kWarning, "others",
                   fmt::format("Kueue runs here too (it leads in namespace {}): it decides about work of the "
                               "same queues",
                               ns),
                   fmt::format("turn its integrations off for Berth's namespaces, or stop it: kubectl -n {} "
                               "scale deployment kueue-controller-manager --replicas=0",
                               ns)};
  }
  if (name == kKubeScheduler && answers_to(options, kDefaultScheduler)) {
    return Finding{Level::kError, "others",
                   "kube-scheduler runs here too, and Berth answers to default-scheduler",
                   "stop kube-scheduler, or let Berth answer to a name of its own"};
  }
  if (is_own(lease, options)) {
    return Finding{Level::kOk,
                   "leader",
                   fmt::format("Berth decides here: {}", word_of(lease, {"spec", "holderIdentity"})),
                   {}};
  }
  return std::nullopt;
}

}  // namespace

std::vector<Finding> check_leases(const std::vector<std::string>& lists, const CheckOptions& options,
                                  TimeMs now) {
  std::vector<Finding> out;
  bool berth = false;
  for (const std::string& list : lists) {
    const auto document = text::parse_json(list, "leases", kLeaseLimits);
    const text::Node* items = document ? document->root().find("items") : nullptr;
    if (items == nullptr) continue;
    for (const text::Node& lease : items->items()) {
      if (!is_held(lease, now)) continue;
      berth = berth || is_own(lease, options);
      if (auto finding = finding_of(lease, options)) out.push_back(std::move(*finding));
    }
  }
  if (!berth) {
    out.push_back({Level::kNote,
                   "leader",
                   fmt::format("no Berth decides here now (lease {}/{})", options.rights.lease_namespace,
                               options.rights.lease_name),
                   {}});
  }
  return out;
}

std::vector<Finding> check_all(kube::Transport& transport, const CheckOptions& options, TimeMs now) {
  std::vector<Finding> out = check_start(transport, options);
  if (!out.empty() && out.front().subject == "server") return out;
  // By name: each node has a lease, too.
  std::vector<std::string> lists;
  for (const std::string_view name :
       {kKueueLease, kKubeScheduler, std::string_view(options.rights.lease_name)}) {
    kube::Request request;
    request.path =
        fmt::format("{}?fieldSelector=metadata.name%3D{}", kube::kLeases.collection(), kube::escape(name));
    request.max_response = kLeaseLimits.max_document_bytes;
    kube::Response response = transport.call(std::move(request));
    if (response.ok()) lists.push_back(std::move(response.body));
  }
  if (lists.empty()) {
    out.push_back(
        {Level::kNote, "others", "leases may not be listed: whether Kueue runs here is not checked", {}});
  } else {
    auto leases = check_leases(lists, options, now);
    std::move(leases.begin(), leases.end(), std::back_inserter(out));
  }
  check_pods(transport, options, out);
  return out;
}

}  // namespace berth::cli
