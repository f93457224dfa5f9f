// Decision logs: a line that is read, written again, is read as the same line.
#include "fuzz/fuzz.h"
#include "observe/codec.h"
#include "observe/decision_log.h"

using namespace berth;

namespace {

std::string written(const observe::LogLine& line) {
  std::string out;
  if (const auto* session = std::get_if<observe::LogSession>(&line))
    observe::append_session_line(out, session->engine);
  if (const auto* event = std::get_if<observe::LogEvent>(&line)) {
    observe::append_event_line(out, event->event, event->refused);
  }
  if (const auto* decide = std::get_if<observe::LogDecide>(&line)) {
    observe::append_decide_line(out, decide->now, decide->decisions);
  }
  if (const auto* end = std::get_if<observe::LogEnd>(&line)) observe::append_end_line(out, end->why);
  return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = fuzz::text_of(data, size);
  (void)observe::begins_decision_log(text);
  auto reader = observe::LogReader::memory(std::string(text), "input");
  for (;;) {
    const auto line = reader.next();
    if (!line || !*line) return 0;
    const std::string first = written(**line);
    const auto again = observe::parse_log_line(first, "again", 1);
    fuzz::require(again.has_value(), "what was written is read: " + first);
    fuzz::require(written(*again) == first, "and written as before: " + first);
  }
}
