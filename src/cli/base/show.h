// The words and forms in which commands show things: ages, cut lines, lists of objects as tables, JSON, YAML and names.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/enums.h"
#include "base/result.h"
#include "base/time.h"
#include "text/document.h"

namespace berth::cli {

// "90s", "45m", "7h", "12d"; "-" for a time that is not known.
std::string age(TimeMs since, TimeMs now);

// Cut to so many characters, which are bytes here but for the rare name beyond ASCII (never within a character).
std::string cut(std::string text, std::size_t most);

// Without control characters: names and texts of others must not reach a terminal as commands.
std::string printable(std::string_view text);

// The same tree as YAML. Strings that YAML would read as something else are quoted.
std::string to_yaml(const text::Node& node);

enum class ListFormat : std::uint8_t { kTable, kWide, kJson, kYaml, kName };

}  // namespace berth::cli
template <>
struct berth::EnumNames<berth::cli::ListFormat> {
  static constexpr std::array names{"table"sv, "wide"sv, "json"sv, "yaml"sv, "name"sv};
};

namespace berth::cli {

// Objects of one kind as a command lists them (docs/commands.md).
struct Listing {
  struct Column {
    std::string head;
    bool wide_only = false;
  };
  struct Row {
    std::string name;                // as other commands take it
    std::vector<std::string> words;  // one for each column
    std::string json;
    std::string key;  // tells rows with the same name apart; "": the name is enough
  };
  std::string format;  // "berth-workloads": the name of the schema
  std::int64_t version = 1;
  std::vector<Column> columns;
  std::vector<Row> rows;
  std::vector<std::string> notes;  // what is not shown, and why: JSON and YAML have them, a table has none
  std::string empty;               // in place of a table without rows
};

// `most`: characters of a line of the table, beyond which its last word is cut.
std::string to_text(const Listing& listing, ListFormat format, std::size_t most);

}  // namespace berth::cli
