#include "cli/commands/shown.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <ctime>
#include <map>
#include <memory>
#include <mutex>
#include <ostream>
#include <utility>
#include <vector>

#include "cli/base/daemon.h"
#include "cli/base/progress.h"
#include "kube/discovery.h"
#include "kube/paths.h"
#include "kube/reflector.h"

namespace berth::cli {
namespace {

using dialect::Kind;

// Changes on their way from the threads of the watches. Beyond the bound the watches are held back.
class Changes {
 public:
  struct One {
    Kind kind = Kind::kPod;
    std::string ns, name;
    std::string object;  // with its padding; "": it is gone
  };
  static constexpr std::size_t kMost = 10'000;

  void push(Kind kind, const kube::Change& change) {
    if (change.type == kube::ChangeType::kSynced) return;
    One one{kind, std::string(change.ns), std::string(change.name), {}};
    if (change.type != kube::ChangeType::kDeleted) {
      one.object = std::string(change.object);
      one.object.append(kube::kJsonPadding, '\0');
    }
    const std::lock_guard lock(mutex_);
    all_.push_back(std::move(one));
  }
  bool has_room() const {
    const std::lock_guard lock(mutex_);
    return all_.size() < kMost;
  }
  std::vector<One> take() {
    const std::lock_guard lock(mutex_);
    return std::exchange(all_, {});
  }

 private:
  mutable std::mutex mutex_;
  std::vector<One> all_;
};

}  // namespace

Status read_shown(World& world, kube::Transport& transport, std::ostream& err) {
  ProgressLine line(err, isatty(STDERR_FILENO) != 0);
  const auto status = world.read(transport, [&](Kind kind, std::size_t objects) {
    line.show([&](double seconds) {
      return fmt::format("{} objects read, {}s ... {:.1f} s", objects, enum_name(kind), seconds);
    });
  });
  line.clear();
  return status;
}

Status follow(World& world, const Cluster& cluster, const std::function<void()>& changed) {
  const sigset_t signals = block_end_signals();
  kube::Discovery discovery(*cluster.transport);
  BERTH_TRY(discovery.refresh());
  Changes changes;
  std::vector<std::unique_ptr<kube::Reflector>> watches;
  for (const Kind kind : world.read_kinds()) {
    const dialect::KindInfo& info = dialect::info_of(kind);
    const std::string version = discovery.version_of(info.group, info.resource);
    if (version.empty()) continue;
    kube::ReflectorOptions options;
    options.path = kube::ResourcePath{info.group, version, info.resource}.collection(
        info.namespaced ? std::string_view(cluster.ns) : std::string_view());
    options.field_selector = info.field_selector;
    options.seed = static_cast<std::uint64_t>(kind) + 1;
    options.ready = [&changes] { return changes.has_room(); };
    watches.push_back(std::make_unique<kube::Reflector>(
        *cluster.transport, std::move(options),
        [&changes, kind](const kube::Change& change) { changes.push(kind, change); }));
  }
  constexpr std::timespec kPause{.tv_sec = 0, .tv_nsec = 500'000'000};
  while (::sigtimedwait(&signals, nullptr, &kPause) < 0) {
    if (errno != EAGAIN) continue;
    const auto batch = changes.take();
    if (batch.empty()) continue;
    for (const auto& one : batch) {
      if (one.object.empty()) {
        world.remove(one.kind, one.ns, one.name);
      } else {
        world.upsert(one.kind,
                     std::string_view(one.object).substr(0, one.object.size() - kube::kJsonPadding));
      }
    }
    world.settle();
    changed();
  }
  watches.clear();
  return {};
}

}  // namespace berth::cli
