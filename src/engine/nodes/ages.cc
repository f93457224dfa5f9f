#include "engine/nodes/ages.h"

#include <algorithm>
#include <utility>

namespace berth::engine {
namespace {

constexpr TimeMs kUnknown = kEndOfTime - 1;

}  // namespace

void Ages::came(NodeId node, const SlotKey& slot, TimeMs start) {
  if (node.index() >= slots_.size()) {
    slots_.resize(node.index() + 1);
    oldest_.resize(node.index() + 1, kEndOfTime);
  }
  slots_[node.index()].push_back({slot, std::min(start, kUnknown)});
  follow(node);
}

void Ages::went(NodeId node, const SlotKey& slot) {
  std::vector<Entry>& all = slots_[node.index()];
  const auto at =
      std::find_if(all.begin(), all.end(), [&](const Entry& entry) { return entry.slot == slot; });
  if (at == all.end()) return;
  *at = all.back();
  all.pop_back();
  follow(node);
}

void Ages::began(NodeId node, const SlotKey& slot, TimeMs start) {
  for (Entry& entry : slots_[node.index()]) {
    if (entry.slot == slot) entry.start = std::min(entry.start, start);
  }
  follow(node);
}

void Ages::follow(NodeId node) {
  TimeMs now = kEndOfTime;
  for (const Entry& entry : slots_[node.index()]) now = std::min(now, entry.start);
  if (std::exchange(oldest_[node.index()], now) != now) log_.push(node, 2 * slots_.size() + 1024);
}

}  // namespace berth::engine
