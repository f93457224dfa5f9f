// Lists and watches in both forms of the API server: JSON (watch_json.h) and binary (protobuf_json.h). Behind it all objects are JSON, but those that
// the reader is told to leave as they are.
// The form is that of the answer, by its Content-Type; what was asked for does not matter.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "kube/protobuf_json.h"
#include "kube/transport.h"
#include "kube/watch_json.h"

namespace berth::kube {

// Cuts the frames of a binary watch out of chunks: a length of four bytes, the highest first, and so many bytes. A frame that lies within one
// chunk is given out in place. The buffer of a long one goes with it.
class FrameSplitter {
 public:
  explicit FrameSplitter(std::size_t max_frame) : max_frame_(max_frame) {}
  // Calls `frame` for each complete one; it returns false to stop, and the rest is dropped. False where a frame is longer than the bound.
  bool feed(std::string_view chunk, const std::function<bool(std::string_view)>& frame);
  void clear();
  // Bytes of an incomplete frame, its length included.
  std::size_t pending() const { return buffer_.size(); }

 private:
  std::size_t max_frame_;
  std::string buffer_;
};

struct WatchEvent {
  WatchType type = WatchType::kError;
  ObjectMeta meta;          // not of kError
  std::string_view object;  // JSON, followed by kJsonPadding readable bytes; of kError a Status
  BinaryObject binary;      // kAdded and kModified, where it is left so: instead of `object`
};

struct ListItem {
  std::string_view object;  // JSON, followed by kJsonPadding readable bytes
  BinaryObject binary;      // where it is left so: instead of `object`
};

class ObjectReader {
 public:
  // `leaves_binary`: objects in binary form that are there stay so.
  explicit ObjectReader(std::size_t max_event, bool leaves_binary = false)
      : leaves_binary_(leaves_binary), lines_(max_event), frames_(max_event) {}

  // The watch that follows has this form. The rest of the last one is dropped.
  void begin(Form form);
  Form form() const { return form_; }
  // Calls `event` with the bytes of each whole event, for event(). It returns false to stop, and the rest is dropped. False where an event is
  // longer than the bound.
  bool feed(std::string_view chunk, const std::function<bool(std::string_view)>& event);
  // Views are valid until the next call.
  Result<WatchEvent> event(std::string_view bytes);

  // Calls `item` for each object of a list; it may call item_meta(). `body` may get padding here.
  using ItemSink = std::function<Status(const ListItem& item)>;
  Result<ListPage> page(Form form, std::string& body, const ItemSink& item);
  // The identity of the object that `item` is called with.
  Result<ObjectMeta> item_meta(const ListItem& item);

  // Gives back the buffers of large texts. Views end.
  void let_go();

 private:
  Result<WatchEvent> binary_event(std::string_view bytes);
  Result<ListPage> binary_page(std::string_view body, const ItemSink& item);
  void pad();

  bool leaves_binary_;
  Form form_ = Form::kJson;
  LineSplitter lines_;
  FrameSplitter frames_;
  WatchJson json_;
  std::string text_;       // the JSON of a binary object
  std::string_view item_;  // the binary item at hand; empty: it is JSON
};

}  // namespace berth::kube
