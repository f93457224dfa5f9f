// The cluster in which tests of limits run: with 64 devices on one node, or with quota alone.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "engine/tests_support.h"

namespace berth::engine::test {

using Names = std::vector<std::string>;

// The parameter: whether there are nodes.
class LimitsTest : public ::testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    Flavor flavor;
    flavor.name = "f";
    flavor.opaque = !GetParam();
    ok(e.apply(FlavorUpsert{flavor}));
    if (GetParam()) ok(e.apply(gpu_node("n", 64)));
  }
  // The workloads of the decisions of this kind, a second later.
  Names decided(DecisionKind kind = DecisionKind::kStart) {
    Names out;
    for (const Decision& d : e.decide(now += 1000)) {
      if (d.kind == kind) out.push_back(d.workload);
    }
    ok(e.audit());
    return out;
  }

  Engine e;
  TimeMs now = 0;
};

}  // namespace berth::engine::test
