// Features that nodes declare (status.declaredFeatures, since Kubernetes 1.36), and pods that need one. The plugin NodeDeclaredFeatures of
// the default scheduler keeps such a pod to nodes that declare it, and so does the kubelet. A feature is a label that Berth gives the node.
// No label of Kubernetes has such a name.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>

#include "dialect/base/fields.h"
#include "model/workload.h"

namespace berth::dialect {

inline constexpr std::string_view kRestartsAll = "RestartAllContainersOnContainerExits";
inline constexpr std::string_view kOwnUsersOnHostNetwork = "UserNamespacesHostNetworkSupport";
inline constexpr std::string_view kOfFeature =
    "the feature ";  // words of its nodes begin so, and no volume's do

inline std::string label_of_feature(std::string_view feature) {
  return fmt::format("declared feature {}", feature);
}

inline void need_feature(PodTemplate& pod, std::string_view feature) {
  VolumeNodes nodes{fmt::format("{}{}, which they do not declare", kOfFeature, feature),
                    {{{{label_of_feature(feature), SelectorOp::kExists, {}}}, {}}}};
  if (std::find(pod.volumes.begin(), pod.volumes.end(), nodes) == pod.volumes.end())
    pod.volumes.edit().push_back(std::move(nodes));
}

// Whether the end of this container can make all containers of the pod begin anew.
template <class V>
bool restarts_all(FieldReader<V>& f, const V& container) {
  bool out = false;
  f.list(container, "restartPolicyRules",
         [&](const V& rule) { out = out || f.string(rule, "action") == "RestartAllContainers"; });
  return out;
}

template <class V>
void read_declared_features(FieldReader<V>& f, const V& status, Labels& labels) {
  for (const std::string& feature : f.strings(status, "declaredFeatures"))
    labels.insert_or_assign(label_of_feature(feature), "true");
}

}  // namespace berth::dialect
