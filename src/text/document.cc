#include "text/document.h"

#include <yaml.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "text/json_reader.h"
#include "text/source.h"
#include "text/tree_builder.h"

namespace berth::text {
namespace {

constexpr std::size_t kLeastGrowth = std::size_t{128} << 10;

// Finds the end of a JSON object or array in bytes that arrive in pieces: only brackets and strings matter.
struct JsonEnd {
  std::int64_t depth = 0;
  bool in_string = false;
  bool escaped = false;
  std::size_t at = 0;  // bytes looked at

  // Whether the value ends before `at`.
  bool scan(std::string_view text) {
    for (; at < text.size(); ++at) {
      const char c = text[at];
      if (in_string) {
        if (escaped) {
          escaped = false;
        } else if (c == '\\') {
          escaped = true;
        } else if (c == '"') {
          in_string = false;
        }
      } else if (c == '"') {
        in_string = true;
      } else if (c == '{' || c == '[') {
        ++depth;
      } else if (c == '}' || c == ']') {
        if (--depth <= 0) {
          ++at;
          return true;
        }
      }
    }
    return false;
  }
};

std::string_view name_of(const unsigned char* anchor) {
  return anchor == nullptr ? std::string_view() : std::string_view(reinterpret_cast<const char*>(anchor));
}

}  // namespace

struct DocumentReader::Impl {
  enum class Mode { kStart, kJson, kYaml, kFinished };

  Impl(ByteSource* from, std::string name, const Limits& bounds, std::uint32_t first_line)
      : source(from), file(std::move(name)), limits(bounds), builder(bounds), line(first_line) {}
  ~Impl() {
    if (parser_live) yaml_parser_delete(&parser);
  }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  std::string_view rest() const { return std::string_view(buffer).substr(begin); }

  // Appends more bytes to the buffer; false at the end.
  Result<bool> fill() {
    if (source == nullptr) return false;
    if (begin > 0) {
      buffer.erase(0, begin);
      begin = 0;
    }
    const std::size_t old = buffer.size();
    // Growing in proportion keeps one large document linear.
    std::size_t want = std::max(kLeastGrowth, old / 2);
    // No further than it takes to see that the document is too large.
    if (old <= limits.max_document_bytes)
      want = std::min<std::size_t>(want, limits.max_document_bytes - old + kLeastGrowth);
    buffer.resize(old + want);
    auto n = source->read({buffer.data() + old, want});
    buffer.resize(old + (n ? *n : 0));
    if (!n) return tl::unexpected<Error>(n.error());
    total += *n;
    if (total > limits.max_bytes) return too_large();
    return *n > 0;
  }

  tl::unexpected<Error> too_large() const {
    return tl::unexpected<Error>(Error{ErrorCode::kExhausted,
                                       fmt::format("the input has more than {} bytes", limits.max_bytes),
                                       {file, 0, 0}});
  }

  tl::unexpected<Error> document_too_large(std::string_view what, std::uint32_t at_line,
                                           std::uint32_t at_column) const {
    return tl::unexpected<Error>(
        Error{ErrorCode::kExhausted,
              fmt::format(
                  "one {} has more than {} bytes; write one object per document or line, or raise the bound",
                  what, limits.max_document_bytes),
              {file, at_line, at_column}});
  }

  void step_over(std::size_t n) {
    for (const char c : rest().substr(0, n)) {
      if (c == '\n') {
        ++line;
        column = 1;
      } else {
        ++column;
      }
    }
    begin += n;
  }

  // Steps over blanks; between JSON texts also over a line of "---". False at the end.
  Result<bool> skip_blank() {
    for (;;) {
      const std::string_view text = rest();
      const std::size_t n = std::min(text.find_first_not_of(" \t\r\n"), text.size());
      step_over(n);
      if (delivered && column == 1 && rest().starts_with("---")) {
        step_over(3);
        continue;
      }
      if (rest().size() >= 3) return true;
      BERTH_ASSIGN(const bool more, fill());
      if (more) continue;
      if (rest().find_first_not_of(" \t\r\n") == std::string_view::npos) return false;
      return true;
    }
  }

  Result<std::optional<Document>> next() {
    if (mode == Mode::kStart) {
      while (rest().size() < 3) {
        BERTH_ASSIGN(const bool more, fill());
        if (!more) break;
      }
      if (rest().size() > limits.max_bytes) return too_large();
      if (rest().starts_with("\xEF\xBB\xBF")) begin += 3;
      BERTH_ASSIGN(const bool some, skip_blank_only());
      if (!some) return std::optional<Document>();
      mode = is_json_start() ? Mode::kJson : Mode::kYaml;
    }
    if (mode == Mode::kJson) return next_json();
    return next_yaml();
  }

  // Looks past leading blanks without stepping over them: YAML needs its indentation.
  Result<bool> skip_blank_only() {
    for (;;) {
      if (rest().find_first_not_of(" \t\r\n") != std::string_view::npos) return true;
      BERTH_ASSIGN(const bool more, fill());
      if (!more) return false;
    }
  }
  bool is_json_start() const {
    const char c = rest()[rest().find_first_not_of(" \t\r\n")];
    return c == '{' || c == '[';
  }
  bool named_json() const {
    for (const std::string_view end :
         {".json", ".jsonl", ".ndjson", ".json.gz", ".jsonl.gz", ".json.zst", ".jsonl.zst"}) {
      if (file.ends_with(end)) return true;
    }
    return false;
  }

  Result<std::optional<Document>> next_json() {
    const std::uint32_t line_before = line;
    const std::uint32_t column_before = column;
    if (!delivered) {
      // Skipped input must still be available if this turns out to be YAML in flow style.
      const std::size_t blanks = rest().find_first_not_of(" \t\r\n");
      yaml_prefix = std::string(rest().substr(0, blanks));
      step_over(blanks);
    } else {
      BERTH_ASSIGN(const bool some, skip_blank());
      if (!some) return std::optional<Document>();
    }
    JsonEnd end;
    if (rest()[0] != '{' && rest()[0] != '[') {
      return tl::unexpected<Error>(
          Error{ErrorCode::kInvalid,
                "after a JSON text only another one may follow: '{' or '[' is missing",
                {file, line, column}});
    }
    bool complete = end.scan(rest());
    while (!complete) {
      BERTH_ASSIGN(const bool more, fill());
      if (!more) break;
      if (rest().size() > limits.max_document_bytes) return document_too_large("JSON text", line, column);
      complete = end.scan(rest());
    }
    if (end.at > limits.max_document_bytes) return document_too_large("JSON text", line, column);
    auto document = build_json(builder, std::string(rest().substr(0, end.at)), file, line, column);
    if (!document) {
      json_end = complete ? end.at : 0;
      if (delivered || named_json() || document.error().code != ErrorCode::kInvalid) {
        return tl::unexpected<Error>(std::move(document).error());
      }
      // Perhaps YAML in flow style.
      buffer = yaml_prefix + buffer.substr(begin);
      begin = 0;
      line = line_before;
      column = column_before;
      mode = Mode::kYaml;
      return next_yaml();
    }
    delivered = true;
    step_over(end.at);
    return std::optional<Document>(std::move(*document));
  }

  static int read_handler(void* data, unsigned char* out, std::size_t size, std::size_t* given) {
    auto& self = *static_cast<Impl*>(data);
    if (self.begin == self.buffer.size()) {
      auto more = self.fill();
      if (!more) {
        self.source_error = more.error();
        return 0;
      }
    }
    *given = std::min(size, self.buffer.size() - self.begin);
    self.since_event += *given;
    self.to_parser += *given;
    if (self.since_event > self.limits.max_scalar_bytes) {
      self.source_error =
          Error{ErrorCode::kExhausted,
                fmt::format("one scalar or comment has more than {} bytes; this is no manifest",
                            self.limits.max_scalar_bytes),
                {self.file, 0, 0}};
      return 0;
    }
    std::memcpy(out, self.buffer.data() + self.begin, *given);
    self.begin += *given;
    return 1;
  }

  std::uint64_t line_of(const yaml_mark_t& mark) const { return mark.line + line; }
  static std::uint64_t column_of(const yaml_mark_t& mark) { return mark.column + 1; }

  Result<std::optional<Document>> next_yaml() {
    if (!parser_live) {
      if (yaml_parser_initialize(&parser) == 0) return fail(ErrorCode::kExhausted, "out of memory");
      parser_live = true;
      yaml_parser_set_input(&parser, &Impl::read_handler, this);
    }
    for (;;) {
      yaml_event_t event;
      since_event = 0;
      if (yaml_parser_parse(&parser, &event) == 0) {
        broken = false;  // no more events come of this parser, neither of this document nor of others
        return tl::unexpected<Error>(parser_error());
      }
      const yaml_event_type_t type = event.type;
      bool good = true;
      if (type == YAML_DOCUMENT_START_EVENT) {
        builder.start(file);
        empty = false;
        document_at = to_parser;
        document_line = line_of(event.start_mark);
        broken = false;
      } else if (!broken) {
        good = take(event);
      }
      yaml_event_delete(&event);
      if (to_parser - document_at > limits.max_document_bytes) {
        return document_too_large("YAML document", static_cast<std::uint32_t>(document_line), 1);
      }
      if (!good) {
        broken = true;  // its events are well formed: the next document begins behind them
        return tl::unexpected<Error>(builder.error());
      }
      if (type == YAML_STREAM_END_EVENT) return std::optional<Document>();
      if (type == YAML_DOCUMENT_END_EVENT && !broken) {
        Document document = builder.finish();
        if (!empty) return std::optional<Document>(std::move(document));
      }
    }
  }

  bool take(const yaml_event_t& event) {
    const std::uint64_t at_line = line_of(event.start_mark);
    const std::uint64_t at_column = column_of(event.start_mark);
    switch (event.type) {
      case YAML_SCALAR_EVENT: {
        const auto& scalar = event.data.scalar;
        const std::string_view text(reinterpret_cast<const char*>(scalar.value), scalar.length);
        bool quoted = scalar.style != YAML_PLAIN_SCALAR_STYLE;
        const std::string_view tag = name_of(scalar.tag);
        if (tag == "!" || tag == YAML_STR_TAG) {
          quoted = true;
        } else if (tag == YAML_INT_TAG || tag == YAML_FLOAT_TAG || tag == YAML_BOOL_TAG ||
                   tag == YAML_NULL_TAG) {
          quoted = false;
        } else if (!tag.empty()) {
          return unknown_tag(tag, at_line, at_column);
        }
        if (!builder.has_open() && text.empty() && !quoted) empty = true;
        return builder.scalar(text, quoted, at_line, at_column, false, name_of(scalar.anchor));
      }
      case YAML_SEQUENCE_START_EVENT: {
        const std::string_view tag = name_of(event.data.sequence_start.tag);
        if (!tag.empty() && tag != "!" && tag != YAML_SEQ_TAG) return unknown_tag(tag, at_line, at_column);
        return builder.begin(NodeKind::kSequence, at_line, at_column,
                             name_of(event.data.sequence_start.anchor));
      }
      case YAML_MAPPING_START_EVENT: {
        const std::string_view tag = name_of(event.data.mapping_start.tag);
        if (!tag.empty() && tag != "!" && tag != YAML_MAP_TAG) return unknown_tag(tag, at_line, at_column);
        return builder.begin(NodeKind::kMapping, at_line, at_column,
                             name_of(event.data.mapping_start.anchor));
      }
      case YAML_SEQUENCE_END_EVENT:
      case YAML_MAPPING_END_EVENT:
        return builder.end();
      case YAML_ALIAS_EVENT:
        return builder.alias(name_of(event.data.alias.anchor), at_line, at_column);
      default:
        return true;
    }
  }

  bool unknown_tag(std::string_view tag, std::uint64_t at_line, std::uint64_t at_column) {
    return builder.refuse(ErrorCode::kInvalid, at_line, at_column,
                          fmt::format("tag {} is not supported; remove it", tag));
  }

  // A tab among the blanks that begin the line where the parser stands.
  bool at_tab() const {
    const unsigned char* at = parser.buffer.pointer;
    if (at == nullptr || parser.buffer.start == nullptr) return false;
    if (at < parser.buffer.last && *at == '\t') return true;
    const unsigned char* first = at;
    while (first > parser.buffer.start && first[-1] != '\n') --first;
    for (; first < at && (*first == ' ' || *first == '\t'); ++first) {
      if (*first == '\t') return true;
    }
    return false;
  }

  bool resume() {
    if (failed_in == Mode::kJson) {
      if (json_end == 0) return false;
      step_over(std::exchange(json_end, 0));
      delivered = true;
      mode = Mode::kJson;
      return true;
    }
    if (failed_in != Mode::kYaml || source_error || !parser_live) return false;
    mode = Mode::kYaml;
    if (broken) return true;
    // The rest of the text is in three places: decoded by the parser, taken by it, and here.
    std::string rest_of_text(reinterpret_cast<const char*>(parser.buffer.pointer),
                             static_cast<std::size_t>(parser.buffer.last - parser.buffer.pointer));
    rest_of_text.append(reinterpret_cast<const char*>(parser.raw_buffer.pointer),
                        static_cast<std::size_t>(parser.raw_buffer.last - parser.raw_buffer.pointer));
    rest_of_text += rest();
    line = static_cast<std::uint32_t>(line_of(parser.mark));
    const auto begins_document = [](std::string_view text) {
      return text.starts_with("---") && (text.size() == 3 || std::strchr(" \t\r\n", text[3]) != nullptr);
    };
    // The marker of the next document may be what the parser stumbled over: it has taken it, or stands before it.
    const yaml_token_t* const last = parser.tokens.tail - 1;
    const bool has_marker =
        parser.tokens.head != parser.tokens.tail && last->type == YAML_DOCUMENT_START_TOKEN;
    const bool at_marker = has_marker || (parser.mark.column == 0 && begins_document(rest_of_text));
    const bool utf8 = parser.encoding == YAML_UTF8_ENCODING;
    yaml_parser_delete(&parser);
    parser_live = false;
    if (!utf8) return false;
    buffer = has_marker ? "---" + rest_of_text : std::move(rest_of_text);
    begin = 0;
    while (!at_marker) {
      const auto end = rest().find('\n');
      if (end == std::string_view::npos) {
        const auto more = fill();
        if (!more || !*more) return false;
        continue;
      }
      step_over(end + 1);
      while (rest().size() < 4) {
        const auto more = fill();
        if (!more || !*more) break;
      }
      if (begins_document(rest())) break;
      if (rest().empty()) return false;
    }
    return true;
  }

  Error parser_error() const {
    if (source_error) return *source_error;
    std::string message = parser.problem == nullptr ? "wrong YAML" : parser.problem;
    if (parser.error == YAML_SCANNER_ERROR && at_tab())
      message = "a tab indents this line: tabs are not allowed for indentation, use spaces";
    if (parser.error == YAML_READER_ERROR) {
      return {ErrorCode::kInvalid,
              fmt::format("the text is not UTF-8, or holds a control character, at byte {}: {}",
                          parser.problem_offset, message),
              {file, 0, 0}};
    }
    if (parser.error == YAML_MEMORY_ERROR) return {ErrorCode::kExhausted, "out of memory", {file, 0, 0}};
    if (parser.context != nullptr && !message.starts_with("a tab")) {
      message += fmt::format(" ({}, which began on line {})", parser.context, line_of(parser.context_mark));
    }
    return {ErrorCode::kInvalid,
            std::move(message),
            {file, static_cast<std::uint32_t>(line_of(parser.problem_mark)),
             static_cast<std::uint32_t>(column_of(parser.problem_mark))}};
  }

  ByteSource* source;
  std::string file;
  Limits limits;
  TreeBuilder builder;
  std::string buffer;
  std::size_t begin = 0;
  std::uint64_t since_event = 0;  // bytes that libyaml took since its last event
  std::uint64_t to_parser = 0;    // bytes that libyaml took
  std::uint64_t document_at = 0;  // of these, before its present document
  std::uint64_t document_line = 0;
  std::uint64_t total = 0;
  std::uint32_t line;  // of buffer[begin]; for YAML, of the first line
  std::uint32_t column = 1;
  Mode mode = Mode::kStart;
  bool delivered = false;
  bool empty = false;
  std::string yaml_prefix;
  yaml_parser_t parser{};
  bool parser_live = false;
  bool broken = false;            // the document that is read was refused
  Mode failed_in = Mode::kStart;  // of the last next()
  std::size_t json_end = 0;       // bytes of a JSON text that was refused; 0: its end is not known
  std::optional<Error> source_error;
};

DocumentReader::DocumentReader(ByteSource& source, const Limits& limits)
    : impl_(std::make_unique<Impl>(&source, source.name(), limits, 1)) {}
DocumentReader::DocumentReader(std::string text, std::string file, const Limits& limits,
                               std::uint32_t first_line)
    : impl_(std::make_unique<Impl>(nullptr, std::move(file), limits, first_line)) {
  impl_->buffer = std::move(text);
}
DocumentReader::DocumentReader(DocumentReader&&) noexcept = default;
DocumentReader::~DocumentReader() = default;

Result<std::optional<Document>> DocumentReader::next() {
  if (impl_->mode == Impl::Mode::kFinished) return std::optional<Document>();
  auto document = impl_->next();
  impl_->failed_in = impl_->mode;
  if (!document || !document->has_value()) impl_->mode = Impl::Mode::kFinished;
  return document;
}

bool DocumentReader::resume() {
  return impl_->resume();
}

namespace {

Result<std::vector<Document>> all_of(DocumentReader& reader) {
  std::vector<Document> documents;
  for (;;) {
    BERTH_ASSIGN(std::optional<Document> document, reader.next());
    if (!document) return documents;
    documents.push_back(std::move(*document));
  }
}

Result<Document> one_of(std::vector<Document> documents, std::string_view file) {
  if (documents.empty()) return fail_at({std::string(file), 0, 0}, "the file holds no document");
  if (documents.size() > 1) {
    return fail_at(documents[1].place(documents[1].root()), "one document is expected, this is a second one");
  }
  return std::move(documents[0]);
}

}  // namespace

Result<std::vector<Document>> parse_documents(std::string text, std::string file, const Limits& limits) {
  DocumentReader reader(std::move(text), std::move(file), limits);
  return all_of(reader);
}

Result<Document> parse_document(std::string text, std::string file, const Limits& limits) {
  BERTH_ASSIGN(std::vector<Document> documents, parse_documents(std::move(text), file, limits));
  return one_of(std::move(documents), file);
}

Result<std::vector<Document>> read_documents(const std::string& path, const Limits& limits) {
  BERTH_ASSIGN(ByteSource source, ByteSource::open(path));
  DocumentReader reader(source, limits);
  return all_of(reader);
}

Result<Document> read_document(const std::string& path, const Limits& limits) {
  BERTH_ASSIGN(std::vector<Document> documents, read_documents(path, limits));
  return one_of(std::move(documents), path);
}

}  // namespace berth::text
