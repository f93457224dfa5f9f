#include "observe/what_if.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <tuple>
#include <utility>

#include "observe/replay.h"

namespace berth::observe {
namespace {

struct Told {
  WorkloadStory story;
  std::string name;
  std::string queue;
};

struct LogStory {
  std::map<std::string, Told, std::less<>> workloads;  // by uid
  TimeMs end = 0;                                      // the last decide()
};

Result<LogStory> read_story(const std::string& path) {
  LogStory out;
  BERTH_ASSIGN(auto reader, LogReader::open(path));
  for (;;) {
    BERTH_ASSIGN(const auto line, reader.next());
    if (!line) return out;
    if (const auto* event = std::get_if<LogEvent>(&*line)) {
      const auto* upsert = std::get_if<WorkloadUpsert>(&event->event);
      if (upsert == nullptr || !event->refused.empty()) continue;
      const Workload& workload = upsert->workload;
      const auto [at, fresh] = out.workloads.try_emplace(workload.uid);
      if (!fresh) continue;
      at->second.story.created = workload.created;
      at->second.name = workload.name;
      at->second.queue = workload.queue;
      continue;
    }
    const auto* decide = std::get_if<LogDecide>(&*line);
    if (decide == nullptr) continue;
    out.end = std::max(out.end, decide->now);
    for (const Decision& decision : decide->decisions) {
      const auto at = out.workloads.find(decision.workload);
      if (at == out.workloads.end()) continue;
      WorkloadStory& story = at->second.story;
      if (decision.kind == DecisionKind::kStart) {
        ++story.starts;
        if (!story.started) story.started = decide->now;
      } else if (decision.kind == DecisionKind::kEvict) {
        ++story.evictions;
      }
    }
  }
}

DurationMs waited(const WorkloadStory& story, TimeMs end) {
  return std::max<DurationMs>(0, story.started.value_or(end) - story.created);
}

std::string_view leading(const Reason& reason) {
  const Reason* at = &reason;
  while (at->code == ReasonCode::kNone && !at->children.empty()) at = &at->children.front();
  return enum_name(at->code);
}

// One workload whose reasons are looked for in a log: between two moments of it.
struct Window {
  WhatIfRow* row;
  TimeMs from;
  TimeMs to;
  std::map<std::string_view, DurationMs> parts;
  std::string_view reason;  // since `since`
  TimeMs since = 0;
  bool open = false;
};

// Replays a log and asks for the workloads' verdicts within their windows.
Status find_reasons(const std::string& path, std::vector<Window> windows) {
  if (windows.empty()) return {};
  ReplayOptions options;
  options.look = [&](const engine::Engine& engine, const LogLine& line, std::uint32_t) {
    const auto* decide = std::get_if<LogDecide>(&line);
    if (decide == nullptr) return;
    for (Window& window : windows) {
      const TimeMs now = std::clamp(decide->now, window.from, window.to);
      if (window.open) window.parts[window.reason] += now - window.since;
      window.open = decide->now >= window.from && decide->now < window.to;
      window.since = now;
      if (!window.open) continue;
      const auto verdict = engine.verdict(window.row->uid);
      if (!verdict) {
        window.reason = "not submitted";
        continue;
      }
      window.reason = leading(verdict->reason);
      window.row->in_full = to_text(verdict->reason);
    }
  };
  BERTH_ASSIGN(const ReplayReport report, replay_file(path, options));
  if (!report.same()) {
    return fail(ErrorCode::kInvalid,
                "{}: this engine decides otherwise than the log says, so it cannot tell the log's reasons; "
                "replay it with the version that wrote it. {}",
                path, report.difference->str());
  }
  for (Window& window : windows) {
    if (window.open) window.parts[window.reason] += window.to - window.since;
    for (const auto& [reason, time] : window.parts) {
      if (time > 0) window.row->reasons.push_back({std::string(reason), time});
    }
    std::stable_sort(window.row->reasons.begin(), window.row->reasons.end(),
                     [](const ReasonPart& a, const ReasonPart& b) { return a.time > b.time; });
  }
  return {};
}

}  // namespace

Result<WhatIf> what_if(const std::string& before, const std::string& after, std::size_t most) {
  BERTH_ASSIGN(const LogStory first, read_story(before));
  BERTH_ASSIGN(const LogStory second, read_story(after));
  WhatIf out;
  for (const auto& [uid, told] : first.workloads) {
    const auto other = second.workloads.find(uid);
    if (other == second.workloads.end() || other->second.name != told.name) {
      ++out.only_before;
      continue;
    }
    ++out.both;
    const WorkloadStory& then = other->second.story;
    out.evictions_before += told.story.evictions;
    out.evictions_after += then.evictions;
    const DurationMs change = waited(then, second.end) - waited(told.story, first.end);
    if (change == 0) {
      ++out.equal;
      continue;
    }
    ++(change < 0 ? out.earlier : out.later);
    (change < 0 ? out.saved_ms : out.added_ms) += change < 0 ? -static_cast<Int128>(change) : Int128{change};
    out.moved.push_back({uid, told.name, told.queue, told.story, then, change, {}, {}});
  }
  out.only_after = static_cast<std::int64_t>(second.workloads.size()) - out.both;
  std::stable_sort(out.moved.begin(), out.moved.end(), [](const WhatIfRow& a, const WhatIfRow& b) {
    const DurationMs x = a.change < 0 ? -a.change : a.change;
    const DurationMs y = b.change < 0 ? -b.change : b.change;
    return std::tie(y, a.uid) < std::tie(x, b.uid);
  });
  if (out.moved.size() > most) out.moved.resize(most);

  std::vector<Window> in_first;
  std::vector<Window> in_second;
  for (WhatIfRow& row : out.moved) {
    const bool later_in_second = row.change > 0;
    const WorkloadStory& slow = later_in_second ? row.after : row.before;
    const WorkloadStory& fast = later_in_second ? row.before : row.after;
    const TimeMs fast_end = later_in_second ? first.end : second.end;
    const TimeMs slow_end = later_in_second ? second.end : first.end;
    Window window{&row, slow.created + waited(fast, fast_end), slow.created + waited(slow, slow_end), {}, {}};
    (later_in_second ? in_second : in_first).push_back(std::move(window));
  }
  BERTH_TRY(find_reasons(before, std::move(in_first)));
  BERTH_TRY(find_reasons(after, std::move(in_second)));
  return out;
}

}  // namespace berth::observe
