#include "cli/base/show.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "cli/base/table.h"
#include "text/json.h"

namespace berth::cli {
namespace {

constexpr std::size_t kMostWord = 56;  // of a cell before the last, where the table is not wide

bool is_plain(std::string_view text) {
  static constexpr std::array kOthers = {"true", "false", "null", "yes", "no", "on", "off", "y", "n"};
  const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  const auto fits = [&](char c) {
    return letter(c) || (c >= '0' && c <= '9') || c == '_' || c == '.' || c == '/' || c == '-';
  };
  if (text.empty() || !letter(text.front()) || !std::all_of(text.begin(), text.end(), fits)) return false;
  std::string lower(text);
  for (char& c : lower) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return std::find(kOthers.begin(), kOthers.end(), lower) == kOthers.end();
}

std::string scalar_yaml(const text::Node& node) {
  if (node.is_null()) return "null";
  if (!node.quoted()) return std::string(node.text());
  if (is_plain(node.text())) return std::string(node.text());
  std::string out;
  text::append_json_string(out, node.text());
  return out;
}

bool is_empty(const text::Node& node) {
  return (node.is_mapping() && node.entries().empty()) || (node.is_sequence() && node.items().empty());
}

// A mapping or a sequence with entries, from the start of a line.
void add_yaml(std::string& out, const text::Node& node, std::size_t indent) {
  const std::string margin(indent, ' ');
  const auto add_value = [&](const text::Node& value, std::size_t deeper) {
    if (is_empty(value)) {
      out += value.is_mapping() ? " {}\n" : " []\n";
    } else if (value.is_mapping() || value.is_sequence()) {
      out += "\n";
      add_yaml(out, value, deeper);
    } else {
      out += " " + scalar_yaml(value) + "\n";
    }
  };
  if (node.is_mapping()) {
    for (const text::Entry& entry : node.entries()) {
      std::string key;
      if (is_plain(entry.name())) {
        key = entry.name();
      } else {
        text::append_json_string(key, entry.name());
      }
      out += margin + key + ":";
      add_value(entry.value, indent + (entry.value.is_sequence() ? 0 : 2));
    }
    return;
  }
  for (const text::Node& item : node.items()) {
    if (item.is_mapping() && !item.entries().empty()) {
      std::string inner;
      add_yaml(inner, item, indent + 2);
      out += margin + "- " + inner.substr(indent + 2);
      continue;
    }
    out += margin + "-";
    add_value(item, indent + 2);
  }
}

std::string table_of(const Listing& listing, bool wide, std::size_t most) {
  if (listing.rows.empty()) return listing.empty + "\n";
  std::vector<std::string> head;
  for (const auto& column : listing.columns) {
    if (wide || !column.wide_only) head.push_back(column.head);
  }
  Table table(std::move(head), "");
  for (const auto& row : listing.rows) {
    std::vector<std::string> words;
    for (std::size_t i = 0; i < listing.columns.size(); ++i) {
      if (wide || !listing.columns[i].wide_only) words.push_back(printable(row.words[i]));
    }
    for (std::size_t i = 0; i + 1 < words.size() && !wide; ++i) words[i] = cut(words[i], kMostWord);
    table.add(std::move(words));
  }
  return table.str(wide ? 0 : most);
}

std::string json_of(const Listing& listing) {
  text::JsonWriter json(text::JsonStyle::kIndented);
  json.begin_object().field("format", listing.format).field("version", listing.version);
  json.key("items").begin_array();
  for (const auto& row : listing.rows) {
    const auto item = text::parse_json(row.json, listing.format);
    if (item) json.value(item->root());
  }
  json.end_array().key("notes").begin_array();
  for (const auto& note : listing.notes) json.value(note);
  json.end_array().end_object();
  return json.take() + "\n";
}

}  // namespace

std::string age(TimeMs since, TimeMs now) {
  if (since <= 0 || since > now) return "-";
  const std::int64_t seconds = (now - since) / 1000;
  if (seconds < 120) return fmt::format("{}s", seconds);
  if (seconds < 7200) return fmt::format("{}m", seconds / 60);
  if (seconds < 48 * 3600) return fmt::format("{}h", seconds / 3600);
  return fmt::format("{}d", seconds / 86400);
}

std::string cut(std::string text, std::size_t most) {
  if (text.size() <= most) return text;
  std::size_t end = most - 3;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
  text.resize(end);
  return text + "...";
}

std::string printable(std::string_view text) {
  std::string out(text);
  for (std::size_t i = 0; i < out.size(); ++i) {
    const auto byte = static_cast<unsigned char>(out[i]);
    const bool second =
        i > 0 && static_cast<unsigned char>(out[i - 1]) == 0xC2 && byte >= 0x80 && byte < 0xA0;
    if (byte < 0x20 || byte == 0x7F) out[i] = ' ';
    if (second) out[i - 1] = out[i] = ' ';  // U+0080 to U+009F
  }
  return out;
}

std::string to_yaml(const text::Node& node) {
  std::string out;
  if (is_empty(node)) return node.is_mapping() ? "{}\n" : "[]\n";
  if (!node.is_mapping() && !node.is_sequence()) return scalar_yaml(node) + "\n";
  add_yaml(out, node, 0);
  return out;
}

std::string to_text(const Listing& listing, ListFormat format, std::size_t most) {
  switch (format) {
    case ListFormat::kTable:
    case ListFormat::kWide:
      return table_of(listing, format == ListFormat::kWide, most);
    case ListFormat::kJson:
      return json_of(listing);
    case ListFormat::kYaml: {
      const auto document = text::parse_json(json_of(listing), listing.format);
      return document ? to_yaml(document->root()) : std::string();
    }
    case ListFormat::kName:
      break;
  }
  std::string out;
  for (const auto& row : listing.rows) out += row.name + "\n";
  return out;
}

}  // namespace berth::cli
