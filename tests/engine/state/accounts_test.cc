// A trial that is rolled back leaves all accounts as they were, and judgements follow the accounts (engine/state/accounts.h).
#include "engine/state/accounts.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <memory>
#include <string>
#include <vector>

#include "engine/state/state.h"
#include "engine/state/trial.h"
#include "engine/tests_support.h"

namespace berth::engine {
namespace {

using test::ok;

// Two nodes in one zone, a tree of queues with a limit for each user, and one workload of four slots in each queue.
struct AccountsWorld {
  explicit AccountsWorld(bool terms = false) : state(EngineConfig{}) {
    for (const char* name : {"n0", "n1"})
      ok(state.node_upsert(
          std::get<NodeUpsert>(test::gpu_node(name, 8, {{"zone", "z"}, {"host", name}})).node));
    ok(state.flavor_upsert(Flavor{"f", {}, {}, {}, ""}));
    ok(state.queue_upsert(std::get<QueueUpsert>(test::cohort("roof")).queue));
    for (const char* name : {"a", "b"}) {
      Queue queue = std::get<QueueUpsert>(test::gpu_queue(name, "roof", 6, {})).queue;
      queue.lanes.limits = {{"f", "nvidia.com/gpu", 5000}};
      ok(state.queue_upsert(queue));
      state.settle_configuration();
      Workload w = test::gang_workload(fmt::format("of-{}", name), 4, 2, 0, name);
      w.lane = "user";
      PodTemplate& pod = w.root.pod_sets[0].pod;
      if (terms) {
        pod.selected = std::vector<std::string>{name};
        pod.terms = std::vector<CountedTerm>{{TermKind::kApart, "a", "zone"}, {TermKind::kNear, "b", "zone"}};
      }
      ok(state.workload_upsert(w));
    }
  }

  // A slot of the workload of queue a or b: on node 0 or 1, with the devices that it would get there.
  Charged slot(bool second_queue, bool second_node) {
    const WorkloadId id = *state.find_workload(second_queue ? "of-b" : "of-a");
    const WorkloadState& w = state.workloads[id.index()];
    const ChargeId charge = state.spec(w.sets[0].spec).choices.front();
    const NodeId node = state.nodes.intern(second_node ? "n1" : "n0");
    return charged(w, charge, node, state.choose_grant(node, charge, Mode::kPlan));
  }

  std::string accounts() const {
    std::string out = state.accounts.counted().to_text();
    for (std::size_t n = 0; n < state.nodes.size(); ++n) {
      for (std::size_t r = 0; r < state.nodes.resources(); ++r) {
        const auto& account = state.nodes.account(NodeId(n), ResourceId(r));
        out += fmt::format("{} {}, ", account.used[kNow], account.used[kAfter]);
      }
      for (const auto& device : state.nodes.record(NodeId(n)).devices)
        out += fmt::format("{} {}, ", device.account.used[kNow], device.account.used[kAfter]);
    }
    for (std::size_t q = 0; q < state.queues.size(); ++q) {
      for (std::size_t p = 0; p < state.quota.pairs(); ++p) {
        for (const Plane plane : {kNow, kAfter}) {
          out += fmt::format("{} {}, ", state.quota.usage(QueueId(q), FlavorResource(p), plane),
                             state.accounts.limits(QueueId(q)).room(0, FlavorResource(p), plane));
        }
      }
    }
    return out;
  }

  State state;
};

TEST(Accounts, ATrialThatEndsLeavesThemAsTheyWere) {
  rc::check([] {
    AccountsWorld world(true);
    const auto steps = *rc::gen::container<std::vector<int>>(rc::gen::inRange(0, 1'000'000));
    std::vector<std::unique_ptr<Trial>> open;
    std::vector<std::string> before;
    for (const int step : steps) {
      const int kind = step % 4;
      if (kind == 0) {
        before.push_back(world.accounts());
        open.push_back(std::make_unique<Trial>(world.state));
      } else if (kind == 1 && !open.empty()) {
        const bool stays = step / 4 % 2 == 1 && open.size() > 1;  // for the trial around it, which ends, too
        if (stays) open.back()->stay();
        open.pop_back();
        if (!stays) RC_ASSERT(world.accounts() == before.back());
        before.pop_back();
      } else if (!open.empty()) {
        const auto planes =
            static_cast<PlaneMask>((1 + step / 4 % 3) | (step / 96 % 2 == 1 ? kReservedBit : 0));
        world.state.accounts.try_charge(world.slot(step / 12 % 2 == 1, step / 24 % 2 == 1), planes,
                                        step / 48 % 2 == 1 ? +1 : -1);
      }
    }
    while (!open.empty()) {
      open.pop_back();
      RC_ASSERT(world.accounts() == before.back());
      before.pop_back();
    }
  });
}

TEST(Accounts, AreJudgedByAllThatASlotTakes) {
  AccountsWorld world;
  Accounts& accounts = world.state.accounts;
  const Charged first = world.slot(false, false);
  EXPECT_TRUE(accounts.has_room(first, kNow));
  accounts.try_charge(first, kBothPlanes, +1);
  EXPECT_FALSE(accounts.overdrawn_on_node(first, Mode::kStart));
  EXPECT_FALSE(accounts.overdraws_a_queue(first, Mode::kStart));
  // Its devices are taken: the same slot once more overdraws one, and a user has 5 GPUs at most.
  EXPECT_FALSE(accounts.has_room(first, kNow));
  accounts.try_charge(first, kBothPlanes, +1);
  ASSERT_TRUE(accounts.overdrawn_on_node(first, Mode::kStart));
  EXPECT_EQ(accounts.overdrawn_on_node(first, Mode::kStart)->of, Overdraft::Of::kDevice);
  EXPECT_FALSE(accounts.overdraws_a_queue(first, Mode::kStart));
  accounts.try_charge(first, kAfterBit, +1);
  EXPECT_EQ(accounts.overdrawn_in_queue(first, Mode::kPlan)->of, Overdraft::Of::kLane);
  EXPECT_TRUE(accounts.overdraws_a_queue(first, Mode::kPlan));
  for (int i = 0; i < 4; ++i) accounts.try_charge(first, kAfterBit, +1);  // 14 of 12 GPUs in the tree
  EXPECT_EQ(accounts.overdrawn_in_queue(first, Mode::kPlan)->of, Overdraft::Of::kQuota);
  const Charged other = world.slot(true, true);
  EXPECT_TRUE(accounts.overdraws_a_queue(other, Mode::kPlan)) << "the queue above is overdrawn";
  world.state.abandon();
  EXPECT_FALSE(accounts.overdraws_a_queue(other, Mode::kPlan));
  EXPECT_TRUE(accounts.has_room(first, kNow));
}

TEST(Accounts, ASlotThatStandsWhereAnotherMustBeApartOverdrawsATerm) {
  AccountsWorld world(true);
  Accounts& accounts = world.state.accounts;
  const Charged first = world.slot(false, false);  // selected by "a", and apart from such
  const Charged second = world.slot(true, true);   // selected by "b", and apart from "a"
  accounts.try_charge(second, kBothPlanes, +1);
  EXPECT_FALSE(accounts.overdrawn_on_node(second, Mode::kStart));
  EXPECT_FALSE(accounts.has_room(first, kNow)) << "they are of one zone";
  accounts.try_charge(first, kAfterBit, +1);
  EXPECT_EQ(accounts.overdrawn_on_node(second, Mode::kPlan)->of, Overdraft::Of::kTerm);
  EXPECT_EQ(accounts.overdrawn_on_node(first, Mode::kPlan)->of, Overdraft::Of::kTerm);
  world.state.abandon();
}

}  // namespace
}  // namespace berth::engine
