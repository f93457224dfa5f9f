// The part of Carrier (carrier.h) for pods whose volumes are chosen or made when they have their places.
#include <spdlog/spdlog.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "dialect/write/writes.h"
#include "scheduler/carry/carrier.h"

namespace berth::scheduler {
namespace {

// Whether enough pods of a gang have places, so that it is whole when those that wait are bound.
bool is_whole(const dialect::IntakeView& intake, const Places& places, const std::string& workload) {
  if (places.promised(workload, Comes::kOfRelease) > 0) return false;
  const auto info = intake.workload(workload);
  if (!info || !info->gang || info->enough || info->whole > 0) return true;
  const auto pods = intake.pods_of(workload);
  const auto placed = std::count_if(pods.begin(), pods.end(), [&](const dialect::PodView& pod) {
    return !pod.node.empty() || places.is_binding(pod.uid);
  });
  return placed + static_cast<std::int64_t>(places.promised(workload, Comes::kOfGroup)) >= info->least;
}

}  // namespace

void Carrier::launch(const std::string& workload, const std::vector<std::string>& pods, TimeMs now) {
  const std::string of = workload;  // it may live in a bind
  bool waits =
      volumes_.holds(of) || (places_.promised(of, Comes::kOfRelease) > 0 && intake_.has_open_claims(of));
  for (const std::string& uid : pods)
    waits = waits || !intake_.claim_steps(uid, places_.bind(uid)->node).empty();
  for (const std::string& uid : pods) {
    Bind& bind = *places_.bind(uid);
    if (waits) {
      places_.set_stage(bind.stage, Stage::kWaits);
      volumes_.add(of, uid, now);
    } else if (failures_.contains(uid)) {
      rest(bind, false, now);
    } else {
      send(bind);
    }
  }
  if (waits) work_volumes(now);
}

void Carrier::work_volumes(TimeMs now) {
  volumes_.changed(intake_.take_changed_claims());
  std::map<std::string, std::vector<dialect::IntakePromises::Placed>> looks;  // by workload
  for (const std::string& uid : volumes_.take_looks()) {
    const Bind& bind = *places_.bind(uid);
    // Before its other pods have come, a node on a claim would make this pod another than its owner's template.
    if (places_.promised(bind.workload, Comes::kOfRelease) > 0) {
      volumes_.look_again(uid);
    } else {
      looks[bind.workload].emplace_back(uid, bind.node);
    }
  }
  for (const auto& [workload, pods] : looks) {
    std::vector<dialect::IntakePromises::Placed> choosing;
    std::copy_if(pods.begin(), pods.end(), std::back_inserter(choosing),
                 [&](const auto& pod) { return volumes_.may_choose(pod.first); });
    intake_.keep_volumes(choosing);
    for (const auto& [uid, node] : pods) volumes_.set_steps(uid, node, intake_.claim_steps(uid, node), now);
  }
  for (const VolumeWait::Back& back : volumes_.take_backs(now)) {
    const auto info = intake_.workload(back.workload);
    spdlog::info("{}: its {} places go back: {}", info ? info->name : back.workload, back.pods.size(),
                 back.why);
    while (const auto place = owners_.give_up_last(back.workload)) {
      events_.push_back(SlotUpdate{back.workload, place->pod_set, place->index, SlotState::kGone, ""});
    }
    for (const std::string& uid : back.pods) {
      forget_bind(uid);
      intake_.retry(uid);
    }
    const auto pods = intake_.pods_of(back.workload);
    const bool runs = std::any_of(pods.begin(), pods.end(), [&](const dialect::PodView& pod) {
      return !pod.node.empty() || places_.is_binding(pod.uid);
    });
    if (!runs) {
      flights_.forget(back.workload);  // nothing of it is bound
    } else {
      flights_.lose(back.workload, now);
    }
  }
  for (const auto& [claim, nodes] : volumes_.take_refusals(now)) intake_.refuse_claim(claim, nodes);
  if (const auto left = volumes_.take_left(); !left.empty()) intake_.release_volumes(left);
  for (VolumeWait::Ask& ask : volumes_.take_asks(now)) {
    outbox_.write(ask.step.need == dialect::ClaimNeed::kVolume ? dialect::bind_volume(ask.step)
                                                               : dialect::select_node(ask.step, ask.node),
                  Step::kClaim, ask.claim);
  }
  const std::set<std::string> ready = volumes_.ready();
  for (const std::string& workload : ready) {
    if (!is_whole(intake_, places_, workload)) continue;
    for (const std::string& uid : volumes_.take(workload)) {
      Bind& bind = *places_.bind(uid);
      bind.decided = now;
      failures_.contains(uid) ? rest(bind, false, now) : send(bind);
    }
  }
}

std::optional<Reason> Carrier::volumes_waited_for(const std::string& workload) const {
  Reason out;
  out.code = ReasonCode::kClaim;
  out.detail = volumes_.why(workload);
  if (out.detail.empty()) return std::nullopt;
  return out;
}

}  // namespace berth::scheduler
