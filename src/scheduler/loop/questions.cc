#include "scheduler/loop/questions.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <future>
#include <map>
#include <optional>
#include <utility>

#include "observe/codec.h"

namespace berth::scheduler {
namespace {

constexpr auto kAnswerTime = std::chrono::seconds(2);
constexpr std::size_t kLookUps = 500;  // at a time: some 100 us of the decision thread

// One in line, before it is known what Workload it is.
struct InLine {
  std::string uid;
  std::string lane;
  std::int64_t priority = 0;
  bool grows = false;
};

}  // namespace

template <class T>
Result<T> Questions::look_up(std::function<T(const Core&)> question) {
  if (follower_ == nullptr || !is_open_) {
    return fail(ErrorCode::kUnavailable, "this replica does not decide now");
  }
  const auto promise = std::make_shared<std::promise<T>>();
  auto future = promise->get_future();
  inbox_.ask([this, promise, question = std::move(question)] { promise->set_value(question(*core_)); });
  if (future.wait_for(kAnswerTime) != std::future_status::ready) {
    return fail(ErrorCode::kUnavailable, "the decision thread is busy, ask again");
  }
  return future.get();
}

Result<Verdict> Questions::verdict(const std::string& asked) {
  struct Known {
    std::string uid;
    std::optional<Reason> blocked;
  };
  BERTH_ASSIGN(Known known, look_up<Known>([asked](const Core& core) {
                 Known out;
                 const dialect::IntakeView& intake = core.intake();
                 if (intake.workload(asked)) {
                   out.uid = asked;
                 } else if (const auto pod = intake.pod(asked)) {
                   out.uid = pod->workload;
                 } else if (asked.find('/') != std::string::npos) {  // namespace/name of a workload
                   for (const auto& workload : intake.workloads()) {
                     if (workload.name == asked) out.uid = workload.uid;
                   }
                 }
                 out.blocked = core.carrier().volumes_waited_for(out.uid);
                 if (const Reason* reason = intake.blocked(out.uid); reason != nullptr && !out.blocked)
                   out.blocked = *reason;
                 return out;
               }));
  if (known.uid.empty()) {
    return fail(ErrorCode::kNotFound,
                "{} is not known; give the uid of a workload or pod, or the namespace/name of a workload",
                asked);
  }
  if (known.blocked) return Verdict{VerdictKind::kBlocked, std::move(*known.blocked)};
  return follower_->explain(known.uid);
}

Result<std::string> Questions::explain(const std::string& asked) {
  BERTH_ASSIGN(const Verdict found, verdict(asked));
  return observe::encode(found);
}

Result<std::vector<dialect::PendingPlace>> Questions::pending(const dialect::PendingQuestion& asked) {
  const std::string lane = asked.ns.empty() ? std::string() : fmt::format("{}/{}", asked.ns, asked.queue);
  // The ClusterQueue, where it exists, as the engine names it.
  BERTH_ASSIGN(const auto queue,
               look_up<std::optional<std::string>>([lane, name = asked.queue](const Core& core) {
                 const dialect::IntakeQueues queues = core.intake().queues();
                 if (lane.empty()) return queues.has_cluster_queue(name) ? std::optional(name) : std::nullopt;
                 return queues.cluster_queue_of(lane);
               }));
  if (!queue) {
    return fail(ErrorCode::kNotFound, "{}.{} \"{}\" not found", lane.empty() ? "clusterqueue" : "localqueue",
                dialect::kVisibilityGroup, asked.queue);
  }
  const auto most = static_cast<std::size_t>(asked.offset) + static_cast<std::size_t>(asked.limit);
  std::vector<InLine> line;
  BERTH_ASSIGN(const Status known, follower_->ask([&](const engine::Engine& engine) {
    std::size_t found = 0;
    return engine.each_in_line(*queue, [&](const engine::LineView& view) {
      line.push_back({std::string(view.uid), std::string(view.lane), view.priority, view.grows});
      if (!view.grows && (lane.empty() || view.lane == lane)) ++found;
      return found < most;
    });
  }));
  if (!known)
    return std::vector<dialect::PendingPlace>();  // it has come just now, or its cohort is in disorder

  const auto places_of = [&](std::vector<std::size_t> which) -> Result<std::vector<dialect::PendingPlace>> {
    std::vector<dialect::PendingPlace> out;
    for (std::size_t at = 0; at < which.size(); at += kLookUps) {
      std::vector<InLine> some;
      for (std::size_t i = at; i < std::min(at + kLookUps, which.size()); ++i) some.push_back(line[which[i]]);
      using Found = std::vector<dialect::PendingPlace>;
      BERTH_ASSIGN(
          Found found, look_up<Found>([some = std::move(some)](const Core& core) {
            Found places;
            for (const InLine& one : some)
              places.push_back(core.workload_objects().place_of(one.uid, one.grows, one.lane, one.priority));
            return places;
          }));
      std::move(found.begin(), found.end(), std::back_inserter(out));
    }
    return out;
  };

  std::vector<std::size_t> growing;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i].grows) growing.push_back(i);
  }
  BERTH_ASSIGN(const auto grown, places_of(growing));
  std::vector<bool> counts(line.size(), true);
  for (std::size_t i = 0; i < growing.size(); ++i) counts[growing[i]] = !grown[i].name.empty();

  struct Position {
    std::int64_t in_cluster_queue = 0;
    std::int64_t in_local_queue = 0;
  };
  std::vector<std::size_t> chosen;
  std::vector<Position> positions;
  std::map<std::string_view, std::int64_t> of_lane;
  std::int64_t at = 0;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (!counts[i]) continue;
    const Position position{at++, of_lane[line[i].lane]++};
    if (!lane.empty() && line[i].lane != lane) continue;
    const std::int64_t here = lane.empty() ? position.in_cluster_queue : position.in_local_queue;
    if (here < asked.offset || here - asked.offset >= asked.limit) continue;
    chosen.push_back(i);
    positions.push_back(position);
  }
  BERTH_ASSIGN(auto places, places_of(chosen));
  std::vector<dialect::PendingPlace> out;
  for (std::size_t i = 0; i < places.size(); ++i) {
    if (places[i].name.empty()) continue;
    out.push_back(std::move(places[i]));
    out.back().in_cluster_queue = positions[i].in_cluster_queue;
    out.back().in_local_queue = positions[i].in_local_queue;
  }
  return out;
}

}  // namespace berth::scheduler
