// Random lives of gangs whose object their pods name. The engine never refuses an event that it should take, and its accounts stay
// right. Slots and pods agree, and no pod starts before the turn of its subgroup.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "base/random.h"
#include "dialect/dialect_support.h"
#include "dialect/intake/intake.h"

namespace berth::dialect {
namespace {

using ::testing::HasSubstr;
using testing::node_yaml;
using testing::pod_yaml;
using testing::World;

class GroupLife {
 public:
  explicit GroupLife(std::uint64_t seed) : random_(seed) {}

  void run(int steps) {
    world_.apply(node_yaml("n0", 6) + node_yaml("n1", 3) + queue("a", 9) + queue("b", 3));
    for (step_ = 0; step_ < steps; ++step_) {
      change();
      if (pick(3) == 0) decide();
      check();
      if (::testing::Test::HasFatalFailure()) return;
    }
    for (const auto& message : world_.refused)
      EXPECT_THAT(message, HasSubstr("nothing says how to charge it"));
  }

  int starts() const { return starts_; }
  int growths() const { return growths_; }

 private:
  int pick(int n) { return static_cast<int>(random_.below(static_cast<std::uint64_t>(n))); }

  static std::string queue(const std::string& name, int gpus) {
    return fmt::format(
        "apiVersion: scheduling.volcano.sh/v1beta1\nkind: Queue\nmetadata: {{name: {}}}\nspec: {{weight: 1, "
        "capability: {{nvidia.com/gpu: {}}}}}\n---\n",
        name, gpus);
  }

  std::string group(const std::string& name) {
    std::string spec = fmt::format("minMember: {}", 1 + pick(4));
    if (pick(3) > 0) spec += pick(2) == 0 ? ", queue: a" : ", queue: b";
    if (pick(3) > 0) {
      spec += fmt::format(
          ", subGroupPolicy: [{{name: r, subGroupSize: {}, minSubGroups: {}, matchLabelKeys: [r]}}]",
          1 + pick(2), pick(3));
    } else if (pick(2) == 0) {
      spec += ", minTaskMember: {x: 1, y: 1}";
    }
    return fmt::format(
        "apiVersion: scheduling.volcano.sh/v1beta1\nkind: PodGroup\nmetadata: {{name: {}}}\nspec: {{{}}}\n",
        name, spec);
  }

  std::string pod(const std::string& name, const std::string& gang, int member, const std::string& node) {
    const std::string label = fmt::format("  labels: {{r: \"{}\"}}\n", member % 3);
    const std::string marks =
        fmt::format("  annotations: {{scheduling.k8s.io/group-name: {}, volcano.sh/task-spec: {}}}\n", gang,
                    member % 2 == 0 ? "x" : "y");
    return pod_yaml(name, member == 4 ? 2 : 1, label + marks,
                    node.empty() ? "" : "  nodeName: " + node + "\n");
  }

  void change() {
    const std::string gang = fmt::format("g{}", pick(3));
    const int member = pick(6);
    const std::string name = fmt::format("{}-{}", gang, member);
    switch (pick(12)) {
      case 0:
        return world_.apply(node_yaml("n1", pick(6)));
      case 1:
        return world_.apply(queue(pick(2) == 0 ? "a" : "b", pick(9)));
      case 2:
      case 3:
        return world_.apply(group(gang));
      case 4:
        if (pick(3) == 0) world_.remove(Kind::kVolcanoPodGroup, gang);
        return;
      case 5:
        nodes_.erase(name);
        return world_.remove(Kind::kPod, name);
      case 6:
        return end(name, gang, member);
      default:
        return world_.apply(pod(name, gang, member, nodes_.contains(name) ? nodes_[name] : ""));
    }
  }

  void end(const std::string& name, const std::string& gang, int member) {
    if (!nodes_.contains(name)) return;
    std::string yaml = pod(name, gang, member, nodes_[name]);
    yaml.insert(yaml.rfind("---"),
                pick(2) == 0 ? "status: {phase: Succeeded}\n" : "status: {phase: Failed}\n");
    world_.apply(yaml);
    nodes_.erase(name);
  }

  void decide() {
    for (const auto& decision : world_.decide(step_ * 1000)) {
      if (decision.kind != DecisionKind::kStart) continue;
      ++starts_;
      growths_ += world_.told.at(decision.workload).asks_more_since ? 1 : 0;
    }
    for (const std::string& uid : workloads()) {
      for (const PodView& view : world_.intake.pods_of(uid)) {
        const auto slot = world_.engine.slot(uid, view.pod_set, view.index);
        if (!view.node.empty() || !slot || slot->state != SlotState::kBinding || pick(4) == 0) continue;
        nodes_[std::string(view.name)] = slot->node;
      }
    }
    const auto bound = nodes_;
    for (const auto& [name, node] : bound)
      world_.apply(pod(name, name.substr(0, 2), name.back() - '0', node));
  }

  std::vector<std::string> workloads() const {
    std::vector<std::string> out;
    for (const auto& info : world_.intake.workloads()) out.emplace_back(info.uid);
    return out;
  }

  void check() {
    const auto audit = world_.engine.audit();
    ASSERT_TRUE(audit) << "step " << step_ << ": " << audit.error().message;
    for (const std::string& uid : workloads()) {
      for (const PodView& view : world_.intake.pods_of(uid)) {
        ASSERT_EQ(world_.intake.pod_at(uid, view.pod_set, view.index)->uid, view.uid);
        const auto slot = world_.engine.slot(uid, view.pod_set, view.index);
        if (view.state == SlotState::kRunning && world_.intake.blocked(uid) == nullptr) {
          ASSERT_TRUE(slot) << "step " << step_ << ": " << slot.error().message;
        }
        if (view.node.empty() && view.state == SlotState::kAbsent && slot) {
          ASSERT_NE(slot->state, SlotState::kBinding)
              << "step " << step_ << ": " << view.name << " starts before its turn";
        }
      }
    }
  }

  Random random_;
  World world_;
  std::map<std::string, std::string> nodes_;  // by pod
  int step_ = 0;
  int starts_ = 0;
  int growths_ = 0;
};

TEST(GroupHistories, KeepTheBooksRight) {
  int starts = 0;
  int growths = 0;
  for (std::uint64_t seed = 1; seed <= 24; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    GroupLife life(seed);
    life.run(120);
    if (HasFailure()) return;
    starts += life.starts();
    growths += life.growths();
  }
  EXPECT_GT(starts, 80);
  EXPECT_GT(growths, 5);
}

}  // namespace
}  // namespace berth::dialect
