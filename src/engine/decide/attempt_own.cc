// Work within its own queue's quota takes the room of work that started on borrowed quota in the same decide() (decisions.h).
#include <algorithm>
#include <optional>
#include <utility>

#include "base/checked.h"
#include "engine/decide/attempt.h"
#include "engine/preempt/with_places/assignments.h"
#include "engine/state/bands.h"

namespace berth::engine {

// Whether all pods of this assignment stay within the queue's own quota.
bool Attempt::is_within_own(const Assignment& assignment, const std::vector<std::int64_t>& needs,
                            std::vector<QuotaItem>& asked) const {
  asked.clear();
  for (std::size_t s = 0; s < assignment.size(); ++s) {
    if (!assignment[s].valid()) continue;
    for (const QuotaItem& item : state_.charges[assignment[s]].quota) {
      const std::int64_t amount = saturating_mul(item.amount, needs[s]);
      if (amount > 0) add_item(asked, item.pair, amount);
    }
  }
  return !asked.empty() && std::all_of(asked.begin(), asked.end(), [&](const QuotaItem& item) {
    return saturating_add(state_.quota.usage(w_.queue, item.pair, kAfter), item.amount) <=
           state_.quota.subtree(w_.queue, item.pair);
  });
}

// True: it started so.
bool Attempt::take_from_borrowers() {
  const std::vector<WorkloadId>& borrowers = round_.decisions.borrowers();
  if (borrowers.empty() || state_.done.is(id_, Done::kYielded) || grows(w_)) return false;
  const std::vector<std::int64_t> needs = needs_of(w_, Ask::kLeast);
  Assignments all(state_, w_, needs, steps_);
  std::vector<QuotaItem> asked;
  bool looked = false;  // whether it starts as things are
  while (const Assignment* assignment = all.next()) {
    if (!is_within_own(*assignment, needs, asked)) continue;
    std::vector<WorkloadId> from;  // the last one that started first
    for (std::size_t k = borrowers.size(); k-- > 0;) {
      if (!steps_.spend()) return false;
      if (round_.decisions.borrows_from(borrowers[k], w_, asked)) from.push_back(borrowers[k]);
    }
    if (from.empty()) continue;
    std::optional<Placer> placer;
    if (!std::exchange(looked, true)) {
      placer.emplace(state_, id_, Mode::kStart, steps_);
      const bool starts = placer->run();
      state_.abandon();
      if (starts) return false;
    }
    const auto to_start = [&](std::optional<Placer>& into) {
      into.emplace(state_, id_, Mode::kStart, steps_, assignment);
    };
    const auto starts_without = [&](std::size_t first) {
      state_.abandon();
      for (std::size_t k = 0; k < first; ++k) round_.decisions.charge_start(from[k], -1);
      if (!place(placer, Mode::kStart, to_start)) return false;
      return std::all_of(asked.begin(), asked.end(),
                         [&](const QuotaItem& item) { return !state_.quota.borrows(w_.queue, item.pair); });
    };
    if (!starts_without(from.size())) {
      state_.abandon();  // the next assignment is judged with all that started
      continue;
    }
    std::size_t too_few = 0;
    std::size_t enough = from.size();
    while (enough - too_few > 1) {
      const std::size_t middle = too_few + (enough - too_few) / 2;
      (starts_without(middle) ? enough : too_few) = middle;
    }
    steps_.grant(state_.config.search_steps);  // it is known to be there
    if (!starts_without(enough)) break;
    from.resize(enough);
    for (std::size_t k = enough; k-- > 0;) {  // what can stay beside it does, the first one first
      round_.decisions.charge_start(from[k], +1);
      if (round_.decisions.start_fits(from[k])) {
        from.erase(from.begin() + static_cast<std::ptrdiff_t>(k));
      } else {
        round_.decisions.charge_start(from[k], -1);
      }
    }
    const auto going = round_.decisions.going_with(from, id_, placer->placed());
    if (!going) break;
    state_.commit();
    round_.decisions.cancel_starts(*going, from.size(), kBothPlanes);
    round_.decisions.start(id_, placer->placed());
    return true;
  }
  state_.abandon();
  return false;
}

}  // namespace berth::engine
