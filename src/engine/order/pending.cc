#include "engine/order/pending.h"

#include <utility>

namespace berth::engine {

Pending::Line& Pending::line(QueueId queue) {
  if (queue.index() >= lines_.size()) lines_.resize(queue.index() + 1);
  return lines_[queue.index()];
}

void Pending::set_rules(QueueId queue, bool strict, bool priority_first, bool jumps) {
  line(queue).strict = strict;
  line(queue).priority_first = priority_first;
  line(queue).jumps = jumps;
  show(queue);
}

const Head* Pending::Line::bar() const {
  if (strict) return blocked.empty() ? nullptr : &*blocked.begin();
  return old.empty() ? nullptr : &*old.begin();
}

Head Pending::head_of(ClassId id) const {
  const Class& c = classes_[id.index()];
  const Member& first = *c.members.begin();
  const bool above = lines_[c.queue.index()].priority_first;
  return {!c.incomplete,           above ? -c.priority : 0, c.surplus,     first.young, first.key,
          above ? 0 : -c.priority, first.created,           first.arrival, id};
}

void Pending::link(ClassId id) {
  Class& c = classes_[id.index()];
  if (c.members.empty()) return;
  Line& l = line(c.queue);
  if (!c.parked) {
    l.awake.insert(head_of(id));
  } else if (c.why.in_line) {
    const Head head = head_of(id);
    l.blocked.insert(head);
    if (head.young) return;
    old_.insert(id);
    if (c.could_start) l.old.insert(head);
  }
}

void Pending::unlink(ClassId id) {
  Class& c = classes_[id.index()];
  if (c.members.empty()) return;
  Line& l = line(c.queue);
  const Head head = head_of(id);
  (c.parked ? l.blocked : l.awake).erase(head);
  if (c.parked && !head.young) {
    l.old.erase(head);
    old_.erase(id);
  }
}

void Pending::show(QueueId queue) {
  Line& l = line(queue);
  bool eligible = !l.awake.empty();
  if (const Head* bar = l.bar(); eligible && bar != nullptr) eligible = *l.awake.begin() < *bar;
  tournament_.show(queue, l.put_off, eligible ? std::optional<Head>(*l.awake.begin()) : std::nullopt);
}

void Pending::set_tree(std::vector<QueueId> parents) {
  tournament_.rebuild(std::move(parents));
  for (std::size_t q = 0; q < lines_.size(); ++q) show(QueueId(q));
}

void Pending::refresh_all() {
  for (std::size_t q = 0; q < lines_.size(); ++q) {
    if (lines_[q].members > 0) tournament_.refresh(QueueId(q));
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
                     bool surplus, Member member) {
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
    classes_[id.index()].surplus = surplus;
    it = index_.emplace(key, id).first;
  }
  const ClassId id = it->second;
  Class& c = classes_[id.index()];
  const bool first = c.parked && !c.members.empty() && member < *c.members.begin();
  unlink(id);
  c.members.insert(member);
  link(id);
  ++size_;
  ++line(queue).members;
  show(queue);
  if (first && line(queue).jumps) wake(id);
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

void Pending::set_could_start(ClassId id, bool could_start, std::uint64_t version) {
  Class& c = classes_[id.index()];
  c.could_start_version = version;
  if (c.could_start == could_start) return;
  unlink(id);
  c.could_start = could_start;
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
  const Head* bar = lines_[c.queue.index()].bar();
  if (bar == nullptr || c.members.empty() || bar->id == id || head_of(id) < *bar) return {};
  return classes_[bar->id.index()].members.begin()->workload;
}

std::size_t Pending::size_of(QueueId queue) const {
  return queue.index() < lines_.size() ? lines_[queue.index()].members : 0;
}

}  // namespace berth::engine
