#include "engine/order/sleepers.h"

namespace berth::engine {
namespace {

template <class Key>
void erase(std::map<Key, Sleepers::Classes>& from, Key key, ClassId id) {
  const auto at = from.find(key);
  if (at == from.end()) return;
  at->second.erase(id);
  if (at->second.empty()) from.erase(at);
}

}  // namespace

void Sleepers::list(ClassId id, QueueId queue, const Parked& why) {
  if (why.by_quota) by_quota_[queue].insert(id);
  if (why.by_side) by_side_[queue].insert(id);
  if (!why.by_nodes) return;
  for (const ShapeId shape : why.shapes) by_shape_[shape].insert(id);
}

void Sleepers::unlist(ClassId id, QueueId queue, const Parked& why) {
  if (why.by_quota) erase(by_quota_, queue, id);
  if (why.by_side) erase(by_side_, queue, id);
  if (!why.by_nodes) return;
  for (const ShapeId shape : why.shapes) erase(by_shape_, shape, id);
}

}  // namespace berth::engine
