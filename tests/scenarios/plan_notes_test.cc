// The words of `berth plan` about evictions beyond budgets, and about volumes that are still to come.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include "plan_support.h"

namespace berth::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// Long names: the table cuts the end of the line, and the budget stands in front.
TEST_F(Plan, AnEvictionBeyondABudgetNamesTheBudget) {
  const std::string low(40, 'l');
  const std::string high(40, 'h');
  const std::string file = write("a.yaml", fmt::format(R"(apiVersion: v1
kind: Node
metadata: {{name: n1}}
status: {{allocatable: {{cpu: "8", pods: "10", nvidia.com/gpu: "2"}}}}
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {{name: kept}}
spec: {{minAvailable: 1, selector: {{matchLabels: {{app: low}}}}}}
status: {{disruptionsAllowed: 0, currentHealthy: 1, desiredHealthy: 1, expectedPods: 1, observedGeneration: 1}}
---
apiVersion: v1
kind: Pod
metadata: {{name: {}, labels: {{app: low}}}}
spec: {{nodeName: n1, containers: [{{name: c, resources: {{limits: {{nvidia.com/gpu: "2"}}}}}}]}}
status: {{phase: Running}}
---
apiVersion: v1
kind: Pod
metadata: {{name: {}}}
spec: {{priority: 10, containers: [{{name: c, resources: {{limits: {{nvidia.com/gpu: "1"}}}}}}]}}
)",
                                                       low, high));
  EXPECT_EQ(run(file), 0) << err();
  EXPECT_THAT(out(), HasSubstr("beyond budget default/kept"));
  PlanOptions explained;
  explained.files = {file};
  explained.explain = {low};
  EXPECT_EQ(run(explained), 0) << err();
  EXPECT_THAT(out(), HasSubstr("default/kept allowed no more, and nothing else would do"));
}

TEST_F(Plan, APodWhoseVolumeIsStillToComeIsNoted) {
  const std::string file = write("a.yaml", R"(apiVersion: v1
kind: Node
metadata: {name: n1}
status: {allocatable: {cpu: "8", pods: "10"}}
---
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: fast}
provisioner: fast.example.com
volumeBindingMode: WaitForFirstConsumer
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: scratch}
spec: {storageClassName: fast, accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
---
apiVersion: v1
kind: Pod
metadata: {name: train}
spec:
  containers: [{name: c, resources: {requests: {cpu: "1"}}}]
  volumes: [{name: scratch, persistentVolumeClaim: {claimName: scratch}}]
---
apiVersion: v1
kind: Pod
metadata: {name: other}
spec: {containers: [{name: c, resources: {requests: {cpu: "1"}}}]}
)");
  EXPECT_EQ(run(file), 0) << err();
  EXPECT_THAT(out(), HasSubstr("2 start, 0 evicted"));
  EXPECT_THAT(out(), HasSubstr("note: default/train starts when its volumes are there: claim scratch still "
                               "needs one on node n1\n"));
  EXPECT_THAT(out(), Not(HasSubstr("default/other starts when")));
}

}  // namespace
}  // namespace berth::cli
