// Paths of Kubernetes resources: "/api/v1/namespaces/ns/pods/name", "/apis/batch/v1/jobs".
#pragma once

#include <string>
#include <string_view>

namespace berth::kube {

// Percent-encodes everything but unreserved characters.
std::string escape(std::string_view text);

struct ResourcePath {
  std::string_view group;  // empty: the core group
  std::string_view version;
  std::string_view resource;  // plural, lower case
  // Namespace empty: all namespaces, or a cluster-scoped resource.
  std::string collection(std::string_view ns = {}) const;
  std::string object(std::string_view ns, std::string_view name, std::string_view subresource = {}) const;
};

inline constexpr ResourcePath kPods{"", "v1", "pods"};
inline constexpr ResourcePath kClaims{"", "v1", "persistentvolumeclaims"};
inline constexpr ResourcePath kPersistentVolumes{"", "v1", "persistentvolumes"};
inline constexpr ResourcePath kNodes{"", "v1", "nodes"};
inline constexpr ResourcePath kLeases{"coordination.k8s.io", "v1", "leases"};
inline constexpr ResourcePath kEvents{"events.k8s.io", "v1", "events"};

}  // namespace berth::kube
