#include "scheduler/carry/volume_wait.h"

#include <fmt/format.h>

#include <algorithm>

#include "scheduler/wire/object_version.h"

namespace berth::scheduler {

using dialect::ClaimNeed;
using dialect::ClaimStep;

void VolumeWait::count(Work& work, const std::string& workload, int delta) {
  work.open += static_cast<std::size_t>(delta);
  if (work.open == 0) {
    ready_.insert(workload);
  } else {
    ready_.erase(workload);
  }
}

void VolumeWait::add(const std::string& workload, const std::string& pod, TimeMs now) {
  drop(pod);
  Work& work = works_[workload];
  work.pods.insert(pod);
  count(work, workload, +1);
  work.deadline = now + options_.within;
  deadlines_.emplace(work.deadline, workload);
  pods_[pod].workload = workload;
  looks_.insert(pod);
}

// True: no pod needs the claim any more.
bool VolumeWait::needs_no_more(const std::string& key, const std::string& pod) {
  const auto claim = claims_.find(key);
  if (claim == claims_.end()) return false;
  claim->second.pods.erase(pod);
  if (!claim->second.pods.empty()) return false;
  if (claim->second.flying) return true;  // it stays until the answer: the next write must not get that
  claims_.erase(claim);
  left_.insert(key);
  return true;
}

// From the whole book; its workload goes with its last pod.
void VolumeWait::drop(const std::string& pod) {
  const auto it = pods_.find(pod);
  if (it == pods_.end()) return;
  for (const auto& [key, step] : it->second.open) needs_no_more(key, pod);
  const std::string workload = it->second.workload;
  Work& work = works_.at(workload);
  work.pods.erase(pod);
  if (!it->second.looked_at || !it->second.open.empty()) count(work, workload, -1);
  if (work.pods.empty()) {
    ready_.erase(workload);
    works_.erase(workload);
  }
  pods_.erase(it);
  looks_.erase(pod);
}

void VolumeWait::leave(const std::string& pod) {
  drop(pod);
}

void VolumeWait::gone(const std::string& pod) {
  const auto it = pods_.find(pod);
  if (it == pods_.end()) return;
  const std::string workload = it->second.workload;
  drop(pod);
  give_back(workload, "a pod of it is gone");
}

void VolumeWait::changed(const std::set<std::string>& claims) {
  if (claims_.empty()) return;
  for (const std::string& key : claims) {
    if (const auto claim = claims_.find(key); claim != claims_.end())
      looks_.insert(claim->second.pods.begin(), claim->second.pods.end());
  }
}

void VolumeWait::give_back(const std::string& workload, std::string why) {
  if (works_.contains(workload)) backs_.try_emplace(workload, std::move(why));
}

void VolumeWait::give_back_users(const Claim& claim, const std::string& why) {
  for (const std::string& pod : claim.pods) give_back(pods_.at(pod).workload, why);
}

bool VolumeWait::may_choose(const std::string& pod) const {
  const auto it = pods_.find(pod);
  return it == pods_.end() ||
         std::none_of(it->second.open.begin(), it->second.open.end(), [&](const auto& one) {
           const Claim& claim = claims_.at(one.first);
           return claim.volume.empty() && (claim.flying || claim.written);
         });
}

void VolumeWait::set_steps(const std::string& pod, const std::string& node, std::vector<ClaimStep> steps,
                           TimeMs now) {
  const auto it = pods_.find(pod);
  if (it == pods_.end()) return;
  looks_.erase(pod);
  Pod& of = it->second;
  const bool was_open = !of.looked_at || !of.open.empty();
  of.looked_at = true;
  of.node = node;
  std::map<std::string, ClaimStep> open_now;
  for (ClaimStep& step : steps) {
    std::string key = fmt::format("{}/{}", step.ns, step.name);
    open_now.insert_or_assign(std::move(key), std::move(step));
  }
  for (const auto& [key, step] : of.open) {
    if (open_now.contains(key) || !needs_no_more(key, pod)) continue;
    if (refusals_.erase(key) > 0) refused_.insert(key);  // it is bound
  }
  of.open = std::move(open_now);
  const bool is_open = !of.open.empty();
  if (was_open != is_open) count(works_.at(of.workload), of.workload, is_open ? +1 : -1);
  for (const auto& [key, step] : of.open) open(key, pod, step, now);
}

void VolumeWait::open(const std::string& key, const std::string& pod, ClaimStep step, TimeMs now) {
  Claim& claim = claims_[key];
  if (claim.step.uid != step.uid && !claim.flying) {  // another claim of that name
    std::set<std::string> pods = std::move(claim.pods);
    claim = {};
    claim.pods = std::move(pods);
  }
  claim.pods.insert(pod);
  claim.step = std::move(step);
  switch (claim.step.need) {
    case ClaimNeed::kNone:
      return;
    case ClaimNeed::kPlace:
      return give_back(pods_.at(pod).workload, claim.step.why);
    case ClaimNeed::kElsewhere:
      refuse(key, pods_.at(pod).node, now, true);
      return give_back(pods_.at(pod).workload, claim.step.why);
    case ClaimNeed::kTime:
      if (claim.step.selected.empty() && claim.step.volume.empty()) return;
      claim.written = true;
      claim.node = claim.step.volume.empty() ? claim.step.selected : pods_.at(pod).node;
      claim.volume = claim.step.volume;
      claim.version = version_number(claim.step.version);
      claim.error.clear();
      return;
    case ClaimNeed::kNode:
    case ClaimNeed::kVolume:
      break;
  }
  if (claim.volume != claim.step.volume) claim.written = false;  // another was chosen meanwhile
  if (!claim.written) return ask(key, claim, pods_.at(pod), now);
  if (version_number(claim.step.version) < claim.version) return;  // the watch has not shown the write yet
  const std::string node = std::exchange(claim.node, {});
  claim.written = false;
  refuse(key, node, now);
  give_back_users(claim, claim.volume.empty()
                             ? fmt::format("the volume of claim {} was not made for node {}: see the events "
                                           "of the claim",
                                           claim.step.name, node)
                             : fmt::format("claim {} was taken off PersistentVolume {} again: see its events",
                                           claim.step.name, claim.volume));
}

// The first of its pods says for which node the claim is made.
void VolumeWait::ask(const std::string& key, Claim& claim, const Pod& pod, TimeMs now) {
  if (claim.flying) return;
  if (claim.node.empty()) claim.node = pod.node;
  asks_.emplace(std::max(now, claim.next_try), key);
}

std::vector<VolumeWait::Ask> VolumeWait::take_asks(TimeMs now) {
  std::vector<Ask> out;
  while (!asks_.empty() && asks_.begin()->first <= now) {
    const std::string key = std::move(asks_.begin()->second);
    asks_.erase(asks_.begin());
    const auto it = claims_.find(key);
    if (it == claims_.end()) continue;
    Claim& claim = it->second;
    const bool needs_it = claim.step.need == ClaimNeed::kNode || claim.step.need == ClaimNeed::kVolume;
    if (claim.flying || claim.written || claim.next_try > now || !needs_it) continue;
    const auto is_there = [&](const std::string& pod) { return pods_.at(pod).node == claim.node; };
    if (std::none_of(claim.pods.begin(), claim.pods.end(), is_there))
      claim.node = pods_.at(*claim.pods.begin()).node;  // the pod with the former one waits no longer
    claim.flying = true;
    claim.volume = claim.step.volume;
    out.push_back({key, claim.step, claim.node});
  }
  return out;
}

void VolumeWait::answered(const std::string& key, std::string_view version, std::string error, TimeMs now) {
  const auto it = claims_.find(key);
  if (it == claims_.end() || !it->second.flying) return;
  Claim& claim = it->second;
  claim.flying = false;
  if (claim.pods.empty()) {
    // Where it is written on the volume that is kept for it, the watch shows that soon, and the volume is its own.
    if (!error.empty() || claim.volume != claim.step.volume) left_.insert(key);
    claims_.erase(it);
    return;
  }
  if (claim.volume != claim.step.volume) {  // another was chosen meanwhile
    asks_.emplace(now, key);
  } else if (error.empty()) {
    claim.written = true;
    claim.version = version_number(version);
    claim.failures = 0;
    claim.error.clear();
  } else if (!claim.written) {  // else an earlier write was executed
    claim.next_try = now + doubled(options_.first_rest, claim.failures++, options_.most_rest);
    asks_.emplace(claim.next_try, key);
    claim.error = std::move(error);
  }
  looks_.insert(claim.pods.begin(), claim.pods.end());
}

std::vector<std::string> VolumeWait::take(const std::string& workload) {
  const auto it = works_.find(workload);
  if (it == works_.end()) return {};
  const std::vector<std::string> out(it->second.pods.begin(), it->second.pods.end());
  for (const std::string& pod : out) drop(pod);
  return out;
}

std::vector<VolumeWait::Back> VolumeWait::take_backs(TimeMs now) {
  while (!deadlines_.empty() && deadlines_.begin()->first <= now) {
    const std::string workload = std::move(deadlines_.begin()->second);
    deadlines_.erase(deadlines_.begin());
    const auto it = works_.find(workload);
    if (it == works_.end() || it->second.deadline > now || backs_.contains(workload)) continue;
    std::set<std::string> late;
    for (const std::string& pod : it->second.pods) {
      for (const auto& [key, step] : pods_.at(pod).open) late.insert(key);
    }
    for (const std::string& key : late) {
      const Claim& claim = claims_.at(key);
      if (!claim.node.empty()) refuse(key, claim.node, now);
    }
    give_back(workload,
              fmt::format("its volumes were not there within {} s: {}", options_.within / kSecond,
                          late.empty() ? "pods of it did not come" : claims_.at(*late.begin()).step.why));
  }
  std::vector<Back> out;
  for (auto& [workload, why] : std::exchange(backs_, {})) {
    Back back{workload, take(workload), std::move(why)};
    if (!back.pods.empty()) out.push_back(std::move(back));
  }
  return out;
}

void VolumeWait::refuse(const std::string& key, const std::string& node, TimeMs now, bool searches) {
  if (node.empty()) return;
  Refusal& refusal = refusals_[key];
  if (!searches || refusal.times == 0 || now - refusal.counted >= options_.first_refusal) {
    ++refusal.times;
    refusal.counted = now;
  }
  const TimeMs until = now + doubled(options_.first_refusal, refusal.times - 1, options_.most_refusal);
  refusal.nodes[node] = until;
  refusal.forgotten = until + options_.most_refusal;
  refusal_ends_.emplace(until, key);
  refusal_ends_.emplace(refusal.forgotten, key);
  refused_.insert(key);
}

std::map<std::string, std::set<std::string>> VolumeWait::take_refusals(TimeMs now) {
  while (!refusal_ends_.empty() && refusal_ends_.begin()->first <= now) {
    const std::string key = std::move(refusal_ends_.begin()->second);
    refusal_ends_.erase(refusal_ends_.begin());
    const auto it = refusals_.find(key);
    if (it == refusals_.end()) continue;
    if (std::erase_if(it->second.nodes, [&](const auto& node) { return node.second <= now; }) > 0)
      refused_.insert(key);
    if (it->second.forgotten <= now) refusals_.erase(it);
  }
  std::map<std::string, std::set<std::string>> out;
  for (const std::string& key : std::exchange(refused_, {})) {
    std::set<std::string>& nodes = out[key];
    if (const auto it = refusals_.find(key); it != refusals_.end()) {
      for (const auto& [node, until] : it->second.nodes) nodes.insert(node);
    }
  }
  return out;
}

std::string VolumeWait::why(const std::string& workload) const {
  const auto it = works_.find(workload);
  if (it == works_.end()) return {};
  std::map<std::string, std::string> claims;
  for (const std::string& pod : it->second.pods) {
    for (const auto& [key, step] : pods_.at(pod).open) claims.emplace(key, step.why);
  }
  if (claims.empty()) return "waits for its volumes: pods of it are still to come";
  const auto& [key, why] = *claims.begin();
  std::string out = fmt::format("waits for its volumes: {}", why);
  if (claims.size() > 1) out += fmt::format(", and {} more", claims.size() - 1);
  if (const auto claim = claims_.find(key); claim != claims_.end() && !claim->second.error.empty())
    out += fmt::format(" (it could not be written: {})", claim->second.error);
  return out;
}

TimeMs VolumeWait::next_due() const {
  TimeMs out = kEndOfTime;
  for (const auto* timers : {&asks_, &deadlines_, &refusal_ends_}) {
    if (!timers->empty()) out = std::min(out, timers->begin()->first);
  }
  return out;
}

}  // namespace berth::scheduler
