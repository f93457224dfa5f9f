#include "scheduler/carry/places.h"

namespace berth::scheduler {

const Places::Work* Places::work(std::string_view workload) const {
  if (works_.empty()) return nullptr;
  const auto it = works_.find(std::string(workload));
  return it == works_.end() ? nullptr : &it->second;
}

void Places::count(Work& work, const Kept& kept, bool in) {
  const std::size_t one = in ? 1 : static_cast<std::size_t>(-1);
  if (kept.held) {
    work.held += one;
    held_ += one;
    return;
  }
  work.promised[static_cast<std::size_t>(kept.comes)] += one;
  promised_[static_cast<std::size_t>(kept.comes)] += one;
}

void Places::close(Works::iterator work) {
  if (work->second.held == 0) {
    work->second.start = {};
    work->second.generation = 0;
  }
  if (work->second.slots.empty()) works_.erase(work);
}

void Places::put(const std::string& workload, Kept kept) {
  const auto it = works_.try_emplace(workload).first;
  Work& work = it->second;
  const Slot slot{kept.place.pod_set, kept.place.index};
  if (const auto former = work.slots.find(slot); former != work.slots.end()) {
    count(work, former->second, false);
    work.slots.erase(former);
  }
  count(work, kept, true);
  work.slots.emplace(slot, std::move(kept));
  close(it);
}

template <class Which>
std::vector<SlotPlacement> Places::take_if(std::string_view workload, const Which& which) {
  std::vector<SlotPlacement> out;
  const auto it = works_.find(std::string(workload));
  if (it == works_.end()) return out;
  std::erase_if(it->second.slots, [&](auto& slot) {
    if (!which(slot.second)) return false;
    count(it->second, slot.second, false);
    out.push_back(std::move(slot.second.place));
    return true;
  });
  close(it);
  return out;
}

Places::Place Places::find(std::string_view workload, std::int64_t pod_set, std::int64_t index,
                           std::string_view pod_uid) const {
  if (const Work* of = work(workload)) {
    if (const auto slot = of->slots.find({pod_set, index}); slot != of->slots.end()) {
      const Kept& kept = slot->second;
      return {kept.held ? PlaceState::kHeld : PlaceState::kPromised, kept.comes, nullptr};
    }
  }
  if (pod_uid.empty() || !has_pods()) return {};
  const Bind* bound = bind(pod_uid);
  if ((bound != nullptr && bound->evict) || evictions_.contains(std::string(pod_uid)))
    return {PlaceState::kEnding, {}, bound};
  if (bound == nullptr) return {};
  return {bound->stage == Stage::kDone ? PlaceState::kBound : PlaceState::kBinding, {}, bound};
}

bool Places::drop(std::string_view workload, std::int64_t pod_set, std::int64_t index) {
  if (works_.empty()) return false;
  const auto it = works_.find(std::string(workload));
  if (it == works_.end()) return false;
  const auto slot = it->second.slots.find({pod_set, index});
  if (slot == it->second.slots.end()) return false;
  count(it->second, slot->second, false);
  it->second.slots.erase(slot);
  close(it);
  return true;
}

// ------------------------------------------------------------------------------------------------------------------- held

void Places::hold(const Decision& start, std::int64_t generation, bool reserve) {
  for (const SlotPlacement& slot : start.slots) put(start.workload, {true, {}, slot});
  if (!holds(start.workload)) return;
  Work& work = works_.at(start.workload);
  work.start = start;
  work.start.slots.clear();
  work.generation = generation;
  if (!reserve) return;
  reserved_.insert(start.workload);
  intake_.set_reserved(start.workload, true);
}

void Places::await(std::string_view workload, SlotPlacement place) {
  put(std::string(workload), {true, {}, std::move(place)});
}

std::size_t Places::size(std::string_view workload) const {
  const Work* of = work(workload);
  return of == nullptr ? 0 : of->slots.size();
}

void Places::forget_out(std::string_view workload) {
  if (!take_out(workload)) return;
  forget_promised(workload, Comes::kOfGroup);
  forget_held(workload);
}

bool Places::holds(std::string_view workload) const {
  const Work* of = work(workload);
  return of != nullptr && of->held > 0;
}

bool Places::holds(std::string_view workload, std::int64_t pod_set, std::int64_t index) const {
  const Work* of = work(workload);
  if (of == nullptr || of->held == 0) return false;
  const auto slot = of->slots.find({pod_set, index});
  return slot != of->slots.end() && slot->second.held;
}

std::int64_t Places::generation(std::string_view workload) const {
  const Work* of = work(workload);
  return of == nullptr ? 0 : of->generation;
}

std::optional<Decision> Places::take_held(std::string_view workload) {
  if (!holds(workload)) return std::nullopt;
  Decision out = work(workload)->start;
  out.slots = take_if(workload, [](const Kept& kept) { return kept.held; });
  return out;
}

std::optional<Decision> Places::take_placed(std::string_view workload) {
  if (!holds(workload)) return std::nullopt;
  Decision out = work(workload)->start;
  out.slots = take_if(workload, [](const Kept& kept) { return kept.held && !kept.place.node.empty(); });
  if (out.slots.empty()) return std::nullopt;
  return out;
}

void Places::forget_held(std::string_view workload) {
  if (!holds(workload)) return;
  (void)take_held(workload);
  end_reservation(std::string(workload));
}

void Places::end_reservation(const std::string& workload) {
  if (!reserved_.empty() && !holds(workload) && reserved_.erase(workload) > 0)
    intake_.set_reserved(workload, false);
}

// --------------------------------------------------------------------------------------------------------------- promised

void Places::promise(const std::string& workload, Comes comes, SlotPlacement place) {
  put(workload, {false, comes, std::move(place)});
}

std::size_t Places::promised(std::string_view workload, Comes comes) const {
  const Work* of = work(workload);
  return of == nullptr ? 0 : of->promised[static_cast<std::size_t>(comes)];
}

std::optional<SlotPlacement> Places::take(std::string_view workload, Comes comes, std::int64_t pod_set,
                                          std::int64_t index) {
  if (promised(workload, comes) == 0) return std::nullopt;
  const auto& slots = work(workload)->slots;
  const auto slot = slots.find({pod_set, index});
  if (slot == slots.end() || slot->second.held || slot->second.comes != comes) return std::nullopt;
  SlotPlacement out = slot->second.place;
  (void)drop(workload, pod_set, index);
  return out;
}

std::optional<SlotPlacement> Places::take_last(std::string_view workload, Comes comes) {
  if (promised(workload, comes) == 0) return std::nullopt;
  const auto& slots = work(workload)->slots;
  for (auto slot = slots.rbegin(); slot != slots.rend(); ++slot) {
    if (slot->second.held || slot->second.comes != comes) continue;
    return take(workload, comes, slot->first.first, slot->first.second);
  }
  return std::nullopt;
}

void Places::forget_promised(std::string_view workload, Comes comes) {
  if (promised(workload, comes) == 0) return;
  (void)take_if(workload, [&](const Kept& kept) { return !kept.held && kept.comes == comes; });
}

// ------------------------------------------------------------------------------------------------------------------- pods

Bind* Places::bind(std::string_view uid) {
  if (binds_.empty()) return nullptr;
  const auto it = binds_.find(std::string(uid));
  return it == binds_.end() ? nullptr : &it->second;
}

const Bind* Places::bind(std::string_view uid) const {
  if (binds_.empty()) return nullptr;
  const auto it = binds_.find(std::string(uid));
  return it == binds_.end() ? nullptr : &it->second;
}

std::pair<Bind&, bool> Places::add_bind(std::string_view uid) {
  const auto [it, fresh] = binds_.try_emplace(std::string(uid));
  return {it->second, fresh};
}

template <class Request>
std::optional<Request> Places::take_request(std::unordered_map<std::string, Request>& all,
                                            std::string_view uid) {
  const auto it = all.find(std::string(uid));
  if (it == all.end()) return std::nullopt;
  set_stage(it->second.stage, Stage::kDone);
  Request out = std::move(it->second);
  all.erase(it);
  return out;
}

std::optional<Bind> Places::take_bind(std::string_view uid) {
  return take_request(binds_, uid);
}

Eviction* Places::eviction(std::string_view uid) {
  if (evictions_.empty()) return nullptr;
  const auto it = evictions_.find(std::string(uid));
  return it == evictions_.end() ? nullptr : &it->second;
}

std::optional<Eviction> Places::take_eviction(std::string_view uid) {
  return take_request(evictions_, uid);
}

void Places::set_stage(Stage& stage, Stage to) {
  const auto counts = [](Stage of) { return of != Stage::kDone && of != Stage::kWaits; };
  const bool was = counts(stage);
  const bool is = counts(to);
  stage = to;
  if (was && !is) --busy_;
  if (!was && is) ++busy_;
}

}  // namespace berth::scheduler
