// The outside of what lists and watches send: lines out of chunks, the type and object of a watch line, an object's
// identity, the items of a page. Contents of objects are not looked at. Nothing is copied that need not be.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"

namespace berth::kube {

// The buffers of a text of more bytes go with it.
inline constexpr std::size_t kKeptText = std::size_t{256} << 10;

// Cuts a stream of chunks into lines. A line that lies within one chunk, with kJsonPadding bytes behind it, is given out
// in place; others pass through a buffer that keeps that many bytes behind its content. The buffer of a long line goes with it.
class LineSplitter {
 public:
  explicit LineSplitter(std::size_t max_line) : max_line_(max_line) {}
  // Calls `line` for each complete line (empty ones left out); it returns false to stop, and the rest is dropped. False
  // where a line became longer than the bound.
  bool feed(std::string_view chunk, const std::function<bool(std::string_view)>& line);
  void clear();
  // Bytes of an incomplete line.
  std::size_t pending() const { return buffer_.size(); }

 private:
  std::size_t max_line_;
  std::string buffer_;
};

struct ObjectMeta {
  std::string_view ns;
  std::string_view name;
  std::string_view uid;
  std::string_view resource_version;
};

enum class WatchType : std::uint8_t { kAdded, kModified, kDeleted, kBookmark, kError };

// "ADDED" and so on; false where it is none.
bool watch_type_of(std::string_view name, WatchType& out);

struct WatchLine {
  WatchType type = WatchType::kError;
  std::string_view object;  // a part of the line
};

struct ListPage {
  std::string resource_version;
  std::string next;  // continue token; empty on the last page
};

class WatchJson {
 public:
  WatchJson();
  ~WatchJson();
  // Every text must be followed by kJsonPadding readable bytes. Views are valid until the next call.
  Result<WatchLine> line(std::string_view text);
  Result<ObjectMeta> meta(std::string_view object);
  // Calls `item` for each object of a list; it may call meta(). `body` gets its padding here.
  Result<ListPage> page(std::string& body, const std::function<Status(std::string_view object)>& item);
  static bool ends_initial_events(std::string_view bookmark);
  // Gives back the buffers of large texts: several times the text. Views end.
  void let_go();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace berth::kube
