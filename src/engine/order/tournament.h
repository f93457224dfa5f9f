// The order of queues: a tree in which the best child of every queue stands for it among its siblings, up to the roots. The top is
// the next queue.
//
// Order among siblings, first difference decides:
//   1. Queues that would borrow and were put off come last, the farther up the later.
//   2. Started work that is short of its least count comes first.
//   3. The share of the queue with its candidate (quota/fairness.h). It is equal for all children of a parent that shares by
//      priority.
//   4. The candidates themselves, in the order of pending.h across queues.
// Roots compare by their candidates. So if every parent shares by priority, the whole tree is one line.
//
// Costs: show() O(depth x (log siblings + share)), less where nothing changes above; rebuild() O(queues log queues).
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <vector>

#include "base/ids.h"
#include "base/time.h"
#include "engine/quota/fairness.h"

namespace berth::engine {

using ClassId = Id<struct ClassTag>;

// The first member of a class, in the order across queues.
struct Head {
  bool complete = true;
  std::uint32_t lane = 0;           // the place of its lane in the queue's line; 0 across queues
  std::int64_t minus_priority = 0;  // where priority ranks first
  bool surplus = false;             // growth that takes free room only
  bool young = true;
  std::int64_t key = 0;
  std::int64_t minus_priority_behind = 0;  // where it does not
  TimeMs created = 0;
  std::uint64_t arrival = 0;
  ClassId id;
  auto operator<=>(const Head&) const = default;
};

class Tournament {
 public:
  // The share of `queue` with the candidate, a class of a leaf at or below it.
  using ShareOf = std::function<Share(QueueId queue, ClassId candidate)>;

  void set_shares(ShareOf shares) { shares_ = std::move(shares); }
  // The parent of every queue (none: a root). All leaves are to be shown again.
  void rebuild(std::vector<QueueId> parents);
  // The candidate of a leaf; none: it has none now. `put_off`: 0, or after all that are put off less.
  void show(QueueId leaf, std::int64_t put_off, const std::optional<Head>& head);
  // The use of a leaf changed, and with it the shares of all above.
  void refresh(QueueId leaf);

  // The class that is next; none: no queue has a candidate.
  ClassId next() const { return roots_.empty() ? ClassId() : roots_.begin()->head.id; }

 private:
  struct Entry {
    std::int64_t put_off = 0;
    Share share;
    Head head;

    std::strong_ordering operator<=>(const Entry& other) const;
    bool operator==(const Entry& other) const = default;
  };
  struct Place {
    QueueId parent;
    std::optional<Entry> own;    // its own candidate
    std::optional<Entry> shown;  // as it stands among its siblings
    std::set<Entry> children;
  };

  Place& place(QueueId queue);
  std::set<Entry>& siblings(const Place& of);
  // Lets the best of `queue` and its children stand for it; true where that changed anything.
  bool stand(QueueId queue);

  ShareOf shares_;
  std::vector<Place> places_;
  std::set<Entry> roots_;
};

}  // namespace berth::engine
