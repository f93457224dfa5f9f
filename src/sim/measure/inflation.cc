#include "sim/measure/inflation.h"

#include "sim/trace/books.h"

namespace berth::sim {

std::int64_t InflationPoint::allocated_pct_milli(std::int64_t capacity_milli) const {
  if (jobs == 0 || capacity_milli == 0) return 0;
  return clamp_to_int64(
      divide_rounded(allocated_milli_sum * 100'000, static_cast<Int128>(jobs) * capacity_milli));
}

Result<InflationOutcome> inflate(const Input& input, Decider& decider, std::int64_t fill_to_pct,
                                 const std::function<void(const Progress&)>& progress) {
  BERTH_TRY(set_up(input, decider));
  Books books(input.nodes);
  InflationOutcome out;
  out.gpu_capacity_milli = books.gpu_capacity_milli();
  if (out.gpu_capacity_milli == 0)
    return fail(ErrorCode::kInvalid, "the cluster has no GPUs: there is nothing to fill");
  std::vector<std::vector<const PodSet*>> pod_sets;
  for (const JobShape& shape : input.trace.shapes) pod_sets.push_back(pod_sets_of(shape.root));
  TimeMs now = 0;
  for (std::uint32_t i = 0; i < input.trace.jobs.size(); ++i) {
    const Job& job = input.trace.jobs[i];
    const JobShape& shape = input.trace.shapes[job.shape];
    now += kSecond;
    BERTH_TRY(decider.apply(WorkloadUpsert{make_workload(input, i, now)}));
    ++out.decide_calls;
    BERTH_ASSIGN(const std::vector<Decision> decisions, decider.decide(now));
    const std::string uid = job_uid(i);
    std::int64_t started = 0;
    for (const Decision& decision : decisions) {
      if (decision.workload != uid || decision.kind == DecisionKind::kEvict) {
        return fail(ErrorCode::kInternal, "job {} was offered, but a decision '{}' is about {}", job.name,
                    enum_name(decision.kind), decision.workload);
      }
      if (decision.kind != DecisionKind::kStart) continue;
      for (const SlotPlacement& slot : decision.slots) {
        const auto& sets = pod_sets[job.shape];
        if (slot.pod_set < 0 || slot.pod_set >= static_cast<std::int64_t>(sets.size())) {
          return fail(ErrorCode::kInternal, "job {} has no pod set {}", job.name, slot.pod_set);
        }
        BERTH_ASSIGN(const std::uint32_t node, books.node(slot.node));
        BERTH_TRY(books.charge(node, sets[static_cast<std::size_t>(slot.pod_set)]->pod, slot));
        BERTH_TRY(decider.apply(SlotUpdate{uid, slot.pod_set, slot.index, SlotState::kRunning, slot.node}));
        ++started;
      }
    }
    if (started != 0 && started != shape.slots) {
      return fail(ErrorCode::kInternal, "{} of {} slots of job {} are started: a partial gang", started,
                  shape.slots, job.name);
    }
    ++out.jobs;
    out.arrived_milli += shape.gpu_milli;
    if (started > 0) {
      ++out.placed;
      out.allocated_milli += shape.gpu_milli;
    } else {
      ++out.dropped[static_cast<std::size_t>(size_class(shape.gpu_milli))];
      BERTH_TRY(decider.apply(WorkloadRemove{uid}));
    }
    const auto percent = static_cast<std::int64_t>(
        divide_rounded(static_cast<Int128>(out.arrived_milli) * 100, out.gpu_capacity_milli));
    if (out.curve.empty() || out.curve.back().arrived_pct != percent) out.curve.push_back({percent, 0, 0});
    ++out.curve.back().jobs;
    out.curve.back().allocated_milli_sum += out.allocated_milli;
    if (fill_to_pct > 0 && static_cast<Int128>(out.arrived_milli) * 100 >=
                               static_cast<Int128>(fill_to_pct) * out.gpu_capacity_milli)
      break;
    if (progress && i % 256 == 0) {
      progress({static_cast<std::int64_t>(input.trace.jobs.size()), out.jobs, out.jobs, now});
    }
  }
  if (progress) progress({out.jobs, out.jobs, out.jobs, now});
  return out;
}

}  // namespace berth::sim
