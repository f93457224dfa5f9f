#include "text/fields.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "text/quantity.h"
#include "text/time.h"

namespace berth::text {
namespace {

// Stands where a mapping is absent.
constexpr Node kAbsentNode;

// The found value, for messages.
std::string shown(const Node& node) {
  if (!node.is_scalar()) return std::string(node.describe());
  const std::string_view text = node.text();
  return fmt::format("\"{}{}\"", text.substr(0, 60), text.size() > 60 ? "..." : "");
}

std::string range(std::int64_t min, std::int64_t max) {
  if (min == Fields::kMin && max == Fields::kMax) return "";
  if (max == Fields::kMax) return fmt::format(" of at least {}", min);
  if (min == Fields::kMin) return fmt::format(" of at most {}", max);
  return fmt::format(" from {} to {}", min, max);
}

// Octal digits after a 0, which YAML 1.1 (Kubernetes) and 1.2 read differently.
bool ambiguous_octal(const Node& node) {
  std::string_view text = node.text();
  if (node.quoted() || !text.starts_with('0') || text.size() < 2) return false;
  return text.find_first_not_of("01234567") == std::string_view::npos;
}

char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

bool is_word(std::string_view key) {
  return !key.empty() && std::all_of(key.begin(), key.end(), [](char c) {
    return (lower(c) >= 'a' && lower(c) <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
  });
}

}  // namespace

std::string path_with(std::string path, std::string_view key) {
  if (!is_word(key)) return fmt::format("{}[\"{}\"]", path, key.substr(0, 100));
  return path.empty() ? std::string(key) : fmt::format("{}.{}", path, key);
}

std::size_t distance(std::string_view a, std::string_view b) {
  constexpr std::size_t kLongest = 64;
  if (a.size() > kLongest || b.size() > kLongest) return std::max(a.size(), b.size());
  // Optimal string alignment, row by row; `before` is the row above, `twice` the one above that.
  std::array<std::array<std::size_t, kLongest + 1>, 3> rows;
  auto* twice = &rows[0];
  auto* before = &rows[1];
  auto* row = &rows[2];
  for (std::size_t j = 0; j <= b.size(); ++j) (*before)[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    (*row)[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const bool same = lower(a[i - 1]) == lower(b[j - 1]);
      std::size_t cost = std::min({(*before)[j] + 1, (*row)[j - 1] + 1, (*before)[j - 1] + (same ? 0 : 1)});
      if (i > 1 && j > 1 && lower(a[i - 1]) == lower(b[j - 2]) && lower(a[i - 2]) == lower(b[j - 1])) {
        cost = std::min(cost, (*twice)[j - 2] + 1);
      }
      (*row)[j] = cost;
    }
    std::swap(twice, before);
    std::swap(before, row);
  }
  return (*before)[b.size()];
}

std::string_view nearest(std::string_view word, std::span<const std::string_view> candidates) {
  if (word.empty()) return {};
  std::string_view best;
  std::size_t best_distance = std::max<std::size_t>(1, word.size() / 3) + 1;
  for (const std::string_view candidate : candidates) {
    if (candidate.empty()) continue;
    const std::size_t far = distance(word, candidate);
    if (far >= best_distance) continue;
    best = candidate;
    best_distance = far;
  }
  return best;
}

Fields::Fields(const Document& document, const Node& node, Unknown unknown, std::string_view path)
    : document_(&document), node_(&node), key_(path), unknown_(unknown), sink_(&own_error_) {
  check_kind();
}

Fields::Fields(Fields& parent, const Node& node, std::string_view key, std::size_t index)
    : document_(parent.document_),
      node_(&node),
      parent_(&parent),
      key_(key),
      index_(index),
      unknown_(parent.unknown_),
      present_(&node != &kAbsentNode),
      sink_(parent.sink_) {
  if (present_) check_kind();
}

void Fields::check_kind() {
  if (node_->is_mapping()) return;
  present_ = false;
  record_at(*node_, {}, fmt::format("must be a mapping (key: value), not {}", shown(*node_)));
}

std::string Fields::path() const {
  std::string name;
  if (parent_ != nullptr) name = parent_->path();
  if (!key_.empty()) {
    if (parent_ == nullptr) {
      name = key_;
    } else if (is_word(key_)) {
      name += name.empty() ? "" : ".";
      name += key_;
    } else {
      name += fmt::format("[\"{}\"]", key_);
    }
  }
  if (index_ != kNoIndex) name += fmt::format("[{}]", index_);
  return name;
}

std::string Fields::path_to(std::string_view key) const {
  return key.empty() ? path() : path_with(path(), key);
}

void Fields::record_at(const Node& node, std::string_view key, std::string_view message, bool missing) {
  if (sink_->has_value()) return;
  const std::string where = path_to(key);
  sink_->emplace(Error{ErrorCode::kInvalid,
                       where.empty() ? std::string(message) : fmt::format("{}: {}", where, message),
                       document_->place(node)});
  missing_first_ = missing;
}

void Fields::record(std::string_view key, std::string message) {
  const Node* value = node_->find(key);
  record_at(value == nullptr ? *node_ : *value, key, message);
}

const Node* Fields::find(std::string_view key) {
  if (unknown_ == Unknown::kRefuse) asked_.push_back(key);
  const Node* value = node_->find(key);
  return value == nullptr || value->is_null() ? nullptr : value;
}

bool Fields::has(std::string_view key) {
  return find(key) != nullptr;
}
void Fields::ignore(std::string_view key) {
  asked_.push_back(key);
}

const Node* Fields::require(std::string_view key) {
  const Node* value = find(key);
  if (value == nullptr && present_) {
    const Node* null = node_->find(key);
    record_at(null == nullptr ? *node_ : *null, key, "is required", true);
  }
  return value;
}

std::optional<std::string> Fields::string_of(std::string_view key, const Node& node) {
  if (const auto text = node.as_string()) return std::string(*text);
  if (node.is_scalar()) {
    record_at(
        node, key,
        fmt::format("must be a string, not {}; put it in quotes: \"{}\"", node.describe(), node.text()));
  } else {
    record_at(node, key, fmt::format("must be a string, not {}", node.describe()));
  }
  return std::nullopt;
}

std::string Fields::string(std::string_view key) {
  const Node* value = require(key);
  if (value == nullptr) return {};
  auto text = string_of(key, *value);
  if (text && text->empty()) record_at(*value, key, "must not be empty");
  return std::move(text).value_or(std::string());
}

std::string Fields::string_or(std::string_view key, std::string_view otherwise) {
  const Node* value = find(key);
  if (value == nullptr) return std::string(otherwise);
  return string_of(key, *value).value_or(std::string(otherwise));
}

std::int64_t Fields::integer(std::string_view key, std::int64_t min, std::int64_t max) {
  return require(key) == nullptr ? std::max<std::int64_t>(min, 0)
                                 : integer_or(key, std::max<std::int64_t>(min, 0), min, max);
}

std::int64_t Fields::integer_or(std::string_view key, std::int64_t otherwise, std::int64_t min,
                                std::int64_t max) {
  const Node* value = find(key);
  if (value == nullptr) return otherwise;
  std::optional<std::int64_t> number = value->as_int();
  if (number && ambiguous_octal(*value)) {
    if (unknown_ == Unknown::kRefuse) {
      record_at(*value, key,
                fmt::format("{} may mean octal or decimal; write 0o{} or {}", value->text(),
                            value->text().substr(1), *number));
      return otherwise;
    }
    number = 0;
    for (const char c : value->text()) number = *number > (kMax >> 3) ? kMax : (*number << 3) + (c - '0');
  }
  if (!number || *number < min || *number > max) {
    record_at(*value, key,
              fmt::format("must be an integer{}, not {}{}", range(min, max), shown(*value),
                          value->quoted() ? " (remove the quotes)" : ""));
    return otherwise;
  }
  return *number;
}

double Fields::number(std::string_view key, double min, double max) {
  return require(key) == nullptr ? min : number_or(key, min, min, max);
}

double Fields::number_or(std::string_view key, double otherwise, double min, double max) {
  const Node* value = find(key);
  if (value == nullptr) return otherwise;
  const auto number = value->as_double();
  if (!number || !std::isfinite(*number) || *number < min || *number > max) {
    record_at(*value, key, fmt::format("must be a number from {} to {}, not {}", min, max, shown(*value)));
    return otherwise;
  }
  return *number;
}

bool Fields::boolean(std::string_view key) {
  return require(key) != nullptr && boolean_or(key, false);
}

bool Fields::boolean_or(std::string_view key, bool otherwise) {
  const Node* value = find(key);
  if (value == nullptr) return otherwise;
  if (const auto truth = value->as_bool()) return *truth;
  if (unknown_ == Unknown::kIgnore && value->is_scalar() && !value->quoted()) {
    for (const std::string_view yes : {"yes", "Yes", "YES", "on", "On", "ON"}) {
      if (value->text() == yes) return true;
    }
    for (const std::string_view no : {"no", "No", "NO", "off", "Off", "OFF"}) {
      if (value->text() == no) return false;
    }
  }
  record_at(*value, key, fmt::format("must be true or false, not {}", shown(*value)));
  return otherwise;
}

std::int64_t Fields::duration(std::string_view key, std::int64_t min_ms, std::int64_t max_ms) {
  return require(key) == nullptr ? min_ms : duration_or(key, min_ms, min_ms, max_ms);
}

std::int64_t Fields::duration_or(std::string_view key, std::int64_t otherwise_ms, std::int64_t min_ms,
                                 std::int64_t max_ms) {
  const Node* value = find(key);
  if (value == nullptr) return otherwise_ms;
  if (!value->is_scalar()) {
    record_at(*value, key, fmt::format("must be a duration such as 1h30m, not {}", value->describe()));
    return otherwise_ms;
  }
  if (value->as_int() && value->text() != "0") {
    record_at(*value, key, fmt::format("a duration needs a unit; write for example {}s", value->text()));
    return otherwise_ms;
  }
  const auto ms = parse_duration_ms(value->text());
  if (!ms) {
    record_at(*value, key, ms.error().message);
    return otherwise_ms;
  }
  if (*ms < min_ms || *ms > max_ms) {
    const std::string bound =
        *ms < min_ms ? "at least " + format_duration_ms(min_ms) : "at most " + format_duration_ms(max_ms);
    record_at(*value, key, fmt::format("must be a duration of {}, not {}", bound, shown(*value)));
    return otherwise_ms;
  }
  return *ms;
}

std::int64_t Fields::time_or(std::string_view key, std::int64_t otherwise_ms) {
  const Node* value = find(key);
  if (value == nullptr) return otherwise_ms;
  if (!value->is_scalar()) {
    record_at(*value, key,
              fmt::format("must be a time such as 2026-11-21T06:39:27Z, not {}", value->describe()));
    return otherwise_ms;
  }
  const auto ms = parse_time_ms(value->text());
  if (!ms) record_at(*value, key, ms.error().message);
  return ms.value_or(otherwise_ms);
}

std::int64_t Fields::quantity(std::string_view key, std::int64_t scale) {
  return require(key) == nullptr ? 0 : quantity_or(key, scale, 0);
}

std::int64_t Fields::quantity_or(std::string_view key, std::int64_t scale, std::int64_t otherwise) {
  const Node* value = find(key);
  if (value == nullptr) return otherwise;
  if (!value->is_scalar()) {
    record_at(*value, key, fmt::format("must be a quantity such as 500m or 2Gi, not {}", value->describe()));
    return otherwise;
  }
  const auto amount = parse_quantity(value->text(), scale);
  if (!amount) {
    record_at(*value, key, amount.error().message);
    return otherwise;
  }
  if (*amount < 0) {
    record_at(*value, key, fmt::format("must not be negative, not {}", shown(*value)));
    return otherwise;
  }
  return *amount;
}

std::span<const Node> Fields::list(std::string_view key) {
  const Node* value = find(key);
  if (value == nullptr) return {};
  if (!value->is_sequence()) record_at(*value, key, fmt::format("must be a list, not {}", shown(*value)));
  return value->items();
}

std::vector<std::string> Fields::strings(std::string_view key) {
  std::vector<std::string> result;
  for (const Node& item : list(key)) {
    if (auto text = string_of(key, item)) result.push_back(std::move(*text));
  }
  return result;
}

std::span<const Entry> Fields::mapping(std::string_view key) {
  const Node* value = find(key);
  if (value == nullptr) return {};
  if (!value->is_mapping())
    record_at(*value, key, fmt::format("must be a mapping (key: value), not {}", shown(*value)));
  return value->entries();
}

std::vector<std::pair<std::string, std::string>> Fields::string_map(std::string_view key) {
  std::vector<std::pair<std::string, std::string>> result;
  for (const Entry& entry : mapping(key)) {
    if (entry.value.is_null()) {
      result.emplace_back(entry.name(), "");
    } else if (const auto text = entry.value.as_string()) {
      result.emplace_back(entry.name(), *text);
    } else {
      Fields between(*this, *node_->find(key), key, kNoIndex);
      (void)between.string_of(entry.name(), entry.value);
    }
  }
  return result;
}

Fields Fields::child(std::string_view key) {
  const Node* value = require(key);
  return Fields(*this, value == nullptr ? kAbsentNode : *value, key, kNoIndex);
}

Fields Fields::optional_child(std::string_view key) {
  const Node* value = find(key);
  return Fields(*this, value == nullptr ? kAbsentNode : *value, key, kNoIndex);
}

void Fields::choice_error(std::string_view key, const Node& node, std::span<const std::string_view> names) {
  const std::string_view near = node.is_scalar() ? nearest(node.text(), names) : std::string_view();
  record_at(node, key,
            fmt::format("must be one of {}, not {}{}", fmt::join(names, ", "), shown(node),
                        near.empty() ? "" : fmt::format("; did you mean {}?", near)));
}

Status Fields::done() {
  if (present_ && unknown_ == Unknown::kRefuse && (ok() || missing_first_)) {
    for (const Entry& entry : node_->entries()) {
      if (std::find(asked_.begin(), asked_.end(), entry.name()) != asked_.end()) continue;
      // A key that is missing was probably misspelt: the unknown key says more.
      const std::string_view near = nearest(entry.name(), asked_);
      if (missing_first_ && near.empty()) continue;
      sink_->reset();
      std::string known;
      if (near.empty()) {
        std::vector<std::string_view> sorted = asked_;
        std::sort(sorted.begin(), sorted.end());
        sorted.erase(std::unique(sorted.begin(), sorted.end()), sorted.end());
        known = fmt::format("; known keys: {}", fmt::join(sorted, ", "));
      } else {
        known = fmt::format("; did you mean {}?", near);
      }
      record_at(entry.key, entry.name(), "unknown key" + known);
      break;
    }
  }
  if (sink_->has_value()) return tl::unexpected<Error>(**sink_);
  return {};
}

}  // namespace berth::text
