// A report's data as a month of a GPU cluster would give it: 11 queues with tides of day and week, heavy-tailed
// durations, gangs up to 64 GPUs, first come first served with whole nodes for gangs, a few evictions and node
// failures. Made by a seeded generator, so it is the same on every machine.
#pragma once

#include <cstdint>

#include "sim/page/report_data.h"

namespace berth::sim {

struct SampleSize {
  int nodes = 96;
  int jobs = 16000;
  int days = 30;
  int lanes = 12;
};

ReportData sample_report(const SampleSize& size = {}, std::uint64_t seed = 1);

}  // namespace berth::sim
