// The fixture of tests that need a test cluster: skips, loudly, where the control plane's programs are
// missing, unless BERTH_E2E=required; keeps the cluster's folder when the test fails.
#pragma once

#include <gtest/gtest.h>

#include <cstdio>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "e2e/cluster.h"
#include "e2e/observer.h"

namespace berth::e2e {

// ASSERT_TRUE for a Status or Result, with its error as the message.
#define ASSERT_OK(expression)                                        \
  do {                                                               \
    auto&& assert_ok_ = (expression);                                \
    ASSERT_TRUE(assert_ok_.has_value()) << assert_ok_.error().str(); \
  } while (false)

class ClusterTest : public testing::Test {
 protected:
  void SetUp() override {
    for (const char* program : {"etcd", "kube-apiserver"}) {
      if (const auto found = TestCluster::find_program(program); !found) {
        if (e2e_required()) {
          FAIL() << found.error().str();
        }
        std::fprintf(stderr,
                     "\n*** SKIPPED, NOT TESTED: %s\n*** BERTH_E2E=required makes this a failure.\n\n",
                     found.error().str().c_str());
        GTEST_SKIP() << found.error().str();
      }
    }
  }

  void TearDown() override {
    if (observer_ != nullptr) {
      observer_->stop();
    }
    if (HasFailure() && cluster_ != nullptr) {
      cluster_->keep_folder();
      std::fprintf(stderr, "logs of the test cluster: %s\n", cluster_->folder().c_str());
    }
  }

  // Starts the cluster and an observer that sees everything from the first event on. Where that fails, the test fails and ends here:
  // ASSERT would end this function alone, and its caller would go on without a cluster.
  void start(ClusterOptions options = {}) {
    auto cluster = TestCluster::start(std::move(options));
    if (!cluster) give_up(cluster.error().str());
    cluster_ = std::move(*cluster);
    observer_ = std::make_unique<ObserverOfPods>(cluster_->endpoint());
    if (prepare_observer_) {
      prepare_observer_(*observer_);
    }
    if (const auto status = observer_->start(); !status) give_up(status.error().str());
  }

  // Fails the test and leaves it, through whatever called this.
  [[noreturn]] static void give_up(const std::string& why) {
    ADD_FAILURE() << why;
    throw testing::AssertionException(
        testing::TestPartResult(testing::TestPartResult::kFatalFailure, __FILE__, __LINE__, why.c_str()));
  }

  std::function<void(ObserverOfPods&)> prepare_observer_;  // called by start(), before the first event
  std::unique_ptr<TestCluster> cluster_;
  std::unique_ptr<ObserverOfPods> observer_;
};

}  // namespace berth::e2e
