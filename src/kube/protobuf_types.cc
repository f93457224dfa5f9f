#include "kube/protobuf_types.h"

#include <algorithm>
#include <charconv>
#include <map>

namespace berth::kube {
namespace {

using Messages = std::map<std::string_view, Message>;

std::string_view take_word(std::string_view& text) {
  constexpr std::string_view kBlanks = " \n";
  text.remove_prefix(std::min(text.size(), text.find_first_not_of(kBlanks)));
  const std::string_view word = text.substr(0, text.find_first_of(kBlanks));
  text.remove_prefix(word.size());
  return word;
}

void read_kind(std::string_view word, const Messages& messages, Field& out) {
  constexpr std::pair<std::string_view, FieldKind> kKinds[] = {
      {"text", FieldKind::kText},         {"int", FieldKind::kInt},
      {"bool", FieldKind::kBool},         {"time", FieldKind::kTime},
      {"quantity", FieldKind::kQuantity}, {"intOrText", FieldKind::kIntOrText},
      {"texts", FieldKind::kTexts},       {"quantities", FieldKind::kQuantities}};
  out.list = word.starts_with("[]");
  if (out.list) word.remove_prefix(2);
  for (const auto& [name, kind] : kKinds) {
    if (name != word) continue;
    out.kind = kind;
    return;
  }
  out.kind = word.starts_with('+') ? FieldKind::kInline : FieldKind::kMessage;
  if (word.starts_with('+')) word.remove_prefix(1);
  out.message = &messages.at(word);
}

// "7:env*=[]EnvVar"
Field read_field(std::string_view word, const Messages& messages) {
  Field out;
  const std::size_t colon = word.find(':');
  std::from_chars(word.data(), word.data() + colon, out.number);
  word.remove_prefix(colon + 1);
  const std::size_t equals = word.find('=');
  if (equals != std::string_view::npos) read_kind(word.substr(equals + 1), messages, out);
  out.name = word.substr(0, equals);
  constexpr std::pair<char, Written> kMarks[] = {
      {'!', Written::kOrNull}, {'?', Written::kIfSet}, {'*', Written::kIfPresent}};
  for (const auto& [mark, written] : kMarks) {
    if (!out.name.ends_with(mark)) continue;
    out.written = written;
    out.name.remove_suffix(1);
    break;
  }
  return out;
}

Messages read_table() {
  Messages out;
  // Names first: a field points to its message.
  for (std::string_view rest = kMessageTable, word = take_word(rest); !word.empty(); word = take_word(rest)) {
    if (word.ends_with(':')) out[word.substr(0, word.size() - 1)].name = word.substr(0, word.size() - 1);
  }
  Message* message = nullptr;
  for (std::string_view rest = kMessageTable, word = take_word(rest); !word.empty(); word = take_word(rest)) {
    if (word.ends_with(':')) {
      message = &out.at(word.substr(0, word.size() - 1));
      continue;
    }
    message->fields.push_back(read_field(word, out));
    const Field& field = message->fields.back();
    if (field.written == Written::kAlways || field.written == Written::kOrNull)
      message->always |= std::uint64_t{1} << (message->fields.size() - 1);
    message->has_inline = message->has_inline || field.kind == FieldKind::kInline;
    std::size_t at = Message::slot_of(field.name);
    while (message->by_name[at] != 0) at = (at + 1) % message->by_name.size();
    if (field.kind != FieldKind::kInline)
      message->by_name[at] = static_cast<std::uint8_t>(message->fields.size());
  }
  return out;
}

}  // namespace

const Field* Message::find(std::uint32_t number, std::size_t& hint) const {
  if (hint < fields.size() && fields[hint].number > number) hint = 0;
  while (hint < fields.size() && fields[hint].number < number) ++hint;
  if (hint < fields.size() && fields[hint].number == number) return &fields[hint];
  if (hint >= fields.size()) hint = 0;
  return nullptr;
}

const Message* message_named(std::string_view name) {
  static const Messages messages = read_table();
  const auto it = messages.find(name);
  return it == messages.end() ? nullptr : &it->second;
}

const Message* message_of(std::string_view api_version, std::string_view kind) {
  const bool is_core = api_version == "v1" && (kind == "Pod" || kind == "Node" || kind == "Status");
  return is_core || (api_version == "batch/v1" && kind == "Job") ? message_named(kind) : nullptr;
}

}  // namespace berth::kube
