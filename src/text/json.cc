#include "text/json.h"

#include <array>
#include <charconv>
#include <cmath>

#include "text/decimal.h"
#include "text/utf8.h"

namespace berth::text {
namespace {

// Whether a plain scalar that is a number is one in JSON's grammar as it stands.
bool is_json_number(std::string_view text) {
  const auto number = scan_decimal(text);
  if (!number || number->length != text.size() || text[0] == '+' || number->whole.empty()) return false;
  if (number->whole.size() > 1 && number->whole[0] == '0') return false;
  return !number->fraction.empty() || text.find('.') == std::string_view::npos;
}

}  // namespace

void append_json_string(std::string& out, std::string_view text) {
  static constexpr std::string_view kHex = "0123456789abcdef";
  out.push_back('"');
  const char* at = text.data();
  const char* const end = at + text.size();
  const char* run = at;  // characters from here on stand for themselves
  while (at != end) {
    const auto c = static_cast<unsigned char>(*at);
    if (c >= 0x80) {
      const std::size_t length = utf8_length(at, end);
      if (length > 0) {
        at += length;
        continue;
      }
    } else if (c >= 0x20 && c != '"' && c != '\\') {
      ++at;
      continue;
    }
    out.append(run, at);
    switch (c) {
      case '"':
        out += "\\\"";
        break;
      case '\\':
        out += "\\\\";
        break;
      case '\n':
        out += "\\n";
        break;
      case '\r':
        out += "\\r";
        break;
      case '\t':
        out += "\\t";
        break;
      default:
        if (c >= 0x80) {
          out += "\xEF\xBF\xBD";
        } else {
          out += "\\u00";
          out.push_back(kHex[c >> 4]);
          out.push_back(kHex[c & 15]);
        }
    }
    run = ++at;
  }
  out.append(run, end);
  out.push_back('"');
}

void append_json_number(std::string& out, double value) {
  if (!std::isfinite(value)) {
    out += "null";
    return;
  }
  std::array<char, 40> text;
  const auto [end, error] = std::to_chars(text.data(), text.data() + text.size(), value);
  out.append(text.data(), end);
}

void JsonWriter::break_line() {
  if (style_ == JsonStyle::kCompact) return;
  out_.push_back('\n');
  out_.append(filled_.size() * 2, ' ');
}

void JsonWriter::before_value() {
  if (after_key_) {
    after_key_ = false;
    return;
  }
  if (filled_.empty()) return;
  if (filled_.back()) out_.push_back(',');
  filled_.back() = true;
  break_line();
}

JsonWriter& JsonWriter::begin_object() {
  before_value();
  out_.push_back('{');
  filled_.push_back(false);
  return *this;
}

JsonWriter& JsonWriter::begin_array() {
  before_value();
  out_.push_back('[');
  filled_.push_back(false);
  return *this;
}

JsonWriter& JsonWriter::close(char bracket) {
  const bool filled = filled_.back();
  filled_.pop_back();
  if (filled) break_line();
  out_.push_back(bracket);
  return *this;
}

JsonWriter& JsonWriter::end_object() {
  return close('}');
}
JsonWriter& JsonWriter::end_array() {
  return close(']');
}

JsonWriter& JsonWriter::key(std::string_view name) {
  before_value();
  append_json_string(out_, name);
  out_ += style_ == JsonStyle::kCompact ? ":" : ": ";
  after_key_ = true;
  return *this;
}

JsonWriter& JsonWriter::value(std::string_view text) {
  before_value();
  append_json_string(out_, text);
  return *this;
}

JsonWriter& JsonWriter::value(bool truth) {
  return raw(truth ? "true" : "false");
}

JsonWriter& JsonWriter::value(double number) {
  before_value();
  append_json_number(out_, number);
  return *this;
}

JsonWriter& JsonWriter::signed_value(std::int64_t number) {
  before_value();
  std::array<char, 24> text;
  out_.append(text.data(), std::to_chars(text.data(), text.data() + text.size(), number).ptr);
  return *this;
}

JsonWriter& JsonWriter::unsigned_value(std::uint64_t number) {
  before_value();
  std::array<char, 24> text;
  out_.append(text.data(), std::to_chars(text.data(), text.data() + text.size(), number).ptr);
  return *this;
}

JsonWriter& JsonWriter::null() {
  return raw("null");
}

JsonWriter& JsonWriter::raw(std::string_view json) {
  before_value();
  out_ += json;
  return *this;
}

// Recursion is bounded by the depth that the reader allowed.
JsonWriter& JsonWriter::value(const Node& node) {
  switch (node.kind()) {
    case NodeKind::kNull:
      return null();
    case NodeKind::kSequence:
      begin_array();
      for (const Node& item : node.items()) value(item);
      return end_array();
    case NodeKind::kMapping:
      begin_object();
      for (const Entry& entry : node.entries()) key(entry.name()).value(entry.value);
      return end_object();
    case NodeKind::kScalar:
      break;
  }
  if (!node.quoted()) {
    if (const auto truth = node.as_bool()) return value(*truth);
    if (is_json_number(node.text())) return raw(node.text());
    if (const auto number = node.as_int()) return value(*number);
    if (const auto number = node.as_double(); number && std::isfinite(*number)) return value(*number);
  }
  return value(node.text());
}

void JsonWriter::clear() {
  out_.clear();
  filled_.clear();
  after_key_ = false;
}

std::string to_json(const Node& node, JsonStyle style) {
  JsonWriter writer(style);
  writer.value(node);
  return writer.take();
}

}  // namespace berth::text
