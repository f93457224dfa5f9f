#include "cli/commands/shown.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <ctime>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <ostream>
#include <utility>
#include <vector>

#include "cli/ask/events.h"
#include "cli/base/daemon.h"
#include "cli/base/progress.h"
#include "cli/base/show.h"
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
    std::optional<Kind> kind;  // none: an event
    bool synced = false;       // the list is complete
    std::string ns, name;
    std::string object;  // with its padding; "": it is gone
  };
  static constexpr std::size_t kMost = 10'000;

  void push(std::optional<Kind> kind, const kube::Change& change) {
    One one{
        kind, change.type == kube::ChangeType::kSynced, std::string(change.ns), std::string(change.name), {}};
    if (change.type == kube::ChangeType::kAdded || change.type == kube::ChangeType::kModified) {
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

// Tells a world of changes. Between its reading and the first list of a watch things may go, which no watch tells of.
class Teller {
 public:
  explicit Teller(World& world) : world_(world) {}

  void tell(const std::vector<Changes::One>& batch) {
    if (batch.empty()) return;
    for (const auto& one : batch) {
      if (one.kind) tell(*one.kind, one);
    }
    world_.settle();
    for (const auto& one : batch) {
      if (one.kind || one.object.empty()) continue;
      if (const auto event = event_of(json_of(one))) world_.hear(*event);
    }
  }

 private:
  static std::string_view json_of(const Changes::One& one) {
    return std::string_view(one.object).substr(0, one.object.size() - kube::kJsonPadding);
  }
  void tell(Kind kind, const Changes::One& one) {
    if (one.synced) {
      if (!complete_.insert(kind).second) return;
      world_.keep_only(kind, first_[kind]);
      first_.erase(kind);
    } else if (one.object.empty()) {
      world_.remove(kind, one.ns, one.name);
    } else {
      if (!complete_.contains(kind)) first_[kind].insert(one.ns + "/" + one.name);
      world_.upsert(kind, json_of(one));
    }
  }

  World& world_;
  std::map<Kind, std::set<std::string>> first_;  // of a list that is not complete
  std::set<Kind> complete_;
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

void Contact::look(const std::string& problem) {
  const auto now = std::chrono::steady_clock::now();
  if (problem.empty()) {
    if (said_) err_ << "note: the API server is followed again\n" << std::flush;
    troubled_ = said_ = false;
    return;
  }
  if (!std::exchange(troubled_, true)) since_ = now;
  if (said_ || now - since_ < kPatience) return;
  said_ = true;
  err_ << "note: changes are not seen: " << printable(problem) << "; trying again\n" << std::flush;
}

Status follow(World& world, const Cluster& cluster, std::ostream& err, const std::function<void()>& changed) {
  const sigset_t signals = block_end_signals();
  kube::Discovery discovery(*cluster.transport);
  BERTH_TRY(discovery.refresh());
  Changes changes;
  std::vector<std::unique_ptr<kube::Reflector>> watches;
  const auto watch = [&](std::optional<Kind> kind, std::string path, std::string_view selector) {
    kube::ReflectorOptions options;
    options.path = std::move(path);
    options.field_selector = selector;
    options.binary = kind && dialect::info_of(*kind).binary;
    options.seed = watches.size() + 1;
    options.ready = [&changes] { return changes.has_room(); };
    watches.push_back(std::make_unique<kube::Reflector>(
        *cluster.transport, std::move(options),
        [&changes, kind](const kube::Change& change) { changes.push(kind, change); }));
  };
  for (const Kind kind : world.read_kinds()) {
    const dialect::KindInfo& info = dialect::info_of(kind);
    const std::string version = discovery.version_of(info.group, info.resource);
    if (version.empty()) continue;
    const auto ns = info.namespaced ? std::string_view(cluster.ns) : std::string_view();
    watch(kind, kube::ResourcePath{info.group, version, info.resource}.collection(ns), info.field_selector);
  }
  if (world.may_read_events()) watch(std::nullopt, kube::kEvents.collection(cluster.ns), kWaitingEvents);
  const auto problem = [&] {
    std::string out;
    for (const auto& one : watches) {
      if (out.empty()) out = one->last_problem();
    }
    return out;
  };
  Contact contact(err);
  Teller teller(world);
  auto asked = std::chrono::steady_clock::now();
  constexpr std::timespec kPause{.tv_sec = 0, .tv_nsec = 500'000'000};
  while (::sigtimedwait(&signals, nullptr, &kPause) < 0) {
    if (errno != EAGAIN) continue;
    contact.look(problem());
    const auto batch = changes.take();
    teller.tell(batch);
    bool differ = !batch.empty();
    if (const auto now = std::chrono::steady_clock::now(); now - asked >= kPlacesEvery) {
      asked = now;
      differ |= world.ask_for_places(*cluster.transport);
    }
    if (differ) changed();
  }
  watches.clear();
  return {};
}

}  // namespace berth::cli
