// Memory follows the size of objects, whatever they are made of, and is given back when they are gone.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <functional>
#include <nlohmann/json.hpp>

#include "base/heap.h"
#include "observe/follower.h"
#include "scheduler/wire/spare_memory.h"
#include "scheduler/world_support.h"

namespace berth::scheduler {
namespace {

using nlohmann::json;
using testing::World;

// One kind of content: `add` puts the entry of this number into a pod, made different from every other pod's by `mark`.
struct Content {
  const char* name;
  std::function<void(json& pod, int number, const std::string& mark)> add;
};

json& terms_of(json& pod, const char* kind, const char* when) {
  return pod["spec"]["affinity"][kind][when];
}

const std::vector<Content>& contents() {
  static constexpr const char* kRequired = "requiredDuringSchedulingIgnoredDuringExecution";
  static constexpr const char* kPreferred = "preferredDuringSchedulingIgnoredDuringExecution";
  static const auto kExpression = [](int i, const std::string& mark) {
    return json{{"key", fmt::format("example.com/l{}", i)}, {"operator", "In"}, {"values", {mark}}};
  };
  static const std::vector<Content> kContents = {
      {"required terms",
       [](json& pod, int i, const std::string& mark) {
         terms_of(pod, "nodeAffinity", kRequired)["nodeSelectorTerms"].push_back(
             {{"matchExpressions", {kExpression(i, mark)}}});
       }},
      {"preferred terms",
       [](json& pod, int i, const std::string& mark) {
         terms_of(pod, "nodeAffinity", kPreferred)
             .push_back({{"weight", 1}, {"preference", {{"matchExpressions", {kExpression(i, mark)}}}}});
       }},
      {"requirements of one term",
       [](json& pod, int i, const std::string& mark) {
         terms_of(pod, "nodeAffinity", kRequired)["nodeSelectorTerms"][0]["matchExpressions"].push_back(
             kExpression(i, mark));
       }},
      {"values of one requirement",
       [](json& pod, int i, const std::string& mark) {
         auto& r = terms_of(pod, "nodeAffinity", kRequired)["nodeSelectorTerms"][0]["matchExpressions"][0];
         r["key"] = "k";
         r["operator"] = "In";
         r["values"].push_back(fmt::format("{}{}", i, mark));
       }},
      {"tolerations",
       [](json& pod, int i, const std::string& mark) {
         pod["spec"]["tolerations"].push_back(
             {{"key", fmt::format("{}{}", i, mark)}, {"operator", "Exists"}});
       }},
      {"tolerations that are not supported",
       [](json& pod, int i, const std::string& mark) {
         pod["spec"]["tolerations"].push_back(
             {{"key", fmt::format("{}{}", i, mark)}, {"operator", "Gt"}, {"value", "1"}});
       }},
      {"nodeSelector",
       [](json& pod, int i, const std::string& mark) {
         pod["spec"]["nodeSelector"][fmt::format("{}{}", i, mark)] = "";
       }},
      {"labels",
       [](json& pod, int i, const std::string& mark) {
         pod["metadata"]["labels"][fmt::format("{}{}", i, mark)] = "";
       }},
      {"labels that Berth reads",
       [](json& pod, int i, const std::string& mark) {
         pod["metadata"]["labels"][fmt::format("berth.dev/{}{}", i, mark)] = "";
       }},
      {"annotations",
       [](json& pod, int i, const std::string& mark) {
         pod["metadata"]["annotations"][fmt::format("example.com/{}", i)] = mark;
       }},
      {"annotations that Berth reads",
       [](json& pod, int i, const std::string& mark) {
         pod["metadata"]["annotations"][fmt::format("kueue.x-k8s.io/{}", i)] = mark;
       }},
      {"a mark of many kilobytes",
       [](json& pod, int i, const std::string& mark) {
         auto& text = pod["metadata"]["annotations"]["berth.dev/topology-required"];
         if (text.is_null()) text = "";
         text.get_ref<std::string&>() += fmt::format("/{}{}", i, mark);
       }},
      {"owner references",
       [](json& pod, int i, const std::string& mark) {
         pod["metadata"]["ownerReferences"].push_back({{"apiVersion", "v1"},
                                                       {"kind", "ConfigMap"},
                                                       {"name", fmt::format("{}{}", i, mark)},
                                                       {"uid", fmt::format("{}", i)}});
       }},
      {"terms of podAntiAffinity",
       [](json& pod, int i, const std::string& mark) {
         terms_of(pod, "podAntiAffinity", kRequired)
             .push_back({{"topologyKey", "zone"},
                         {"labelSelector", {{"matchLabels", {{fmt::format("{}", i), mark}}}}}});
       }},
      {"containers",
       [](json& pod, int i, const std::string& mark) {
         pod["spec"]["containers"].push_back({{"name", fmt::format("c{}{}", i, mark)}, {"image", "x"}});
       }},
      {"different resources",
       [](json& pod, int i, const std::string& mark) {
         pod["spec"]["containers"][0]["resources"]["requests"][fmt::format("example.com/{}{}", i, mark)] =
             "1";
       }},
      {"environment",
       [](json& pod, int i, const std::string& mark) {
         pod["spec"]["containers"][0]["env"].push_back(
             {{"name", fmt::format("e{}{}", i, mark)}, {"value", "v"}});
       }},
      {"scheduling gates",
       [](json& pod, int i, const std::string& mark) {
         pod["spec"]["schedulingGates"].push_back({{"name", fmt::format("{}{}", i, mark)}});
       }},
      {"volumes",
       [](json& pod, int i, const std::string& mark) {
         pod["spec"]["volumes"].push_back(
             {{"name", fmt::format("{}{}", i, mark)}, {"persistentVolumeClaim", {{"claimName", mark}}}});
       }},
  };
  return kContents;
}

// A pod of about so many bytes, or (0) with so many entries.
std::string pod_of(const Content& content, int number, std::size_t bytes, int entries) {
  const std::string name = fmt::format("p{}", number);
  json pod = json::parse(R"({"apiVersion":"v1","kind":"Pod","metadata":{"namespace":"default"},
    "spec":{"schedulerName":"berth","containers":[{"name":"c","resources":{"requests":{"cpu":"1"}}}]},
    "status":{"phase":"Pending"}})");
  pod["metadata"]["name"] = name;
  pod["metadata"]["uid"] = testing::uid_of(name);
  pod["metadata"]["resourceVersion"] = "1";
  const std::string mark = fmt::format("n{}", number);
  constexpr int kProbe = 50;  // entries by which the size of one is known
  int i = 0;
  if (bytes > 0) {
    const std::size_t empty = pod.dump().size();
    while (i < kProbe) content.add(pod, i++, mark);
    entries = static_cast<int>(bytes * kProbe / (pod.dump().size() - empty));
  }
  while (i < entries) content.add(pod, i++, mark);
  return pod.dump();
}

struct Cost {
  double held = 0;  // bytes per byte of object
  double left = 0;  // when they have been gone for a minute
};

Cost cost_of(const Content& content, int pods, std::size_t bytes, int entries = 0) {
  observe::Follower follower;
  World w(World::defaults(), &follower);
  w.node("n1", 8);
  w.recover();
  // Buffers that readers and writers keep for the next object exist from the first one on.
  for (int i = 0; i < 20; ++i) w.pod({.name = fmt::format("first{}", i)});
  w.object(dialect::Kind::kPod, "p9999", pod_of(content, 9999, 2 * bytes, entries));
  w.turn();
  w.pod_gone("p9999");
  w.pass(kMinute);
  w.report();
  w.outbox.sent.clear();
  w.outbox.sent.shrink_to_fit();
  follower.catch_up();
  const std::size_t before = heap_use().in_use;
  std::size_t total = 0;
  for (int i = 0; i < pods; ++i) {
    const std::string pod = pod_of(content, i, bytes, entries);
    total += pod.size();
    w.object(dialect::Kind::kPod, fmt::format("p{}", i), pod);
    if (i % 10 == 0) w.turn();
  }
  w.turn();
  w.report();
  w.outbox.sent.clear();
  w.outbox.sent.shrink_to_fit();
  follower.catch_up();
  Cost out;
  const auto grown = [&] {
    return heap_use().in_use > before ? static_cast<double>(heap_use().in_use - before) : 0;
  };
  out.held = grown() / static_cast<double>(total);
  for (int i = 0; i < pods; ++i) {
    w.pod_gone(fmt::format("p{}", i));
    if (i % 10 == 0) w.turn();
  }
  for (int i = 0; i < 60; ++i) {
    w.pod({.name = "first0", .priority = i % 2});  // something happens
    w.pass(kSecond);
  }
  w.report();
  w.outbox.sent.clear();
  w.outbox.sent.shrink_to_fit();
  follower.catch_up();
  out.left = grown() / static_cast<double>(total);
  return out;
}

// docs/performance.md has this table.
TEST(Memory, FollowsTheSizeOfObjectsWhateverTheyAreMadeOf) {
  if (heap_use().in_use == 0) GTEST_SKIP() << "the allocator of this build counts nothing";
  fmt::print(
      "| 30 pods of 350 kB of | bytes held per byte | a minute after | 60 entries each: held | after |\n");
  for (const Content& content : contents()) {
    const Cost large = cost_of(content, 30, 350'000);
    const Cost small = cost_of(content, 30, 0, 60);
    fmt::print("| {} | {:.2f} | {:.2f} | {:.2f} | {:.2f} |\n", content.name, large.held, large.left,
               small.held, small.left);
    EXPECT_LT(large.held, 1.0) << content.name;
    EXPECT_LT(large.left, 0.1) << content.name;
  }
}

TEST(Memory, IsGivenBackToTheSystem) {
  SpareMemory spare;
  (void)spare.give_back(1000);  // what other tests have left
  {
    std::vector<std::string> many;
    for (int i = 0; i < 200'000; ++i) many.emplace_back(1000, 'x');
  }
  EXPECT_FALSE(spare.give_back(1000 + SpareMemory::kEvery - 1)) << "not so often";
  // Memory at the top went back by itself when the vector ended; holes in between do not.
  std::vector<std::string> kept;
  {
    std::vector<std::string> holes;
    for (int i = 0; i < 100'000; ++i) {
      holes.emplace_back(1000, 'x');
      kept.emplace_back(100, 'y');
    }
  }
  EXPECT_TRUE(spare.give_back(1000 + SpareMemory::kEvery));
}

}  // namespace
}  // namespace berth::scheduler
