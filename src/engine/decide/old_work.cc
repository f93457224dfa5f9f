#include "engine/decide/old_work.h"

#include <algorithm>
#include <array>
#include <utility>

#include "engine/decide/shortage.h"

namespace berth::engine {
namespace {

// A queue that is stopped or misconfigured starts nothing, so that none of its work has a turn.
bool gives_turns(const QueueState& q) {
  return q.exists && q.trouble.empty() && q.spec.stop == StopPolicy::kNone;
}

}  // namespace

void OldWork::give_turns() {
  const std::set<QueueId> all = state_.aged_queues;
  for (const QueueId queue : all) give_turn(queue);
}

bool OldWork::takes_turn(WorkloadId id) {
  const WorkloadState& w = state_.workloads[id.index()];
  if (w.held() > 0 || !w.pending.valid()) return false;
  const Pending::Class& c = state_.pending.at(w.pending);
  if (!c.parked) return true;
  if (c.why.in_line && c.could_start_version != state_.place_version) ask_empty(w.pending);
  return c.why.in_line && c.could_start;
}

bool OldWork::has_turn(const QueueState& q) {
  if (!q.turn || !gives_turns(q)) return false;
  const WorkloadState& w = state_.workloads[q.turn->workload.index()];
  const bool waits = w.aged && w.arrival == q.turn->arrival && &state_.queues[w.aged_in.index()] == &q;
  return waits && takes_turn(q.turn->workload);
}

// Its turn lasts until it starts, or holds room. A turn passes by work that lacks pods or waits in a limit of its own. It passes by
// work that could not start in the empty cluster, too. Identical work shares its answer.
void OldWork::give_turn(QueueId queue) {
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
std::vector<OldWork::Head> OldWork::with_turns() {
  std::vector<Head> out;
  const std::set<QueueId> all = state_.aged_queues;
  for (const QueueId queue : all) {
    const QueueState& q = state_.queues[queue.index()];
    if (!has_turn(q)) continue;
    const WorkloadId id = q.turn->workload;
    const WorkloadState& w = state_.workloads[id.index()];
    if (q.spec.order == QueueOrder::kStrict && strict_.head_of(queue) != w.pending) continue;
    out.push_back({w.pending, id, borrowing_height(state_, w)});
  }
  std::sort(out.begin(), out.end(), [&](const Head& a, const Head& b) {
    return a.height != b.height ? a.height < b.height : state_.pending.stands_before(a.head, b.head);
  });
  return out;
}

// Their reservations, each planned beside those before it.
std::vector<const Reservation*> OldWork::reservations_of(const std::vector<Head>& heads) {
  std::vector<const Reservation*> out;
  for (const Head& old : heads) {
    const Reservation* r = plans_.reservations.standing(state_, old.workload, out);
    if (r == nullptr) r = &plans_.reservations.plan(state_, old.workload, out);
    if (!r->placed.empty()) out.push_back(r);
  }
  return out;
}

std::vector<const Reservation*> OldWork::reserved_from(ClassId id, std::int64_t height) {
  if (state_.aged_queues.empty()) return {};
  const Pending& pending = state_.pending;
  std::vector<Head> heads = with_turns();
  const QueueId mine = pending.at(id).queue;
  std::erase_if(heads, [&](const Head& old) {
    if (old.head == id) return true;
    if (pending.at(old.head).queue == mine) return !pending.in_front(old.head, id);
    return old.height != height ? old.height > height : !pending.stands_before(old.head, id);
  });
  std::vector<const Reservation*> out = reservations_of(heads);
  const WorkloadState& w = state_.workloads[pending.at(id).members.begin()->workload.index()];
  std::erase_if(out, [&](const Reservation* r) { return known_end(state_, w) <= r->at; });
  return out;
}

// Less is reserved once the old work started, is gone, stands behind them, or has its room elsewhere.
void OldWork::wake_kept_out() {
  const Pending& pending = state_.pending;
  std::vector<std::pair<std::uint64_t, std::int64_t>> heads;  // arrivals, and how many pods wait
  std::vector<std::uint64_t> arrivals;
  for (const Head& old : with_turns()) {
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
    const auto now = reserved_from(id, borrowing_height(state_, w));
    const bool same = std::all_of(before.begin(), before.end(), [&](std::uint64_t number) {
      return std::any_of(now.begin(), now.end(), [&](const Reservation* r) { return r->number == number; });
    });
    if (!same) state_.pending.wake(id);
  }
}

// Checks which old blocked classes could still start: the answer changes with nodes and quota.
void OldWork::review() {
  std::vector<ClassId> ask;
  for (const ClassId id : state_.pending.old()) {
    if (state_.pending.at(id).could_start_version != state_.place_version) ask.push_back(id);
  }
  for (const ClassId id : ask) ask_empty(id);
}

void OldWork::ask_empty(ClassId id) {
  if (!plans_.empty) plans_.empty = std::make_unique<EmptyCluster>(state_);
  const WorkloadId first = state_.pending.at(id).members.begin()->workload;
  ++state_.stats.empty_searches;
  state_.pending.set_could_start(id, plans_.empty->could_start(state_, first), state_.place_version);
}

}  // namespace berth::engine
