// Room for old work: a workload that has waited for the age limit of its queue, and has its turn (order/rank.h), has a
// reservation on the nodes or the domain where it can be whole soonest (plan/reservations.h). Others start beside it.
//
//   which     of each queue the workload that has its turn, be it tried already or not. In a strict queue, which its head bars
//             anyway, only the head
//   from      work of its queue that stands behind it. Work of other queues whose quota comes from as far up the tree, and that
//             stands behind it across queues, shares left aside; and whatever borrows from farther up. So work within its own
//             quota never waits for old work that would borrow, and higher priority waits for nothing
//             What is known to end before the room is expected to be free starts in it all the same (backfill)
//   how       as things are, work may start, or hold room, where the nodes and the quota are enough for it and for all that is
//             reserved from it. Room that runs out of others adds up until the old work is whole. Work that would find room
//             but for a reservation takes nothing from others: nothing yields for what is reserved
//
// "Goes before" is an order, so of several old heads one waits for none of the others: no two of them wait for each other.
// Cost: nothing where no workload is old and blocked. Otherwise, for each attempt, O(old heads); for what finds room, charges for
// each slot that is reserved from it, and where it does not stand beside that, one more search for places.
#include <algorithm>
#include <array>
#include <bit>
#include <utility>

#include "engine/decide/decide.h"

namespace berth::engine {
namespace {

// A queue that is stopped or misconfigured starts nothing, so that none of its work has a turn.
bool gives_turns(const QueueState& q) {
  return q.exists && q.trouble.empty() && q.spec.stop == StopPolicy::kNone;
}

}  // namespace

void Decider::give_turns() {
  const std::set<QueueId> all = state_.aged_queues;
  for (const QueueId queue : all) give_turn(queue);
}

bool Decider::takes_turn(WorkloadId id) {
  const WorkloadState& w = state_.workloads[id.index()];
  if (w.held() > 0 || !w.pending.valid()) return false;
  const Pending::Class& c = state_.pending.at(w.pending);
  if (!c.parked) return true;
  if (c.why.in_line && c.could_start_version != state_.place_version) ask_empty(w.pending);
  return c.why.in_line && c.could_start;
}

bool Decider::has_turn(const QueueState& q) {
  if (!q.turn || !gives_turns(q)) return false;
  const WorkloadState& w = state_.workloads[q.turn->workload.index()];
  const bool waits = w.aged && w.arrival == q.turn->arrival && &state_.queues[w.aged_in.index()] == &q;
  return waits && takes_turn(q.turn->workload);
}

// Its turn lasts until it starts, or holds room. A turn is no good to work that lacks pods, waits for its own lane, or could not
// start if nothing else were there: it passes. Identical work shares its answer.
void Decider::give_turn(QueueId queue) {
  QueueState& q = state_.queues[queue.index()];
  if (!gives_turns(q) || has_turn(q)) return;
  q.turn.reset();
  for (const Aged& place : q.aged) {
    if (!takes_turn(place.workload)) continue;
    q.turn = place;
    break;
  }
  if (!q.turn || state_.workloads[q.turn->workload.index()].progress.old) return;
  const WorkloadId id = q.turn->workload;
  state_.give_turn(id);
  state_.pending.wake(state_.workloads[id.index()].pending);
}

// The workloads that have a turn, in the order in which they go before each other, be they tried already or not. For a strict queue
// only the head, which blocks the rest anyway.
std::vector<Decider::OldHead> Decider::old_heads() {
  std::vector<OldHead> out;
  const std::set<QueueId> all = state_.aged_queues;
  for (const QueueId queue : all) {
    const QueueState& q = state_.queues[queue.index()];
    if (!has_turn(q)) continue;
    const WorkloadId id = q.turn->workload;
    const WorkloadState& w = state_.workloads[id.index()];
    if (q.spec.order == QueueOrder::kStrict && head_of(queue) != w.pending) continue;
    out.push_back({w.pending, id, borrowing_height(w)});
  }
  std::sort(out.begin(), out.end(), [&](const OldHead& a, const OldHead& b) {
    return a.height != b.height ? a.height < b.height : state_.pending.stands_before(a.head, b.head);
  });
  return out;
}

// Their reservations, each planned beside those before it.
std::vector<const Reservation*> Decider::reservations_of(const std::vector<OldHead>& heads) {
  std::vector<const Reservation*> out;
  for (const OldHead& old : heads) {
    const Reservation* r = plans_.reservations.standing(state_, old.workload, out);
    if (r == nullptr) r = &plans_.reservations.plan(state_, old.workload, out);
    if (!r->placed.empty()) out.push_back(r);
  }
  return out;
}

std::vector<const Reservation*> Decider::reserved_before(ClassId id, std::int64_t height) {
  if (state_.aged_queues.empty()) return {};
  const Pending& pending = state_.pending;
  std::vector<OldHead> heads = old_heads();
  const QueueId mine = pending.at(id).queue;
  std::erase_if(heads, [&](const OldHead& old) {
    if (old.head == id) return true;
    if (pending.at(old.head).queue == mine) return !pending.in_front(old.head, id);
    return old.height != height ? old.height > height : !pending.stands_before(old.head, id);
  });
  std::vector<const Reservation*> out = reservations_of(heads);
  const WorkloadState& w = state_.workloads[pending.at(id).members.begin()->workload.index()];
  std::erase_if(out, [&](const Reservation* r) { return known_end(state_, w) <= r->at; });
  return out;
}

// In the trial.
void Decider::charge_reserved(int sign) {
  for (const Reservation* reservation : reserved_) engine::charge_reserved(state_, *reservation, sign);
}

// Those that found no room beside what was reserved, and from which less is reserved now: the old work started, is gone, stands
// behind them by now, or has its room elsewhere.
void Decider::wake_reserved() {
  const Pending& pending = state_.pending;
  std::vector<std::pair<std::uint64_t, std::int64_t>> heads;  // arrivals, and how many pods wait
  std::vector<std::uint64_t> arrivals;
  for (const OldHead& old : old_heads()) {
    const WorkloadState& w = state_.workloads[old.workload.index()];
    heads.emplace_back(w.arrival, w.waiting());
    arrivals.push_back(w.arrival);
  }
  std::sort(arrivals.begin(), arrivals.end());
  plans_.reservations.keep_only(state_, arrivals);
  const std::array<std::uint64_t, 4> as_of{state_.use_version, state_.place_version, pending.lane_changes(),
                                           plans_.reservations.plans()};
  if (heads == plans_.reserved_for && as_of == plans_.reserved_as_of) return;
  plans_.reserved_for = std::move(heads);
  plans_.reserved_as_of = as_of;
  const std::set<ClassId> all = pending.kept_out();
  for (const ClassId id : all) {
    const std::vector<std::uint64_t>& before = pending.at(id).why.reserved;
    if (before.empty()) continue;
    const WorkloadState& w = state_.workloads[pending.at(id).members.begin()->workload.index()];
    const auto now = reserved_before(id, borrowing_height(w));
    const bool same = std::all_of(before.begin(), before.end(), [&](std::uint64_t number) {
      return std::any_of(now.begin(), now.end(), [&](const Reservation* r) { return r->number == number; });
    });
    if (!same) state_.pending.wake(id);
  }
}

}  // namespace berth::engine
