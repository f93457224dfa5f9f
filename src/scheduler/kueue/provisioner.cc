#include "scheduler/kueue/provisioner.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <utility>

#include "dialect/write/writes.h"

namespace berth::scheduler {
namespace {

using dialect::AdmissionCheckState;
using dialect::CheckState;
using dialect::ProvisioningRequest;

constexpr DurationMs kFirstRest = kSecond;
constexpr DurationMs kMostRest = kMinute;
constexpr DurationMs kShownWithin = 10 * kSecond;  // the watch shows what was made

std::string key_of(std::string_view ns, std::string_view name) {
  return fmt::format("{}/{}", ns, name);
}

void say(AdmissionCheckState& check, CheckState state, std::string message, TimeMs now) {
  if (check.state != state) check.since = now;
  check.state = state;
  check.message = dialect::bounded(std::move(message));
  if (state != CheckState::kRetry) check.retry_after.reset();
  if (state != CheckState::kReady) check.updates.clear();
}

// The answer of the autoscaler, if any.
std::string words_of(const ProvisioningRequest& request, std::string_view type) {
  const auto* condition = request.find(type);
  return condition == nullptr ? std::string() : condition->message;
}

}  // namespace

void Provisioner::set_versions(std::string_view kueue, std::string_view autoscaling) {
  kueue_version_ = kueue;
  version_ = autoscaling;
}

void Provisioner::seen(const ProvisioningRequest& request) {
  const std::string key = key_of(request.meta.ns, request.meta.name);
  const auto before = requests_.find(key);
  if (before != requests_.end() && before->second.meta.uid != request.meta.uid)
    (void)gone(request.meta.ns, request.meta.name);
  if (request.workload_uid.empty()) return;
  by_owner_[request.workload_uid].insert(key);
  requests_.insert_or_assign(key, request);
}

std::string Provisioner::gone(std::string_view ns, std::string_view name) {
  const auto it = requests_.find(key_of(ns, name));
  if (it == requests_.end()) return {};
  const std::string workload = key_of(ns, it->second.workload);
  leaving_.erase(it->second.meta.uid);
  const auto owner = by_owner_.find(it->second.workload_uid);
  owner->second.erase(it->first);
  if (owner->second.empty()) by_owner_.erase(owner);
  if (const auto making = making_.find(it->first); making != making_.end() && making->second.open == 0)
    making_.erase(making);
  requests_.erase(it);
  return workload;
}

std::optional<Provisioner::Again> Provisioner::answered(const Answer& answer, TimeMs now) {
  const auto outcome = answer.result.outcome;
  const auto it = making_.find(answer.uid);
  if (it == making_.end()) {
    const bool sure = outcome == kube::Outcome::kOk || outcome == kube::Outcome::kConflict ||
                      outcome == kube::Outcome::kNotFound;
    const auto stays = requests_.find(answer.uid);
    if (sure || stays == requests_.end()) return std::nullopt;
    leaving_.erase(stays->second.meta.uid);  // it could not be deleted
    return Again{key_of(stays->second.meta.ns, stays->second.workload), now + kFirstRest};
  }
  Making& making = it->second;
  --making.open;
  const bool is_there = outcome == kube::Outcome::kOk || outcome == kube::Outcome::kConflict;
  if (!is_there && making.failures == 4) {
    spdlog::warn("the ProvisioningRequest {} cannot be made: {} {} {}", answer.uid, enum_name(outcome),
                 answer.result.reason, answer.result.message);
  }
  making.failed = making.failed || !is_there;
  if (making.open > 0) return std::nullopt;  // the others' answers are to come
  if (std::exchange(making.failed, false)) {
    making.templates = false;
    making.rests_until = now + doubled(kFirstRest, making.failures++, kMostRest);
  } else {
    making.failures = 0;
    // The watch may have shown it before this answer.
    making.rests_until = requests_.contains(answer.uid) ? now : now + kShownWithin;
  }
  return Again{making.workload, making.rests_until};
}

void Provisioner::make(const std::string& key, std::string_view name, const dialect::NodeAsk& ask,
                       const dialect::ProvisioningRequestConfig& config, TimeMs now) {
  if (version_.empty() || kueue_version_.empty()) return;
  Making& making = making_[key];
  making.workload = key_of(ask.ns, ask.workload);
  const auto known = requests_.find(key);
  if (making.open > 0) return;
  if (known == requests_.end()) {
    if (now < making.rests_until) return;
    making.templates = false;
    making.open = 1;
    outbox_.write(dialect::create_request(version_, name, ask, config), Step::kProvision, key);
    return;
  }
  if (making.templates || (making.failures > 0 && now < making.rests_until)) return;
  making.templates = true;
  for (auto& write : dialect::create_pod_templates(version_, known->second, ask, config)) {
    ++making.open;
    outbox_.write(std::move(write), Step::kProvision, key);
  }
}

AdmissionCheckState Provisioner::state(const dialect::NodeAsk& ask,
                                       const dialect::ProvisioningRequestConfig& config,
                                       AdmissionCheckState before, bool admitted, TimeMs now) {
  if (before.state == CheckState::kRejected || before.state == CheckState::kRetry) return before;
  if (ask.sets.empty() && admitted) return before;
  if (ask.sets.empty()) {
    say(before, CheckState::kReady, "None of its pods requests a resource that this check provisions", now);
    return before;
  }
  const std::int64_t attempt = before.retries + 1;
  const std::string name = dialect::request_name(ask.workload, ask.check, attempt);
  const std::string key = key_of(ask.ns, name);
  const auto it = requests_.find(key);
  // One of a former Workload of that name is about to be deleted, as that was.
  const bool here = it != requests_.end() && !it->second.meta.deleting &&
                    it->second.workload_uid == ask.workload_uid && !leaving_.contains(it->second.meta.uid);
  if (!here) {
    if (admitted) return before;  // the autoscaler deletes old ones
    if (it == requests_.end()) make(key, name, ask, config, now);
    say(before, CheckState::kPending, fmt::format("Waiting for nodes: ProvisioningRequest {}", name), now);
    return before;
  }
  const ProvisioningRequest& request = it->second;
  const bool failed = request.is("Failed");
  if (request.is("CapacityRevoked")) {
    say(before, CheckState::kRejected,
        fmt::format("Its nodes were revoked: {}", words_of(request, "CapacityRevoked")), now);
  } else if (!admitted && (failed || request.is("BookingExpired"))) {
    const std::string why = words_of(request, failed ? "Failed" : "BookingExpired");
    if (attempt > config.most_retries) {
      say(before, CheckState::kRejected, fmt::format("Attempt {}, the last one, failed: {}", attempt, why),
          now);
    } else {
      say(before, CheckState::kRetry, fmt::format("Attempt {} failed: {}", attempt, why), now);
      before.retry_after = dialect::rest_after(config, attempt) / kSecond;
    }
  } else if (request.is("Provisioned")) {
    say(before, CheckState::kReady, words_of(request, "Provisioned"), now);
    before.updates = dialect::updates_of(request, ask, config);
  } else if (!admitted) {
    make(key, name, ask, config, now);
    std::string words = words_of(request, "Provisioned");  // not yet, and perhaps when
    if (words.empty()) words = words_of(request, "Accepted");
    if (words.empty()) words = fmt::format("Waiting for nodes: ProvisioningRequest {}", name);
    say(before, CheckState::kPending, std::move(words), now);
  }
  return before;
}

void Provisioner::drop(std::string_view workload_uid) {
  if (by_owner_.empty() || version_.empty() || kueue_version_.empty()) return;
  const auto owned = by_owner_.find(std::string(workload_uid));
  if (owned == by_owner_.end()) return;
  for (const std::string& key : owned->second) {
    const ProvisioningRequest& request = requests_.at(key);
    making_.erase(key);
    if (leaving_.insert(request.meta.uid).second)
      outbox_.write(dialect::delete_request(version_, request), Step::kProvision, key);
  }
}

}  // namespace berth::scheduler
