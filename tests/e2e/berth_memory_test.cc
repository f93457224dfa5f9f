// A tenant makes pods as large as the API server takes them, each distinct, of nine shapes. The memory of Berth grows with
// their size by a small factor. A pod beside them is bound at once. The memory comes back when they are gone.
// BERTH_E2E_LARGE_PODS=1000 is the long form: the API server itself takes several gigabytes then.
#include <atomic>
#include <nlohmann/json.hpp>

#include "e2e/berth_fixture.h"

namespace berth::e2e {
namespace {

using nlohmann::json;

// The API server takes requests of 3 MiB, and etcd values of 1.5 MiB. The rest is for the condition and for managedFields, which
// name every label and every annotation once more.
constexpr std::size_t kLargest = 1'300'000;

std::string filler(std::size_t pod, std::size_t i, std::size_t length) {
  std::string out = fmt::format("v{}-{}-", pod, i);
  out.resize(std::max(out.size(), length), 'x');
  return out;
}

json term_of(std::size_t pod, std::size_t i, std::size_t values) {
  json names = json::array();
  for (std::size_t k = 0; k < values; ++k) names.push_back(filler(pod, i * 1000 + k, 60));
  return {{"matchExpressions",
           {{{"key", "kubernetes.io/hostname"}, {"operator", "NotIn"}, {"values", std::move(names)}}}}};
}

struct Shape {
  const char* name;
  // Adds the i-th piece of a pod.
  void (*add)(json& pod, std::size_t number, std::size_t i);
};

const std::vector<Shape> kShapes = {
    {"values of few terms",  // as many terms as Berth reads
     [](json& pod, std::size_t number, std::size_t i) {
       pod["spec"]["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
          ["nodeSelectorTerms"]
              .push_back(term_of(number, i, 100));
     }},
    {"node affinity terms",
     [](json& pod, std::size_t number, std::size_t i) {
       pod["spec"]["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
          ["nodeSelectorTerms"]
              .push_back(term_of(number, i, 2));
     }},
    {"preferred node affinity",
     [](json& pod, std::size_t number, std::size_t i) {
       pod["spec"]["affinity"]["nodeAffinity"]["preferredDuringSchedulingIgnoredDuringExecution"].push_back(
           {{"weight", 1 + i % 100}, {"preference", term_of(number, i, 2)}});
     }},
    {"tolerations",
     [](json& pod, std::size_t number, std::size_t i) {
       pod["spec"]["tolerations"].push_back({{"key", filler(number, i, 60)},
                                             {"operator", "Equal"},
                                             {"value", filler(number, i, 60)},
                                             {"effect", "NoSchedule"}});
     }},
    {"labels",
     [](json& pod, std::size_t number, std::size_t i) {
       pod["metadata"]["labels"][filler(number, i, 60)] = filler(number, i, 60);
     }},
    {"owner references",
     [](json& pod, std::size_t number, std::size_t i) {
       pod["metadata"]["ownerReferences"].push_back({{"apiVersion", "example.com/v1"},
                                                     {"kind", "Thing"},
                                                     {"name", filler(number, i, 60)},
                                                     {"uid", filler(number, i, 60)}});
     }},
    {"environment",
     [](json& pod, std::size_t number, std::size_t i) {
       pod["spec"]["containers"][0]["env"].push_back(
           {{"name", fmt::format("E{}", i)}, {"value", filler(number, i, 400)}});
     }},
    {"containers",
     [](json& pod, std::size_t number, std::size_t i) {
       pod["spec"]["containers"].push_back({{"name", fmt::format("c{}", i)},
                                            {"image", filler(number, i, 100)},
                                            {"resources", {{"requests", {{"cpu", "1m"}}}}}});
     }},
    {"pod affinity",
     [](json& pod, std::size_t number, std::size_t i) {
       pod["spec"]["affinity"]["podAffinity"]["preferredDuringSchedulingIgnoredDuringExecution"].push_back(
           {{"weight", 1 + i % 100},
            {"podAffinityTerm",
             {{"topologyKey", "kubernetes.io/hostname"},
              {"labelSelector", {{"matchLabels", {{filler(number, i, 60), filler(number, i, 60)}}}}}}}});
     }},
};

// managedFields repeat the keys of labels and the owners.
std::size_t wanted_of(const Shape& shape) {
  const std::string_view name = shape.name;
  return name == "labels" || name == "owner references" ? kLargest * 2 / 3 : kLargest;
}

std::string large_pod(std::size_t number) {
  const Shape& shape = kShapes[number % kShapes.size()];
  json pod = json::parse(pod_json({.name = "large"}, number));
  json probe = pod;
  shape.add(probe, number, 0);
  json second = probe;
  shape.add(second, number, 1);
  const std::size_t piece = second.dump().size() - probe.dump().size();
  const std::size_t pieces = (wanted_of(shape) - pod.dump().size()) / piece;
  for (std::size_t i = 0; i < pieces; ++i) shape.add(pod, number, i);
  return pod.dump();
}

class BerthMemory : public BerthTest {
 protected:
  // Seconds, one for each canary.
  struct Canaries {
    std::vector<double> created;   // the API server's answer to its creation
    std::vector<double> bound;     // from then until it had a node
    std::vector<double> directly;  // the same for a pod that the test binds itself
    std::vector<double> watched;   // from its creation until another client's watch of pods showed that pod
  };

  static constexpr const char* kPods = "/api/v1/namespaces/default/pods";

  // Creates the pod, binds it directly where `node` is given, and sees it bound.
  void see_bound(const std::string& name, const json& pod, const std::string& node, double* created,
                 double& bound) {
    auto api = cluster_->client();
    auto begin = std::chrono::steady_clock::now();
    const auto seconds_since_begin = [&] {
      return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    };
    const std::string path = std::string(kPods) + "/" + name;
    EXPECT_TRUE(api.post(kPods, pod.dump()).ok());
    if (created != nullptr) *created = seconds_since_begin();
    begin = std::chrono::steady_clock::now();
    if (!node.empty()) {
      const json binding = {{"apiVersion", "v1"},
                            {"kind", "Binding"},
                            {"metadata", {{"name", name}}},
                            {"target", {{"kind", "Node"}, {"name", node}}}};
      EXPECT_TRUE(api.post(path + "/binding", binding.dump()).ok());
    }
    EXPECT_TRUE(eventually([&] {
      const auto reply = api.get(path);
      return reply.ok() && json::parse(reply.body)["spec"].contains("nodeName");
    }));
    bound = seconds_since_begin();
  }
  void drop(const std::string& name) {
    EXPECT_TRUE(cluster_->client().del(std::string(kPods) + "/" + name + "?gracePeriodSeconds=0").ok());
  }

  // A small pod for Berth, and one that the test binds itself, in turn the first. The API server has the large ones to write at the
  // same time, and takes its time for both.
  void canary(const std::string& name, Canaries& out) {
    double created = 0, bound = 0, directly = 0, watched = 0;
    const auto by_berth = [&] {
      see_bound(name + "-0", json::parse(pod_json({.name = name}, 0)), "", &created, bound);
      drop(name + "-0");
    };
    const auto by_test = [&] {
      json pod = json::parse(pod_json({.name = name + "-direct"}, 0));
      pod["spec"]["schedulerName"] = "none";
      pod["spec"]["containers"][0].erase("resources");
      std::thread watcher([&] {
        const auto begin = std::chrono::steady_clock::now();
        EXPECT_TRUE(eventually([&] { return observer_->pods().contains("default/" + name + "-direct-0"); }));
        watched = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
      });
      see_bound(name + "-direct-0", pod, NodeShape().name + "-0", nullptr, directly);
      watcher.join();
      drop(name + "-direct-0");
    };
    if (out.bound.size() % 2 == 0) {
      by_berth();
      by_test();
    } else {
      by_test();
      by_berth();
    }
    out.created.push_back(created);
    out.bound.push_back(bound);
    out.directly.push_back(directly);
    out.watched.push_back(watched);
  }

  static double percentile(std::vector<double> values, std::size_t percent) {
    std::sort(values.begin(), values.end());
    return values[(values.size() - 1) * percent / 100];
  }
};

TEST_F(BerthMemory, LargePodsCostWhatTheyWeigh) {
  const std::size_t pods = number_from_env("BERTH_E2E_LARGE_PODS", 24);
  // The API server's cache of pods has each version of them: of a thousand it took 14 GiB. Without it etcd is asked, which forgets soon.
  ClusterOptions options;
  if (pods > 100) options.api_server_args = {"--watch-cache-sizes=pods#0", "--etcd-compaction-interval=30s"};
  start(options);
  ASSERT_OK(cluster_->create_nodes(4 + pods / 4));  // the pods that can be read take devices, too
  auto* berth = start_berth();
  ASSERT_NE(berth, nullptr);
  Canaries canaries;
  canary("first", canaries);
  const double base = resident_mib(berth->process.pid());
  double peak = base, bytes = 0;
  std::atomic<bool> done = false;
  std::thread meter([&] {
    while (!done) {
      peak = std::max(peak, resident_mib(berth->process.pid()));
      std::this_thread::sleep_for(milliseconds(20));
    }
  });
  constexpr std::size_t kAtATime = 8;
  std::size_t refused = 0;
  for (std::size_t i = 0; i < pods; i += kAtATime) {
    auto api = cluster_->client();
    for (std::size_t k = i; k < std::min(pods, i + kAtATime); ++k) {
      const std::string body = large_pod(k);
      const auto reply = api.post("/api/v1/namespaces/default/pods", body);
      if (reply.ok()) bytes += static_cast<double>(body.size());
      refused += reply.ok() ? 0 : 1;
      EXPECT_TRUE(reply.ok()) << kShapes[k % kShapes.size()].name << ": " << reply.describe().substr(0, 300);
    }
    canary(fmt::format("canary-{}", i), canaries);
  }
  std::this_thread::sleep_for(seconds(2));
  done = true;
  meter.join();
  EXPECT_EQ(refused, 0U);

  // One by one: to delete them as a collection the API server lists them all, and a thousand of these are a gigabyte.
  for (std::size_t k = 0; k < pods; ++k) {
    const auto gone = cluster_->client().del(
        fmt::format("/api/v1/namespaces/default/pods/large-{}?gracePeriodSeconds=0", k));
    EXPECT_TRUE(gone.ok()) << gone.describe().substr(0, 300);
  }
  const auto deleted = std::chrono::steady_clock::now();
  const double bound = base + 0.1 * (peak - base) + 24;  // buffers of the largest object stay
  double rest = 0;
  EXPECT_TRUE(eventually([&] { return (rest = resident_mib(berth->process.pid())) < bound; }, seconds(60)))
      << rest << " MiB are left of " << peak << ", with " << base << " before";
  const std::chrono::duration<double> back = std::chrono::steady_clock::now() - deleted;
  const double mib = bytes / 1048576;
  std::printf(
      "%zu pods of %.0f MiB: %.1f MiB before, at most %.1f (%.2f bytes for each), %.1f after %.0f s\n", pods,
      mib, base, peak, (peak - base) / mib, rest, back.count());
  for (const auto& [what, values] : {std::pair("created", canaries.created),
                                     {"bound by Berth", canaries.bound},
                                     {"bound directly", canaries.directly},
                                     {"shown by another watch", canaries.watched}}) {
    std::printf("%zu canaries, %s: half within %.3f s, 99 of 100 within %.3f s, all within %.3f s\n",
                values.size(), what, percentile(values, 50), percentile(values, 99), percentile(values, 100));
  }
  EXPECT_LT(peak - base, 4 * mib);
  EXPECT_LT(peak, 1024);
  // A watch shows events in their order: a client knows of the pod once the API server has written out the large ones before it.
  EXPECT_LT(percentile(canaries.bound, 100), pods > 100 ? 0.5 : 5.0) << "the pod beside them waits";
  expect_clean();
}

}  // namespace
}  // namespace berth::e2e
