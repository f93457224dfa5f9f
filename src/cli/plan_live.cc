#include "cli/plan_live.h"

#include <fmt/format.h>
#include <unistd.h>

#include <iterator>
#include <map>
#include <ostream>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>

#include "cli/base/progress.h"
#include "kube/clock.h"
#include "kube/config.h"
#include "kube/transport.h"
#include "scheduler/read/snapshot.h"

namespace berth::cli {
namespace {

using dialect::Object;

// The parts that the API server keeps when a manifest is applied over an object.
template <class T>
void inherit(const T& there, T& manifest) {
  manifest.meta.uid = there.meta.uid;
  manifest.meta.created = there.meta.created;
  manifest.meta.deleting = there.meta.deleting;
  if (manifest.meta.controller->kind.empty()) manifest.meta.controller = there.meta.controller;
  if constexpr (requires { manifest.keep_status(there); }) {
    manifest.keep_status(there);
  } else if constexpr (std::is_same_v<T, dialect::LocalQueue>) {
    manifest.used = there.used;
    manifest.used_at = there.used_at;
  } else if constexpr (std::is_same_v<T, dialect::AdmissionCheck>) {
    manifest.active = there.active;
  }
}

std::tuple<dialect::Kind, std::string_view, std::string_view> name_of(const Object& object) {
  const dialect::Meta& meta = dialect::meta_of(object);
  return {dialect::kind_of(object), meta.ns, meta.name};
}

}  // namespace

void lay_over(std::vector<Object> cluster, PlanInput& input) {
  std::map<std::tuple<dialect::Kind, std::string_view, std::string_view>, std::size_t> there;
  for (std::size_t i = 0; i < cluster.size(); ++i) there.emplace(name_of(cluster[i]), i);
  std::vector<bool> covered(cluster.size());
  std::vector<Object> manifests;
  for (Object& object : input.objects) {
    const auto at = there.find(name_of(object));
    if (at == there.end()) {
      manifests.push_back(std::move(object));
      continue;
    }
    if (const auto* pod = std::get_if<dialect::Pod>(&object)) {
      input.notes.push_back(fmt::format(
          "Pod {}/{} is in the cluster already, and stays as it is there: its manifest is not looked at",
          pod->meta.ns, pod->meta.name));
      continue;
    }
    std::visit(
        [&](auto& manifest) {
          inherit(std::get<std::decay_t<decltype(manifest)>>(cluster[at->second]), manifest);
        },
        object);
    covered[at->second] = true;
    manifests.push_back(std::move(object));
  }
  input.objects.clear();
  for (std::size_t i = 0; i < cluster.size(); ++i) {
    if (!covered[i]) input.objects.push_back(std::move(cluster[i]));
  }
  std::move(manifests.begin(), manifests.end(), std::back_inserter(input.objects));
}

Status add_cluster(const LiveOptions& options, PlanInput& input, std::ostream& err) {
  BERTH_ASSIGN(const auto config, kube::find_config(options.kubeconfig, options.context));
  if (config.insecure) {
    input.notes.push_back(
        fmt::format("{}: the server's certificate is not checked (insecure-skip-tls-verify)", config.source));
  }
  BERTH_ASSIGN(const auto transport, kube::Transport::create(config));
  input.now = kube::wall_us() / 1000;
  ProgressLine line(err, isatty(STDERR_FILENO) != 0);
  scheduler::SnapshotOptions list;
  list.progress = [&](dialect::Kind kind, std::size_t objects) {
    line.show([&](double seconds) {
      return fmt::format("{}: {} objects read, {}s ... {:.1f} s", config.server, objects, enum_name(kind),
                         seconds);
    });
  };
  auto snapshot = scheduler::take_snapshot(*transport, list);
  line.clear();
  if (!snapshot) return tl::unexpected<Error>(std::move(snapshot).error());
  input.notes.push_back(
      fmt::format("The cluster is {} ({} objects)", config.server, snapshot->objects.size()));
  for (const std::string& unread : snapshot->unread)
    input.notes.push_back(fmt::format("not read: {}", unread));
  lay_over(std::move(snapshot->objects), input);
  return {};
}

}  // namespace berth::cli
