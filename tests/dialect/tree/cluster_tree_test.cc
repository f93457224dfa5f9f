// The cluster's tree of queues: what objects of three systems become in the model.
#include "dialect/tree/cluster_tree.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string_view>

#include "dialect/dialect_support.h"
#include "dialect/upstream/core.h"

namespace berth::dialect {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::node_yaml;
using testing::objects_of;
using testing::objects_of_json;
using testing::pod_yaml;
using testing::World;

std::string queue(const std::string& name, const std::string& spec) {
  return "apiVersion: berth.dev/v1alpha1\nkind: Queue\nmetadata: {name: " + name + "}\nspec: {" + spec +
         "}\n---\n";
}

// The tree of some objects.
struct Made {
  std::map<std::string, Queue> queues;
  std::vector<std::string> order;
  std::vector<Problem> problems;

  explicit Made(const std::string& yaml, std::vector<Object> objects = {}) {
    if (objects.empty()) objects = objects_of(yaml);
    ClusterTree tree;
    std::map<std::string, Flavor, std::less<>> flavors;
    std::map<std::string, Node, std::less<>> nodes;
    for (const Object& object : objects) {
      std::visit(
          [&](const auto& o) {
            using T = std::decay_t<decltype(o)>;
            if constexpr (std::is_base_of_v<TreeQueue, T>) {
              tree.upsert(T::kKind, o);
            } else if constexpr (std::is_same_v<T, ResourceFlavor>) {
              flavors.emplace(o.meta.name, Flavor{o.meta.name, o.node_labels, {}, {}, "", false});
            } else if constexpr (std::is_same_v<T, NodeObject>) {
              std::string problem;
              nodes.emplace(o.meta.name, to_node(o, {}, problem));
            }
          },
          object);
    }
    std::vector<Queue> out;
    NodeSums sums;
    for (const auto& [name, node] : nodes) sums.change(nullptr, &node);
    const std::function<bool(std::string_view)> is_taken = [](std::string_view) { return false; };
    tree.compute({flavors, nodes, is_taken, sums}, out, problems);
    for (Queue& q : out) {
      order.push_back(q.name);
      queues.emplace(q.name, q);
    }
  }
  // "nominal/borrow/lend" of a pair; "-" where there is no limit.
  std::string quota(const std::string& name, const std::string& resource,
                    std::string_view flavor = kAllNodes) const {
    for (const Quota& q : queues.at(name).quotas) {
      if (q.flavor != flavor || q.resource != resource) continue;
      const auto text = [](const std::optional<std::int64_t>& v) { return v ? std::to_string(*v) : "-"; };
      return std::to_string(q.nominal) + "/" + text(q.borrowing_limit) + "/" + text(q.lending_limit);
    }
    return "not counted";
  }
};

constexpr const char* kGpu = "nvidia.com/gpu";

TEST(ClusterTree, TheRootHasWhatTheNodesHaveLessTheGuarantees) {
  const Made m(node_yaml("n0", 8) + node_yaml("n1", 4) +
               queue("a", "guaranteed: {nvidia.com/gpu: 5}, limit: {nvidia.com/gpu: 9}") +
               queue("b", "guaranteed: {nvidia.com/gpu: 2}, lendable: {nvidia.com/gpu: 1}") +
               queue("c", "weight: 3"));
  EXPECT_THAT(m.order, ElementsAre("cluster:root", "a", "b", "c")) << "parents first";
  EXPECT_EQ(m.quota("cluster:root", kGpu), "5000/-/-");
  EXPECT_EQ(m.quota("a", kGpu), "5000/4000/-");
  EXPECT_EQ(m.quota("b", kGpu), "2000/-/1000");
  EXPECT_EQ(m.quota("c", kGpu), "0/-/-") << "it counts what the root counts: devices";
  EXPECT_EQ(m.quota("a", "cpu"), "not counted");
  EXPECT_TRUE(m.queues.at("a").open);
  EXPECT_FALSE(m.queues.at("cluster:root").leaf);
  EXPECT_TRUE(m.problems.empty());
}

TEST(ClusterTree, ADepartmentIsGuaranteedNoMoreThanItSays) {
  const Made m(node_yaml("n0", 16) +
               queue("d", "guaranteed: {nvidia.com/gpu: 10}, limit: {nvidia.com/gpu: 12}") +
               queue("t1", "parent: d, guaranteed: {nvidia.com/gpu: 4}") +
               queue("t2", "parent: d, guaranteed: {nvidia.com/gpu: 1}") +
               queue("over", "guaranteed: {nvidia.com/gpu: 1}") +
               queue("u", "parent: over, guaranteed: {nvidia.com/gpu: 3}"));
  EXPECT_EQ(m.quota("d", kGpu), "5000/2000/-") << "10 less the 5 of its teams; 2 more with all";
  EXPECT_EQ(m.quota("over", kGpu), "0/-/-");
  EXPECT_EQ(m.quota("cluster:root", kGpu), "3000/-/-") << "16 less 10 and 3";
  ASSERT_EQ(m.problems.size(), 1u);
  EXPECT_THAT(m.problems[0].message,
              HasSubstr("its children are guaranteed 3 of nvidia.com/gpu together, more than its own 1"));
}

TEST(ClusterTree, TheRootMayBeMadeSmaller) {
  const Made m(node_yaml("n0", 8) +
               queue("root", "limit: {nvidia.com/gpu: 6}, sharing: {by: DecayedUse, halfLife: 24h}") +
               queue("a", "guaranteed: {nvidia.com/gpu: 2}"));
  EXPECT_EQ(m.quota("cluster:root", kGpu), "4000/-/-");
  EXPECT_EQ(m.queues.at("cluster:root").sharing, Sharing::kDecayedUse);
  EXPECT_EQ(m.queues.at("cluster:root").half_life, 24 * kHour);
  EXPECT_EQ(m.queues.at("a").parent, "cluster:root");
}

TEST(ClusterTree, FlavorsDivideTheirOwnNodes) {
  const auto flavor = [](const std::string& name) {
    return "apiVersion: kueue.x-k8s.io/v1beta2\nkind: ResourceFlavor\nmetadata: {name: " + name +
           "}\nspec: {nodeLabels: {gpu: " + name + "}}\n---\n";
  };
  const Made m(node_yaml("n0", 8, "    gpu: h100\n") + node_yaml("n1", 4, "    gpu: l4\n") + flavor("h100") +
               flavor("l4") +
               queue("a", "flavors: [{name: h100, guaranteed: {nvidia.com/gpu: 6}}, {name: l4}]") +
               queue("b", "parent: a") + queue("c", "parent: a, guaranteed: {nvidia.com/gpu: 1}"));
  EXPECT_EQ(m.quota("cluster:root", kGpu, "h100"), "2000/-/-");
  EXPECT_EQ(m.quota("cluster:root", kGpu, "l4"), "4000/-/-");
  EXPECT_THAT(m.queues.at("b").groups.at(0).flavors, ElementsAre("h100", "l4")) << "as its parent";
  EXPECT_EQ(m.quota("b", kGpu, "l4"), "0/-/-");
  EXPECT_THAT(m.queues.at("c").disabled,
              HasSubstr("has no flavor, but this queue or one above it names flavors"));
}

TEST(ClusterTree, WithoutNodesTheGuaranteesAreAllThereIs) {
  const Made m(queue("a", "guaranteed: {nvidia.com/gpu: 5}"));
  EXPECT_EQ(m.quota("cluster:root", kGpu), "0/-/-");
  EXPECT_EQ(m.quota("a", kGpu), "5000/-/-");
}

TEST(ClusterTree, VolcanosQueuesHaveTheirMeaning) {
  const std::string head = "apiVersion: scheduling.volcano.sh/v1beta1\nkind: Queue\nmetadata: {name: ";
  const Made m(node_yaml("n0", 8) + head + "root}\nspec: {weight: 1}\n---\n" + head +
               "q}\nspec: {weight: 4, priority: 3, reclaimable: false, dequeueStrategy: fifo, capability: "
               "{nvidia.com/gpu: 6}, deserved: "
               "{nvidia.com/gpu: 4}, guarantee: {resource: {nvidia.com/gpu: 1}}}\n---\n" +
               head + "grouped}\nspec: {affinity: {nodeGroupAffinity: {}}}\n---\n" + head +
               "shut}\nspec: {parent: q2}\nstatus: {state: Closed}\n---\n" + head + "q2}\n");
  EXPECT_EQ(m.quota("volcano:q", kGpu), "4000/2000/3000");
  const Queue& q = m.queues.at("volcano:q");
  EXPECT_EQ(q.parent, "volcano:root");
  EXPECT_TRUE(q.weight == (Rational{4, 1}));
  EXPECT_EQ(q.priority, 3);
  EXPECT_EQ(q.order, QueueOrder::kStrict);
  EXPECT_FALSE(q.preemption.reclaimable);
  EXPECT_THAT(m.queues.at("volcano:grouped").disabled, HasSubstr("affinity"));
  EXPECT_EQ(m.queues.at("volcano:shut").stop, StopPolicy::kHold);
  EXPECT_EQ(m.queues.at("volcano:shut").parent, "volcano:q2");
}

std::string weighted(const std::string& name, const std::string& spec) {
  return "apiVersion: scheduling.volcano.sh/v1beta1\nkind: Queue\nmetadata: {name: " + name + "}\nspec: {" +
         spec + "}\n---\n";
}

// Volcano's plugin proportion: without `deserved` anywhere the weights divide what there is.
TEST(ClusterTree, VolcanosQueuesWithoutDeservedAreGuaranteedTheirPartsByWeight) {
  const std::string nodes = node_yaml("n0", 8) + node_yaml("n1", 4);
  const auto gpus_of = [](const Made& made, const std::string& name) {
    for (const Quota& quota : made.queues.at("volcano:" + name).quotas) {
      if (quota.resource == "nvidia.com/gpu") return quota.nominal / 1000;
    }
    return std::int64_t{-1};
  };
  const Made made(nodes + weighted("a", "weight: 1") + weighted("b", "weight: 3") +
                  weighted("c", "weight: 2"));
  EXPECT_EQ(gpus_of(made, "a"), 2);
  EXPECT_EQ(gpus_of(made, "b"), 6);
  EXPECT_EQ(gpus_of(made, "c"), 4);
  EXPECT_EQ(made.queues.at("cluster:root").quotas.front().nominal, 0);

  const Made bounded(nodes + weighted("a", "weight: 1, capability: {nvidia.com/gpu: 1}") +
                     weighted("b", "weight: 1, guarantee: {resource: {nvidia.com/gpu: 4}}") +
                     weighted("c", "weight: 1"));
  EXPECT_EQ(gpus_of(bounded, "a"), 1) << "its limit";
  EXPECT_EQ(gpus_of(bounded, "b"), 5) << "what a cannot use is divided, too";
  EXPECT_EQ(gpus_of(bounded, "c"), 5);
  EXPECT_EQ(bounded.queues.at("volcano:b").quotas.front().lending_limit, 1500) << "four are never lent";

  const Made scarce(nodes + weighted("a", "weight: 1, guarantee: {resource: {nvidia.com/gpu: 8}}") +
                    weighted("b", "weight: 1") + weighted("c", "weight: 0"));
  EXPECT_EQ(gpus_of(scarce, "a"), 8);
  EXPECT_EQ(gpus_of(scarce, "b"), 4);
  EXPECT_EQ(gpus_of(scarce, "c"), 0);

  const Made deep(nodes + weighted("root", "weight: 1") + weighted("a", "parent: root, weight: 1") +
                  weighted("b", "parent: root, weight: 2") + weighted("b1", "parent: b, weight: 1") +
                  weighted("b2", "parent: b, weight: 3"));
  EXPECT_EQ(gpus_of(deep, "a"), 4);
  EXPECT_EQ(gpus_of(deep, "b"), 0) << "its children have it all";
  EXPECT_EQ(gpus_of(deep, "b1"), 2);
  EXPECT_EQ(gpus_of(deep, "b2"), 6);
}

TEST(ClusterTree, OneVolcanoQueueWithDeservedAndWeightsDivideTheRestAlone) {
  const Made made(node_yaml("n0", 8) + weighted("a", "weight: 1, deserved: {nvidia.com/gpu: 2}") +
                  weighted("b", "weight: 3"));
  EXPECT_EQ(made.queues.at("volcano:a").quotas.front().nominal, 2000);
  EXPECT_EQ(made.queues.at("volcano:b").quotas.front().nominal, 0);
}

TEST(ClusterTree, WhatBerthsQueuesAreGuaranteedIsNotDividedByWeight) {
  const Made made(node_yaml("n0", 8) + queue("own", "guaranteed: {nvidia.com/gpu: 4}") +
                  weighted("a", "weight: 1") + weighted("b", "weight: 1"));
  EXPECT_EQ(made.queues.at("volcano:a").quotas.front().nominal, 2000);
  EXPECT_EQ(made.queues.at("own").quotas.front().nominal, 4000);
}

TEST(ClusterTree, ACircleOfQueuesThatAreWrongAnywayIsThereAndDisabled) {
  const std::string head = "apiVersion: scheduling.volcano.sh/v1beta1\nkind: Queue\nmetadata: {name: ";
  const Made m(head + "a}\nspec: {parent: b, affinity: {}}\n---\n" + head +
               "b}\nspec: {parent: a, affinity: {}}\n");
  EXPECT_THAT(m.order, ElementsAre("cluster:root", "volcano:a", "volcano:b"));
  for (const char* name : {"volcano:a", "volcano:b"})
    EXPECT_THAT(m.queues.at(name).disabled, HasSubstr("affinity")) << "the first that is wrong";
}

TEST(ClusterTree, KaisQueuesHaveTheirUnits) {
  const std::string yaml = node_yaml("n0", 8) +
                           "apiVersion: scheduling.run.ai/v2\nkind: Queue\nmetadata: {name: a}\nspec:\n  "
                           "preemptMinRuntime: 5m\n  reclaimMinRuntime: 1h\n"
                           "  resources:\n    gpu: {quota: 0.5, limit: -1, overQuotaWeight: 2}\n    cpu: "
                           "{quota: 1500, limit: 3000}\n    memory: {quota: -1, "
                           "limit: 1000}\n---\n";
  for (const bool as_json : {false, true}) {
    const Made m(yaml, as_json ? objects_of_json(yaml) : objects_of(yaml));
    EXPECT_EQ(m.quota("kai:a", kGpu), "500/-/-");
    EXPECT_EQ(m.quota("kai:a", "cpu"), "1500/1500/-");
    EXPECT_EQ(m.quota("kai:a", "memory"), "1000000000/0/-")
        << "guaranteed without bound is guaranteed up to the limit";
    const Queue& q = m.queues.at("kai:a");
    EXPECT_TRUE(q.weight == (Rational{2000, 1000}));
    EXPECT_EQ(q.priority, 100);
    EXPECT_EQ(q.preemption.minimum_runtime, 5 * kMinute);
    EXPECT_EQ(q.preemption.minimum_runtime_across, kHour);
    EXPECT_EQ(q.sharing, Sharing::kDominantShare) << "the surplus is taken back by weight";
  }
}

TEST(ClusterTree, AnUnboundedQueueOfKaiCountsWhatOthersName) {
  const auto kai = [](std::string_view name, std::string_view parent, std::string_view gpu,
                      std::string_view cpu) {
    return fmt::format(
        "apiVersion: scheduling.run.ai/v2\nkind: Queue\nmetadata: {{name: {}}}\nspec:\n  parentQueue: "
        "\"{}\"\n"
        "  resources:\n    gpu: {}\n    cpu: {}\n    memory: {{quota: -1, limit: -1}}\n---\n",
        name, parent, gpu, cpu);
  };
  const std::string all = "{quota: -1, limit: -1}";
  const std::string none = "{quota: 0, limit: -1}";
  const Made m(node_yaml("n0", 8) + kai("d", "", all, all) + kai("a", "d", all, all) +
               kai("b", "d", none, all) + kai("e", "", all, "{quota: -1, limit: 3000}") +
               kai("c", "e", none, all));
  EXPECT_EQ(m.quota("kai:a", kGpu), "8000/-/-") << "guaranteed all that there is";
  EXPECT_EQ(m.quota("kai:b", kGpu), "0/-/-");
  EXPECT_EQ(m.quota("kai:d", kGpu), "0/-/-") << "it has what a is guaranteed";
  EXPECT_EQ(m.quota("kai:c", "cpu"), "0/-/-") << "it counts what the department may use";
  EXPECT_EQ(m.quota("kai:e", "cpu"), "3000/0/-");
  const Made free(node_yaml("n0", 8) + kai("a", "", all, all) + kai("b", "", none, all));
  const Queue& a = free.queues.at("kai:a");
  EXPECT_TRUE(std::none_of(a.quotas.begin(), a.quotas.end(), [](const Quota& q) {
    return q.resource == "cpu" || q.resource == "memory";
  })) << "nobody names an amount of them";
}

// Work that is not preemptible stays within the quota of each of KAI's queues, and a department is guaranteed what it says itself.
TEST(ClusterTree, KaisQueuesKeepFirmWorkWithinQuotasAndCutDepartments) {
  const auto kai = [](std::string_view name, std::string_view parent, std::string_view gpu) {
    return fmt::format(
        "apiVersion: scheduling.run.ai/v2\nkind: Queue\nmetadata: {{name: {}}}\nspec:\n  parentQueue: "
        "\"{}\"\n  resources:\n    gpu: {}\n    cpu: {{quota: -1, limit: -1}}\n    memory: {{quota: -1, "
        "limit: "
        "-1}}\n---\n",
        name, parent, gpu);
  };
  const Made m(node_yaml("n0", 8) + kai("d", "", "{quota: 3, limit: 6}") +
               kai("a", "d", "{quota: 2, limit: -1}") + kai("b", "d", "{quota: 4, limit: -1}") +
               kai("all", "", "{quota: -1, limit: -1}"));
  const auto of = [&](const std::string& name) {
    const auto& quotas = m.queues.at(name).quotas;
    return *std::find_if(quotas.begin(), quotas.end(), [](const Quota& q) { return q.resource == kGpu; });
  };
  EXPECT_EQ(of("kai:a").firm_limit, 2000);
  EXPECT_EQ(of("kai:d").firm_limit, 3000);
  EXPECT_EQ(of("kai:all").firm_limit, std::nullopt) << "it may have all";
  EXPECT_EQ(of("kai:d").subtree_limit, 3000);
  EXPECT_EQ(m.quota("kai:d", kGpu), "0/3000/-") << "3 more than it is guaranteed";
  EXPECT_EQ(of("kai:a").subtree_limit, std::nullopt);
  EXPECT_TRUE(m.queues.at("kai:d").ranks_within_quota);
  ASSERT_EQ(m.problems.size(), 1u);
  EXPECT_THAT(m.problems[0].message, HasSubstr("more than its own 3: beyond that it borrows"));
}

TEST(ClusterTree, EachUserMayHaveSoMuch) {
  const Made m(node_yaml("n0", 8) + queue("a", "perUser: {limit: {nvidia.com/gpu: 2}}") +
               queue("d", "perUser: {limit: {nvidia.com/gpu: 2}}") + queue("t", "parent: d"));
  EXPECT_EQ(m.queues.at("a").lanes.limits, (std::vector<LaneLimit>{{std::string(kAllNodes), kGpu, 2000}}));
  EXPECT_EQ(m.quota("a", kGpu), "0/-/-") << "it is no limit of the queue";
  EXPECT_THAT(m.queues.at("d").disabled, HasSubstr("perUser works on queues without children only"));
}

TEST(ClusterTree, AUserIsANamespace) {
  World w;
  w.apply(node_yaml("n0", 8) + queue("a", "perUser: {limit: {nvidia.com/gpu: 2}}"));
  const auto pod = [](const std::string& ns, const std::string& name) {
    std::string yaml = pod_yaml(name, 1, "  labels: {berth.dev/queue: a, berth.dev/user: somebody-else}\n");
    return yaml.replace(yaml.find("name: " + name), 6, "namespace: " + ns + "\n  name: ");
  };
  for (const char* ns : {"alice", "bob"}) {
    for (const char* name : {"p1", "p2", "p3"}) w.apply(pod(ns, name));
  }
  EXPECT_EQ(w.decide().size(), 4u) << "two of each, whatever their labels say";
  const Reason why = w.engine.verdict("Pod/alice/p3")->reason;
  EXPECT_EQ(why.code, ReasonCode::kLaneLimit) << to_text(why);
  EXPECT_EQ(why.subject, "alice");
  w.apply(queue("a", "perUser: {limit: {nvidia.com/gpu: 3}}"));
  EXPECT_EQ(w.decide(2000).size(), 2u);
  w.apply(queue("a", ""));
  w.apply(pod("alice", "p4"));
  EXPECT_EQ(w.decide(3000).size(), 1u) << "no limit any more";
  EXPECT_TRUE(w.refused.empty());
}

TEST(ClusterTree, MoreThanBerthCountsIsAsGoodAsAll) {
  World w;
  w.apply(node_yaml("n0", 8) +
          queue("a",
                "guaranteed: {memory: 1Gi}, limit: {memory: 8000P}, lendable: {memory: 1}, perUser: {limit: "
                "{memory: 8000P}}"));
  w.apply(pod_yaml("p", 1, "  labels: {berth.dev/queue: a}\n"));
  EXPECT_EQ(w.decide().size(), 1u);
  EXPECT_TRUE(w.refused.empty()) << "the engine takes the queue";
}

// Nodes come, go and are relabelled; what sums are given in between equals what all nodes have together.
TEST(NodeSums, EqualTheSlowSums) {
  std::map<std::string, Node, std::less<>> nodes;
  NodeSums sums;
  std::uint64_t seed = 7;
  const auto draw = [&](std::uint64_t most) {
    seed = seed * 6364136223846793005ull + 1442695040888963407ull;
    return (seed >> 33) % most;
  };
  const std::vector<Labels> selectors{{}, {{"pool", "a"}}, {{"pool", "b"}}, {{"pool", "a"}, {"zone", "x"}}};
  int there = 0;
  for (int step = 0; step < 2000; ++step) {
    const std::string name = "n" + std::to_string(draw(12));
    const auto known = nodes.find(name);
    if (draw(4) == 0) {
      if (known == nodes.end()) continue;
      sums.change(&known->second, nullptr);
      nodes.erase(known);
    } else {
      Node node;
      node.name = name;
      node.labels = {{"pool", draw(2) == 0 ? "a" : "b"}, {"zone", draw(2) == 0 ? "x" : "y"}};
      node.allocatable.set("cpu", static_cast<std::int64_t>(draw(64'000)));
      if (draw(2) == 0) node.devices.push_back({kGpu, static_cast<std::int64_t>(1 + draw(8)), "", {}});
      sums.change(known == nodes.end() ? nullptr : &known->second, &node);
      nodes.insert_or_assign(name, node);
    }
    std::set<std::string> scarce;
    for (const auto& [n, node] : nodes) {
      for (const auto& pool : node.devices) scarce.insert(pool.resource);
    }
    EXPECT_EQ(sums.scarce(), scarce.empty() ? (std::set<std::string>{"cpu", "memory"}) : scarce);
    const Labels& labels = selectors[draw(selectors.size())];
    const std::string resource = draw(2) == 0 ? "cpu" : kGpu;
    std::optional<std::int64_t> want;
    for (const auto& [n, node] : nodes) {
      const bool all = std::all_of(labels.begin(), labels.end(),
                                   [&](const auto& l) { return node.labels.at(l.first) == l.second; });
      if (!all) continue;
      want = want.value_or(0) + (resource == "cpu" ? node.allocatable.get("cpu") : 0);
      for (const auto& pool : node.devices) *want += resource == kGpu ? pool.count * 1000 : 0;
    }
    ASSERT_EQ(sums.of(labels, resource, nodes), want) << "step " << step;
    there += want.has_value() ? 1 : 0;
  }
  EXPECT_GT(there, 1000);
}

TEST(ClusterTree, TheTreeFollowsTheNodes) {
  World w;
  w.apply(node_yaml("n0", 4) + queue("a", "guaranteed: {nvidia.com/gpu: 1}"));
  w.apply(pod_yaml("big", 6, "  labels: {berth.dev/queue: a}\n"));
  EXPECT_TRUE(w.decide().empty());
  EXPECT_EQ(w.engine.verdict("Pod/default/big")->reason.code, ReasonCode::kQuotaMax);
  w.apply(node_yaml("n1", 8));
  EXPECT_EQ(w.decide(2000).size(), 1u) << "the cluster has grown, and with it what may be borrowed";
  w.remove(Kind::kQueue, "a");
  w.apply(pod_yaml("next", 1, "  labels: {berth.dev/queue: a}\n"));
  EXPECT_TRUE(w.decide(3000).empty());
  w.apply(queue("a", ""));
  EXPECT_EQ(w.decide(4000).size(), 1u) << "its queue has come";
  EXPECT_TRUE(w.refused.empty());
}

}  // namespace
}  // namespace berth::dialect
