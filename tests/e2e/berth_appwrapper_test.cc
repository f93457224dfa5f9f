// AppWrappers with their own controller.
//   scripts/controllers build appwrapper && build/release/tests/e2e/test_e2e --gtest_filter='BerthAppWrapper.*'
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

}  // namespace
}  // namespace berth::e2e
