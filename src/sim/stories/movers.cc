#include <algorithm>
#include <numeric>
#include <tuple>
#include <utility>

#include "base/enums.h"
#include "sim/experiment/compare.h"
#include "sim/page/report.h"

namespace berth::sim {
namespace {

auto identity(const JobCourse& job) {
  return std::tie(job.name, job.submit, job.gpu_milli);
}

std::vector<std::uint32_t> by_identity(const std::vector<JobCourse>& jobs) {
  std::vector<std::uint32_t> order(jobs.size());
  std::iota(order.begin(), order.end(), 0u);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return identity(jobs[a]) < identity(jobs[b]); });
  return order;
}

// GPU time gained or lost; jobs without GPU count as if they had a hundredth of one.
Int128 weight(const Mover& mover) {
  const Int128 size = mover.change < 0 ? -static_cast<Int128>(mover.change) : Int128{mover.change};
  return size * std::max<std::int64_t>(mover.before->gpu_milli, 10);
}

void keep_greatest(std::vector<Mover>& movers, std::size_t most) {
  std::stable_sort(movers.begin(), movers.end(), [](const Mover& a, const Mover& b) {
    const Int128 x = weight(a);
    const Int128 y = weight(b);
    return x != y ? x > y : identity(*a.before) < identity(*b.before);
  });
  if (movers.size() > most) movers.resize(most);
}

std::string first_wait(const JobCourse& job) {
  if (job.waited_for == ReasonCode::kNone) return "started at once";
  return "waited for " + reason_words(job.waited_for);
}

std::string times(std::int32_t evictions) {
  return evictions == 0   ? std::string("not evicted")
         : evictions == 1 ? std::string("evicted once")
                          : fmt::format("evicted {} times", evictions);
}

}  // namespace

std::string reason_words(ReasonCode code) {
  switch (code) {
    case ReasonCode::kQuota:
    case ReasonCode::kQuotaMax:
      return "quota";
    case ReasonCode::kNodes:
      return "room on nodes";
    case ReasonCode::kTopology:
      return "room in one domain";
    case ReasonCode::kBehindHead:
      return "the head of its queue";
    case ReasonCode::kWaitingForRoom:
      return "the room of evicted work";
    case ReasonCode::kNodeHeld:
      return "room that is held for others";
    case ReasonCode::kNoVictims:
      return "room, without victims";
    default:
      return std::string(enum_name(code));
  }
}

Movers movers_of(const RunCourse& before, const RunCourse& after, std::size_t most) {
  Movers out;
  const std::vector<std::uint32_t> a = by_identity(before.jobs);
  const std::vector<std::uint32_t> b = by_identity(after.jobs);
  std::size_t i = 0;
  std::size_t j = 0;
  while (i < a.size() || j < b.size()) {
    const bool left = i < a.size();
    const bool right = j < b.size();
    if (left && (!right || identity(before.jobs[a[i]]) < identity(after.jobs[b[j]]))) {
      ++out.only_before;
      ++i;
      continue;
    }
    if (right && (!left || identity(after.jobs[b[j]]) < identity(before.jobs[a[i]]))) {
      ++out.only_after;
      ++j;
      continue;
    }
    const Mover mover{&before.jobs[a[i]], &after.jobs[b[j]],
                      after.jobs[b[j]].waited - before.jobs[a[i]].waited};
    ++i;
    ++j;
    ++out.jobs;
    if (mover.change < 0) {
      ++out.shorter;
      out.saved_ms -= mover.change;
      out.gained.push_back(mover);
    } else if (mover.change > 0) {
      ++out.longer;
      out.added_ms += mover.change;
      out.lost.push_back(mover);
    }
  }
  keep_greatest(out.gained, most);
  keep_greatest(out.lost, most);
  return out;
}

std::string why_moved(const Mover& mover) {
  std::string before = first_wait(*mover.before);
  std::string after = first_wait(*mover.after);
  if (mover.before->evictions != mover.after->evictions) {
    before += ", " + times(mover.before->evictions);
    after += ", " + times(mover.after->evictions);
  }
  if (before == after) return fmt::format("{} in both, for another time", before);
  return fmt::format("{}; then {}", before, after);
}

}  // namespace berth::sim
