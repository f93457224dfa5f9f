#include "engine/order/tournament.h"

#include <utility>

namespace berth::engine {

std::strong_ordering Tournament::Entry::operator<=>(const Entry& other) const {
  if (put_off != other.put_off) return put_off <=> other.put_off;
  if (head.complete != other.head.complete) return head.complete <=> other.head.complete;
  if (const auto by_share = share <=> other.share; by_share != 0) return by_share;
  return head <=> other.head;
}

Tournament::Place& Tournament::place(QueueId queue) {
  if (queue.index() >= places_.size()) places_.resize(queue.index() + 1);
  return places_[queue.index()];
}

std::set<Tournament::Entry>& Tournament::siblings(const Place& of) {
  return of.parent.valid() ? place(of.parent).children : roots_;
}

void Tournament::rebuild(std::vector<QueueId> parents) {
  places_.assign(std::max(places_.size(), parents.size()), {});
  roots_.clear();
  for (std::size_t i = 0; i < parents.size(); ++i) places_[i].parent = parents[i];
}

bool Tournament::stand(QueueId queue) {
  Place& mine = place(queue);
  std::optional<Entry> best = mine.own;
  if (!mine.children.empty() && (!best || *mine.children.begin() < *best)) best = *mine.children.begin();
  if (best) best->share = shares_ ? shares_(queue, best->head.id) : Share{};
  if (mine.shown == best) return false;
  auto& line = siblings(mine);
  if (mine.shown) line.erase(*mine.shown);
  mine.shown = std::move(best);
  if (mine.shown) line.insert(*mine.shown);
  return true;
}

void Tournament::show(QueueId leaf, std::int64_t put_off, const std::optional<Head>& head) {
  place(leaf).own.reset();
  if (head) place(leaf).own = Entry{put_off, {}, *head};
  for (QueueId at = leaf; at.valid() && stand(at); at = places_[at.index()].parent) {
  }
}

void Tournament::refresh(QueueId leaf) {
  for (QueueId at = leaf; at.valid(); at = place(at).parent) stand(at);
}

}  // namespace berth::engine
