// The book of places (scheduler/carry/places.h): where a slot is, before and after its pod has come.
#include "scheduler/carry/places.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>
#include <string>

#include "dialect/intake/intake.h"

namespace berth::scheduler {
namespace {

Decision start_of(const std::string& workload, std::vector<std::pair<std::int64_t, std::string>> slots) {
  Decision out;
  out.kind = DecisionKind::kStart;
  out.workload = workload;
  for (const auto& [index, node] : slots) out.slots.push_back({0, index, node, {}});
  return out;
}

class PlacesTest : public ::testing::Test {
 protected:
  PlaceState state(std::int64_t index, const std::string& pod = "") const {
    return places_.find("w", 0, index, pod).state;
  }

  dialect::Intake intake_;
  Places places_{intake_};
};

TEST_F(PlacesTest, AHeldStartGoesOutInParts) {
  EXPECT_TRUE(places_.empty());
  places_.hold(start_of("w", {{0, "a"}, {1, ""}, {2, "b"}}), 7, false);
  EXPECT_EQ(state(1), PlaceState::kHeld);
  EXPECT_EQ(state(3), PlaceState::kNone);
  EXPECT_EQ(places_.find("v", 0, 1, "").state, PlaceState::kNone);
  EXPECT_EQ(places_.generation("w"), 7);
  const auto placed = places_.take_placed("w");
  ASSERT_TRUE(placed);
  EXPECT_EQ(placed->slots.size(), 2u) << "quota alone goes on being held";
  EXPECT_TRUE(places_.holds("w"));
  EXPECT_FALSE(places_.take_placed("w"));
  const auto rest = places_.take_held("w");
  ASSERT_TRUE(rest);
  EXPECT_EQ(rest->workload, "w");
  EXPECT_EQ(rest->slots, (std::vector<SlotPlacement>{{0, 1, "", {}}}));
  EXPECT_FALSE(places_.holds("w"));
  EXPECT_EQ(places_.generation("w"), 0);
  EXPECT_TRUE(places_.empty());
}

TEST_F(PlacesTest, AHeldStartEndsWithItsLastSlot) {
  places_.hold(start_of("w", {{0, "a"}, {1, "a"}}), 3, false);
  EXPECT_TRUE(places_.drop("w", 0, 0));
  EXPECT_FALSE(places_.drop("w", 0, 0));
  EXPECT_EQ(places_.generation("w"), 3);
  EXPECT_TRUE(places_.drop("w", 0, 1));
  EXPECT_FALSE(places_.holds("w"));
  EXPECT_EQ(places_.generation("w"), 0) << "a later start is one of its own";
}

TEST_F(PlacesTest, PromisesAreTakenByTheirKind) {
  places_.promise("w", Comes::kOfRelease, {0, 0, "a", {1}});
  places_.promise("w", Comes::kOfGroup, {0, 1, "b", {}});
  places_.promise("w", Comes::kOfRelease, {0, 2, "c", {}});
  EXPECT_EQ(state(0), PlaceState::kPromised);
  EXPECT_EQ(places_.find("w", 0, 1, "").comes, Comes::kOfGroup);
  EXPECT_EQ(places_.promised("w", Comes::kOfRelease), 2u);
  EXPECT_FALSE(places_.take("w", Comes::kOfGroup, 0, 0));
  const auto last = places_.take_last("w", Comes::kOfGroup);
  ASSERT_TRUE(last);
  EXPECT_EQ(last->node, "b");
  EXPECT_FALSE(places_.promises(Comes::kOfGroup));
  const auto first = places_.take("w", Comes::kOfRelease, 0, 0);
  ASSERT_TRUE(first);
  EXPECT_EQ(first->devices, (std::vector<std::int64_t>{1}));
  places_.forget_promised("w", Comes::kOfRelease);
  EXPECT_TRUE(places_.empty());
  EXPECT_FALSE(places_.promises(Comes::kOfRelease));
}

TEST_F(PlacesTest, ASlotHasOnePlace) {
  places_.promise("w", Comes::kOfRelease, {0, 0, "a", {}});
  places_.hold(start_of("w", {{0, "b"}}), 0, false);
  EXPECT_EQ(state(0), PlaceState::kHeld);
  EXPECT_FALSE(places_.promises(Comes::kOfRelease));
  places_.promise("w", Comes::kOfGroup, {0, 0, "c", {}});
  EXPECT_EQ(state(0), PlaceState::kPromised);
  EXPECT_FALSE(places_.holds("w"));
}

TEST_F(PlacesTest, APodBindsThenItIsBoundThenItEnds) {
  auto [bind, fresh] = places_.add_bind("pod");
  EXPECT_TRUE(fresh);
  EXPECT_FALSE(places_.add_bind("pod").second);
  bind.uid = "pod";
  bind.node = "a";
  places_.set_stage(bind.stage, Stage::kFlying);
  EXPECT_EQ(places_.busy(), 1u);
  EXPECT_EQ(state(0, "pod"), PlaceState::kBinding);
  EXPECT_EQ(state(5, "pod"), PlaceState::kBinding) << "whatever its slot is by now";
  EXPECT_EQ(state(0, "other"), PlaceState::kNone);
  bind.evict = true;
  EXPECT_EQ(state(0, "pod"), PlaceState::kEnding);
  EXPECT_EQ(places_.find("w", 0, 0, "pod").bind->node, "a");
  bind.evict = false;
  places_.set_stage(bind.stage, Stage::kDone);
  EXPECT_EQ(state(0, "pod"), PlaceState::kBound);
  EXPECT_EQ(places_.busy(), 0u);
  EXPECT_TRUE(places_.take_bind("pod"));
  EXPECT_FALSE(places_.take_bind("pod"));
  places_.set_stage(places_.add_eviction("pod").stage, Stage::kFlying);
  EXPECT_EQ(state(0, "pod"), PlaceState::kEnding);
  EXPECT_EQ(places_.find("w", 0, 0, "pod").bind, nullptr);
  EXPECT_EQ(places_.busy(), 1u);
  EXPECT_TRUE(places_.take_eviction("pod"));
  EXPECT_EQ(places_.busy(), 0u) << "nothing is sent for a pod that is gone";
  EXPECT_TRUE(places_.empty());
}

// Against a book that is as simple as can be: slot -> its one place.
TEST_F(PlacesTest, AgreesWithASimpleBook) {
  using Key = std::pair<std::string, std::int64_t>;
  for (std::uint32_t seed = 1; seed <= 200; ++seed) {
    std::mt19937 random(seed);
    const auto below = [&](std::uint32_t n) { return random() % n; };
    Places places{intake_};
    std::map<Key, std::pair<char, std::string>> simple;  // h, r, g; node
    const auto erase_if = [&](const std::string& workload, const auto& which) {
      return std::erase_if(
          simple, [&](const auto& entry) { return entry.first.first == workload && which(entry.second); });
    };
    for (int step = 0; step < 200; ++step) {
      const std::string workload(1, static_cast<char>('a' + below(3)));
      const auto index = static_cast<std::int64_t>(below(4));
      const std::string node = below(3) == 0 ? "" : "n" + std::to_string(step);
      const Comes comes = below(2) == 0 ? Comes::kOfRelease : Comes::kOfGroup;
      const char kind = comes == Comes::kOfRelease ? 'r' : 'g';
      switch (below(8)) {
        case 0:
        case 1:
          places.hold(start_of(workload, {{index, node}}), 1, below(2) == 0);
          simple[{workload, index}] = {'h', node};
          break;
        case 2:
        case 3:
          places.promise(workload, comes, {0, index, node, {}});
          simple[{workload, index}] = {kind, node};
          break;
        case 4: {
          const auto placed = places.take_placed(workload);
          const auto gone =
              erase_if(workload, [](const auto& p) { return p.first == 'h' && !p.second.empty(); });
          ASSERT_EQ(placed ? placed->slots.size() : 0, gone);
          break;
        }
        case 5: {
          const auto it = simple.find({workload, index});
          const bool has = it != simple.end() && it->second.first == kind;
          const auto taken = places.take(workload, comes, 0, index);
          ASSERT_EQ(taken.has_value(), has) << "seed " << seed;
          if (!has) break;
          ASSERT_EQ(taken->node, it->second.second);
          simple.erase(it);
          break;
        }
        case 6:
          ASSERT_EQ(places.drop(workload, 0, index), simple.erase({workload, index}) > 0);
          break;
        default:
          if (below(2) == 0) {
            places.forget_held(workload);
            (void)erase_if(workload, [](const auto& p) { return p.first == 'h'; });
          } else {
            places.forget_promised(workload, comes);
            (void)erase_if(workload, [&](const auto& p) { return p.first == kind; });
          }
      }
      std::size_t promised[2] = {0, 0};
      std::map<std::string, std::size_t> held;
      for (const auto& [key, place] : simple) {
        const auto found = places.find(key.first, 0, key.second, "");
        ASSERT_EQ(found.state, place.first == 'h' ? PlaceState::kHeld : PlaceState::kPromised);
        ASSERT_EQ(places.holds(key.first, 0, key.second), place.first == 'h');
        if (place.first == 'h') ++held[key.first];
        if (place.first == 'r') ++promised[0];
        if (place.first == 'g') ++promised[1];
      }
      for (const std::string w : {"a", "b", "c"}) {
        ASSERT_EQ(places.holds(w), held[w] > 0) << "seed " << seed;
        ASSERT_EQ(places.generation(w), held[w] > 0 ? 1 : 0) << "seed " << seed;
      }
      ASSERT_EQ(places.promises(Comes::kOfRelease), promised[0] > 0);
      ASSERT_EQ(places.promises(Comes::kOfGroup), promised[1] > 0);
      ASSERT_EQ(places.empty(), simple.empty());
    }
  }
}

}  // namespace
}  // namespace berth::scheduler
