// AppWrappers with their own controller.
//   scripts/controllers build appwrapper jobset training && build/release/tests/e2e/test_e2e --gtest_filter='BerthAppWrapper.*'
#include <string>
#include <vector>

#include "e2e/judged_kinds.h"

namespace berth::e2e {
namespace {

class BerthAppWrapper : public KindsTest {
 protected:
  std::vector<std::string> controllers() const override { return {"appwrapper"}; }

  // A Job of two pods.
  static json job_component(const std::string& wrapper, const json& pod) {
    json job = {{"apiVersion", "batch/v1"}, {"kind", "Job"}, {"metadata", {{"name", wrapper + "-job"}}}};
    job["spec"] = {{"parallelism", 2}, {"completions", 2}, {"backoffLimit", 0}};
    job["spec"]["template"]["spec"] = pod;
    return {{"template", job}};
  }
  JudgedKind wrappers(std::size_t pods,
                      std::function<json(const std::string&, const std::string&)> components) {
    JudgedKind out;
    out.path = "/apis/workload.codeflare.dev/v1beta2/namespaces/default/appwrappers";
    out.pods = pods;
    out.body = [components = std::move(components)](const std::string& name,
                                                    const std::string& priority_class) {
      json body = object("workload.codeflare.dev/v1beta2", "AppWrapper", name);
      body["spec"] = {{"suspend", true}, {"components", components(name, priority_class)}};
      return body;
    };
    out.suspended = [](const json& o) { return state_of(o, "phase") == "Suspended"; };
    out.well = [](const json& o) {
      return o.is_object() && state_of(o, "phase") != "Failed" && !has(o, "Unhealthy") &&
             o.value("status", json::object()).value("resettingCount", 0) == 0;
    };
    out.done = [](const json& o) { return state_of(o, "phase") == "Succeeded"; };
    return out;
  }
};

TEST_F(BerthAppWrapper, APodAndAJobWaitStartTogetherAreDisplacedTogetherAndFinish) {
  ASSERT_NO_FATAL_FAILURE(start_with_controllers(4));
  ASSERT_NE(start_berth(), nullptr);
  expect_whole_life(wrappers(3, [](const std::string& name, const std::string& priority_class) {
    const json spec = spec_of_pod(priority_class, "main", "Never");
    json pod = {
        {"apiVersion", "v1"}, {"kind", "Pod"}, {"metadata", {{"name", name + "-side"}}}, {"spec", spec}};
    return json::array({json{{"template", pod}}, job_component(name, spec)});
  }));
}

// The objects in it have controllers of their own.
class BerthAppWrapperOfJobs : public BerthAppWrapper {
 protected:
  std::vector<std::string> controllers() const override { return {"jobset", "training", "appwrapper"}; }

  // As it stands in an AppWrapper, which is suspended in its place.
  static json component(json object) {
    object["metadata"].erase("labels");
    return {{"template", std::move(object)}};
  }
};

TEST_F(BerthAppWrapperOfJobs, APyTorchJobOfProductionAndAJobSetDoTheSame) {
  ASSERT_NO_FATAL_FAILURE(start_with_controllers(13));
  create_claim("data");
  ASSERT_NE(start_berth(), nullptr);
  const JudgedKind train =
      training({"PyTorchJob", "pytorchReplicaSpecs", "pytorch", {{"Master", 1}, {"Worker", 2}}}, "data");
  const JudgedKind set = job_set();
  expect_whole_life(
      wrappers(train.pods + set.pods, [=](const std::string& name, const std::string& priority_class) {
        json job = train.body(name + "-train", priority_class);
        job["spec"]["runPolicy"].erase("suspend");
        // Its pods are to end by themselves: the AppWrapper waits for the end of each.
        job["spec"]["runPolicy"]["cleanPodPolicy"] = "None";
        json evaluation = set.body(name + "-eval", priority_class);
        evaluation["spec"].erase("suspend");
        return json::array({component(job), component(evaluation)});
      }));
}

}  // namespace
}  // namespace berth::e2e
