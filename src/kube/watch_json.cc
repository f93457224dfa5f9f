#include "kube/watch_json.h"

#include <simdjson.h>

#include <cstring>

#include "kube/reflector.h"

namespace berth::kube {

static_assert(kJsonPadding >= simdjson::SIMDJSON_PADDING);

namespace ondemand = simdjson::ondemand;

bool LineSplitter::feed(std::string_view chunk, const std::function<bool(std::string_view)>& line) {
  while (!chunk.empty()) {
    const auto* const found = static_cast<const char*>(std::memchr(chunk.data(), '\n', chunk.size()));
    if (found == nullptr) {
      if (buffer_.size() + chunk.size() > max_line_) return false;
      buffer_.append(chunk);
      return true;
    }
    const auto length = static_cast<std::size_t>(found - chunk.data());
    const std::string_view here = chunk.substr(0, length);
    chunk.remove_prefix(length + 1);
    if (buffer_.size() + length > max_line_) return false;
    if (buffer_.empty() && chunk.size() >= kJsonPadding) {
      if (!here.empty() && !line(here)) return true;
      continue;
    }
    buffer_.append(here);
    if (!buffer_.empty()) {
      buffer_.reserve(buffer_.size() + kJsonPadding);
      const bool more = line(buffer_);
      clear();
      if (!more) return true;
    }
  }
  return true;
}

void LineSplitter::clear() {
  buffer_.clear();
  if (buffer_.capacity() > kKeptText) buffer_.shrink_to_fit();
}

struct WatchJson::Impl {
  ondemand::parser lines;
  ondemand::parser metas;
  ondemand::parser pages;
};

void WatchJson::let_go() {
  for (ondemand::parser* parser : {&impl_->lines, &impl_->metas, &impl_->pages}) {
    if (parser->capacity() > kKeptText) *parser = ondemand::parser();
  }
}

WatchJson::WatchJson() : impl_(std::make_unique<Impl>()) {}
WatchJson::~WatchJson() = default;

bool watch_type_of(std::string_view name, WatchType& out) {
  if (name == "ADDED") {
    out = WatchType::kAdded;
  } else if (name == "MODIFIED") {
    out = WatchType::kModified;
  } else if (name == "DELETED") {
    out = WatchType::kDeleted;
  } else if (name == "BOOKMARK") {
    out = WatchType::kBookmark;
  } else if (name == "ERROR") {
    out = WatchType::kError;
  } else {
    return false;
  }
  return true;
}

namespace {

simdjson::padded_string_view padded(std::string_view text) {
  return simdjson::padded_string_view(text.data(), text.size(), text.size() + kJsonPadding);
}

std::string_view blank_trimmed(std::string_view text) {
  while (!text.empty() && (text.back() == ' ' || text.back() == '\r' || text.back() == '\n'))
    text.remove_suffix(1);
  return text;
}

}  // namespace

Result<WatchLine> WatchJson::line(std::string_view text) {
  WatchLine out;
  // The form that Go's encoder writes, always: {"type":"ADDED","object":{...}}
  constexpr std::string_view kHead = R"({"type":")";
  constexpr std::string_view kMiddle = R"(","object":)";
  text = blank_trimmed(text);
  if (text.starts_with(kHead) && text.ends_with('}')) {
    const std::size_t quote = text.find('"', kHead.size());
    if (quote != std::string_view::npos && text.substr(quote).starts_with(kMiddle) &&
        watch_type_of(text.substr(kHead.size(), quote - kHead.size()), out.type)) {
      const std::size_t begin = quote + kMiddle.size();
      out.object = text.substr(begin, text.size() - 1 - begin);
      if (out.object.starts_with('{') && out.object.ends_with('}')) return out;
    }
  }
  // In one pass: simdjson's search by key expects what it has passed already to be right.
  ondemand::document document;
  ondemand::object root;
  bool typed = false;
  bool holds = false;
  if (impl_->lines.iterate(padded(text)).get(document) == simdjson::SUCCESS &&
      document.get_object().get(root) == simdjson::SUCCESS) {
    for (auto field : root) {
      std::string_view key;
      std::string_view type;
      ondemand::object inner;
      if (field.unescaped_key().get(key) != simdjson::SUCCESS) break;
      if (key == "type") {
        typed = field.value().get_string().get(type) == simdjson::SUCCESS && watch_type_of(type, out.type);
        if (!typed) break;
      } else if (key == "object") {
        holds = field.value().get_object().get(inner) == simdjson::SUCCESS &&
                inner.raw_json().get(out.object) == simdjson::SUCCESS;
        if (!holds) break;
      }
    }
  }
  if (!typed || !document.is_alive()) {
    return fail(ErrorCode::kInvalid, "a watch line is not {{\"type\":...,\"object\":...}}");
  }
  if (!holds) return fail(ErrorCode::kInvalid, "a watch line holds no object");
  out.object = blank_trimmed(out.object);
  return out;
}

Result<ObjectMeta> WatchJson::meta(std::string_view object) {
  ObjectMeta out;
  ondemand::document document;
  ondemand::object metadata;
  if (impl_->metas.iterate(padded(object)).get(document) != simdjson::SUCCESS ||
      document["metadata"].get_object().get(metadata) != simdjson::SUCCESS) {
    return fail(ErrorCode::kInvalid, "an object has no metadata");
  }
  for (auto field : metadata) {
    std::string_view key;
    if (field.unescaped_key().get(key) != simdjson::SUCCESS)
      return fail(ErrorCode::kInvalid, "metadata is broken");
    std::string_view* into = nullptr;
    if (key == "name") {
      into = &out.name;
    } else if (key == "namespace") {
      into = &out.ns;
    } else if (key == "uid") {
      into = &out.uid;
    } else if (key == "resourceVersion") {
      into = &out.resource_version;
    } else {
      continue;
    }
    if (field.value().get_string().get(*into) != simdjson::SUCCESS) {
      return fail(ErrorCode::kInvalid, "metadata.{} is not a string", std::string(key));
    }
  }
  // A loop over broken JSON ends as one over the end does.
  if (!document.is_alive()) return fail(ErrorCode::kInvalid, "metadata is broken");
  return out;
}

namespace {

Status read_list_meta(ondemand::object& metadata, ListPage& out) {
  for (auto field : metadata) {
    std::string_view key;
    std::string_view value;
    if (field.unescaped_key().get(key) != simdjson::SUCCESS)
      return fail(ErrorCode::kInvalid, "metadata is broken");
    if (key != "resourceVersion" && key != "continue") continue;
    if (field.value().get_string().get(value) != simdjson::SUCCESS) {
      return fail(ErrorCode::kInvalid, "metadata.{} is not a string", std::string(key));
    }
    (key == "continue" ? out.next : out.resource_version) = value;
  }
  return {};
}

Status read_items(ondemand::value& items, const std::function<Status(std::string_view)>& item) {
  if (bool null = false; items.is_null().get(null) == simdjson::SUCCESS && null) return {};
  ondemand::array array;
  if (items.get_array().get(array) != simdjson::SUCCESS)
    return fail(ErrorCode::kInvalid, "items is not a list");
  for (auto element : array) {
    ondemand::object object;
    std::string_view raw;
    if (element.get_object().get(object) != simdjson::SUCCESS ||
        object.raw_json().get(raw) != simdjson::SUCCESS) {
      return fail(ErrorCode::kInvalid, "an item of the list is broken");
    }
    BERTH_TRY(item(blank_trimmed(raw)));
  }
  return {};
}

}  // namespace

Result<ListPage> WatchJson::page(std::string& body, const std::function<Status(std::string_view)>& item) {
  ListPage out;
  body.reserve(body.size() + kJsonPadding);
  ondemand::document document;
  ondemand::object root;
  const std::string_view text = body;
  if (impl_->pages.iterate(padded(text)).get(document) != simdjson::SUCCESS ||
      document.get_object().get(root) != simdjson::SUCCESS) {
    return fail(ErrorCode::kInvalid, "the answer is not a list");
  }
  bool has_metadata = false;
  bool has_items = false;
  for (auto field : root) {
    std::string_view key;
    if (field.unescaped_key().get(key) != simdjson::SUCCESS)
      return fail(ErrorCode::kInvalid, "the list is broken");
    if (key == "metadata") {
      ondemand::object metadata;
      if (field.value().get_object().get(metadata) != simdjson::SUCCESS)
        return fail(ErrorCode::kInvalid, "metadata of the list is not an object");
      BERTH_TRY(read_list_meta(metadata, out));
      has_metadata = true;
    } else if (key == "items") {
      ondemand::value items;
      if (field.value().get(items) != simdjson::SUCCESS)
        return fail(ErrorCode::kInvalid, "items of the list are broken");
      BERTH_TRY(read_items(items, item));
      has_items = true;
    }
  }
  // A loop over broken JSON ends as one over its end does, and what is missing must not look as if it were gone.
  if (!document.is_alive()) return fail(ErrorCode::kInvalid, "the list is broken");
  if (!has_metadata) return fail(ErrorCode::kInvalid, "the answer is not a list: it has no metadata");
  if (!has_items) return fail(ErrorCode::kInvalid, "the list has no items");
  return out;
}

bool WatchJson::ends_initial_events(std::string_view bookmark) {
  constexpr std::string_view kMark = "\"k8s.io/initial-events-end\"";
  const std::size_t at = bookmark.find(kMark);
  if (at == std::string_view::npos) return false;
  std::string_view rest = bookmark.substr(at + kMark.size());
  while (!rest.empty() && (rest.front() == ' ' || rest.front() == ':')) rest.remove_prefix(1);
  return rest.starts_with("\"true\"");
}

}  // namespace berth::kube
