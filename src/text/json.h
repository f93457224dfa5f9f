// Writes JSON into a string: escapes right, integers exact, optionally indented. (Reading: text/document.h;
// large streams of known shape: simdjson.)
//
//   text::JsonWriter json;
//   json.begin_object().field("name", name).field("gpus", 8);
//   json.key("nodes").begin_array().value("a").value("b").end_array();
//   json.end_object();
//   use(json.str());
//
// The caller keeps the order of calls (a key before each value of an object); commas and indents are the
// writer's. Bytes that are not UTF-8 become U+FFFD, so the output is always valid JSON. Doubles that are not
// finite become null.
#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "text/document.h"

namespace berth::text {

enum class JsonStyle : std::uint8_t { kCompact, kIndented };

// Appends `text` as a JSON string with its quotes.
void append_json_string(std::string& out, std::string_view text);
// The shortest text that reads back as the same double ("0.1", "3.0" stays "3"); null where it is not finite.
void append_json_number(std::string& out, double value);

class JsonWriter {
 public:
  explicit JsonWriter(JsonStyle style = JsonStyle::kCompact) : style_(style) {}

  JsonWriter& begin_object();
  JsonWriter& end_object();
  JsonWriter& begin_array();
  JsonWriter& end_array();
  JsonWriter& key(std::string_view name);

  JsonWriter& value(std::string_view text);
  JsonWriter& value(const char* text) { return value(std::string_view(text)); }
  JsonWriter& value(const std::string& text) { return value(std::string_view(text)); }
  JsonWriter& value(bool truth);
  JsonWriter& value(double number);
  template <std::integral I>
    requires(!std::same_as<I, bool>)
  JsonWriter& value(I number) {
    if constexpr (std::is_signed_v<I>) {
      return signed_value(number);
    } else {
      return unsigned_value(number);
    }
  }
  JsonWriter& null();
  // A tree; plain scalars become numbers and booleans by the core schema, everything else strings.
  JsonWriter& value(const Node& node);
  // A text that is JSON already.
  JsonWriter& raw(std::string_view json);

  template <class T>
  JsonWriter& field(std::string_view name, const T& content) {
    key(name);
    return value(content);
  }

  // The text so far; complete once every begin has its end.
  const std::string& str() const { return out_; }
  std::string take() { return std::exchange(out_, {}); }
  void clear();

 private:
  void before_value();
  void break_line();
  JsonWriter& close(char bracket);
  JsonWriter& signed_value(std::int64_t number);
  JsonWriter& unsigned_value(std::uint64_t number);

  std::string out_;
  std::vector<bool> filled_;  // per open bracket: whether something stands in it already
  bool after_key_ = false;
  JsonStyle style_;
};

// `node` as JSON.
std::string to_json(const Node& node, JsonStyle style = JsonStyle::kCompact);

}  // namespace berth::text
