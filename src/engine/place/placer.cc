#include "engine/place/placer.h"

#include <algorithm>
#include <utility>

#include "engine/place/one_by_one.h"
#include "engine/state/trial.h"

namespace berth::engine {

Placer::Placer(State& state, WorkloadId workload, Mode mode, Budget& steps, const Assignment* only, Ask ask)
    : scope_(state, workload, mode, only, ask),
      state_(state),
      w_(scope_.w),
      structure_(scope_.structure),
      mode_(mode),
      steps_(steps),
      walk_(structure_.steps),
      groups_(structure_.groups.size()) {}

Placer::Placer(State& state, WorkloadId workload, Mode mode, Budget& steps, Orders orders)
    : Placer(state, workload, mode, steps) {
  scope_.order(orders);
}

bool Placer::run() {
  if (lacks_pods() || lacks_flavors()) return false;
  const bool may_wait = put_off();
  if (!scope_.put_off && search()) return true;
  for (const auto reorder : {&Placer::counting_first, &Placer::scarcest_first}) {
    if (scope_.put_off || !failure_.by_nodes || failure_.steps_ended || !(this->*reorder)()) continue;
    // The reasons are those of the first search. Quota that comes free may still be what a later one needs.
    const Failure first = failure_;
    if (search()) return true;
    forget_since(first);
  }
  if (!scope_.put_off && failure_.by_nodes && !failure_.steps_ended) {
    OneByOne one_by_one(scope_, near_, steps_);
    if (one_by_one.run()) return true;
    failure_.by_quota = failure_.by_quota || one_by_one.lacked_quota();
  }
  if (!may_wait || failure_.steps_ended) return false;
  scope_.put_off = true;
  return search();
}

// Whether it could start without domains, on charges whose nodes are awaited. Where it has no others, it does not look for any.
bool Placer::put_off() {
  const auto asks = [](const StructureGroup& group) { return !group.topology.empty(); };
  if (std::none_of(structure_.groups.begin(), structure_.groups.end(), asks)) return false;
  bool only = true;
  for (std::uint32_t set = 0; set < w_.sets.size(); ++set) {
    if (scope_.extents[set].want == 0) continue;
    bool some = false;
    for (const ChargeId charge : scope_.choices(set)) {
      some = some || state_.charges[charge].awaited;
      only = only && state_.charges[charge].awaited;
    }
    if (!some && scope_.must(set) > 0) return false;
    only = only && some;
  }
  scope_.put_off = only;
  return true;
}

// Checked first, so that this reason does not vary with free capacity.
bool Placer::lacks_pods() {
  if (!w_.needs_all) return false;
  for (std::uint32_t set = 0; set < w_.sets.size(); ++set) {
    const PodSetState& s = w_.sets[set];
    if (s.waiting >= scope_.must(set)) continue;
    note(lacks_pods_of(w_));
    return true;
  }
  return false;
}

// The same for requests that no flavor of the queue offers.
bool Placer::lacks_flavors() {
  if (!w_.needs_all) return false;
  for (std::uint32_t set = 0; set < w_.sets.size(); ++set) {
    if (scope_.must(set) == 0) continue;
    const Spec& spec = state_.spec(w_.sets[set].spec);
    if (!spec.choices.empty()) continue;
    note(spec.problem);
    return true;
  }
  return false;
}

bool Placer::search() {
  Trial trial(state_);
  if (walk(0)) {
    trial.stay();
    return true;
  }
  trial.rollback();
  scope_.placed.clear();
  acquit();
  return false;
}

// A domain that fails within one outer domain is no reason if it is good within another where only quota was short.
void Placer::acquit() {
  std::erase_if(failure_.reasons, [&](const Reason& reason) {
    if (reason.code != ReasonCode::kTopology || !reason.detail.empty()) return false;
    bool roomy = false;
    for (std::size_t g = 0; g < structure_.groups.size(); ++g) {
      if (structure_.groups[g].topology.required != reason.subject) continue;
      if (!groups_[g].roomy) return false;
      roomy = true;
    }
    return roomy;
  });
}

// By their room to spare, the least first; of equals the one with less room.
bool Placer::scarcest_first() {
  std::vector<SortKey> spare(w_.sets.size(), {kInt64Max, 0});
  std::size_t wanted = 0;
  for (std::uint32_t set = 0; set < spare.size(); ++set) {
    if (scope_.extents[set].want == 0) continue;
    ++wanted;
    std::int64_t most = 0;
    for (const ChargeId charge : scope_.choices(set))
      most = std::max(most, state_.index(state_.charges[charge].shape, mode_).total());
    spare[set] = {most - scope_.must(set), most};
  }
  return wanted >= 2 && reorder(spare);
}

// A pod set that spreads over the pods of another one comes before it, and one that must be near to them after it. A spread allows what
// comes later, as it does in Kubernetes.
bool Placer::counting_first() {
  const Counted& terms = state_.accounts.counted();
  // Each of its charges has the same terms.
  const auto counted = [&](std::uint32_t set) {
    const auto choices = scope_.choices(set);
    return choices.empty() ? CountedId() : state_.shape_of(choices.front()).counted;
  };
  std::vector<SortKey> rank(w_.sets.size(), {kInt64Max, 0});
  bool any = false;
  for (std::uint32_t a = 0; a < rank.size(); ++a) {
    if (scope_.extents[a].want == 0) continue;
    rank[a].first = 0;
    for (std::uint32_t b = 0; b < rank.size(); ++b) {
      if (a == b || scope_.extents[b].want == 0 || !counted(a).valid() || !counted(b).valid()) continue;
      rank[a].first += terms.counts(counted(b), TermKind::kSpread, counted(a)) ? 1 : 0;
      rank[a].first -= terms.counts(counted(a), TermKind::kSpread, counted(b)) ? 1 : 0;
      rank[a].first += terms.counts(counted(a), TermKind::kNear, counted(b)) ? 1 : 0;
    }
    any = any || rank[a].first != 0;
  }
  return any && reorder(rank);
}

// Puts the children of every group into the order of the least key of their pod sets. False where that changes nothing.
bool Placer::reorder(std::span<const SortKey> keys) {
  // The steps of a child stand together, from its entry to its exit.
  std::vector<Step> out;
  const auto arrange = [&](const auto& self, std::size_t begin, std::size_t end) -> SortKey {
    struct Child {
      SortKey key;
      std::vector<Step> steps;
    };
    std::vector<Child> children;
    SortKey least{kInt64Max, 0};
    for (std::size_t at = begin; at < end; at = walk_[at].past) {
      std::vector<Step> before = std::exchange(out, {});
      SortKey its;
      if (walk_[at].kind == Step::Kind::kLeaf) {
        its = keys[walk_[at].index];
        out.push_back(walk_[at]);
      } else {
        out.push_back(walk_[at]);
        its = self(self, at + 1, walk_[at].past - 1);
        out.push_back(walk_[walk_[at].past - 1]);
      }
      children.push_back({its, std::exchange(out, std::move(before))});
      least = std::min(least, its);
    }
    std::stable_sort(children.begin(), children.end(),
                     [](const Child& a, const Child& b) { return a.key < b.key; });
    for (const Child& child : children) out.insert(out.end(), child.steps.begin(), child.steps.end());
    return least;
  };
  arrange(arrange, 0, walk_.size());
  const auto same = [](const Step& a, const Step& b) { return a.kind == b.kind && a.index == b.index; };
  if (std::equal(out.begin(), out.end(), walk_.begin(), walk_.end(), same)) return false;
  link(out);
  reordered_ = std::move(out);
  walk_ = reordered_;
  return true;
}

// One step of the search. False: it has ended, or its slice has.
bool Placer::spend() {
  if (!steps_.spend()) {
    failure_.steps_ended = true;
  } else if (steps_.left() < floor_) {
    slice_ended_ = true;
  }
  return !ended();
}

bool Placer::walk(std::size_t step) {
  // Nothing at all is no find: what grows may leave every set as it is, and then looks elsewhere.
  if (step == walk_.size()) return !scope_.placed.empty();
  if (!spend()) return false;
  switch (walk_[step].kind) {
    case Step::Kind::kEnter:
      return enter(step) || skip(step);
    case Step::Kind::kLeaf:
      return leaf(step) || skip(step);
    case Step::Kind::kExit:
      return leave(step);
  }
  return false;
}

// Leaves a child out where its group can do without.
bool Placer::skip(std::size_t step) {
  const Step& s = walk_[step];
  const bool leaf_step = s.kind == Step::Kind::kLeaf;
  if (!leaf_step && s.index == 0) return false;
  const std::uint32_t group = leaf_step ? structure_.group_of[s.index] : structure_.groups[s.index].parent;
  const StructureGroup& g = structure_.groups[group];
  if (groups_[group].skipped >= g.children - g.least || ended()) return false;
  if (!scope_.orders.counts.empty()) {  // what is told is placed, whatever the group could do without
    const auto told = [&](std::uint32_t set) { return scope_.orders.counts[set] > 0; };
    const std::vector<std::uint32_t> sets =
        leaf_step ? std::vector{s.index} : structure_.groups[s.index].leaves;
    if (std::any_of(sets.begin(), sets.end(), told)) return false;
  }
  ++groups_[group].skipped;
  if (walk(walk_[step].past)) return true;
  --groups_[group].skipped;
  return false;
}

bool Placer::leave(std::size_t step) {
  const std::uint32_t group = walk_[step].index;
  if (groups_[group].done < structure_.groups[group].least) return false;
  if (group == 0) return walk(step + 1);
  const std::uint32_t parent = structure_.groups[group].parent;
  // Its siblings, and what its parent has besides, are not bound by it.
  const DomainId own = groups_[group].chosen;
  std::vector<DomainId> plan;
  if (plan_of_ == group) plan = std::exchange(plan_, {});
  if (own.valid()) scope_.domains.pop_back();
  ++groups_[parent].done;
  if (walk(step + 1)) return true;
  --groups_[parent].done;
  if (own.valid()) scope_.domains.push_back(own);
  if (plan_of_ == group && !plan.empty()) plan_ = std::move(plan);
  return false;
}

bool Placer::leaf(std::size_t step) {
  const std::uint32_t set = walk_[step].index;
  const PodSetState& s = w_.sets[set];
  const std::uint32_t group = structure_.group_of[set];
  const std::int64_t least = scope_.must(set);
  if (s.waiting < least) {
    note({ReasonCode::kIncompleteGang, "", "", s.least, s.active + s.waiting, 0, {}});
    return false;
  }
  const auto go_on = [&] {
    ++groups_[group].done;
    if (walk(step + 1)) return true;
    --groups_[group].done;
    return false;
  };
  if (scope_.extents[set].want > 0) {
    const Spec& spec = state_.spec(s.spec);
    const std::vector<ChargeId> options = scope_.choices(set);
    if (spec.choices.empty()) note(spec.problem);
    if (options.empty() && !spec.choices.empty() && (!scope_.put_off || failure_.reasons.empty())) {
      note({ReasonCode::kNodeFlavor,
            "",
            "the pod sets of flavor group " + s.marks->flavor_group + " have no flavor in common",
            0,
            0,
            0,
            {}});
    }
    for (const ChargeId charge : options) {
      if (!spend()) return false;
      Trial trial(state_);
      const std::size_t had = scope_.placed.size();
      lacks_room_ = false;
      const std::int64_t got = place_slots(set, charge, least, scope_.extents[set].want);
      if (got > 0 && go_on()) {
        trial.stay();
        return true;
      }
      trial.rollback();
      scope_.placed.resize(had);
      if (got == 0 && lacks_room_ && watch_) watch_(set, charge);
      // The surplus of one pod set must not take what another one needs for its least, nor ask for a whole segment more.
      const bool less =
          got > least || (got == 0 && scope_.in_segments(set) && scope_.extents[set].want > least);
      if (!less || least == 0 || ended()) continue;
      if (place_slots(set, charge, least, least) > 0 && go_on()) {
        trial.stay();
        return true;
      }
      scope_.placed.resize(had);
    }
  }
  return least == 0 && go_on();
}

bool Placer::may_fit() {
  const StructureGroup& root = structure_.groups[0];
  if (root.least < root.children || structure_.groups.size() > 1) return true;
  for (const std::uint32_t set : root.leaves) {
    const std::int64_t least = std::max<std::int64_t>(scope_.must(set), w_.sets.size() == 1 ? 1 : 0);
    if (least == 0) continue;
    const auto options = scope_.choices(set);
    const Counted& terms = state_.accounts.counted();
    const bool some = std::any_of(options.begin(), options.end(), [&](const ChargeId charge) {
      const Charge& c = state_.charges[charge];
      if (!state_.fits(w_, c.quota, least, mode_)) return false;
      const CountedId counted = state_.shape_of(charge).counted;
      // Other pod sets may bring it the room.
      if (w_.sets.size() > 1 && counted.valid() && (terms.has_near(counted) || terms.has_spread(counted)))
        return true;
      return state_.index(c.shape, mode_).has_total(least);
    });
    if (!some) return false;
  }
  return true;
}

}  // namespace berth::engine
