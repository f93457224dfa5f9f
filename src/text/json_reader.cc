#include "text/json_reader.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "text/utf8.h"

namespace berth::text {
namespace {

class JsonReader {
 public:
  JsonReader(TreeBuilder& builder, std::uint32_t line, std::uint32_t column)
      : builder_(builder),
        at_(builder.text().data()),
        end_(at_ + builder.text().size()),
        line_(line),
        line_start_(at_),
        shift_(column) {}

  bool read() {
    if (!value()) return false;
    while (!open_.empty()) {
      if (!step()) return false;
    }
    skip_space();
    if (at_ != end_) return wrong("text after the end of the JSON value");
    return true;
  }

 private:
  std::uint64_t column() const { return static_cast<std::uint64_t>(at_ - line_start_) + shift_; }
  bool wrong(std::string message) {
    return builder_.refuse(ErrorCode::kInvalid, line_, column(), std::move(message));
  }

  void skip_space() {
    for (; at_ != end_; ++at_) {
      if (*at_ == '\n') {
        ++line_;
        line_start_ = at_ + 1;
        shift_ = 1;
      } else if (*at_ != ' ' && *at_ != '\t' && *at_ != '\r') {
        return;
      }
    }
  }

  // Goes on inside the innermost open bracket: closes it, or reads its next element.
  bool step() {
    const char close = open_.back();
    skip_space();
    if (at_ == end_) return wrong(fmt::format("the text ends where '{}' or a value is missing", close));
    if (*at_ == close) {
      ++at_;
      open_.pop_back();
      fresh_ = false;
      return builder_.end();
    }
    if (!fresh_) {
      if (*at_ != ',') return wrong(fmt::format("',' or '{}' is missing here", close));
      ++at_;
      skip_space();
    }
    fresh_ = false;
    if (close == '}') {
      if (at_ == end_ || *at_ != '"') return wrong("a key in double quotes is missing here");
      if (!string()) return false;
      skip_space();
      if (at_ == end_ || *at_ != ':') return wrong("':' is missing after the key");
      ++at_;
    }
    return value();
  }

  bool value() {
    skip_space();
    if (at_ == end_) return wrong("the text ends where a value is missing");
    switch (*at_) {
      case '{':
      case '[': {
        const bool object = *at_ == '{';
        if (!builder_.begin(object ? NodeKind::kMapping : NodeKind::kSequence, line_, column())) return false;
        open_.push_back(object ? '}' : ']');
        fresh_ = true;
        ++at_;
        return true;
      }
      case '"':
        return string();
      case 't':
        return word("true");
      case 'f':
        return word("false");
      case 'n':
        return word("null");
      default:
        return number();
    }
  }

  bool word(std::string_view expected) {
    if (std::string_view(at_, static_cast<std::size_t>(end_ - at_)).substr(0, expected.size()) != expected) {
      return wrong("a JSON value is missing here (strings need double quotes)");
    }
    const std::uint64_t place = column();
    const std::string_view text(at_, expected.size());
    at_ += expected.size();
    return builder_.scalar(text, false, line_, place, true);
  }

  bool digits() {
    const char* start = at_;
    while (at_ != end_ && *at_ >= '0' && *at_ <= '9') ++at_;
    return at_ != start;
  }

  bool number() {
    const char* start = at_;
    const std::uint64_t place = column();
    if (*at_ == '-') ++at_;
    if (at_ != end_ && *at_ == '0') {
      ++at_;
    } else if (!digits()) {
      return wrong("a JSON value is missing here (strings need double quotes)");
    }
    if (at_ != end_ && *at_ == '.') {
      ++at_;
      if (!digits()) return wrong("digits are missing after the point");
    }
    if (at_ != end_ && (*at_ == 'e' || *at_ == 'E')) {
      ++at_;
      if (at_ != end_ && (*at_ == '+' || *at_ == '-')) ++at_;
      if (!digits()) return wrong("digits of the exponent are missing");
    }
    if (at_ != end_ && *at_ >= '0' && *at_ <= '9') return wrong("a number must not start with 0");
    return builder_.scalar({start, static_cast<std::size_t>(at_ - start)}, false, line_, place, true);
  }

  bool string() {
    const std::uint64_t place = column();
    const char* start = ++at_;
    while (at_ != end_) {
      const auto c = static_cast<unsigned char>(*at_);
      if (c == '"') {
        const std::string_view text(start, static_cast<std::size_t>(at_ - start));
        ++at_;
        return builder_.scalar(text, true, line_, place, true);
      }
      if (c == '\\') return escaped_string(start, place);
      if (!plain_character()) return false;
    }
    return wrong("the text ends inside a string");
  }

  // Steps over one character that stands for itself.
  bool plain_character() {
    const auto c = static_cast<unsigned char>(*at_);
    if (c < 0x20) return wrong("a control character in a string must be written as an escape");
    const std::size_t length = c < 0x80 ? 1 : utf8_length(at_, end_);
    if (length == 0) return wrong("the text is not UTF-8");
    at_ += length;
    return true;
  }

  bool escaped_string(const char* start, std::uint64_t place) {
    unescaped_.assign(start, at_);
    while (at_ != end_) {
      if (*at_ == '"') {
        ++at_;
        return builder_.scalar(unescaped_, true, line_, place, false);
      }
      if (*at_ == '\\') {
        ++at_;
        if (!escape()) return false;
        continue;
      }
      const char* from = at_;
      if (!plain_character()) return false;
      unescaped_.append(from, at_);
    }
    return wrong("the text ends inside a string");
  }

  bool escape() {
    const char c = at_ == end_ ? '\0' : *at_++;
    switch (c) {
      case '"':
      case '\\':
      case '/':
        unescaped_.push_back(c);
        return true;
      case 'b':
        unescaped_.push_back('\b');
        return true;
      case 'f':
        unescaped_.push_back('\f');
        return true;
      case 'n':
        unescaped_.push_back('\n');
        return true;
      case 'r':
        unescaped_.push_back('\r');
        return true;
      case 't':
        unescaped_.push_back('\t');
        return true;
      case 'u':
        break;
      default:
        return wrong("this escape is not known to JSON");
    }
    std::uint32_t code = 0;
    if (!hex(code)) return false;
    // A half of a pair without the other half becomes U+FFFD, as in Go.
    if (code >= 0xD800 && code < 0xDC00 && end_ - at_ >= 6 && at_[0] == '\\' && at_[1] == 'u') {
      const char* back = at_;
      at_ += 2;
      std::uint32_t low = 0;
      if (!hex(low)) return false;
      if (low >= 0xDC00 && low < 0xE000) {
        code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
      } else {
        at_ = back;
      }
    }
    append_utf8(unescaped_, code >= 0xD800 && code < 0xE000 ? 0xFFFD : code);
    return true;
  }

  bool hex(std::uint32_t& code) {
    code = 0;
    for (int i = 0; i < 4; ++i, ++at_) {
      const char c = at_ == end_ ? '\0' : *at_;
      std::uint32_t digit = 0;
      if (c >= '0' && c <= '9') {
        digit = static_cast<std::uint32_t>(c - '0');
      } else if ((c | 0x20) >= 'a' && (c | 0x20) <= 'f') {
        digit = static_cast<std::uint32_t>((c | 0x20) - 'a' + 10);
      } else {
        return wrong("\\u needs four hexadecimal digits");
      }
      code = code * 16 + digit;
    }
    return true;
  }

  TreeBuilder& builder_;
  const char* at_;
  const char* end_;
  std::uint32_t line_;
  const char* line_start_;
  std::uint64_t shift_;  // column of line_start_
  bool fresh_ = false;   // the innermost bracket was just opened
  std::vector<char> open_;
  std::string unescaped_;
};

}  // namespace

Result<Document> build_json(TreeBuilder& builder, std::string text, std::string file, std::uint32_t line,
                            std::uint32_t column) {
  builder.start(std::move(file), std::move(text));
  JsonReader reader(builder, line, column);
  if (!reader.read()) return tl::unexpected<Error>(builder.error());
  return builder.finish();
}

Result<Document> parse_json(std::string text, std::string file, const Limits& limits,
                            std::uint32_t first_line) {
  if (const auto most = std::min(limits.max_bytes, limits.max_document_bytes); text.size() > most) {
    return tl::unexpected<Error>(Error{ErrorCode::kExhausted,
                                       fmt::format("the text has more than {} bytes", most),
                                       {std::move(file), first_line, 0}});
  }
  TreeBuilder builder(limits);
  return build_json(builder, std::move(text), std::move(file), first_line, 1);
}

}  // namespace berth::text
