#include "kube/object_reader.h"

#include <algorithm>

#include "kube/protobuf.h"
#include "kube/protobuf_json.h"
#include "kube/reflector.h"

namespace berth::kube {
namespace {

constexpr std::size_t kHead = 4;  // of a frame

std::size_t length_of(std::string_view head) {
  std::size_t out = 0;
  for (std::size_t i = 0; i < kHead; ++i) out = out << 8 | static_cast<unsigned char>(head[i]);
  return out;
}

// The bytes of field `number` of `message`; empty where there are none.
Result<std::string_view> part_of(std::string_view message, std::uint32_t number, std::string_view name) {
  WireField field;
  while (!message.empty()) {
    if (const auto problem = take_field(message, field); !problem.empty())
      return fail(ErrorCode::kInvalid, "{} in binary form: {}", name, problem);
    if (field.number == number && field.has_bytes) return field.bytes;
  }
  return std::string_view();
}

// metadata is field 1 of every object.
Result<ObjectMeta> meta_of(std::string_view object) {
  BERTH_ASSIGN(std::string_view metadata, part_of(object, 1, "an object"));
  ObjectMeta out;
  WireField field;
  while (!metadata.empty()) {
    if (const auto problem = take_field(metadata, field); !problem.empty())
      return fail(ErrorCode::kInvalid, "metadata in binary form: {}", problem);
    if (!field.has_bytes) continue;
    if (field.number == 1) out.name = field.bytes;
    if (field.number == 3) out.ns = field.bytes;
    if (field.number == 5) out.uid = field.bytes;
    if (field.number == 6) out.resource_version = field.bytes;
  }
  return out;
}

}  // namespace

bool FrameSplitter::feed(std::string_view chunk, const std::function<bool(std::string_view)>& frame) {
  while (!chunk.empty()) {
    if (buffer_.empty() && chunk.size() >= kHead) {
      const std::size_t length = length_of(chunk);
      if (length > max_frame_) return false;
      if (chunk.size() - kHead >= length) {
        const std::string_view here = chunk.substr(kHead, length);
        chunk.remove_prefix(kHead + length);
        if (!frame(here)) return true;
        continue;
      }
    }
    // The head first: it says how much more is wanted.
    std::size_t wanted = kHead;
    if (buffer_.size() >= kHead) wanted += length_of(buffer_);
    const std::string_view part = chunk.substr(0, wanted - buffer_.size());
    chunk.remove_prefix(part.size());
    buffer_.append(part);
    if (buffer_.size() < kHead) return true;
    const std::size_t length = length_of(buffer_);
    if (length > max_frame_) return false;
    if (buffer_.size() - kHead < length) continue;
    const bool more = frame(std::string_view(buffer_).substr(kHead));
    clear();
    if (!more) return true;
  }
  return true;
}

void FrameSplitter::clear() {
  buffer_.clear();
  if (buffer_.capacity() > kKeptText) buffer_.shrink_to_fit();
}

void ObjectReader::begin(Form form) {
  form_ = form;
  lines_.clear();
  frames_.clear();
}

bool ObjectReader::feed(std::string_view chunk, const std::function<bool(std::string_view)>& event) {
  return form_ == Form::kJson ? lines_.feed(chunk, event) : frames_.feed(chunk, event);
}

Result<WatchEvent> ObjectReader::event(std::string_view bytes) {
  if (form_ == Form::kBinary) return binary_event(bytes);
  BERTH_ASSIGN(const WatchLine line, json_.line(bytes));
  WatchEvent out{line.type, {}, line.object};
  if (line.type != WatchType::kError) {
    BERTH_ASSIGN(out.meta, json_.meta(line.object));
  }
  return out;
}

// metav1.WatchEvent: 1 its type, 2 a RawExtension, whose 1 is the object in its envelope.
Result<WatchEvent> ObjectReader::binary_event(std::string_view bytes) {
  BERTH_ASSIGN(const std::string_view type, part_of(bytes, 1, "a watch event"));
  WatchEvent out;
  if (!watch_type_of(type, out.type))
    return fail(ErrorCode::kInvalid, "a watch event in binary form has no known type");
  BERTH_ASSIGN(const std::string_view extension, part_of(bytes, 2, "a watch event"));
  BERTH_ASSIGN(const std::string_view envelope, part_of(extension, 1, "a watch event"));
  BERTH_ASSIGN(const BinaryObject object, open_envelope(envelope));
  if (out.type != WatchType::kError) {
    BERTH_ASSIGN(out.meta, meta_of(object.bytes));
  }
  if (leaves_binary_ && (out.type == WatchType::kAdded || out.type == WatchType::kModified)) {
    out.binary = object;
    return out;
  }
  BERTH_TRY(write_json(object, text_));
  pad();
  out.object = text_;
  return out;
}

Result<ListPage> ObjectReader::page(Form form, std::string& body, const ItemSink& item) {
  item_ = {};
  if (form == Form::kJson)
    return json_.page(body, [&](std::string_view object) { return item({object, {}}); });
  auto out = binary_page(body, item);
  item_ = {};
  return out;
}

// PodList, NodeList, JobList: 1 ListMeta (2 resourceVersion, 3 continue), 2 each item. Items have no kind of their own.
Result<ListPage> ObjectReader::binary_page(std::string_view body, const ItemSink& item) {
  constexpr std::string_view kList = "List";
  BERTH_ASSIGN(const BinaryObject list, open_envelope(body));
  const std::string_view kind =
      list.kind.substr(0, list.kind.size() - std::min(list.kind.size(), kList.size()));
  const Message* const message = list.kind.ends_with(kList) ? message_of(list.api_version, kind) : nullptr;
  if (message == nullptr)
    return fail(ErrorCode::kInvalid, "a list in binary form is of a kind that is not read in it: {}",
                list.kind.substr(0, 64));
  ListPage out;
  bool has_metadata = false;
  WireField field;
  for (std::string_view rest = list.bytes; !rest.empty();) {
    if (const auto problem = take_field(rest, field); !problem.empty())
      return fail(ErrorCode::kInvalid, "a list in binary form: {}", problem);
    if (!field.has_bytes) continue;
    if (field.number == 1) {
      BERTH_ASSIGN(out.resource_version, part_of(field.bytes, 2, "metadata of a list"));
      BERTH_ASSIGN(out.next, part_of(field.bytes, 3, "metadata of a list"));
      has_metadata = true;
    } else if (field.number == 2) {
      item_ = field.bytes;
      if (leaves_binary_) {
        BERTH_TRY(item({{}, {list.api_version, kind, field.bytes}}));
        continue;
      }
      BERTH_TRY(write_json(*message, field.bytes, {}, {}, text_));
      pad();
      BERTH_TRY(item({text_, {}}));
    }
  }
  if (!has_metadata) return fail(ErrorCode::kInvalid, "a list in binary form has no metadata");
  return out;
}

Result<ObjectMeta> ObjectReader::item_meta(const ListItem& item) {
  return item_.data() == nullptr ? json_.meta(item.object) : meta_of(item_);
}

void ObjectReader::pad() {
  text_.reserve(text_.size() + kJsonPadding);
}

void ObjectReader::let_go() {
  json_.let_go();
  if (text_.capacity() <= kKeptText) return;
  text_.clear();
  text_.shrink_to_fit();
}

}  // namespace berth::kube
