// One way to look at a value of an object, over all feeds. Manifests are trees that know their place. Lists and watches are parsed JSON, or binary
// (binary_value.h). The decoders (decode_*.h) are templates over it, so that a field is named once.
//
// A value: present() (there, and not null), find(key), each_item(f), each_entry(f), text(), integer(),
// boolean(), scalar(buffer), describe(). Errors go to a Problems, the first one stays.
#pragma once

#include <fmt/format.h>
#include <simdjson.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"
#include "dialect/base/binary_value.h"
#include "text/document.h"

namespace berth::dialect {

class TreeValue {
 public:
  explicit TreeValue(const text::Node* node = nullptr) : node_(node) {}
  bool present() const { return node_ != nullptr && !node_->is_null(); }
  bool is_map() const { return node_ != nullptr && node_->is_mapping(); }
  bool is_list() const { return node_ != nullptr && node_->is_sequence(); }
  TreeValue find(std::string_view key) const {
    return TreeValue(node_ != nullptr ? node_->find(key) : nullptr);
  }
  template <class F>
  void each_item(F&& f) const {
    if (node_ == nullptr) return;
    for (const auto& item : node_->items()) f(TreeValue(&item));
  }
  template <class F>
  void each_entry(F&& f) const {
    if (node_ == nullptr) return;
    for (const auto& entry : node_->entries()) f(entry.name(), TreeValue(&entry.value));
  }
  std::optional<std::string_view> text() const { return node_->as_string(); }
  std::optional<std::int64_t> integer() const { return node_->as_int(); }
  std::optional<bool> boolean() const { return node_->as_bool(); }
  // The text of a scalar of any type (quantities may be written as numbers).
  std::optional<std::string_view> scalar(std::string&) const {
    if (!node_->is_scalar()) return std::nullopt;
    return node_->text();
  }
  std::string describe() const {
    return node_->is_scalar() ? fmt::format("\"{}\"", node_->text()) : std::string(node_->describe());
  }
  const text::Node* node() const { return node_; }

 private:
  const text::Node* node_;
};

class JsonValue {
 public:
  JsonValue() = default;
  explicit JsonValue(simdjson::dom::element element) : element_(element), present_(!element.is_null()) {}
  bool present() const { return present_; }
  bool is_map() const { return present_ && element_.is_object(); }
  bool is_list() const { return present_ && element_.is_array(); }
  JsonValue find(std::string_view key) const {
    if (!is_map()) return JsonValue();
    simdjson::dom::element found;
    if (element_.get_object().value_unsafe().at_key(key).get(found) != simdjson::SUCCESS) return JsonValue();
    return JsonValue(found);
  }
  template <class F>
  void each_item(F&& f) const {
    simdjson::dom::array items;
    if (!present_ || element_.get_array().get(items) != simdjson::SUCCESS) return;
    for (const auto item : items) f(JsonValue(item));
  }
  template <class F>
  void each_entry(F&& f) const {
    simdjson::dom::object entries;
    if (!present_ || element_.get_object().get(entries) != simdjson::SUCCESS) return;
    for (const auto entry : entries) f(entry.key, JsonValue(entry.value));
  }
  std::optional<std::string_view> text() const {
    std::string_view out;
    if (element_.get_string().get(out) != simdjson::SUCCESS) return std::nullopt;
    return out;
  }
  std::optional<std::int64_t> integer() const {
    std::int64_t out = 0;
    if (element_.get_int64().get(out) != simdjson::SUCCESS) return std::nullopt;
    return out;
  }
  std::optional<bool> boolean() const {
    bool out = false;
    if (element_.get_bool().get(out) != simdjson::SUCCESS) return std::nullopt;
    return out;
  }
  std::optional<std::string_view> scalar(std::string& buffer) const {
    if (auto string = text()) return string;
    if (const auto number = integer()) {
      buffer = fmt::format("{}", *number);
      return buffer;
    }
    double number = 0;
    if (element_.get_double().get(number) != simdjson::SUCCESS) return std::nullopt;
    buffer = fmt::format("{}", number);
    return buffer;
  }
  std::string describe() const {
    if (const auto string = text()) return fmt::format("\"{}\"", *string);
    return is_map() ? "a mapping" : is_list() ? "a list" : "a value of another type";
  }

 private:
  simdjson::dom::element element_;
  bool present_ = false;
};

// Where errors go. From the tree the message gets file, line, column and the path of the field.
class Problems {
 public:
  Problems() = default;
  explicit Problems(const text::Document& document) : document_(&document) {}
  // For one object in the document: paths begin at it.
  Problems(const text::Document& document, const text::Node& object)
      : document_(&document), object_(&object) {}

  bool ok() const { return !error_; }
  // Records an error at `value`, which is, or lacks, the field `key`.
  void at(const TreeValue& value, std::string_view key, std::string message);
  void at(const JsonValue& value, std::string_view key, std::string message);
  void at(const BinaryValue& value, std::string_view key, std::string message);
  Error take() { return *std::exchange(error_, std::nullopt); }

 private:
  const text::Document* document_ = nullptr;
  const text::Node* object_ = nullptr;
  std::optional<Error> error_;
};

}  // namespace berth::dialect
