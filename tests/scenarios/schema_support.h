// A validator for the part of JSON Schema that docs/plan.schema.json uses. A keyword that it does not know is an error, so that
// nothing in the schema is silently not checked.
#pragma once

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <string>

namespace berth::cli::testing {

using Json = nlohmann::json;

class Schema {
 public:
  explicit Schema(Json root) : root_(std::move(root)) {}

  // The error, with its place; "": none.
  std::string check(const Json& value) const { return check(value, root_, "$"); }

 private:
  static bool is_type(const Json& value, const std::string& type) {
    if (type == "object") return value.is_object();
    if (type == "array") return value.is_array();
    if (type == "string") return value.is_string();
    if (type == "integer") return value.is_number_integer();
    if (type == "boolean") return value.is_boolean();
    return false;
  }

  std::string check(const Json& value, const Json& schema, const std::string& at) const {
    for (const auto& [key, rule] : schema.items()) {
      if (key == "$schema" || key == "$defs" || key == "title" || key == "description") continue;
      std::string wrong;
      if (key == "$ref") {
        wrong = check(value, root_.at(Json::json_pointer(rule.get<std::string>().substr(1))), at);
      } else if (key == "type") {
        if (!is_type(value, rule)) wrong = fmt::format("{}: is no {}", at, rule.get<std::string>());
      } else if (key == "enum") {
        bool found = false;
        for (const auto& one : rule) found = found || one == value;
        if (!found) wrong = fmt::format("{}: {} is not allowed", at, value.dump());
      } else if (key == "minimum") {
        if (value.is_number() && value < rule) wrong = fmt::format("{}: {} is too small", at, value.dump());
      } else if (key == "required") {
        for (const auto& name : rule) {
          if (value.is_object() && !value.contains(name.get<std::string>()))
            wrong = fmt::format("{}: lacks {}", at, name.get<std::string>());
        }
      } else if (key == "properties") {
        wrong = check_properties(value, rule, at);
      } else if (key == "additionalProperties") {
        wrong = check_others(value, schema, rule, at);
      } else if (key == "items") {
        for (std::size_t i = 0; value.is_array() && i < value.size() && wrong.empty(); ++i)
          wrong = check(value[i], rule, fmt::format("{}[{}]", at, i));
      } else {
        wrong = fmt::format("{}: the schema has {}, which is not checked here", at, key);
      }
      if (!wrong.empty()) return wrong;
    }
    return "";
  }

  std::string check_properties(const Json& value, const Json& properties, const std::string& at) const {
    if (!value.is_object()) return "";
    for (const auto& [name, rule] : properties.items()) {
      if (!value.contains(name)) continue;
      if (auto wrong = check(value[name], rule, at + "." + name); !wrong.empty()) return wrong;
    }
    return "";
  }

  std::string check_others(const Json& value, const Json& schema, const Json& rule,
                           const std::string& at) const {
    if (!value.is_object()) return "";
    for (const auto& [name, other] : value.items()) {
      if (schema.contains("properties") && schema["properties"].contains(name)) continue;
      if (rule.is_boolean()) {
        if (!rule.get<bool>()) return fmt::format("{}: {} is not in the schema", at, name);
        continue;
      }
      if (auto wrong = check(other, rule, at + "." + name); !wrong.empty()) return wrong;
    }
    return "";
  }

  Json root_;
};

}  // namespace berth::cli::testing
