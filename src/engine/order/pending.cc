#include "engine/order/pending.h"

#include <utility>

namespace berth::engine {

Pending::Line& Pending::line(QueueId queue) {
  if (queue.index() >= lines_.size()) lines_.resize(queue.index() + 1);
  return lines_[queue.index()];
}

void Pending::set_strict(QueueId queue, bool strict) {
  line(queue).strict = strict;
  show(queue);
}

Pending::Head Pending::head_of(ClassId id) const {
  const Class& c = classes_[id.index()];
  const Member& first = *c.members.begin();
  return {!c.incomplete, -c.priority, first.created, first.arrival, id};
}

void Pending::link(ClassId id) {
  Class& c = classes_[id.index()];
  if (c.members.empty()) return;
  Line& l = line(c.queue);
  if (!c.parked) {
    l.awake.insert(head_of(id));
  } else if (c.why.in_line) {
    l.blocked.insert(head_of(id));
  }
}

void Pending::unlink(ClassId id) {
  Class& c = classes_[id.index()];
  if (c.members.empty()) return;
  Line& l = line(c.queue);
  (c.parked ? l.blocked : l.awake).erase(head_of(id));
}

void Pending::show(QueueId queue) {
  Line& l = line(queue);
  bool eligible = !l.awake.empty();
  if (eligible && l.strict && !l.blocked.empty()) eligible = *l.awake.begin() < *l.blocked.begin();
  const Front front = eligible ? Front{l.put_off, *l.awake.begin()} : Front{};
  if (l.is_shown && (!eligible || l.shown != front)) {
    heads_.erase(l.shown);
    l.is_shown = false;
  }
  if (eligible && !l.is_shown) {
    l.shown = front;
    l.is_shown = true;
    heads_.insert(l.shown);
  }
}

void Pending::put_off(QueueId queue) {
  line(queue).put_off = true;
  show(queue);
}

void Pending::call_back(QueueId queue) {
  line(queue).put_off = false;
  show(queue);
}

ClassId Pending::add(const std::string& key, QueueId queue, std::int64_t priority, bool incomplete,
                     Member member) {
  auto it = index_.find(key);
  if (it == index_.end()) {
    ClassId id(classes_.size());
    if (free_.empty()) {
      classes_.emplace_back();
    } else {
      id = free_.back();
      free_.pop_back();
      classes_[id.index()] = Class{};
    }
    classes_[id.index()].key = key;
    classes_[id.index()].queue = queue;
    classes_[id.index()].priority = priority;
    classes_[id.index()].incomplete = incomplete;
    it = index_.emplace(key, id).first;
  }
  const ClassId id = it->second;
  unlink(id);
  classes_[id.index()].members.insert(member);
  link(id);
  ++size_;
  ++line(queue).members;
  show(queue);
  return id;
}

void Pending::remove(ClassId id, const Member& member) {
  Class& c = classes_[id.index()];
  const QueueId queue = c.queue;
  unlink(id);
  c.members.erase(member);
  --size_;
  --line(queue).members;
  if (c.members.empty()) {
    forget_time(id);
    parked_.erase(id);
    index_.erase(c.key);
    free_.push_back(id);
  } else {
    link(id);
  }
  call_back(queue);
}

ClassId Pending::next() const {
  return heads_.empty() ? ClassId() : heads_.begin()->head.id;
}

void Pending::park(ClassId id, Parked why) {
  Class& c = classes_[id.index()];
  unlink(id);
  forget_time(id);
  c.parked = true;
  c.why = std::move(why);
  parked_.insert(id);
  if (c.why.wake_at != kEndOfTime) due_.emplace(c.why.wake_at, id);
  link(id);
  call_back(c.queue);
}

void Pending::wake(ClassId id) {
  Class& c = classes_[id.index()];
  if (!c.parked) return;
  unlink(id);
  forget_time(id);
  c.parked = false;
  parked_.erase(id);
  link(id);
  show(c.queue);
}

void Pending::wake_all() {
  const std::set<ClassId> all = parked_;
  for (const ClassId id : all) wake(id);
}

void Pending::wake_due(TimeMs now) {
  while (next_time() <= now) wake(ClassId(due_.begin()->second));
}

void Pending::forget_time(ClassId id) {
  const Class& c = classes_[id.index()];
  if (c.parked) due_.erase({c.why.wake_at, id});
}

WorkloadId Pending::blocked_by(ClassId id) const {
  const Class& c = classes_[id.index()];
  const Line& l = lines_[c.queue.index()];
  if (!l.strict || l.blocked.empty() || c.members.empty()) return {};
  const Head& first = *l.blocked.begin();
  if (first.id == id || head_of(id) < first) return {};
  return classes_[first.id.index()].members.begin()->workload;
}

std::size_t Pending::size_of(QueueId queue) const {
  return queue.index() < lines_.size() ? lines_[queue.index()].members : 0;
}

}  // namespace berth::engine
