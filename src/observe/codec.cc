#include "observe/codec.h"

#include <algorithm>
#include <variant>

#include "text/fields.h"

namespace berth::observe {
namespace codec_detail {
namespace {

std::string prefix(const Path& path) {
  std::string text = path.str();
  if (!text.empty()) text += ": ";
  return text;
}

// The value, short enough for a message.
std::string shown(const text::Node& node) {
  constexpr std::size_t kMost = 60;
  if (!node.is_scalar()) return std::string(node.describe());
  const auto content = node.text();
  return fmt::format("{} \"{}{}\"", node.describe(), content.substr(0, kMost),
                     content.size() > kMost ? "..." : "");
}

}  // namespace

std::string Path::str() const {
  std::string out = parent != nullptr ? parent->str() : std::string();
  if (index != kNoIndex) return fmt::format("{}[{}]", out, index);
  if (!out.empty() && !key.empty()) out += '.';
  return out.append(key);
}

std::optional<std::string_view> string_of(const text::Node& node) {
  if (!node.is_scalar() || !node.quoted()) return std::nullopt;
  return node.text();
}

tl::unexpected<Error> wrong_kind(const text::Document& document, const Path& path, const text::Node& node,
                                 std::string_view expected) {
  return fail_at(document.place(node), "{}must be {}, not {}", prefix(path), expected, shown(node));
}

tl::unexpected<Error> unknown_field(const text::Document& document, const Path& path, const text::Node& node,
                                    std::span<const std::string_view> known) {
  for (const auto& entry : node.entries()) {
    if (std::find(known.begin(), known.end(), entry.name()) != known.end()) continue;
    const auto near = text::nearest(entry.name(), known);
    return fail_at(document.place(entry.key), "{}unknown field \"{}\"{}", prefix(path), entry.name(),
                   near.empty() ? std::string() : fmt::format("; did you mean \"{}\"?", near));
  }
  return fail_at(document.place(node), "{}a field is there twice", prefix(path));
}

tl::unexpected<Error> unknown_word(const text::Document& document, const Path& path, const text::Node& node,
                                   std::span<const std::string_view> known) {
  return fail_at(document.place(node), "{}must be one of \"{}\", not {}", prefix(path),
                 fmt::join(known, "\", \""), shown(node));
}

}  // namespace codec_detail

namespace {

constexpr std::string_view kKind = "e";

// Reads the alternative of the variant whose name is `name`; false where there is none.
template <std::size_t I = 0>
std::optional<Result<Event>> read_named(std::string_view name, const text::Document& document,
                                        const text::Node& node, std::span<const std::string_view> others) {
  if constexpr (I < std::variant_size_v<Event>) {
    using Alternative = std::variant_alternative_t<I, Event>;
    if (Alternative::kName != name) return read_named<I + 1>(name, document, node, others);
    Alternative event;
    const auto status = codec_detail::read_fields(document, codec_detail::Path{}, node, event, others);
    if (!status) return Result<Event>(tl::unexpected<Error>(status.error()));
    return Result<Event>(Event(std::move(event)));
  } else {
    return std::nullopt;
  }
}

template <std::size_t... I>
std::vector<std::string_view> names_of_events(std::index_sequence<I...>) {
  return {std::variant_alternative_t<I, Event>::kName...};
}

}  // namespace

void append_event_fields(std::string& out, const Event& event) {
  std::visit(
      [&](const auto& e) {
        out += "{\"e\":\"";
        out += e.kName;
        out += '"';
        codec_detail::write_fields(out, e);
      },
      event);
}

void encode(std::string& out, const Event& event) {
  append_event_fields(out, event);
  out += '}';
}

std::string encode(const Event& event) {
  std::string out;
  encode(out, event);
  return out;
}

Result<Event> decode_event(const text::Document& document, const text::Node& node,
                           std::span<const std::string_view> others) {
  const codec_detail::Path root;
  if (!node.is_mapping()) return codec_detail::wrong_kind(document, root, node, "an object");
  const text::Node* kind = node.find(kKind);
  if (kind == nullptr)
    return fail_at(document.place(node), "the field \"e\", which names the event, is missing");
  std::vector<std::string_view> all_others(others.begin(), others.end());
  all_others.push_back(kKind);
  const auto name = codec_detail::string_of(*kind);
  if (name) {
    if (auto event = read_named(*name, document, node, all_others)) return std::move(*event);
  }
  return codec_detail::unknown_word(document, codec_detail::Path{&root, kKind}, *kind,
                                    names_of_events(std::make_index_sequence<std::variant_size_v<Event>>()));
}

Result<Event> decode_event(std::string json, std::string file, std::uint32_t line) {
  BERTH_ASSIGN(const text::Document document, text::parse_json(std::move(json), std::move(file), {}, line));
  return decode_event(document, document.root());
}

}  // namespace berth::observe
