// `berth plan` on files that a test writes.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "cli/plan.h"

namespace berth::cli {

class Plan : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::path(::testing::TempDir()) /
              (std::string("berth-plan-") + ::testing::UnitTest::GetInstance()->current_test_info()->name());
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string write(const std::string& name, const std::string& text) {
    std::ofstream(folder_ / name) << text;
    return (folder_ / name).string();
  }
  int run(PlanOptions options) {
    out_.str("");
    err_.str("");
    return run_plan(options, out_, err_);
  }
  int run(const std::string& file) {
    PlanOptions options;
    options.files = {file};
    return run(options);
  }
  std::string out() const { return out_.str(); }
  std::string err() const { return err_.str(); }

  std::filesystem::path folder_;

 private:
  std::ostringstream out_, err_;
};

}  // namespace berth::cli
