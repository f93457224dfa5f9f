// `berth trace inspect|convert|generate`: what is in a trace, another form or part of it, and made-up ones.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

#include "sim/trace/trace.h"

namespace berth::cli {

// How a file of jobs is read: the same for inspect and convert.
struct TraceReading {
  std::string format;  // "" = found by content
  std::string queue;
  std::string no_tenant_queue;
  std::string tenant = "queue";
  std::string processors = "gpu";
  std::int64_t gpus_per_task = 8;
  std::int64_t max_jobs = sim::kMostJobs;  // where jobs are held: of decision logs, to sort
};

struct InspectArguments {
  std::vector<std::string> files;
  TraceReading reading;
  std::string output = "table";
};

struct ConvertArguments {
  std::string in;
  std::string out;
  std::string to = "berth";
  TraceReading reading;
  std::string from;  // durations, "" = no bound
  std::string until;
  std::string scale_load = "1";
  std::string sample = "1";
  std::uint64_t seed = 1;
  bool from_zero = false;
  bool sort = false;
};

struct GenerateArguments {
  std::string like = "philly";
  std::int64_t jobs = 1000;
  std::int64_t nodes = 0;
  std::string span = "7d";
  std::int64_t max_gpus = 0;         // 0 = the likeness' largest
  std::vector<std::string> tenants;  // NAME or NAME=WEIGHT
  std::uint64_t seed = 1;
  std::string out;
  std::string to = "berth";
};

// 0: done, 2: wrong input or arguments (nothing was written), 3: a defect of Berth.
int run_inspect(const InspectArguments& arguments, std::ostream& out, std::ostream& err);
int run_convert(const ConvertArguments& arguments, std::ostream& err);
int run_generate(const GenerateArguments& arguments, std::ostream& err);

// Adds the subcommands; their callbacks set `exit_code`.
void register_trace(CLI::App& app, int& exit_code);

}  // namespace berth::cli
