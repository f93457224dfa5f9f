// How late the watch of pods is: the time from the acknowledged bind of a pod until its watch shows the pod on its node.
//
// Not thread-safe. It keeps the pods whose binds have been acknowledged and not been seen.
#pragma once

#include <algorithm>
#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

namespace berth::scheduler {

class BindEchoes {
 public:
  using Time = std::chrono::steady_clock::time_point;

  void acknowledged(std::string_view pod_uid, Time at) { waiting_.emplace(pod_uid, at); }
  // The pod was seen on a node. In seconds; nothing: it is not waited for.
  std::optional<double> seen(const std::string& pod_uid, Time at) {
    const auto it = waiting_.find(pod_uid);
    if (it == waiting_.end()) return std::nullopt;
    const std::chrono::duration<double> late = at - it->second;
    waiting_.erase(it);
    return std::max(0.0, late.count());
  }
  void gone(const std::string& pod_uid) { waiting_.erase(pod_uid); }
  bool empty() const { return waiting_.empty(); }

 private:
  std::unordered_map<std::string, Time> waiting_;
};

}  // namespace berth::scheduler
