#include "observe/decision_log.h"

#include <array>

#include "model/bounds.h"
#include "observe/codec.h"

namespace berth::observe {
namespace {

// The objects of the lines that are not events.
struct SessionFields {
  std::string format;
  std::int64_t version = 0;
  engine::EngineConfig engine;
  template <class Self, class Visitor>
  static void fields(Self& s, Visitor&& v) {
    v("format", s.format);
    v("version", s.version);
    v("engine", s.engine);
  }
};
struct DecideFields {
  std::int64_t decide = 0;
  std::vector<Decision> decisions;
  template <class Self, class Visitor>
  static void fields(Self& s, Visitor&& v) {
    v("decide", s.decide);
    v("decisions", s.decisions);
  }
};
struct EndFields {
  std::string end;
  template <class Self, class Visitor>
  static void fields(Self& s, Visitor&& v) {
    v("end", s.end);
  }
};

constexpr std::string_view kRefused = "refused";

Result<LogLine> session_of(const text::Document& document) {
  const text::Node& root = document.root();
  const text::Node* format = root.find("format");
  if (format == nullptr || codec_detail::string_of(*format) != kLogFormat) {
    return fail_at(document.place(root),
                   "this is no decision log: its first line must have \"format\":\"{}\"", kLogFormat);
  }
  const text::Node* version = root.find("version");
  const auto number = version != nullptr ? version->as_int() : std::nullopt;
  if (number != kLogVersion) {
    return fail_at(
        document.place(version != nullptr ? *version : root),
        "version {} of the decision log; this Berth reads version {}: replay it with the Berth that wrote it",
        version != nullptr ? version->text() : "(missing)", kLogVersion);
  }
  BERTH_ASSIGN(const auto fields, decode<SessionFields>(document, root));
  return LogLine(LogSession{fields.engine});
}

}  // namespace

void append_session_line(std::string& out, const engine::EngineConfig& config) {
  encode(out, SessionFields{std::string(kLogFormat), kLogVersion, config});
}

void append_event_line(std::string& out, const Event& event, std::string_view refused) {
  append_event_fields(out, event);
  if (!refused.empty()) {
    out += ",\"refused\":";
    text::append_json_string(out, refused);
  }
  out += '}';
}

void append_decide_line(std::string& out, TimeMs now, std::span<const Decision> decisions) {
  out += "{\"decide\":";
  codec_detail::append_integer(out, now);
  if (!decisions.empty()) {
    out += ",\"decisions\":[";
    bool first = true;
    for (const auto& decision : decisions) {
      if (!first) out += ',';
      first = false;
      encode(out, decision);
    }
    out += ']';
  }
  out += '}';
}

void append_end_line(std::string& out, std::string_view why) {
  encode(out, EndFields{std::string(why)});
}

Result<LogLine> parse_log_line(std::string_view line, const std::string& file, std::uint32_t number) {
  BERTH_ASSIGN(const text::Document document, text::parse_json(std::string(line), file, {}, number));
  const text::Node& root = document.root();
  if (!root.is_mapping()) return fail_at(document.place(root), "a line of a decision log must be an object");
  if (root.find("e") != nullptr) {
    static constexpr std::array kOthers{kRefused};
    BERTH_ASSIGN(Event event, decode_event(document, root, kOthers));
    LogEvent out{std::move(event), {}};
    if (const text::Node* refused = root.find(kRefused)) {
      BERTH_ASSIGN(out.refused, decode<std::string>(document, *refused, kRefused));
    }
    return LogLine(std::move(out));
  }
  if (root.find("decide") != nullptr) {
    BERTH_ASSIGN(auto fields, decode<DecideFields>(document, root));
    if (fields.decide < -kLastTime || fields.decide > kLastTime) {
      return fail_at(document.place(*root.find("decide")),
                     "decide is {}, a time in ms: it must lie between {} and {} (the year 9999)",
                     fields.decide, -kLastTime, kLastTime);
    }
    return LogLine(LogDecide{fields.decide, std::move(fields.decisions)});
  }
  if (root.find("end") != nullptr) {
    BERTH_ASSIGN(auto fields, decode<EndFields>(document, root));
    return LogLine(LogEnd{std::move(fields.end)});
  }
  if (root.find("format") != nullptr) return session_of(document);
  return fail_at(document.place(root),
                 "a line of a decision log must have \"e\", \"decide\", \"end\" or \"format\"");
}

bool begins_decision_log(std::string_view beginning) {
  const auto start = beginning.find_first_not_of(" \t\r\n\xEF\xBB\xBF");
  if (start == std::string_view::npos || beginning[start] != '{') return false;
  const std::string_view line = beginning.substr(start, beginning.find('\n', start) - start);
  return line.find(fmt::format("\"{}\"", kLogFormat)) != std::string_view::npos &&
         line.find("\"format\"") != std::string_view::npos;
}

Result<LogReader> LogReader::open(const std::string& path) {
  BERTH_ASSIGN(auto source, text::ByteSource::open(path));
  return LogReader(std::move(source));
}

LogReader LogReader::memory(std::string text, std::string name) {
  return LogReader(text::ByteSource::memory(std::move(text), std::move(name)));
}

Result<std::optional<std::string_view>> LogReader::next_raw(bool& finished) {
  constexpr std::size_t kStep = std::size_t{256} << 10;
  std::size_t searched = begin_;
  for (;;) {
    if (const auto at = buffer_.find('\n', searched); at != std::string::npos) {
      const std::string_view line = std::string_view(buffer_).substr(begin_, at - begin_);
      begin_ = at + 1;
      finished = true;
      return line;
    }
    if (ended_) {
      if (begin_ == buffer_.size()) return std::nullopt;
      const std::string_view line = std::string_view(buffer_).substr(begin_);
      begin_ = buffer_.size();
      finished = false;
      return line;
    }
    buffer_.erase(0, begin_);
    begin_ = 0;
    if (buffer_.size() > kMostLogLineBytes) {
      return tl::unexpected<Error>(Error{ErrorCode::kExhausted,
                                         fmt::format("the line is longer than {} bytes", kMostLogLineBytes),
                                         {source_.name(), line_ + 1, 0}});
    }
    searched = buffer_.size();
    buffer_.resize(searched + kStep);
    auto got = source_.read(std::span<char>(buffer_.data() + searched, kStep));
    buffer_.resize(searched + (got ? *got : 0));
    if (!got) return tl::unexpected<Error>(got.error());
    ended_ = *got == 0;
  }
}

Result<std::optional<LogLine>> LogReader::next() {
  for (;;) {
    bool finished = false;
    BERTH_ASSIGN(const auto text, next_raw(finished));
    if (!text) {
      if (line_ == 0) {
        return fail_at(SourcePlace{file(), 1, 0},
                       "the decision log is empty: its first line must name the format");
      }
      return std::nullopt;
    }
    ++line_;
    raw_ = *text;
    if (raw_.empty() && finished) continue;
    auto parsed = parse_log_line(raw_, file(), line_);
    if (!parsed && !finished) {
      // A crash in the middle of a write. An object always ends with a bracket: half of one never parses.
      unfinished_ = line_;
      return std::nullopt;
    }
    if (!parsed) return tl::unexpected<Error>(parsed.error());
    if (line_ == 1 && !std::holds_alternative<LogSession>(*parsed)) {
      return fail_at(SourcePlace{file(), 1, 1},
                     "this is no decision log: its first line must have \"format\":\"{}\"", kLogFormat);
    }
    return std::optional<LogLine>(std::move(*parsed));
  }
}

}  // namespace berth::observe
