#include "engine/explain/room.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <tuple>
#include <utility>

#include "base/checked.h"
#include "engine/explain/explain.h"
#include "engine/nodes/room.h"
#include "engine/place/placer.h"
#include "engine/state/limits.h"
#include "engine/state/trial.h"

namespace berth::engine {
namespace {

void add(std::string& text, std::string_view more) {
  text += text.empty() ? more : fmt::format(", {}", more);
}

// Puts the most frequent first; of equals the order stays.
void by_frequency(std::vector<Reason>& counts) {
  std::stable_sort(counts.begin(), counts.end(),
                   [](const Reason& a, const Reason& b) { return a.nodes > b.nodes; });
}

bool lacks_nodes(const Reason& reason) {
  return reason.code == ReasonCode::kNodes ||
         (reason.code == ReasonCode::kNone &&
          std::any_of(reason.children.begin(), reason.children.end(), lacks_nodes));
}

ReasonCode code_of(TermKind kind) {
  switch (kind) {
    case TermKind::kApart:
      return ReasonCode::kNodeApart;
    case TermKind::kNear:
      return ReasonCode::kNodeNear;
    case TermKind::kSpread:
      return ReasonCode::kNodeSpread;
  }
  return ReasonCode::kNone;
}

// A resource that the node lacks; volumes with their limit.
std::string words_of(const NodeTable& nodes, NodeId node, ResourceId resource) {
  std::string out(nodes.resource_name(resource));
  if (nodes.is_of_volumes(resource))
    out += fmt::format(" (limit {})", nodes.account(node, resource).capacity);
  return out;
}

std::size_t set_of(const Reason& reason) {
  return reason.detail.empty() ? 0
                               : static_cast<std::size_t>(std::strtoull(reason.detail.c_str(), nullptr, 10));
}

}  // namespace

std::string asks_of(const State& state, const PodSetState& set) {
  const PodTemplate& pod = state.specs[set.spec].pod;
  std::string out;
  for (const DeviceRequest& d : pod.claim.requests) {
    const std::int64_t milli = saturating_mul(d.count, d.milli);
    add(out, fmt::format("{} {}", format_amount(d.resource, milli), d.resource));
  }
  if (!out.empty()) return out;
  for (const char* resource : {"cpu", "memory"}) {
    if (const std::int64_t amount = pod.requests.get(resource); amount > 0)
      add(out, fmt::format("{} {}", format_amount(resource, amount), resource));
  }
  return out;
}

RoomNow::RoomNow(State& state, WorkloadId id)
    : state_(state),
      id_(id),
      w_(state.workloads[id.index()]),
      extents_(extents_of(w_, Ask::kLeast)),
      steps_(kExplainSteps) {}

void RoomNow::renew(Reason& reason) {
  renew_each(reason);
  if (w_.sets.size() > 1 && w_.needs_all && lacks_nodes(reason)) renew_sets(reason);
}

void RoomNow::renew_each(Reason& reason) {
  switch (reason.code) {
    case ReasonCode::kQuota:
      return renew_quota(reason);
    case ReasonCode::kLaneLimit:
    case ReasonCode::kFirmLimit:
      return renew_limit(reason);
    case ReasonCode::kNodes:
      return renew_nodes(reason);
    case ReasonCode::kTopology:
      return renew_domain(reason);
    default:
      for (Reason& child : reason.children) renew_each(child);
  }
}

// ------------------------------------------------------------------------------------------------------ quota, lanes

std::int64_t RoomNow::quota_left(FlavorResource pair) const {
  return state_.quota.available(w_.queue, pair, Mode::kStart);
}

void RoomNow::renew_quota(Reason& reason) const {
  for (std::size_t p = 0; p < state_.quota.pairs(); ++p) {
    const FlavorResource pair(p);
    if (state_.resource_name(pair) != reason.subject || state_.pairs.flavor(pair) != reason.detail) continue;
    if (const std::int64_t left = quota_left(pair); left < reason.need) reason.have = left;
    return;
  }
}

void RoomNow::renew_limit(Reason& reason) const {
  const auto room_of = [&](FlavorResource pair) {
    return reason.code == ReasonCode::kLaneLimit ? state_.lane_room(w_, pair, Mode::kStart)
                                                 : firm_room(state_, w_, pair, Mode::kStart);
  };
  std::optional<FlavorResource> only;
  for (std::size_t p = 0; p < state_.quota.pairs(); ++p) {
    const FlavorResource pair(p);
    if (state_.resource_name(pair) != reason.detail || room_of(pair) == kInt64Max) continue;
    if (only) return;  // one of each flavor: the nearest is the one that was found
    only = pair;
  }
  if (!only) return;
  if (const std::int64_t room = room_of(*only); room < reason.need) reason.have = room;
}

// -------------------------------------------------------------------------------------------------------------- nodes

std::vector<NodeId> RoomNow::all_nodes() const {
  std::vector<NodeId> out;
  for (std::size_t i = 0; i < state_.nodes.size(); ++i) {
    const NodeId id(i);
    if (state_.nodes.record(id).alive && !state_.nodes.is_opaque(id)) out.push_back(id);
  }
  return out;
}

std::optional<RoomNow::Best> RoomNow::best_choice(std::size_t set) {
  std::optional<Best> best;
  bool best_has_quota = false;
  const std::int64_t least = std::max<std::int64_t>(1, extents_[set].need);
  for (const ChargeId charge : choices_of(state_, w_, set)) {
    const Charge& c = state_.charges[charge];
    if (c.awaited) continue;  // there it lacks no nodes
    const bool has_quota = state_.fits(w_, c.quota, least, Mode::kStart);
    const std::int64_t room = state_.index(c.shape, Mode::kStart).total();
    if (best && (best_has_quota != has_quota ? best_has_quota : best->room >= room)) continue;
    best = Best{charge, room};
    best_has_quota = has_quota;
  }
  return best;
}

std::vector<Reason> RoomNow::count_nodes(std::size_t set, ChargeId charge, std::span<const NodeId> among) {
  const NodeTable& nodes = state_.nodes;
  const Shape& shape = state_.shape_of(charge);
  const PodTemplate& pod = state_.specs[w_.sets[set].spec].pod;
  std::map<std::tuple<ReasonCode, std::string, std::string>, Reason> counts;
  const auto count = [&](ReasonCode code, std::string subject, std::int64_t have = 0,
                         std::string detail = {}) {
    Reason& r =
        counts.try_emplace({code, subject, detail}, Reason{code, subject, detail, 0, 0, 0, {}}).first->second;
    ++r.nodes;
    r.have = saturating_add(r.have, have);
  };
  for (const NodeId id : among) {
    const auto& record = nodes.record(id);
    if (const StaticMismatch wrong = static_mismatch(shape, record.spec); wrong.code != ReasonCode::kNone) {
      count(wrong.code,
            wrong.code == ReasonCode::kNodeVolume ? pod.volumes[wrong.volume].words : wrong.subject);
      continue;
    }
    const auto shortage = shortage_of(nodes, id, shape, Mode::kStart);
    if (!shortage) {
      const auto hindrance = shape.counted.valid() ? state_.accounts.counted().hindrance(
                                                         id, shape.counted, planes_of(Mode::kStart))
                                                   : std::nullopt;
      if (hindrance) {
        count(code_of(hindrance->kind), hindrance->selector, 0, hindrance->level);
        continue;
      }
      const std::int64_t here = fit_by_room(nodes, id, shape, Mode::kStart);
      const std::int64_t cap =
          shape.counted.valid() ? state_.accounts.counted().cap(id, shape.counted, Mode::kStart) : kInt64Max;
      if (cap < here) {
        const bool spread = state_.accounts.counted().has_spread(shape.counted);
        count(ReasonCode::kNodeRoom, spread ? "a place that keeps them spread" : "a place apart from them",
              cap);
        continue;
      }
      const Shortage ends = tightest_of(nodes, id, shape);
      if (!ends.resource.valid() && !ends.token.valid()) continue;  // asks for nothing
      count(ReasonCode::kNodeRoom,
            ends.token.valid() ? nodes.held().tokens.text(ends.token) : words_of(nodes, id, ends.resource),
            here);
      continue;
    }
    // Room that is physically there but promised: held.
    bool there = true;
    for (const auto& a : shape.amounts) {
      const auto& account = nodes.account(id, a.resource);
      there = there && account.capacity - account.used[kNow] >= a.amount;
    }
    there = there && !lacks_places(nodes, id, shape, kNowBit);
    for (const auto& d : shape.devices) {
      if (d.milli == kWholeDevice && nodes.is_counted(id, d.resource)) continue;  // an amount
      const auto pieces =
          std::count_if(record.devices.begin(), record.devices.end(), [&](const auto& device) {
            return device.resource == d.resource &&
                   device.account.capacity - device.account.used[kNow] >= d.milli;
          });
      there = there && pieces >= d.count;
    }
    there = there && !nodes.held().tokens.taken(id, shape.tokens, kNowBit);
    if (there) {
      count(ReasonCode::kNodeHeld, "");
    } else if (shortage->token.valid()) {
      count(ReasonCode::kNodePort, nodes.held().tokens.text(shortage->token));
    } else {
      count(shortage->device ? ReasonCode::kNodeDevice : ReasonCode::kNodeResource,
            words_of(nodes, id, shortage->resource));
    }
  }
  std::vector<Reason> out;
  for (auto& [key, reason] : counts) out.push_back(std::move(reason));
  by_frequency(out);
  return out;
}

std::optional<Reason> RoomNow::too_large(std::size_t set) {
  std::map<ResourceId, std::pair<std::int64_t, std::int64_t>>
      asked;  // of one pod, and the most that a node has
  bool any = false;
  const std::vector<NodeId> nodes = all_nodes();
  for (const ChargeId charge : choices_of(state_, w_, set)) {
    if (state_.charges[charge].awaited) return std::nullopt;
    const Shape& shape = state_.shape_of(charge);
    std::map<ResourceId, std::int64_t> of_pod;
    for (const ShapeAmount& a : shape.amounts) of_pod.emplace(a.resource, a.amount);
    each_driver(state_.nodes.held().mounted, shape.mounts,
                [&](ResourceId places, std::int64_t volumes) { of_pod[places] += volumes; });
    for (const NodeId id : nodes) {
      if (static_mismatch(shape, state_.nodes.record(id).spec).code != ReasonCode::kNone) continue;
      any = true;
      for (const auto& [resource, amount_of_pod] : of_pod) {
        auto& [amount, most] = asked.try_emplace(resource, amount_of_pod, 0).first->second;
        most = std::max(most, state_.nodes.account(id, resource).capacity);
      }
    }
  }
  if (!any) return std::nullopt;
  std::optional<Reason> out;
  for (const auto& [resource, amounts] : asked) {
    const auto& [amount, most] = amounts;
    if (amount <= most) continue;
    // Devices say more than CPUs.
    out = Reason{
        ReasonCode::kNodeSize, std::string(state_.nodes.resource_name(resource)), "", amount, most, 0, {}};
  }
  return out;
}

void RoomNow::renew_nodes(Reason& reason) {
  const std::size_t set = set_of(reason);
  if (set >= w_.sets.size()) return;
  if (auto size = too_large(set)) {
    reason.have = 0;
    reason.children = {std::move(*size)};
    return;
  }
  const auto best = best_choice(set);
  if (!best || best->room >= reason.need) return;
  reason.have = best->room;
  reason.children = count_nodes(set, best->charge, all_nodes());
}

// With several pod sets: the ones that are short by themselves. If each has room, the one that comes nearest beside the others. The
// last attempt may have found others.
std::vector<Reason> RoomNow::short_sets() {
  std::vector<Reason> out;
  for (std::size_t set = 0; set < w_.sets.size(); ++set) {
    if (extents_[set].need <= 0) continue;
    const auto best = best_choice(set);
    if (!best || best->room >= extents_[set].need) continue;
    Reason reason{ReasonCode::kNodes, "", set_mark(w_, set), extents_[set].need, best->room, 0, {}};
    renew_nodes(reason);
    out.push_back(std::move(reason));
  }
  if (!out.empty()) return out;
  Placer placer(state_, id_, Mode::kStart, steps_);
  std::optional<Reason> nearest;
  placer.watch([&](std::uint32_t set, ChargeId charge) {
    const std::int64_t need = extents_[set].need;
    const std::int64_t room = state_.index(state_.charges[charge].shape, Mode::kStart).total();
    if (room >= need || (nearest && nearest->need - nearest->have <= need - room)) return;
    auto counts = count_nodes(set, charge, all_nodes());
    nearest = Reason{ReasonCode::kNodes, "", set_mark(w_, set), need, room, 0, std::move(counts)};
  });
  const bool fits = [&] {
    const Trial trial(state_);
    return placer.run();
  }();
  if (!fits && nearest)  // else something else keeps it
    out.push_back(Reason{ReasonCode::kTogether, "", "", 0, 0, 0, {std::move(*nearest)}});
  return out;
}

void RoomNow::renew_sets(Reason& reason) {
  std::vector<Reason> now = short_sets();
  if (now.empty()) return;
  const auto is_one = [](const Reason& r) { return r.code == ReasonCode::kNodes; };
  if (is_one(reason)) {
    reason =
        now.size() == 1 ? std::move(now.front()) : Reason{ReasonCode::kNone, "", "", 0, 0, 0, std::move(now)};
    return;
  }
  const auto put = [&](const auto& self, Reason& of) -> void {
    std::vector<Reason> children;
    for (Reason& child : of.children) {
      if (!is_one(child)) {
        self(self, child);
        children.push_back(std::move(child));
        continue;
      }
      for (Reason& one : now) children.push_back(std::move(one));  // in the place of the first
      now.clear();
    }
    of.children = std::move(children);
  };
  put(put, reason);
}

// ------------------------------------------------------------------------------------------------------------ domains

std::int64_t RoomNow::fill(ChargeId charge, DomainId domain, std::int64_t most) {
  const auto& among = state_.nodes.domains()[domain].nodes;
  std::int64_t got = 0;
  for (; got < most; ++got) {
    if (!steps_.has_steps()) break;
    steps_.spend(1 + static_cast<std::int64_t>(among.size() / 16));
    const ShapeIndex& index = state_.index(state_.charges[charge].shape, Mode::kStart);
    NodeId node;
    for (const NodeId other : among) {
      if (index.fit(other) > 0 && (!node.valid() || index.wins(state_.nodes, other, node))) node = other;
    }
    if (!node.valid()) break;
    const GrantId grant = state_.choose_grant(node, charge, Mode::kStart);
    state_.accounts.try_charge(charged(w_, charge, node, grant), planes_of(Mode::kStart), +1);
  }
  return got;
}

// Pod sets one after the other, and in the other order: what one leaves is what the next one has.
std::int64_t RoomNow::room_for_all(const StructureGroup& group, DomainId domain) {
  std::int64_t most = 0;
  for (const bool turned : {false, true}) {
    std::vector<std::uint32_t> sets = group.leaves;
    if (turned) std::reverse(sets.begin(), sets.end());
    const Trial trial(state_);
    std::int64_t sum = 0;
    for (const std::uint32_t set : sets) {
      if (extents_[set].need <= 0) continue;
      const auto best = best_choice(set);
      if (best) sum += fill(best->charge, domain, extents_[set].need);
    }
    most = std::max(most, sum);
    if (sets.size() < 2) break;
  }
  return most;
}

void RoomNow::renew_domain(Reason& reason) {
  const Structure& structure = state_.structures[w_.structure];
  const auto asks = [](const StructureGroup& g) {
    return !g.topology.required.empty() || !g.topology.segment_level.empty();
  };
  const auto level = state_.nodes.domains().level_of(reason.subject);
  const auto group = std::find_if(structure.groups.begin(), structure.groups.end(), asks);
  const bool only = group != structure.groups.end() &&
                    std::count_if(structure.groups.begin(), structure.groups.end(), asks) == 1;
  // Domains within domains, segments and work that has slots somewhere: the numbers of the attempt stand.
  if (!reason.detail.empty() || !level || !only || !group->topology.segment_level.empty() ||
      w_.running() > 0 || w_.releasing() > 0 || !w_.needs_all)
    return;
  struct Candidate {
    std::int64_t most = 0;  // each pod set for itself
    DomainId domain;
  };
  std::vector<Candidate> candidates;
  for (const DomainId domain : state_.nodes.domains().levels()[*level].domains) {
    if (state_.nodes.domains()[domain].nodes.empty()) continue;
    Candidate c{0, domain};
    for (const std::uint32_t set : group->leaves) {
      std::int64_t fit = 0;
      for (const ChargeId charge : choices_of(state_, w_, set)) {
        if (state_.charges[charge].awaited) return;
        fit = std::max(fit, state_.index(state_.charges[charge].shape, Mode::kStart).total_in(domain));
      }
      c.most += std::min(fit, extents_[set].need);
    }
    candidates.push_back(c);
  }
  std::stable_sort(candidates.begin(), candidates.end(),
                   [](const Candidate& a, const Candidate& b) { return a.most > b.most; });
  std::int64_t best = -1;
  DomainId where;
  for (const Candidate& c : candidates) {
    if (c.most <= best || !steps_.has_steps()) break;
    const bool exact = group->leaves.size() == 1 && choices_of(state_, w_, group->leaves.front()).size() == 1;
    const std::int64_t room = exact ? c.most : room_for_all(*group, c.domain);
    if (room <= best) continue;
    best = room;
    where = c.domain;
  }
  if (!where.valid() || best >= reason.need) return;
  reason.have = best;
  const auto& nodes = state_.nodes.domains()[where].nodes;
  const std::string& path = state_.nodes.domains()[where].path;
  Reason domain{ReasonCode::kDomain, path.substr(path.rfind('/') + 1), "", 0, best, 0, {}};
  for (const std::uint32_t set : group->leaves) {
    const auto choice = best_choice(set);
    if (extents_[set].need <= 0 || !choice) continue;
    const std::int64_t here =
        state_.index(state_.charges[choice->charge].shape, Mode::kStart).total_in(where);
    if (here >= extents_[set].need) continue;
    auto counts = count_nodes(set, choice->charge, nodes);
    if (w_.sets.size() == 1) {
      domain.children = std::move(counts);
    } else {
      domain.children.push_back(
          {ReasonCode::kNodes, "", set_mark(w_, set), extents_[set].need, here, 0, std::move(counts)});
    }
  }
  reason.children = {std::move(domain)};
}

// -------------------------------------------------------------------------------------------------- what would be enough

void RoomNow::say_enough(Reason& reason) {
  const Structure& structure = state_.structures[w_.structure];
  if (w_.sets.size() != 1 || w_.running() > 0 || w_.releasing() > 0 ||
      structure.groups.front().topology != TopologyRequest{} || structure.groups.size() != 1)
    return;
  const auto choices = choices_of(state_, w_, 0);
  if (choices.size() != 1 || state_.charges[choices.front()].awaited) return;
  std::vector<const Reason*> leaves;
  const auto collect = [&](const auto& self, const Reason& r) -> void {
    if (r.code == ReasonCode::kNone) {
      for (const Reason& child : r.children) self(self, child);
    } else if (r.code != ReasonCode::kNoVictims) {
      leaves.push_back(&r);
    }
  };
  collect(collect, reason);
  if (leaves.size() != 1) return;
  const Reason& lacks = *leaves.front();
  const std::int64_t missing = lacks.need - lacks.have;
  Reason enough{ReasonCode::kEnough, "", "", missing, 0, 0, {}};
  const Charge& charge = state_.charges[choices.front()];
  const std::int64_t least = std::max<std::int64_t>(1, extents_[0].need);
  const std::int64_t room = state_.index(charge.shape, Mode::kStart).total();
  if (missing <= 0) return;
  if (lacks.code == ReasonCode::kNodes) {
    const bool size = !lacks.children.empty() && lacks.children.front().code == ReasonCode::kNodeSize;
    if (size || room >= least || !state_.fits(w_, charge.quota, least, Mode::kStart)) return;
  } else if (lacks.code == ReasonCode::kQuota) {
    if (room < least) {  // it lacks both
      Reason nodes{ReasonCode::kNodes, "", "", least, room, 0, {}};
      renew_nodes(nodes);
      reason = Reason{ReasonCode::kNone, "", "", 0, 0, 0, {std::move(reason), std::move(nodes)}};
      return;
    }
    for (const QuotaItem& item : charge.quota) {
      const bool is_it = state_.resource_name(item.pair) == lacks.subject;
      const std::int64_t need = saturating_mul(item.amount, least);
      if (!is_it && need > quota_left(item.pair)) return;
      if (need > limit_room(state_, w_, item.pair, Mode::kStart)) return;
    }
    enough.subject = lacks.subject;
    enough.detail = lacks.detail;
  } else {
    return;
  }
  reason = Reason{ReasonCode::kNone, "", "", 0, 0, 0, {std::move(reason), std::move(enough)}};
}

}  // namespace berth::engine
