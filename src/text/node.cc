#include <charconv>
#include <cmath>
#include <limits>

#include "text/decimal.h"
#include "text/document.h"
#include "text/tree_builder.h"

namespace berth::text {
namespace {

std::optional<std::int64_t> with_sign(bool negative, Uint128 magnitude) {
  const Uint128 limit = Uint128{std::numeric_limits<std::int64_t>::max()} + (negative ? 1 : 0);
  if (magnitude > limit) return std::nullopt;
  const auto bits = static_cast<std::uint64_t>(magnitude);
  return static_cast<std::int64_t>(negative ? ~bits + 1 : bits);
}

// 0x1f and 0o17 of the core schema, which have no sign.
std::optional<std::uint64_t> based(std::string_view text) {
  if (text.size() < 3 || text[0] != '0' || (text[1] != 'x' && text[1] != 'o')) return std::nullopt;
  std::uint64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data() + 2, end, value, text[1] == 'x' ? 16 : 8);
  if (error != std::errc() || at != end) return std::nullopt;
  return value;
}

// The whole number that a decimal stands for, where it is one.
std::optional<std::int64_t> whole(const Decimal& number) {
  Uint128 magnitude = 0;
  constexpr Uint128 kEnough = Uint128{1} << 100;
  std::int64_t power = number.exponent - static_cast<std::int64_t>(number.fraction.size());
  for (const std::string_view part : {number.whole, number.fraction}) {
    for (const char c : part) {
      if (magnitude > kEnough) return std::nullopt;
      magnitude = magnitude * 10 + static_cast<unsigned>(c - '0');
    }
  }
  if (magnitude == 0) return 0;
  for (; power > 0; --power) {
    if (magnitude > kEnough) return std::nullopt;
    magnitude *= 10;
  }
  for (; power < 0; ++power) {
    if (magnitude % 10 != 0) return std::nullopt;
    magnitude /= 10;
  }
  return with_sign(number.negative, magnitude);
}

}  // namespace

const Node* Node::find(std::string_view key) const {
  for (const Entry& entry : entries()) {
    if (entry.name() == key) return &entry.value;
  }
  return nullptr;
}

const Node* Node::at(std::initializer_list<std::string_view> path) const {
  const Node* node = this;
  for (const std::string_view key : path) {
    node = node->find(key);
    if (node == nullptr) return nullptr;
  }
  return node;
}

std::optional<bool> Node::as_bool() const {
  if (quoted_) return std::nullopt;
  const std::string_view word = text();
  if (word == "true" || word == "True" || word == "TRUE") return true;
  if (word == "false" || word == "False" || word == "FALSE") return false;
  return std::nullopt;
}

std::optional<std::int64_t> Node::as_int() const {
  if (quoted_ || !is_scalar()) return std::nullopt;
  if (const auto value = based(text())) return with_sign(false, *value);
  const auto number = scan_decimal(text());
  if (!number || number->length != text().size()) return std::nullopt;
  return whole(*number);
}

std::optional<double> Node::as_double() const {
  if (quoted_ || !is_scalar()) return std::nullopt;
  std::string_view word = text();
  if (const auto value = based(word)) return static_cast<double>(*value);
  if (word == ".nan" || word == ".NaN" || word == ".NAN") return std::numeric_limits<double>::quiet_NaN();
  const bool negative = word.starts_with('-');
  if (negative || word.starts_with('+')) word.remove_prefix(1);
  if (word == ".inf" || word == ".Inf" || word == ".INF") {
    return negative ? -std::numeric_limits<double>::infinity() : std::numeric_limits<double>::infinity();
  }
  const auto number = scan_decimal(text());
  if (!number || number->length != text().size()) return std::nullopt;
  double value = 0;
  const auto [at, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (error == std::errc::result_out_of_range) {
    value = number->exponent < 0 ? 0 : std::numeric_limits<double>::infinity();
  } else if (error != std::errc()) {
    return std::nullopt;
  }
  return negative ? -value : value;
}

std::optional<std::string_view> Node::as_string() const {
  if (!is_scalar()) return std::nullopt;
  if (!quoted_ && (as_bool() || as_double())) return std::nullopt;
  return text();
}

std::string_view Node::describe() const {
  switch (kind_) {
    case NodeKind::kNull:
      return "null";
    case NodeKind::kSequence:
      return "a list";
    case NodeKind::kMapping:
      return "a mapping";
    case NodeKind::kScalar:
      break;
  }
  if (quoted_) return "a string";
  if (as_bool()) return "a boolean";
  if (as_int()) return "an integer";
  if (as_double()) return "a number";
  return "a string";
}

Document::Document() : storage_(std::make_unique<Storage>()) {}
Document::Document(Document&&) noexcept = default;
Document& Document::operator=(Document&&) noexcept = default;
Document::~Document() = default;
const std::string& Document::file() const {
  return storage_->file;
}

}  // namespace berth::text
