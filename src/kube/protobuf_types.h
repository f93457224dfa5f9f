// The messages of the objects that are read in the API server's binary form: pods, nodes, Jobs, and Statuses. A message says for each field its
// number, its name in JSON, and when JSON has it.
//
// The table behind it is text, made by scripts/api-forms from Kubernetes' own types: "Container: 1:name 2:image? 7:env*=[]EnvVar ...".
// A name's mark says when Go writes the field. No mark: always. "!": always, and null where it is not there. "?": where it is not empty, zero or
// false. "*": where it is there. The kind follows, where it is no text; "[]" is a list. The fields of a "+" stand in JSON among those of
// the message that holds it.
//
// Fields of later versions are not known, and are left out; so are managedFields, which nothing reads.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <tuple>
#include <vector>

namespace berth::kube {

enum class FieldKind : std::uint8_t {
  kText,
  kInt,
  kBool,
  kMessage,
  kInline,  // a message whose fields stand in JSON among those of its holder
  kTime,    // seconds since 1970; in JSON RFC 3339
  kQuantity,
  kIntOrText,
  kTexts,       // a map of texts
  kQuantities,  // a map of quantities
};

enum class Written : std::uint8_t { kAlways, kOrNull, kIfSet, kIfPresent };

struct Message;

struct Field {
  std::uint32_t number = 0;
  std::string_view name;
  FieldKind kind = FieldKind::kText;
  Written written = Written::kAlways;
  bool list = false;
  const Message* message = nullptr;  // of kMessage and kInline
};

struct Message {
  std::string_view name;
  std::vector<Field> fields;  // by number; 64 at most
  // The fields that JSON has also where they are not there: bit i is field i.
  std::uint64_t always = 0;
  bool has_inline = false;  // a field of kind kInline

  // By a hash of their names: the index of a field, from 1; 0: none. Fields of the same hash follow each other.
  std::array<std::uint8_t, 128> by_name{};

  // The field of that name, not of an inline message; nullptr: not known. Mostly one comparison.
  const Field* named(std::string_view key) const {
    for (std::size_t at = slot_of(key); by_name[at] != 0; at = (at + 1) % by_name.size()) {
      if (fields[by_name[at] - 1].name == key) return &fields[by_name[at] - 1];
    }
    return nullptr;
  }
  static std::size_t slot_of(std::string_view key) {
    if (key.empty()) return 0;
    const auto byte = [&](std::size_t at) -> std::size_t { return static_cast<unsigned char>(key[at]); };
    return (key.size() + 5 * byte(0) + 17 * byte(key.size() / 2) + 3 * byte(key.size() - 1)) %
           std::tuple_size_v<decltype(by_name)>;
  }

  // The field of that number; nullptr: not known. `hint`: where the last one was; fields come in order, as a rule.
  const Field* find(std::uint32_t number, std::size_t& hint) const;
};

// The message of an object of this kind ("batch/v1", "Job"); nullptr: it is not read in binary form. No message holds itself, so that depth is
// bounded.
const Message* message_of(std::string_view api_version, std::string_view kind);
// Any message of the table, for tests.
const Message* message_named(std::string_view name);

extern const std::string_view kMessageTable;  // protobuf_table.cc

}  // namespace berth::kube
