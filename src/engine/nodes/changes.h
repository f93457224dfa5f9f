// Changes of nodes: a number per node that grows with each change, and logs. The lazy indices (nodes/index.h) read the logs at their
// own pace.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/ids.h"

namespace berth::engine {

// A log of nodes that changed, for readers with a cursor each. Entries are numbered from the first one ever; old ones are
// dropped, and a reader whose cursor lies before begin() looks at all nodes instead.
class ChangeLog {
 public:
  std::uint64_t begin() const { return begin_; }
  std::uint64_t end() const { return begin_ + entries_.size(); }
  NodeId at(std::uint64_t number) const { return NodeId(entries_[number - begin_]); }
  // Keeps the last `most` / 2 entries at least.
  void push(NodeId node, std::size_t most) {
    entries_.push_back(node.value);
    if (entries_.size() <= most) return;
    const std::size_t drop = entries_.size() / 2;
    entries_.erase(entries_.begin(), entries_.begin() + static_cast<std::ptrdiff_t>(drop));
    begin_ += drop;
  }

 private:
  std::vector<std::uint32_t> entries_;
  std::uint64_t begin_ = 0;
};

class NodeChanges {
 public:
  void add_node() { numbers_.push_back(0); }
  // `fixed`: its labels, taints, liveness or rank.
  void note(NodeId id, bool fixed) {
    ++numbers_[id.index()];
    // A reader that is more than a few changes per node behind reads all nodes faster than the changes.
    const std::size_t most = 2 * numbers_.size() + 1024;
    all_.push(id, most);
    if (fixed) fixed_.push(id, most);
  }

  const ChangeLog& all() const { return all_; }
  // Only changes of labels, taints, liveness or rank.
  const ChangeLog& fixed() const { return fixed_; }
  // Grows with every change of the node.
  std::uint64_t of(NodeId id) const { return numbers_[id.index()]; }
  void prefetch(NodeId id) const { __builtin_prefetch(&numbers_[id.index()]); }

  // For readers of a log that examine each node once per round, however often it stands there.
  void begin_round() const {
    rounds_.resize(numbers_.size(), 0);
    if (++round_ == 0) std::fill(rounds_.begin(), rounds_.end(), std::uint32_t{0}), ++round_;
  }
  bool first_in_round(NodeId id) const { return std::exchange(rounds_[id.index()], round_) != round_; }

 private:
  std::vector<std::uint64_t> numbers_;  // by node
  ChangeLog all_;
  ChangeLog fixed_;
  mutable std::vector<std::uint32_t> rounds_;  // by node: the last round in which it was looked at
  mutable std::uint32_t round_ = 0;
};

}  // namespace berth::engine
