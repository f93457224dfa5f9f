// The scenario folders, tests/scenarios/TOPIC/NAME, for the suites that run over all of them.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

namespace berth::cli::scenario_test {

inline std::filesystem::path scenarios() {
  return std::filesystem::path(BERTH_SOURCE_DIR) / "tests" / "scenarios";
}

// TOPIC/NAME of each, in order.
inline std::vector<std::string> scenario_names() {
  namespace fs = std::filesystem;
  std::vector<std::string> out;
  for (const auto& topic : fs::directory_iterator(scenarios())) {
    if (!topic.is_directory()) continue;
    for (const auto& entry : fs::directory_iterator(topic)) {
      if (entry.is_directory()) out.push_back(fs::relative(entry.path(), scenarios()).string());
    }
  }
  std::sort(out.begin(), out.end());
  return out;
}

inline std::string scenario_test_name(const ::testing::TestParamInfo<std::string>& info) {
  std::string name = info.param;
  std::replace_if(
      name.begin(), name.end(), [](char c) { return c == '-' || c == '/'; }, '_');
  return name;
}

}  // namespace berth::cli::scenario_test
