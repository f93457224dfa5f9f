#include "sim/sim_support.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace berth::sim {

TempFolder::TempFolder() {
  std::string pattern = testing::TempDir() + "/berth-sim-XXXXXX";
  if (mkdtemp(pattern.data()) == nullptr) ADD_FAILURE() << "no temporary folder";
  path_ = pattern;
}
TempFolder::~TempFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}
std::string TempFolder::file(const std::string& name, const std::string& content) const {
  std::ofstream(path_ + "/" + name, std::ios::binary) << content;
  return path_ + "/" + name;
}

std::string read_text(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::stringstream out;
  out << in.rdbuf();
  return out.str();
}

std::string source_path(const std::string& below) {
  return std::string(BERTH_SOURCE_DIR) + "/" + below;
}

std::string traces_folder() {
  const auto expanded = expand_path("${BERTH_TRACES}", source_path("examples"), 1);
  if (!expanded) return {};
  return std::filesystem::exists(*expanded + "/philly_2017") ? *expanded : std::string();
}

std::int64_t metric_of(const SimulateResult& result, const std::string& name) {
  const auto it = std::find_if(result.metrics.begin(), result.metrics.end(),
                               [&](const Metric& m) { return m.name == name; });
  if (it == result.metrics.end()) {
    ADD_FAILURE() << "no metric " << name;
    return -1;
  }
  return it->milli;
}

Result<Replayed> replay_of(const std::string& yaml, const std::string& folder, std::uint64_t seed) {
  BERTH_ASSIGN(const Scenario scenario, parse_scenario(yaml, "s.yaml", folder, {.seed = seed}));
  Replayed run;
  BERTH_ASSIGN(run.input, load(scenario));
  ReplayOptions options;
  options.audit_every = 1;
  BERTH_ASSIGN(run.outcome, replay(run.input, *make_decider(scenario), options));
  return run;
}

const JobOutcome& job_of(const Replayed& run, const std::string& name) {
  for (std::size_t i = 0; i < run.input.trace.jobs.size(); ++i) {
    if (run.input.trace.jobs[i].name == name) return run.outcome.jobs[i];
  }
  ADD_FAILURE() << "no job " << name;
  return run.outcome.jobs.front();
}

std::string error_of(const std::string& yaml, const std::string& folder) {
  const auto scenario = parse_scenario(yaml, "s.yaml", folder);
  if (!scenario) return scenario.error().str();
  const auto result = simulate(*scenario);
  return result ? std::string() : result.error().str();
}

}  // namespace berth::sim
