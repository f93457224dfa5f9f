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

std::string error_of(const std::string& yaml, const std::string& folder) {
  const auto scenario = parse_scenario(yaml, "s.yaml", folder);
  if (!scenario) return scenario.error().str();
  const auto result = simulate(*scenario);
  return result ? std::string() : result.error().str();
}

}  // namespace berth::sim
