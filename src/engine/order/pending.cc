#include "engine/order/pending.h"

#include <queue>
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
  pass_on(queue);
}

const Head* Pending::Line::bar() const {
  if (!strict) return nullptr;
  return blocked.empty() ? nullptr : &*blocked.begin();
}

Head Pending::Line::head(std::uint32_t lane, std::int64_t priority, const Member& member) const {
  Head head;
  head.lane = lane < lanes.size() ? lanes[lane] : 0;
  (priority_first ? head.minus_priority : head.minus_priority_behind) = -priority;
  head.young = member.young;
  head.key = member.key;
  head.created = member.created;
  head.arrival = member.arrival;
  return head;
}

Head Pending::head_of(ClassId id, const Member& member) const {
  const Class& c = classes_[id];
  Head head = lines_[c.queue.index()].head(c.lane, c.priority, member);
  head.complete = !c.broken;
  head.surplus = c.surplus;
  head.id = id;
  return head;
}

bool Pending::in_front(ClassId a, std::uint32_t lane, std::int64_t priority, const Member& left) const {
  return head_of(a) < lines_[at(a).queue.index()].head(lane, priority, left);
}

std::vector<ClassId> Pending::passed_over(QueueId queue) const {
  std::vector<ClassId> out;
  if (queue.index() >= lines_.size()) return out;
  for (const ClassId id : lines_[queue.index()].classes) {
    const Class& c = at(id);
    if (c.parked && c.why.of_limit && !c.why.in_line && !c.members.empty()) out.push_back(id);
  }
  return out;
}

Head Pending::across(ClassId id) const {
  Head head = head_of(id);
  head.lane = 0;
  return head;
}

void Pending::set_lanes(QueueId queue, std::vector<std::uint32_t> places) {
  if (line(queue).lanes == places) return;
  const std::set<ClassId> all = line(queue).classes;
  for (const ClassId id : all) unlink(id);
  line(queue).lanes = std::move(places);
  ++lane_changes_;
  for (const ClassId id : all) link(id);
  show(queue);
  for (const ClassId id : all) {
    if (classes_[id].parked) follow(classes_[id].group);  // another may be first there
  }
}

void Pending::link(ClassId id) {
  Class& c = classes_[id];
  if (c.members.empty()) return;
  Line& l = line(c.queue);
  if (!c.parked) {
    l.awake.insert(head_of(id));
    return;
  }
  const Head head = head_of(id);
  if (c.group.valid()) groups_[c.group].asleep.insert(head);
  if (c.why.in_line) {
    l.blocked.insert(head);
    if (head.young) return;
    old_.insert(id);
    if (c.could_start) l.old.insert(head);
  }
}

void Pending::unlink(ClassId id) {
  Class& c = classes_[id];
  if (c.members.empty()) return;
  Line& l = line(c.queue);
  const Head head = head_of(id);
  if (!c.parked) {
    l.awake.erase(head);
    return;
  }
  if (c.group.valid()) groups_[c.group].asleep.erase(head);
  l.blocked.erase(head);
  if (!head.young) {
    l.old.erase(head);
    old_.erase(id);
  }
}

void Pending::show(QueueId queue) {
  Line& l = line(queue);
  bool eligible = !l.awake.empty();
  if (const Head* bar = l.bar(); eligible && bar != nullptr) eligible = *l.awake.begin() < *bar;
  std::optional<Head> first;
  if (eligible) first = across(l.awake.begin()->id);
  tournament_.show(queue, l.put_off, first);
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

void Pending::put_off(QueueId queue, std::int64_t height) {
  line(queue).put_off = height;
  show(queue);
  pass_on(queue);
}

ClassId Pending::add(const std::string& key, QueueId queue, std::uint32_t lane, std::int64_t priority,
                     bool broken, bool surplus, Member member) {
  const auto known = classes_.find(key);
  const ClassId id = known ? *known : classes_.add(key);
  Class& c = classes_[id];
  if (!known) {
    c.key = key;
    c.queue = queue;
    c.lane = lane;
    c.priority = priority;
    c.broken = broken;
    c.surplus = surplus;
    line(queue).classes.insert(id);
  }
  const bool first = c.parked && !c.members.empty() && member < *c.members.begin();
  unlink(id);
  c.members.insert(member);
  link(id);
  ++size_;
  ++line(queue).members;
  show(queue);
  if (c.parked) follow(c.group);
  if (first && line(queue).jumps) wake(id);
  return id;
}

void Pending::remove(ClassId id, const Member& member) {
  Class& c = classes_[id];
  const QueueId queue = c.queue;
  const GroupId group = c.group;
  const bool tried = c.tries;
  unlink(id);
  c.members.erase(member);
  --size_;
  --line(queue).members;
  if (tried) stop_trying(id);
  if (c.members.empty()) {
    if (c.parked) forget(id);
    classes_.erase(c.key, id);
    line(queue).classes.erase(id);
  } else {
    link(id);
  }
  if (tried) {
    try_next(group);
  } else {
    follow(group);
  }
  put_off(queue, 0);
}

// A class that sleeps is woken, or is there no longer: nothing is to wake it.
void Pending::forget(ClassId id) {
  Class& c = classes_[id];
  forget_time(id);
  if (c.why.kept_out()) kept_out_.erase(id);
  if (!c.group.valid()) return sleepers_.unlist(id, c.queue, c.why);
  Group& group = groups_[c.group];
  c.group = GroupId();
  if (group.listed != id) return;
  group.listed = ClassId();
  sleepers_.unlist(id, c.queue, c.why);
}

void Pending::park(ClassId id, Parked why) {
  Class& c = classes_[id];
  const GroupId before = c.group;
  const bool tried = c.tries;
  unlink(id);
  if (c.parked) forget(id);
  if (tried) stop_trying(id);
  c.parked = true;
  c.why = std::move(why);
  c.group = groups_.of(c.why);
  if (c.why.wake_at != kEndOfTime) due_.emplace(c.why.wake_at, id);
  if (c.why.kept_out()) kept_out_.insert(id);
  link(id);
  if (!c.group.valid()) {
    sleepers_.list(id, c.queue, c.why);
  } else {
    show_first(groups_[c.group]);
  }
  if (before.valid() && before != c.group) {
    if (tried) {
      try_next(before);
    } else {
      follow(before);
    }
  }
  put_off(c.queue, 0);
}

void Pending::wake(ClassId id) {
  const Class& c = classes_[id];
  if (!c.parked) return;
  // Classes behind the first of a group have not been tried since: it tries for them.
  rise(id, c.group.valid() && groups_[c.group].listed == id);
  pass_on(c.queue);
}

void Pending::rise(ClassId id, bool tries) {
  Class& c = classes_[id];
  const GroupId group = c.group;
  unlink(id);
  forget(id);
  c.parked = false;
  link(id);
  if (tries) {
    c.group = group;
    c.tries = true;
    groups_.begin_trying(group, id);
  }
  show(c.queue);
}

void Pending::call(const std::vector<ClassId>& listed) {
  for (const ClassId id : listed) {
    const Class& c = classes_[id];
    if (!c.parked) continue;
    if (!c.group.valid()) {
      rise(id, false);
    } else if (groups_[c.group].listed == id) {
      try_next(c.group);
    }
  }
}

// --------------------------------------------------------------------------------------------------------------- groups

void Pending::stop_trying(ClassId id) {
  Class& c = classes_[id];
  groups_.end_trying(c.group, id);
  c.group = GroupId();
  c.tries = false;
}

// No class tries for the group: now the first reachable one does. Classes in front of it belong to barred or put-off queues; they
// are awake then, and tried with their queue.
void Pending::try_next(GroupId id) {
  while (!groups_[id].asleep.empty()) {
    const ClassId first = groups_[id].asleep.begin()->id;
    const bool tries = !groups_[id].across_queues || within_reach(first);
    rise(first, tries);
    if (tries) return;
  }
  groups_.erase(id);
}

// The trying class stands behind a sleeping one of its group, which may bar the queue: then no class would ever be woken.
bool Pending::tries_behind(const Group& group) const {
  return group.trying.valid() && !group.asleep.empty() && *group.asleep.begin() < head_of(group.trying);
}

// The group may have another first class now, untried since it fell asleep: it tries.
void Pending::follow(GroupId id) {
  if (!id.valid()) return;
  const Group& group = groups_[id];
  if (tries_behind(group)) stop_trying(group.trying);
  if (group.trying.valid()) return;
  if (group.asleep.empty() || group.asleep.begin()->id != group.listed) {
    if (group.listed.valid()) {
      const Class& c = classes_[group.listed];
      sleepers_.unlist(group.listed, c.queue, c.why);
      groups_[id].listed = ClassId();
    }
    try_next(id);
  }
}

// A class has just been parked in the group.
void Pending::show_first(Group& group) {
  const ClassId first = group.asleep.begin()->id;
  if (tries_behind(group)) stop_trying(group.trying);
  if (group.trying.valid() || group.listed == first) return;
  if (group.listed.valid()) {
    const Class& c = classes_[group.listed];
    sleepers_.unlist(group.listed, c.queue, c.why);
  }
  group.listed = first;
  sleepers_.list(first, classes_[first].queue, classes_[first].why);
}

bool Pending::within_reach(ClassId id) const {
  const Line& l = lines_[classes_[id].queue.index()];
  const Head* bar = l.bar();
  return l.put_off == 0 && (bar == nullptr || head_of(id) < *bar);
}

// The queue may be barred or put off now: its classes stop trying for groups of several queues.
void Pending::pass_on(QueueId queue) {
  if (groups_.trying_across().empty() ||
      (lines_[queue.index()].put_off == 0 && lines_[queue.index()].bar() == nullptr))
    return;
  const std::set<ClassId> trying = groups_.trying_across();
  for (const ClassId id : trying) {
    const Class& c = classes_[id];
    if (c.queue != queue || !c.tries || within_reach(id)) continue;
    const GroupId group = c.group;
    stop_trying(id);
    try_next(group);
  }
}

void Pending::set_could_start(ClassId id, bool could_start, std::uint64_t version) {
  Class& c = classes_[id];
  c.could_start_version = version;
  if (c.could_start == could_start) return;
  unlink(id);
  c.could_start = could_start;
  link(id);
}

void Pending::wake_all() {
  for (std::size_t i = 0; i < classes_.size(); ++i) {
    if (!classes_[ClassId(i)].members.empty()) wake(ClassId(i));
  }
}

void Pending::wake_due(TimeMs now) {
  while (next_time() <= now) wake(ClassId(due_.begin()->second));
}

void Pending::forget_time(ClassId id) {
  const Class& c = classes_[id];
  if (c.parked) due_.erase({c.why.wake_at, id});
}

WorkloadId Pending::blocked_by(ClassId id) const {
  const Class& c = classes_[id];
  const Head* bar = lines_[c.queue.index()].bar();
  if (bar == nullptr || c.members.empty() || bar->id == id || head_of(id) < *bar) return {};
  return classes_[bar->id].members.begin()->workload;
}

bool Pending::follows_awake(ClassId id) const {
  const Class& c = classes_[id];
  const Line& l = lines_[c.queue.index()];
  return l.strict && !c.members.empty() && !l.awake.empty() && *l.awake.begin() < head_of(id);
}

std::vector<ClassId> Pending::in_line(QueueId queue) const {
  std::vector<ClassId> out;
  if (queue.index() >= lines_.size()) return out;
  const Line& l = lines_[queue.index()];
  for (const Head& head : l.strict ? l.blocked : l.old) out.push_back(head.id);
  return out;
}

std::size_t Pending::size_of(QueueId queue) const {
  return queue.index() < lines_.size() ? lines_[queue.index()].members : 0;
}

void Pending::each_in(QueueId queue, const std::function<bool(const Class&, const Member&)>& f) const {
  if (queue.index() >= lines_.size()) return;
  using Next = std::pair<Head, std::set<Member>::const_iterator>;
  const auto behind = [](const Next& a, const Next& b) { return a.first > b.first; };
  std::priority_queue<Next, std::vector<Next>, decltype(behind)> next(behind);
  for (const ClassId id : lines_[queue.index()].classes) {
    if (!at(id).members.empty()) next.emplace(head_of(id), at(id).members.begin());
  }
  while (!next.empty()) {
    auto [head, member] = next.top();
    next.pop();
    const Class& c = at(head.id);
    if (!f(c, *member)) return;
    if (++member != c.members.end()) next.emplace(head_of(head.id, *member), member);
  }
}

}  // namespace berth::engine
