#include "sim/replay/replay_work.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/checked.h"
#include "sim/course/elastic.h"

namespace berth::sim {

ReplayWork::ReplayWork(const Input& input) : input_(input) {
  live_of_.resize(count(), kNone);
  on_node_.resize(input.nodes.size());
  for (const JobShape& shape : input.trace.shapes) pod_sets_.push_back(pod_sets_of(shape.root));
  for (const Service& service : input.services) {
    ServiceRun run;
    PodSet replicas;
    replicas.name = "replicas";
    replicas.pod = service.pod;
    run.root.name = "service";
    run.root.disruption = Disruption::kOne;
    run.root.pod_sets.push_back(std::move(replicas));
    services_.push_back(std::move(run));
  }
  // The vector is whole: pointers into it stay.
  for (ServiceRun& run : services_) run.sets = pod_sets_of(run.root);
}

const std::string& ReplayWork::name(std::uint32_t index) const {
  return is_service(index) ? input_.services[service_of(index)].name : job(index).name;
}

std::string ReplayWork::text_of(std::uint32_t index) const {
  return fmt::format("{} {}", is_service(index) ? "service" : "job", name(index));
}

const Group& ReplayWork::root(std::uint32_t index) const {
  return is_service(index) ? services_[service_of(index)].root : shape(index).root;
}

const std::vector<const PodSet*>& ReplayWork::sets(std::uint32_t index) const {
  return is_service(index) ? services_[service_of(index)].sets : pod_sets_[job(index).shape];
}

const Restart& ReplayWork::restart(std::uint32_t index) const {
  return is_service(index) ? input_.services[service_of(index)].restart
                           : input_.trace.restarts[job(index).restart];
}

const StartCosts& ReplayWork::costs(std::uint32_t index) const {
  return is_service(index) ? input_.services[service_of(index)].costs : input_.trace.costs[job(index).costs];
}

std::int64_t ReplayWork::asked_gpu_milli(std::uint32_t index) const {
  if (!is_service(index)) return shape(index).gpu_milli;
  const std::uint32_t service = service_of(index);
  return saturating_mul(input_.services[service].gpu_milli, services_[service].target);
}

void ReplayWork::open(std::uint32_t index) {
  if (free_live_.empty()) {
    live_of_[index] = static_cast<std::uint32_t>(pool_.size());
    pool_.emplace_back();
  } else {
    live_of_[index] = free_live_.back();
    free_live_.pop_back();
  }
  live(index) = Live();
  live(index).index = index;
}

void ReplayWork::close(std::uint32_t index) {
  live(index) = Live();
  free_live_.push_back(live_of_[index]);
  live_of_[index] = kNone;
}

std::vector<std::int64_t> ReplayWork::slots_by_set(std::uint32_t index) const {
  return working_by_set(index, kEndOfTime);
}

std::vector<std::int64_t> ReplayWork::working_by_set(std::uint32_t index, TimeMs now) const {
  std::vector<std::int64_t> out(sets(index).size(), 0);
  for (const PlacedSlot& slot : live(index).active) {
    if (slot.ready <= now) ++out[static_cast<std::size_t>(slot.placement.pod_set)];
  }
  return out;
}

std::int64_t ReplayWork::speed_of(std::uint32_t index, TimeMs now) const {
  const std::vector<std::int64_t> slots = working_by_set(index, now);
  if (!is_whole(root(index), slots)) return 0;
  if (!shape(index).elastic) return 1;
  std::int64_t sum = 0;
  for (const std::int64_t n : slots) sum += n;
  return input_.trace.scalings[job(index).scaling].speed(sum);
}

std::int64_t ReplayWork::ready_replicas(std::uint32_t service, TimeMs now) const {
  const std::uint32_t index = index_of(service);
  if (!is_live(index)) return 0;
  const auto& active = live(index).active;
  return std::count_if(active.begin(), active.end(),
                       [&](const PlacedSlot& slot) { return slot.ready <= now; });
}

void ReplayWork::depart(std::uint32_t node, std::uint32_t index) {
  auto& there = on_node_[node];
  std::iter_swap(std::find(there.begin(), there.end(), live_of_[index]), there.end() - 1);
  there.pop_back();
}

std::vector<std::uint32_t> ReplayWork::on_node(std::uint32_t node) const {
  std::vector<std::uint32_t> there = on_node_[node];
  std::sort(there.begin(), there.end());
  there.erase(std::unique(there.begin(), there.end()), there.end());
  for (std::uint32_t& at : there) at = pool_[at].index;
  return there;
}

}  // namespace berth::sim
