// The parts that Berth reads of one object are bounded, and an object beyond a bound gives an error (bounds.h).
#include "dialect/base/bounds.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <nlohmann/json.hpp>

#include "dialect/objects/decode.h"

namespace berth::dialect {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

json plain_pod() {
  return json::parse(R"({"metadata":{"name":"p","uid":"u"},"spec":{"containers":[{"name":"c"}]}})");
}

json term(std::size_t requirements, std::size_t values) {
  json out = {{"matchExpressions", json::array()}};
  for (std::size_t r = 0; r < requirements; ++r) {
    json list = json::array();
    for (std::size_t v = 0; v < values; ++v) list.push_back(fmt::format("v{}", v));
    out["matchExpressions"].push_back({{"key", "k"}, {"operator", "In"}, {"values", list}});
  }
  return out;
}

json with_terms(json terms) {
  json pod = plain_pod();
  pod["spec"]["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
     ["nodeSelectorTerms"] = std::move(terms);
  return pod;
}

// A pod with so many entries of one kind, and the field that its message names.
struct Case {
  Entry entry;
  const char* field;
  std::function<json(std::size_t)> make;
};

std::vector<Case> cases() {
  std::vector<Case> out;
  out.push_back({Entry::kSelector, "spec.nodeSelector", [](std::size_t n) {
                   json pod = plain_pod();
                   for (std::size_t i = 0; i < n; ++i)
                     pod["spec"]["nodeSelector"][fmt::format("k{}", i)] = "v";
                   return pod;
                 }});
  out.push_back({Entry::kTerm, "nodeSelectorTerms", [](std::size_t n) {
                   json terms = json::array();
                   for (std::size_t i = 0; i < n; ++i) terms.push_back(term(1, 1));
                   return with_terms(terms);
                 }});
  out.push_back({Entry::kRequirement, "matchExpressions",
                 [](std::size_t n) { return with_terms(json::array({term(n, 1)})); }});
  out.push_back(
      {Entry::kValue, "values", [](std::size_t n) { return with_terms(json::array({term(1, n)})); }});
  out.push_back(
      {Entry::kToleration, "spec.tolerations", [](std::size_t n) {
         json pod = plain_pod();
         for (std::size_t i = 0; i < n; ++i)
           pod["spec"]["tolerations"].push_back({{"key", fmt::format("k{}", i)}, {"operator", "Exists"}});
         return pod;
       }});
  out.push_back(
      {Entry::kPodTerm, "requiredDuringSchedulingIgnoredDuringExecution", [](std::size_t n) {
         json pod = plain_pod();
         auto& terms =
             pod["spec"]["affinity"]["podAntiAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"];
         for (std::size_t i = 0; i < n; ++i) terms.push_back({{"topologyKey", "zone"}});
         return pod;
       }});
  out.push_back({Entry::kContainer, "spec.containers", [](std::size_t n) {
                   json pod = plain_pod();
                   pod["spec"]["containers"] = json::array();
                   for (std::size_t i = 0; i < n; ++i)
                     pod["spec"]["containers"].push_back({{"name", fmt::format("c{}", i)}});
                   return pod;
                 }});
  out.push_back(
      {Entry::kAmount, "requests", [](std::size_t n) {
         json pod = plain_pod();
         pod["spec"]["containers"] = json::array();
         for (std::size_t i = 0; i < n; ++i) {
           if (i % 32 == 0) pod["spec"]["containers"].push_back({{"name", fmt::format("c{}", i)}});
           pod["spec"]["containers"].back()["resources"]["requests"][fmt::format("a.b/r{}", i % 32)] = "1";
         }
         return pod;
       }});
  out.push_back({Entry::kResource, "spec.containers", [](std::size_t n) {
                   json pod = plain_pod();
                   auto& requests = pod["spec"]["containers"][0]["resources"]["requests"];
                   for (std::size_t i = 0; i < n; ++i) requests[fmt::format("a.b/r{}", i)] = "1";
                   return pod;
                 }});
  out.push_back(
      {Entry::kClaim, "spec.volumes", [](std::size_t n) {
         json pod = plain_pod();
         for (std::size_t i = 0; i < n; ++i)
           pod["spec"]["volumes"].push_back({{"name", "v"}, {"persistentVolumeClaim", {{"claimName", "c"}}}});
         return pod;
       }});
  out.push_back({Entry::kGate, "spec.schedulingGates", [](std::size_t n) {
                   json pod = plain_pod();
                   for (std::size_t i = 0; i < n; ++i)
                     pod["spec"]["schedulingGates"].push_back({{"name", fmt::format("g{}", i)}});
                   return pod;
                 }});
  out.push_back({Entry::kMark, "annotations", [](std::size_t n) {
                   json pod = plain_pod();
                   for (std::size_t i = 0; i < n; ++i)
                     pod["metadata"]["annotations"][fmt::format("berth.dev/a{}", i)] = "x";
                   return pod;
                 }});
  out.push_back({Entry::kLabel, "labels", [](std::size_t n) {
                   json pod = plain_pod();
                   for (std::size_t i = 0; i < n; ++i) pod["metadata"]["labels"][fmt::format("l{}", i)] = "x";
                   return pod;
                 }});
  out.push_back({Entry::kText, "spec.nodeSelector", [](std::size_t n) {
                   json pod = plain_pod();
                   for (std::size_t k = 0; k < 64; ++k) {
                     const std::string key = fmt::format("k{:03}", k);
                     const std::size_t length = n / 64 + (k < n % 64 ? 1 : 0);
                     pod["spec"]["nodeSelector"][key] = std::string(length - key.size(), 'v');
                   }
                   return pod;
                 }});
  out.push_back({Entry::kMarkText, "annotations", [](std::size_t n) {
                   json pod = plain_pod();
                   pod["metadata"]["annotations"]["berth.dev/a"] = std::string(n, 'x');
                   return pod;
                 }});
  return out;
}

std::string problem_of(const json& pod) {
  JsonDecoder decoder;
  const auto read = decoder.decode(pod.dump(), Kind::kPod);
  return read ? std::get<Pod>(*read).problem : read.error().message;
}

TEST(Bounds, AreTakenAsTheyAreAndNotBeyond) {
  for (const Case& c : cases()) {
    const EntryBound& bound = bound_of(c.entry);
    EXPECT_EQ(problem_of(c.make(bound.most)), "") << bound.what;
    const std::string beyond = problem_of(c.make(bound.most + 1));
    EXPECT_THAT(beyond, HasSubstr(c.field));
    const std::string words = fmt::format("no more than {} {}", bound.most, bound.what);
    EXPECT_THAT(beyond, HasSubstr(words));
    EXPECT_THAT(problem_of(c.make(bound.most * 2 + 1)), HasSubstr(words))
        << "without its path where it is large";
  }
}

// A tenant may change labels and annotations of pods that run: what they are charged to stays to be seen.
TEST(Bounds, HideNothingOfWhatAPodIsChargedTo) {
  json pod = plain_pod();
  pod["spec"]["nodeName"] = "n";
  for (int i = 0; i < 2000; ++i) {
    pod["metadata"]["labels"][fmt::format("a{}", i)] = "x";
    pod["metadata"]["annotations"][fmt::format("berth.dev/a{}", i)] = "x";
  }
  pod["metadata"]["labels"]["kueue.x-k8s.io/queue-name"] = "team";
  pod["metadata"]["annotations"]["berth.dev/charged-to"] = "kueue.x-k8s.io/queue-name=team";
  pod["metadata"]["annotations"]["berth.dev/gpu-milli"] = "250";
  JsonDecoder decoder;
  const auto read = decoder.decode(pod.dump(), Kind::kPod);
  ASSERT_TRUE(read.has_value());
  const auto& meta = std::get<Pod>(*read).meta;
  EXPECT_EQ(meta.labels.at("kueue.x-k8s.io/queue-name"), "team");
  EXPECT_EQ(meta.annotations.at("berth.dev/charged-to"), "kueue.x-k8s.io/queue-name=team");
  EXPECT_EQ(std::get<Pod>(*read).spec.pod->claim.requests.at(0).milli, 250);
}

TEST(Bounds, HoldForEachPodSetOfAWorkloadAndForItsOwners) {
  json object = json::parse(R"({"metadata":{"name":"w","uid":"u","namespace":"n"},"spec":{"podSets":[]}})");
  const json spec = cases()[4].make(bound_of(Entry::kToleration).most)["spec"];
  for (int i = 0; i < 3; ++i)
    object["spec"]["podSets"].push_back({{"name", fmt::format("s{}", i)}, {"template", {{"spec", spec}}}});
  JsonDecoder decoder;
  EXPECT_TRUE(decoder.decode(object.dump(), Kind::kWorkload).has_value());
  for (std::size_t i = 0; i <= bound_of(Entry::kOwner).most; ++i)
    object["metadata"]["ownerReferences"].push_back(
        {{"kind", "Pod"}, {"name", "p"}, {"uid", fmt::format("{}", i)}});
  const auto read = decoder.decode(object.dump(), Kind::kWorkload);
  ASSERT_FALSE(read.has_value());
  EXPECT_THAT(read.error().message, HasSubstr("no more than 64 owners"));
}

TEST(Bounds, WordsForWhatIsNotSupportedAreFew) {
  json pod = plain_pod();
  for (int i = 0; i < 200; ++i) {
    pod["spec"]["volumes"].push_back({{"name", fmt::format("v{}", i)}, {"cinder", {{"volumeID", "c"}}}});
  }
  JsonDecoder decoder;
  const auto read = decoder.decode(pod.dump(), Kind::kPod);
  ASSERT_TRUE(read.has_value());
  EXPECT_LE(std::get<Pod>(*read).spec.pod->unsupported.size(), 17u);
}

}  // namespace
}  // namespace berth::dialect
