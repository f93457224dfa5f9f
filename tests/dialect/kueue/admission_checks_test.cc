#include "dialect/kueue/admission_checks.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "dialect/objects/decode.h"
#include "dialect/write/writes.h"

namespace berth::dialect {
namespace {

using nlohmann::json;

Job checked_job(const std::string& text) {
  JsonDecoder decoder(DeviceNames{});
  auto object = decoder.decode(text, Kind::kJob);
  EXPECT_TRUE(object) << object.error().str();
  return std::get<Job>(std::move(*object));
}

TEST(AdmissionChecks, WhichOnesApplyGoesByFlavor) {
  const std::vector<CheckRule> plain = {{"a", {}}, {"b", {}}};
  EXPECT_EQ(checks_for(plain, nullptr), (std::vector<std::string>{"a", "b"}));
  const std::vector<CheckRule> some = {{"a", {}}, {"b", {"spot", "new"}}, {"c", {"old"}}};
  EXPECT_TRUE(checks_for(some, nullptr).empty()) << "nobody knows yet which flavor it gets";
  const std::vector<ChosenFlavor> flavors = {{"cpu", "any"}, {"nvidia.com/gpu", "new"}};
  EXPECT_EQ(checks_for(some, &flavors), (std::vector<std::string>{"a", "b"}));
  const std::vector<CheckRule> twice = {{"a", {"any"}}, {"a", {"new"}}};
  EXPECT_EQ(checks_for(twice, &flavors), (std::vector<std::string>{"a"}));
}

TEST(AdmissionChecks, AreMadePendingKeptAndAskedAnew) {
  AdmissionChecks checks;
  EXPECT_TRUE(sync_checks(checks, {"b", "a"}, 5));
  ASSERT_EQ(checks.size(), 2u);
  EXPECT_EQ(checks[0].name, "a");
  EXPECT_FALSE(all_ready(checks));
  checks[0].state = CheckState::kReady;
  checks[1].state = CheckState::kRetry;
  checks[1].retry_after = 60;
  EXPECT_FALSE(sync_checks(checks, {"a", "b"}, 6));
  EXPECT_EQ(names_in(checks, CheckState::kRetry), "b");
  EXPECT_TRUE(reset_checks(checks, 7));
  EXPECT_EQ(checks[0].message, "Reset to Pending after eviction. Previously: Ready");
  EXPECT_EQ(checks[0].retries, 0);
  EXPECT_EQ(checks[1].retries, 1);
  EXPECT_EQ(checks[1].since, 7);
  EXPECT_FALSE(checks[1].retry_after);
  EXPECT_FALSE(reset_checks(checks, 8));
  EXPECT_TRUE(sync_checks(checks, {"b"}, 9));
  EXPECT_EQ(checks.size(), 1u);
}

TEST(AdmissionChecks, TheirUpdatesAddUpUnlessTheyContradict) {
  AdmissionChecks checks(2);
  checks[0].name = "a";
  checks[0].updates = {{.name = "main", .node_selector = {{"pool", "x"}}, .tolerations = {{.key = "k"}}}};
  checks[1].name = "b";
  checks[1].updates = {{.name = "main", .annotations = {{"n", "1"}}, .tolerations = {{.key = "k"}}},
                       {.name = "other", .node_selector = {{"pool", "y"}}}};
  const auto merged = merged_updates(checks);
  ASSERT_TRUE(merged) << merged.error().str();
  ASSERT_EQ(merged->size(), 2u);
  EXPECT_EQ((*merged)[0].annotations.at("n"), "1");
  EXPECT_EQ((*merged)[0].tolerations.size(), 1u);
  checks[1].updates[0].node_selector = {{"pool", "y"}};
  const auto wrong = merged_updates(checks);
  ASSERT_FALSE(wrong);
  EXPECT_NE(wrong.error().message.find("admission check b"), std::string::npos) << wrong.error().message;
}

TEST(AdmissionChecks, AStatusKeepsWhatOthersWrote) {
  const json checks = json::parse(
      R"([{"name":"a","state":"Retry","message":"later","lastTransitionTime":"2026-01-01T00:00:00Z",
    "requeueAfterSeconds":30,"retryCount":2,"podSetUpdates":[{"name":"main","labels":{"l":"1"},"annotations":{"n":"2"},
    "nodeSelector":{"s":"3"},"tolerations":[{"key":"t","operator":"Equal","value":"v","effect":"NoExecute","tolerationSeconds":7}]}]}])");
  json object =
      json::parse(R"({"metadata":{"name":"w","namespace":"default"},"spec":{"queueName":"q","podSets":[
    {"name":"main","count":1,"template":{"spec":{"containers":[{"name":"c"}]}}}]}})");
  object["status"]["admissionChecks"] = checks;
  JsonDecoder decoder(DeviceNames{});
  const auto decoded = decoder.decode(object.dump(), Kind::kWorkload);
  ASSERT_TRUE(decoded) << decoded.error().str();
  const auto& status = std::get<KueueWorkload>(*decoded).status;
  EXPECT_EQ(json::parse(to_json(status, true))["admissionChecks"], checks);
  EXPECT_FALSE(json::parse(to_json(status, true, false)).contains("admissionChecks"));
}

TEST(AdmissionChecks, AReleaseWritesThemIntoTheTemplateWhateverStandsThere) {
  const std::string bare =
      R"({"metadata":{"name":"j","namespace":"default","uid":"u","generation":3},"spec":{"suspend":true,
    "template":{"metadata":{},"spec":{"containers":[{"name":"c"}]}}}})";
  const std::string full =
      R"({"metadata":{"name":"j","namespace":"default","uid":"u","generation":3,"annotations":{"x":"y",
    "berth.dev/pod-set-updates":"gone,pool"}},"spec":{"suspend":true,"template":{"metadata":{"labels":{"l":"old"},
    "annotations":{"a":"b"}},"spec":{"nodeSelector":{"gone":"1","mine":"2","pool":"old"},
    "tolerations":[{"key":"t","operator":"Exists"}],"containers":[{"name":"c"}]}}}})";
  const PodSetUpdate update{.name = "main",
                            .labels = {{"l", "new"}},
                            .annotations = {{"example.com/a~b", "1"}},
                            .node_selector = {{"mine", "2"}, {"pool", "p"}},
                            .tolerations = {{.key = "t", .op = "Exists"}, {.key = "s", .op = "Exists"}}};
  const auto after = [&](const std::string& text, const PodSetUpdate* what) {
    const Ask ask = ask_of(checked_job(text));
    const std::size_t number = what == nullptr ? 0 : 1;
    const auto release = ask.kind->release(ask, {.generation = 3, .updates = {what, number}});
    return json::parse(text).patch(json::parse(release.write.body));
  };
  for (const auto& text : {bare, full}) {
    const json job = after(text, &update);
    EXPECT_EQ(job["spec"]["suspend"], false);
    const json& pod = job["spec"]["template"];
    EXPECT_EQ(pod["metadata"]["labels"]["l"], "new");
    EXPECT_EQ(pod["metadata"]["annotations"]["example.com/a~b"], "1");
    EXPECT_EQ(pod["spec"]["nodeSelector"].dump(), R"({"mine":"2","pool":"p"})");
    EXPECT_EQ(pod["spec"]["tolerations"].size(), 2u);
  }
  EXPECT_EQ(after(bare, &update)["metadata"]["annotations"]["berth.dev/pod-set-updates"], "mine,pool");
  EXPECT_EQ(after(full, &update)["metadata"]["annotations"].dump(),
            R"({"berth.dev/pod-set-updates":"pool","x":"y"})");
  EXPECT_EQ(after(full, &update)["spec"]["template"]["metadata"]["annotations"]["a"], "b");
  const json cleaned = after(full, nullptr);
  EXPECT_EQ(cleaned["spec"]["template"]["spec"]["nodeSelector"].dump(), R"({"mine":"2"})");
  EXPECT_EQ(cleaned["metadata"]["annotations"].dump(), R"({"x":"y"})");
}

}  // namespace
}  // namespace berth::dialect
