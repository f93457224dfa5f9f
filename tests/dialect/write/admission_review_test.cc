// The answers of the admission webhook, without a network. That they are those of deploy/admission-policy.yaml is tested where both run:
// tests/e2e/berth_webhook_test.cc.
#include "dialect/write/admission_review.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <nlohmann/json.hpp>

#include "kube/secrets.h"

namespace berth::dialect {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;

json job() {
  return json::parse(R"({
    "apiVersion": "batch/v1", "kind": "Job",
    "metadata": {"name": "train", "labels": {"kueue.x-k8s.io/queue-name": "team"}},
    "spec": {"suspend": false, "template": {"spec": {"schedulerName": "default-scheduler", "containers": []}}}})");
}
json pod() {
  return json::parse(R"({
    "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "train", "labels": {"berth.dev/queue": "team"}},
    "spec": {"schedulerName": "default-scheduler", "containers": []}})");
}
json review_of(const json& object) {
  const bool is_job = object.is_object() && object.value("kind", "") == "Job";
  json review = json::parse(R"({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {
    "uid": "705ab4f5-6393-11e8-b7cc-42010a800002", "operation": "CREATE", "namespace": "default"}})");
  review["request"]["resource"] = {
      {"group", is_job ? "batch" : ""}, {"version", "v1"}, {"resource", is_job ? "jobs" : "pods"}};
  review["request"]["object"] = object;
  return review;
}

// The patch of an allowed review; an empty list where there is none.
json patch_of(const ReviewAnswer& answer) {
  const json body = json::parse(answer.body);
  EXPECT_EQ(answer.http_status, 200);
  EXPECT_EQ(body["apiVersion"], "admission.k8s.io/v1");
  EXPECT_EQ(body["kind"], "AdmissionReview");
  EXPECT_EQ(body["response"]["uid"], "705ab4f5-6393-11e8-b7cc-42010a800002");
  EXPECT_EQ(body["response"]["allowed"], true) << answer.body;
  EXPECT_EQ(body["response"].contains("patch"), answer.outcome == ReviewOutcome::kChanged);
  if (!body["response"].contains("patch")) return json::array();
  EXPECT_EQ(body["response"]["patchType"], "JSONPatch");
  const auto patch = kube::decode_base64(body["response"]["patch"].get<std::string>());
  EXPECT_TRUE(patch);
  return json::parse(*patch);
}
json changed(const json& object) {
  return object.patch(patch_of(answer_review(review_of(object).dump())));
}
// Nothing is changed after `change` was made to `object`.
void expect_left_alone(json object, const std::function<void(json&)>& change) {
  change(object);
  const auto answer = answer_review(review_of(object).dump());
  EXPECT_EQ(answer.outcome, ReviewOutcome::kUnchanged) << object.dump();
  EXPECT_EQ(patch_of(answer), json::array()) << object.dump();
}

TEST(AdmissionReview, AJobThatNamesAQueueIsSuspendedAndGetsTheSchedulerName) {
  for (const char* label : {"kueue.x-k8s.io/queue-name", "berth.dev/queue"}) {
    json object = job();
    object["metadata"]["labels"] = {{label, ""}};
    json wanted = object;
    wanted["spec"]["suspend"] = true;
    wanted["spec"]["template"]["spec"]["schedulerName"] = "berth";
    EXPECT_EQ(changed(object), wanted) << label;
    object["spec"].erase("suspend");
    object["spec"]["template"]["spec"].erase("schedulerName");
    EXPECT_EQ(changed(object), wanted) << label;
    object["spec"]["suspend"] = nullptr;
    object["spec"]["template"]["spec"]["schedulerName"] = "";
    EXPECT_EQ(changed(object), wanted) << label;
  }
}

TEST(AdmissionReview, WhatIsRightAlreadyIsNotWritten) {
  json object = job();
  object["spec"]["suspend"] = true;
  EXPECT_EQ(patch_of(answer_review(review_of(object).dump())).size(), 1U);
  object["spec"]["template"]["spec"]["schedulerName"] = "berth";
  EXPECT_EQ(answer_review(review_of(object).dump()).outcome, ReviewOutcome::kUnchanged);
  object["spec"]["suspend"] = false;
  EXPECT_EQ(changed(object)["spec"]["suspend"], true);
}

TEST(AdmissionReview, JobsOfOthersAreLeftAlone) {
  expect_left_alone(job(), [](json& j) { j["metadata"].erase("labels"); });
  expect_left_alone(job(), [](json& j) { j["metadata"]["labels"] = {{"app", "x"}}; });
  expect_left_alone(job(), [](json& j) {
    j["metadata"]["annotations"] = j["metadata"]["labels"];
    j["metadata"].erase("labels");
  });
  expect_left_alone(job(), [](json& j) { j["spec"]["managedBy"] = "example.com/other"; });
  expect_left_alone(job(), [](json& j) { j["spec"]["template"]["spec"]["schedulerName"] = "volcano"; });
  const json set = {{"kind", "JobSet"}, {"controller", true}};
  const json cron = {{"kind", "CronJob"}, {"controller", true}};
  const json friendly = {{"kind", "Experiment"}};
  expect_left_alone(job(), [&](json& j) { j["metadata"]["ownerReferences"] = {set}; });
  expect_left_alone(job(), [&](json& j) { j["metadata"]["ownerReferences"] = {cron, friendly, set}; });
  json taken = job();
  taken["spec"]["managedBy"] = "kubernetes.io/job-controller";
  taken["metadata"]["ownerReferences"] = {cron, friendly};
  EXPECT_EQ(changed(taken)["spec"]["suspend"], true);
}

TEST(AdmissionReview, APodThatNamesAQueueGetsTheSchedulerName) {
  EXPECT_EQ(changed(pod())["spec"]["schedulerName"], "berth");
  json bare = pod();
  bare["spec"].erase("schedulerName");
  EXPECT_EQ(changed(bare)["spec"]["schedulerName"], "berth");
  expect_left_alone(pod(), [](json& p) { p["spec"]["schedulerName"] = "volcano"; });
  expect_left_alone(pod(), [](json& p) { p["spec"]["schedulerName"] = "berth"; });
  expect_left_alone(pod(), [](json& p) { p["metadata"].erase("labels"); });
}

TEST(AdmissionReview, WhatItIsNotAskedAboutIsAllowed) {
  for (const auto& change : std::vector<std::function<void(json&)>>{
           [](json& r) { r["operation"] = "UPDATE"; },
           [](json& r) { r["operation"] = "DELETE", r["object"] = nullptr; },
           [](json& r) { r["subResource"] = "status"; },
           [](json& r) { r["resource"]["resource"] = "cronjobs"; },
           [](json& r) { r["resource"]["group"] = "example.com"; },
           [](json& r) { r["resource"]["version"] = "v2"; },
       }) {
    json review = review_of(job());
    change(review["request"]);
    const auto answer = answer_review(review.dump());
    EXPECT_EQ(answer.outcome, ReviewOutcome::kUnchanged) << review.dump();
    EXPECT_EQ(patch_of(answer), json::array());
  }
}

TEST(AdmissionReview, AnObjectThatCannotBeReadIsRefusedWithItsField) {
  const auto message = [](json object, const std::function<void(json&)>& change) {
    change(object);
    const auto answer = answer_review(review_of(object).dump());
    EXPECT_EQ(answer.outcome, ReviewOutcome::kRefused) << answer.body;
    EXPECT_EQ(answer.http_status, 200);
    const json response = json::parse(answer.body)["response"];
    EXPECT_EQ(response["uid"], "705ab4f5-6393-11e8-b7cc-42010a800002");
    EXPECT_EQ(response["allowed"], false);
    EXPECT_EQ(response["status"]["code"], 422);
    return response["status"]["message"].get<std::string>();
  };
  EXPECT_THAT(message(job(), [](json& j) { j["spec"].erase("template"); }),
              HasSubstr("request.object.spec.template"));
  EXPECT_THAT(message(job(), [](json& j) { j["spec"]["suspend"] = "yes"; }),
              HasSubstr("request.object.spec.suspend: must be true or false"));
  EXPECT_THAT(message(job(), [](json& j) { j["spec"]["template"]["spec"]["schedulerName"] = 7; }),
              HasSubstr("request.object.spec.template.spec.schedulerName: must be a string"));
  EXPECT_THAT(message(job(),
                      [](json& j) {
                        j["metadata"]["ownerReferences"] = {{{"controller", 1}}};
                      }),
              HasSubstr("request.object.metadata.ownerReferences[0].controller: must be true or false"));
  EXPECT_THAT(message(pod(), [](json& p) { p["spec"] = json::array(); }), HasSubstr("request.object.spec"));
  EXPECT_THAT(message(pod(), [](json& p) { p["metadata"]["labels"] = "x"; }),
              HasSubstr("request.object.metadata.labels: must be a mapping"));
  EXPECT_THAT(message(pod(), [](json& p) { p = "x"; }), HasSubstr("request.object"));
}

TEST(AdmissionReview, WhatIsNoReviewGetsAStatusThatSaysWhy) {
  const auto message = [](const std::string& text) {
    const auto answer = answer_review(text);
    EXPECT_EQ(answer.outcome, ReviewOutcome::kUnreadable);
    EXPECT_EQ(answer.http_status, 400);
    const json status = json::parse(answer.body);
    EXPECT_EQ(status["kind"], "Status");
    EXPECT_EQ(status["code"], 400);
    return status["message"].get<std::string>();
  };
  EXPECT_THAT(message(""), HasSubstr("AdmissionReview"));
  EXPECT_THAT(message("{"), HasSubstr("AdmissionReview:1"));
  EXPECT_THAT(message("[]"), HasSubstr("mapping"));
  EXPECT_THAT(message("{}"), AllOf(HasSubstr("admission.k8s.io/v1"), HasSubstr("admissionReviewVersions")));
  json older = review_of(job());
  older["apiVersion"] = "admission.k8s.io/v1beta1";
  EXPECT_THAT(message(older.dump()), HasSubstr("v1beta1"));
  json nobody = review_of(job());
  nobody["request"].erase("uid");
  EXPECT_THAT(message(nobody.dump()), HasSubstr("request.uid"));
  EXPECT_THAT(message(R"({"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview"})"),
              HasSubstr("request"));
  EXPECT_THAT(message(std::string(kMostReviewBytes + 1, ' ')), HasSubstr("bytes"));
  EXPECT_THAT(message(std::string(100, '[')), HasSubstr("deep"));
  std::string wide = "[0";
  for (int i = 0; i < 1'100'000; ++i) wide += ",0";
  EXPECT_THAT(message(wide + "]"), HasSubstr("nodes"));
}

}  // namespace
}  // namespace berth::dialect
