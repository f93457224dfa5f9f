#include "kube/protobuf_json.h"

#include <array>
#include <bit>
#include <charconv>

#include "kube/protobuf.h"
#include "kube/protobuf_values.h"
#include "text/json.h"
#include "text/time.h"

namespace berth::kube {
namespace {

// Each function returns false where `problem` says why.
class Transcoder {
 public:
  Transcoder(std::string_view object, std::string& out) : object_(object), out_(out) {}

  bool message(const Message& type, std::string_view bytes) {
    out_ += '{';
    bool any = false;
    if (!members(type, bytes, any)) return false;
    out_ += '}';
    return true;
  }

  // `any`: whether the JSON object has a member already.
  bool members(const Message& type, std::string_view bytes, bool& any) {
    std::uint64_t seen = 0;
    std::size_t hint = 0;
    WireField field;
    while (!bytes.empty()) {
      const char* const at = bytes.data();
      if (!take(type, bytes, field)) return false;
      const Field* known = type.find(field.number, hint);
      if (known == nullptr) continue;
      const std::uint64_t bit = std::uint64_t{1} << hint;
      if ((seen & bit) != 0) return wrong(type, at, "a field stands in two places");
      seen |= bit;
      if (field.has_bytes == (known->kind == FieldKind::kInt || known->kind == FieldKind::kBool))
        return wrong(type, at, "a field has another wire type than is known");
      if (!member(type, *known, field, bytes, any)) return false;
      if (out_.size() > kMostText) return too_long(type);
    }
    for (std::uint64_t absent = type.always & ~seen; absent != 0; absent &= absent - 1) {
      if (!absent_member(type.fields[static_cast<std::size_t>(std::countr_zero(absent))], any)) return false;
    }
    return true;
  }

  void key(std::string_view name, bool& any) {
    if (any) out_ += ',';
    any = true;
    out_ += '"';
    out_ += name;
    out_ += "\":";
  }

  Error error() const { return error_; }

 private:
  bool wrong(const Message& type, const char* at, std::string_view what) {
    error_ = {ErrorCode::kInvalid,
              fmt::format("{} in binary form: {}, at byte {}", type.name, what, at - object_.data()),
              {}};
    return false;
  }

  bool too_long(const Message& type) {
    error_ = {ErrorCode::kExhausted,
              fmt::format("{} in binary form: its JSON is longer than {} bytes", type.name, kMostText),
              {}};
    return false;
  }

  bool take(const Message& type, std::string_view& bytes, WireField& out) {
    const char* const at = bytes.data();
    const std::string_view problem = take_field(bytes, out);
    return problem.empty() || wrong(type, at, problem);
  }

  // Whether a field has the zero of its Go type.
  static bool is_zero(const WireField& value) {
    if (value.has_bytes) return value.bytes.empty();
    return value.value == 0;
  }

  bool member(const Message& type, const Field& field, const WireField& first, std::string_view& rest,
              bool& any) {
    if (field.kind == FieldKind::kInline) return members(*field.message, first.bytes, any);
    if (field.written == Written::kIfSet && is_zero(first)) return true;
    key(field.name, any);
    const bool map = field.kind == FieldKind::kTexts || field.kind == FieldKind::kQuantities;
    if (!field.list && !map) return value(type, field, first);
    // Elements stand one behind the other.
    out_ += map ? '{' : '[';
    WireField element = first;
    for (;;) {
      if (!(map ? entry(type, field, element) : value(type, field, element))) return false;
      if (out_.size() > kMostText) return too_long(type);
      std::string_view behind = rest;
      if (behind.empty() || !take_field(behind, element).empty())
        break;  // a fault is found again by the caller
      if (element.number != field.number || element.has_bytes != first.has_bytes) break;
      rest = behind;
      out_ += ',';
    }
    out_ += map ? '}' : ']';
    return true;
  }

  bool value(const Message& type, const Field& field, const WireField& from) {
    switch (field.kind) {
      case FieldKind::kText:
        text::append_json_string(out_, from.bytes);
        return true;
      case FieldKind::kInt:
        number(static_cast<std::int64_t>(from.value));
        return true;
      case FieldKind::kBool:
        out_ += from.value != 0 ? "true" : "false";
        return true;
      case FieldKind::kMessage:
        return message(*field.message, from.bytes);
      case FieldKind::kTime:
        return time(type, from.bytes);
      case FieldKind::kQuantity:
        return quantity(type, from.bytes);
      case FieldKind::kIntOrText:
        return int_or_text(type, from.bytes);
      case FieldKind::kInline:
      case FieldKind::kTexts:
      case FieldKind::kQuantities:
        break;  // member() has them
    }
    return wrong(type, from.bytes.data(), "a field of a kind that is no value");
  }

  bool absent_member(const Field& field, bool& any) {
    if (field.kind == FieldKind::kInline) return members(*field.message, {}, any);
    key(field.name, any);
    if (field.written == Written::kOrNull) {
      out_ += "null";
      return true;
    }
    switch (field.kind) {
      case FieldKind::kMessage:
        return message(*field.message, {});
      case FieldKind::kText:
        out_ += "\"\"";
        break;
      case FieldKind::kBool:
        out_ += "false";
        break;
      case FieldKind::kQuantity:
        out_ += "\"0\"";
        break;
      default:
        out_ += '0';
    }
    return true;
  }

  void number(std::int64_t value) {
    std::array<char, 24> text;
    out_.append(text.data(), std::to_chars(text.data(), text.data() + text.size(), value).ptr);
  }

  // An entry of a map is a message: its key is 1, its value 2.
  bool entry(const Message& type, const Field& field, const WireField& from) {
    std::string_view key, value;
    if (!is_sound(type, read_texts(from.bytes, key, value))) return false;
    text::append_json_string(out_, key);
    out_ += ':';
    if (field.kind == FieldKind::kQuantities) return quantity(type, value);
    text::append_json_string(out_, value);
    return true;
  }

  bool is_sound(const Message& type, const WireFault& fault) {
    return !fault || wrong(type, fault.at, fault.what);
  }

  // None is zero.
  bool quantity(const Message& type, std::string_view bytes) {
    std::string_view text, none;
    if (!is_sound(type, read_texts(bytes, text, none))) return false;
    text::append_json_string(out_, text.empty() ? "0" : text);
    return true;
  }

  bool time(const Message& type, std::string_view bytes) {
    std::int64_t seconds = 0;
    if (!is_sound(type, read_time(bytes, seconds))) return false;
    if (seconds == kZeroTime) {
      out_ += "null";
      return true;
    }
    out_ += '"';
    out_ += text::format_time_seconds(seconds * 1000);
    out_ += '"';
    return true;
  }

  bool int_or_text(const Message& type, std::string_view bytes) {
    IntOrText value;
    if (!is_sound(type, read_int_or_text(bytes, value))) return false;
    if (value.is_text) {
      text::append_json_string(out_, value.text);
    } else {
      number(value.number);
    }
    return true;
  }

  std::string_view object_;
  std::string& out_;
  Error error_;
};

Error broken_envelope(std::string_view what) {
  return {ErrorCode::kInvalid, fmt::format("an object in binary form: {}", what), {}};
}

}  // namespace

bool is_binary(std::string_view text) {
  return text.starts_with(kEnvelopeMark);
}

// runtime.Unknown: 1 its type (1 apiVersion, 2 kind), 2 the object, 3 how that is compressed, 4 its form; the last two are empty.
Result<BinaryObject> open_envelope(std::string_view text) {
  if (!is_binary(text)) return tl::unexpected<Error>(broken_envelope("it does not begin as one"));
  text.remove_prefix(kEnvelopeMark.size());
  BinaryObject out;
  bool whole = false;
  const auto take = [](std::string_view& from, WireField& field) -> std::string_view {
    const std::string_view problem = take_field(from, field);
    return problem.empty() && !field.has_bytes ? "its envelope has a number" : problem;
  };
  WireField field;
  while (!text.empty()) {
    if (const auto problem = take(text, field); !problem.empty())
      return tl::unexpected<Error>(broken_envelope(problem));
    if (field.number == 2) {
      out.bytes = field.bytes;
      whole = true;
    }
    if ((field.number == 3 || field.number == 4) && !field.bytes.empty())
      return tl::unexpected<Error>(broken_envelope("what its envelope holds is in another form"));
    if (field.number != 1) continue;
    for (std::string_view type = field.bytes; !type.empty();) {
      if (const auto problem = take(type, field); !problem.empty())
        return tl::unexpected<Error>(broken_envelope(problem));
      if (field.number == 1) out.api_version = field.bytes;
      if (field.number == 2) out.kind = field.bytes;
    }
  }
  if (!whole) return tl::unexpected<Error>(broken_envelope("its envelope is empty"));
  return out;
}

Status write_json(const Message& message, std::string_view bytes, std::string_view api_version,
                  std::string_view kind, std::string& out) {
  out.clear();
  Transcoder writer(bytes, out);
  out += '{';
  bool any = false;
  if (!kind.empty()) {
    writer.key("kind", any);
    text::append_json_string(out, kind);
  }
  if (!api_version.empty()) {
    writer.key("apiVersion", any);
    text::append_json_string(out, api_version);
  }
  if (!writer.members(message, bytes, any)) return tl::unexpected<Error>(writer.error());
  out += '}';
  return {};
}

Status write_json(const BinaryObject& object, std::string& out) {
  const Message* message = message_of(object.api_version, object.kind);
  if (message == nullptr) {
    return tl::unexpected<Error>(broken_envelope(
        fmt::format("{} {} is not read in it", object.api_version.substr(0, 64), object.kind.substr(0, 64))));
  }
  return write_json(*message, object.bytes, object.api_version, object.kind, out);
}

Result<std::string> json_of_envelope(std::string_view text) {
  BERTH_ASSIGN(const BinaryObject object, open_envelope(text));
  std::string out;
  BERTH_TRY(write_json(object, out));
  return out;
}

}  // namespace berth::kube
