#include "cli/plan_log.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <optional>
#include <ostream>
#include <type_traits>
#include <vector>

#include "cli/base/table.h"
#include "observe/codec.h"
#include "observe/replay.h"
#include "text/time.h"

namespace berth::cli {
namespace {

constexpr std::size_t kRowsAtOnce = 10'000;
constexpr std::size_t kMostPlaces = 8;
constexpr TimeMs kCalendar = 365LL * 24 * 3'600'000;  // below, times are a simulation's: since its start

std::string time_text(TimeMs now) {
  return now < kCalendar ? text::format_duration_ms(now) : text::format_time_ms(now);
}

// Parts of a description that are there, with commas between.
class Words {
 public:
  void add(std::string word) {
    if (!word.empty()) words_.push_back(std::move(word));
  }
  std::string str() const { return fmt::format("{}", fmt::join(words_, ", ")); }

 private:
  std::vector<std::string> words_;
};

std::string labels_text(const Labels& labels) {
  std::vector<std::string> out;
  for (const auto& [key, value] : labels) out.push_back(fmt::format("{}={}", key, value));
  return fmt::format("{}", fmt::join(out, " "));
}

std::string devices_text(const std::vector<DeviceRequest>& requests) {
  Words out;
  for (const auto& r : requests) {
    out.add(r.milli == 1000 ? fmt::format("{} {}", r.resource, r.count)
                            : fmt::format("{} {}/1000", r.resource, r.milli));
  }
  return out.str();
}

std::string volumes_text(const ResourceList& attaches) {
  Words out;
  for (const auto& [driver, volumes] : attaches)
    out.add(fmt::format("{} {} of {}", volumes, volumes == 1 ? "volume" : "volumes", driver));
  return out.str();
}

std::string mounts_text(const std::vector<SharedVolume>& mounts) {
  Words out;
  for (const SharedVolume& volume : mounts)
    out.add(fmt::format("shared volume {} of {}", volume.name, volume.driver));
  return out.str();
}

std::string pod_text(const PodTemplate& pod) {
  Words out;
  out.add(pod.requests.str());
  out.add(devices_text(pod.claim.requests));
  if (!pod.node_selector.empty()) out.add("on " + labels_text(pod.node_selector));
  if (!pod.required_affinity.empty()) out.add("with required affinity");
  if (!pod.preferred_affinity.empty()) out.add("with preferred affinity");
  for (const VolumeNodes& volume : pod.volumes) out.add("with " + volume.words);
  out.add(volumes_text(pod.attaches));
  out.add(mounts_text(pod.mounts));
  for (const auto& t : pod.tolerations) out.add("tolerates " + (t.key.empty() ? "all" : t.key));
  for (const auto& what : pod.unsupported) out.add("not supported: " + what);
  return out.str();
}

std::string topology_text(const TopologyRequest& topology) {
  Words out;
  if (!topology.required.empty()) out.add("in one " + topology.required);
  if (!topology.preferred.empty()) out.add("best in one " + topology.preferred);
  if (!topology.segment_level.empty()) {
    out.add(fmt::format("every {} in one {}", topology.segment, topology.segment_level));
  }
  return out.str();
}

std::string group_text(const Group& group) {
  std::vector<std::string> parts;
  for (const auto& set : group.pod_sets) {
    std::string count = fmt::format("{}", set.count);
    if (set.least_count() != set.count) count = fmt::format("{} to {}", set.least_count(), set.count);
    std::string part = fmt::format("{} x ({})", count, pod_text(set.pod));
    if (set.present && *set.present != set.count) part += fmt::format(", {} there", *set.present);
    parts.push_back(std::move(part));
  }
  for (const auto& child : group.groups) parts.push_back("[" + group_text(child) + "]");
  std::string out = fmt::format("{}", fmt::join(parts, " and "));
  if (group.least) out += fmt::format(", at least {} of these", *group.least);
  if (!group.topology.empty()) out += ", " + topology_text(group.topology);
  return out;
}

struct Told {
  std::string about;
  std::string detail;
};

Told tell(const NodeUpsert& e) {
  Words out;
  out.add(e.node.allocatable.str());
  for (const auto& pool : e.node.devices) {
    out.add(fmt::format("{} {}", pool.resource, pool.count));
    if (!pool.unhealthy.empty()) out.add(fmt::format("unhealthy {}", fmt::join(pool.unhealthy, " ")));
  }
  for (const auto& [driver, most] : e.node.attachable)
    out.add(fmt::format("at most {} volumes of {}", most, driver));
  out.add(labels_text(e.node.labels));
  for (const auto& t : e.node.taints) {
    out.add(fmt::format("taint {}={}:{}", t.key, t.value, enum_name(t.effect)));
  }
  if (e.node.unschedulable) out.add("cordoned");
  return {e.node.name, out.str()};
}
Told tell(const NodeRemove& e) {
  return {e.name, ""};
}
Told tell(const TopologyUpsert& e) {
  return {e.topology.name, fmt::format("{}", fmt::join(e.topology.levels, " > "))};
}
Told tell(const FlavorUpsert& e) {
  return {e.flavor.name, labels_text(e.flavor.node_labels)};
}
Told tell(const QueueUpsert& e) {
  const Queue& q = e.queue;
  Words out;
  if (!q.parent.empty()) out.add("below " + q.parent);
  if (q.unlimited) out.add("no quota is kept");
  for (const auto& quota : q.quotas) {
    std::string text = fmt::format("{} {}", quota.resource, format_amount(quota.resource, quota.nominal));
    if (!quota.flavor.empty()) text += " of " + quota.flavor;
    if (quota.borrowing_limit) text += " borrows " + format_amount(quota.resource, *quota.borrowing_limit);
    if (quota.lending_limit) text += " lends " + format_amount(quota.resource, *quota.lending_limit);
    if (quota.firm_limit) text += " not preemptible " + format_amount(quota.resource, *quota.firm_limit);
    if (quota.subtree_limit) text += " with all below " + format_amount(quota.resource, *quota.subtree_limit);
    out.add(std::move(text));
  }
  if (q.leaf) {
    out.add(fmt::format("order {}", enum_name(q.order)));
    if (q.preemption.within != WithinQueue::kNever)
      out.add(fmt::format("preempts {}", enum_name(q.preemption.within)));
    if (q.preemption.reclaim != Reclaim::kNever)
      out.add(fmt::format("reclaims {}", enum_name(q.preemption.reclaim)));
  }
  if (q.stop != StopPolicy::kNone) out.add(fmt::format("stopped: {}", enum_name(q.stop)));
  if (!q.disabled.empty()) out.add("disabled: " + q.disabled);
  return {q.name, out.str()};
}
Told tell(const ForeignPodUpsert& e) {
  Words out;
  out.add(e.pod.requests.str());
  out.add(devices_text(e.pod.devices));
  out.add(volumes_text(e.pod.attaches));
  out.add(mounts_text(e.pod.mounts));
  return {e.pod.uid, fmt::format("on {}: {}", e.pod.node, out.str())};
}
Told tell(const ForeignPodRemove& e) {
  return {e.uid, ""};
}
Told tell(const WorkloadUpsert& e) {
  const Workload& w = e.workload;
  Words out;
  out.add(w.queue.empty() ? "no queue" : "queue " + w.queue);
  if (w.priority != 0) out.add(fmt::format("priority {}", w.priority));
  if (!w.active) out.add("suspended or inactive");
  if (!w.preemptible) out.add("never a victim");
  if (!w.may_preempt) out.add("never preempts");
  out.add(group_text(w.root));
  return {w.uid, out.str()};
}
Told tell(const WorkloadRemove& e) {
  return {e.uid, ""};
}
Told tell(const SlotUpdate& e) {
  std::string text = fmt::format("pod {}/{} {}", e.pod_set, e.index, enum_name(e.state));
  if (!e.node.empty()) text += " on " + e.node;
  if (!e.devices.empty()) text += fmt::format(" (devices {})", fmt::join(e.devices, " "));
  return {e.workload, std::move(text)};
}
Told tell(const Withdraw& e) {
  return {e.workload, e.why};
}
// Kinds of events that have no words of their own here are shown as they stand in the log.
template <class E>
Told tell(const E& e) {
  std::string fields;
  observe::encode(fields, e);
  return {"", std::move(fields)};
}

std::string places_text(const std::vector<SlotPlacement>& slots) {
  struct Place {
    std::string node;
    std::int64_t pods = 0;
    std::vector<std::int64_t> devices;
  };
  std::vector<Place> places;
  for (const auto& slot : slots) {
    auto it = std::find_if(places.begin(), places.end(), [&](const Place& p) { return p.node == slot.node; });
    if (it == places.end()) it = places.insert(places.end(), Place{slot.node, 0, {}});
    ++it->pods;
    it->devices.insert(it->devices.end(), slot.devices.begin(), slot.devices.end());
  }
  std::vector<std::string> out;
  for (const auto& place : places) {
    if (out.size() == kMostPlaces) {
      out.push_back(fmt::format("and {} more nodes", places.size() - out.size()));
      break;
    }
    std::string text = place.node;
    if (place.pods > 1) text += fmt::format(" x{}", place.pods);
    if (!place.devices.empty()) text += fmt::format(" (devices {})", fmt::join(place.devices, " "));
    out.push_back(std::move(text));
  }
  return fmt::format("{}", fmt::join(out, ", "));
}

class LogTable {
 public:
  explicit LogTable(std::ostream& out) : out_(out), table_(head()) {}

  void take(const observe::LogLine& line, std::uint32_t number) {
    if (const auto* session = std::get_if<observe::LogSession>(&line)) {
      row(number, "session", "", fmt::format("placement {}", enum_name(session->engine.placement)));
    } else if (const auto* event = std::get_if<observe::LogEvent>(&line)) {
      std::visit([&](const auto& e) { take_event(e, event->refused, number); }, event->event);
    } else if (const auto* decide = std::get_if<observe::LogDecide>(&line)) {
      now_ = decide->now;
      row(number, "decide", "", decide->decisions.empty() ? "nothing" : "");
      for (const auto& decision : decide->decisions) add(number, "  ", decision);
    } else {
      row(number, "end", "", std::get<observe::LogEnd>(line).why);
    }
  }

  // The first line that came out otherwise: both, row by row.
  void take(const observe::ReplayDifference& difference, const std::string& file) {
    for (const auto& [title, text] :
         {std::pair{"RECORDED", &difference.expected}, {"THIS ENGINE", &difference.got}}) {
      const auto line = observe::parse_log_line(*text, file, difference.line);
      const auto* decide = line ? std::get_if<observe::LogDecide>(&*line) : nullptr;
      if (decide == nullptr) {
        row(difference.line, title, "", *text);
        continue;
      }
      now_ = decide->now;
      row(difference.line, title, "", decide->decisions.empty() ? "nothing" : "");
      for (const auto& decision : decide->decisions) add(difference.line, "  ", decision);
    }
  }

  void finish(const engine::Engine& engine) {
    write();
    Table table({"WORKLOAD", "QUEUE", "PRIORITY", "RUN", "HELD", "END", "WAIT", "WHY"});
    std::size_t rows = 0;
    for (const auto& w : engine.workloads()) {
      if (++rows > kRowsAtOnce) break;
      std::string why;
      if (w.slots_waiting + w.slots_held > 0) {
        if (const auto verdict = engine.explain(w.uid)) why = words(verdict->reason);
      }
      table.add({name(std::string(w.uid)), w.queue.empty() ? "-" : std::string(w.queue),
                 fmt::format("{}", w.priority), fmt::format("{}", w.slots_running),
                 fmt::format("{}", w.slots_held), fmt::format("{}", w.slots_releasing),
                 fmt::format("{}", w.slots_waiting), std::move(why)});
    }
    if (rows > 0) out_ << "\nAt the end\n" << table.str();
    if (rows > kRowsAtOnce) out_ << fmt::format("  and {} more\n", engine.workload_count() - kRowsAtOnce);
  }

  void write() {
    if (rows_ == 0) return;
    out_ << table_.str();
    table_ = Table(head());
    rows_ = 0;
  }

 private:
  static std::vector<std::string> head() { return {"LINE", "TIME", "WHAT", "ABOUT", "DETAIL"}; }

  template <class E>
  void take_event(const E& event, const std::string& refused, std::uint32_t number) {
    if constexpr (std::is_same_v<E, WorkloadUpsert>) {
      const Workload& w = event.workload;
      if (!w.name.empty() && w.name != w.uid) names_.insert_or_assign(w.uid, w.name);
    }
    Told told = tell(event);
    if (!refused.empty()) told.detail = fmt::format("REFUSED: {} ({})", refused, told.detail);
    row(number, std::string(E::kName), name(told.about), std::move(told.detail));
    if constexpr (std::is_same_v<E, WorkloadRemove>) names_.erase(event.uid);
  }

  void add(std::uint32_t number, std::string_view indent, const Decision& d) {
    Words detail;
    if (!d.slots.empty()) {
      detail.add(fmt::format("{} {}: {}", d.slots.size(), d.slots.size() == 1 ? "pod" : "pods",
                             places_text(d.slots)));
    }
    std::vector<std::string> flavors;
    for (const auto& f : d.flavors) {
      if (std::find(flavors.begin(), flavors.end(), f.flavor) == flavors.end()) flavors.push_back(f.flavor);
    }
    if (!flavors.empty()) detail.add(fmt::format("of {}", fmt::join(flavors, " ")));
    if (!d.beneficiary.empty()) detail.add("for " + name(d.beneficiary));
    if (d.kind == DecisionKind::kEvict) detail.add(fmt::format("cost {}", d.cost));
    std::string text = detail.str();
    const bool said = d.reason.code == ReasonCode::kFits;  // "placed" says no more than the start itself
    if (const auto why = said ? std::string() : words(d.reason); !why.empty())
      text += fmt::format("{}{}", text.empty() ? "" : ": ", why);
    row(number, fmt::format("{}{}", indent, enum_name(d.kind)), name(d.workload), std::move(text));
  }

  void row(std::uint32_t number, std::string what, std::string about, std::string detail) {
    table_.add({fmt::format("{}", number), now_ ? time_text(*now_) : "", std::move(what), std::move(about),
                std::move(detail)});
    if (++rows_ == kRowsAtOnce) write();
  }

  std::string name(const std::string& uid) const {
    const auto it = names_.find(uid);
    return it == names_.end() ? uid : it->second;
  }
  // With the names of workloads instead of their uids.
  std::string words(Reason reason) const {
    readable(reason);
    return to_text(reason);
  }
  void readable(Reason& reason) const {
    reason.subject = name(reason.subject);
    for (auto& child : reason.children) readable(child);
  }

  std::ostream& out_;
  Table table_;
  std::size_t rows_ = 0;
  std::optional<TimeMs> now_;                 // of the last decide()
  std::map<std::string, std::string> names_;  // of workloads, by uid
};

}  // namespace

int plan_log(text::ByteSource source, std::ostream& out, std::ostream& err) {
  const std::string file = source.name();
  observe::LogReader reader(std::move(source));
  LogTable table(out);
  observe::ReplayOptions options;
  options.look = [&](const engine::Engine&, const observe::LogLine& line, std::uint32_t number) {
    table.take(line, number);
  };
  options.at_end = [&](const engine::Engine& engine, const observe::ReplayReport& report) {
    if (report.difference) table.take(*report.difference, file);
    table.finish(engine);
  };
  const auto report = observe::replay(reader, options);
  if (!report) {
    err << report.error().str() << "\n";
    return 2;
  }
  out << fmt::format("\n{} events ({} refused), {} decide calls, {} decisions\n", report->events,
                     report->refused, report->decide_calls, report->decisions);
  if (report->unfinished_line != 0) {
    out << fmt::format("line {} is unfinished (the recorder was cut off) and was left out\n",
                       report->unfinished_line);
  }
  if (report->same()) {
    out << "the same decisions as recorded, byte for byte\n";
    return 0;
  }
  err << fmt::format("{}: {}\n", file, report->difference->str());
  return 1;
}

}  // namespace berth::cli
