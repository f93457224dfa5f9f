// The pods of other schedulers, by uid and by node, with what each is charged. Cost: O(log n) per call.
#pragma once

#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>

#include "engine/nodes/counted.h"
#include "engine/nodes/grant.h"
#include "engine/nodes/nodes.h"
#include "model/node.h"

namespace berth::engine {

class ForeignPods {
 public:
  struct Entry {
    ForeignPod pod;
    NodeId node;
    GrantId grant;
    CountedId counted;
  };

  // Its uid is not known yet.
  void add(Entry entry) {
    on_node_[entry.node].insert(entry.pod.uid);
    std::string uid = entry.pod.uid;
    by_uid_.emplace(std::move(uid), std::move(entry));
  }
  // nullptr: it is not known.
  const Entry* find(const std::string& uid) const {
    const auto it = by_uid_.find(uid);
    return it == by_uid_.end() ? nullptr : &it->second;
  }
  void erase(const std::string& uid) {
    const auto it = by_uid_.find(uid);
    auto& on_node = on_node_[it->second.node];
    on_node.erase(uid);
    if (on_node.empty()) on_node_.erase(it->second.node);
    by_uid_.erase(it);
  }
  // Calls f(entry) for those on a node, or for all, in a stable order.
  template <class F>
  void each_on(NodeId node, F&& f) {
    const auto it = on_node_.find(node);
    if (it == on_node_.end()) return;
    for (const std::string& uid : it->second) f(by_uid_.at(uid));
  }
  template <class F>
  void each(F&& f) const {
    for (const auto& [node, uids] : on_node_) {
      for (const std::string& uid : uids) f(by_uid_.at(uid));
    }
  }

 private:
  std::unordered_map<std::string, Entry> by_uid_;
  std::map<NodeId, std::set<std::string>> on_node_;
};

}  // namespace berth::engine
