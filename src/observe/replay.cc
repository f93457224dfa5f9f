#include "observe/replay.h"

#include <algorithm>

namespace berth::observe {

std::string ReplayDifference::str() const {
  constexpr std::size_t kBefore = 40;
  constexpr std::size_t kShown = 200;
  const auto [left, right] = std::mismatch(expected.begin(), expected.end(), got.begin(), got.end());
  const auto at = static_cast<std::size_t>(left - expected.begin());
  const std::size_t from = at > kBefore ? at - kBefore : 0;
  const auto part = [&](const std::string& text) {
    const std::string shown = text.substr(std::min(from, text.size()), kShown);
    return fmt::format("{}{}{}", from > 0 ? "..." : "", shown,
                       from + shown.size() < text.size() ? "..." : "");
  };
  return fmt::format("line {}: differs at byte {}\n  expected {}\n  got      {}", line, at + 1,
                     part(expected), part(got));
}

Result<ReplayReport> replay(LogReader& reader, const ReplayOptions& options) {
  ReplayReport report;
  engine::Engine engine;
  std::string got;
  for (;;) {
    BERTH_ASSIGN(const auto line, reader.next());
    if (!line) break;
    got.clear();
    if (const auto* session = std::get_if<LogSession>(&*line)) {
      ++report.sessions;
      engine = engine::Engine(session->engine);
      append_session_line(got, session->engine);
    } else if (const auto* event = std::get_if<LogEvent>(&*line)) {
      ++report.events;
      const auto status = engine.apply(event->event);
      if (!status) ++report.refused;
      append_event_line(got, event->event,
                        status ? std::string_view() : std::string_view(status.error().message));
    } else if (const auto* decide = std::get_if<LogDecide>(&*line)) {
      ++report.decide_calls;
      const auto decisions = engine.decide(decide->now);
      report.decisions += static_cast<std::int64_t>(decisions.size());
      append_decide_line(got, decide->now, decisions);
      if (options.audit) {
        if (const auto status = engine.audit(); !status) {
          return tl::unexpected<Error>(
              Error{ErrorCode::kInternal, status.error().message, {reader.file(), reader.line(), 0}});
        }
      }
    } else {
      report.end = std::get<LogEnd>(*line).why;
      append_end_line(got, report.end);
    }
    if (got != reader.raw()) {
      report.difference = ReplayDifference{reader.line(), std::string(reader.raw()), std::move(got)};
      break;
    }
    if (options.look) options.look(engine, *line, reader.line());
  }
  report.unfinished_line = reader.unfinished_line();
  if (options.at_end) options.at_end(engine, report);
  return report;
}

Result<ReplayReport> replay_file(const std::string& path, const ReplayOptions& options) {
  BERTH_ASSIGN(auto reader, LogReader::open(path));
  return replay(reader, options);
}

}  // namespace berth::observe
