// Builds a Document from events (scalar, begin, end, alias), for the YAML and the JSON reader. It holds the
// bounds, refuses duplicate keys and resolves merge keys. A call that returns false left its reason in
// error().
#pragma once

#include <cstdint>
#include <memory>
#include <memory_resource>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "text/document.h"

namespace berth::text {

struct Document::Storage {
  std::string text;  // the input, where scalars may point into it
  std::string file;
  std::pmr::monotonic_buffer_resource arena{2048};
};

class TreeBuilder {
 public:
  explicit TreeBuilder(const Limits& limits) : limits_(limits) {}

  // Starts a document. Scalars may be views of the text kept (see text()).
  void start(std::string file, std::string text = {});
  const std::string& text() const { return storage_->text; }

  // `text` is copied unless it is a view of the document's text (`kept`).
  bool scalar(std::string_view text, bool quoted, std::uint64_t line, std::uint64_t column, bool kept,
              std::string_view anchor = {});
  bool begin(NodeKind kind, std::uint64_t line, std::uint64_t column, std::string_view anchor = {});
  bool end();
  bool alias(std::string_view name, std::uint64_t line, std::uint64_t column);
  bool has_open() const { return !frames_.empty(); }

  // The document whose root was completed.
  Document finish();
  const Error& error() const { return error_; }
  bool refuse(ErrorCode code, std::uint64_t line, std::uint64_t column, std::string message);

 private:
  // The size of a subtree that is repeated.
  struct Extent {
    std::uint64_t nodes = 1;
    std::uint32_t height = 0;
  };
  struct Frame {
    Node node;  // kind and place; children are filled in at the end
    std::size_t first_child;
    Extent extent;
    std::string anchor;
  };
  struct Anchor {
    Node node;
    Extent extent;
  };

  bool add(Node node, Extent extent);
  bool count(std::uint64_t line, std::uint64_t column);
  bool check_duplicates(std::span<Entry> entries);
  bool merge(std::vector<Entry>& entries);
  bool merge_from(const Node& source, const Node& place, std::vector<Entry>& merged);
  template <class T>
  const T* keep(const T* from, std::size_t n);

  Limits limits_;
  std::unique_ptr<Document::Storage> storage_;
  std::vector<Node> children_;
  std::vector<Entry> entries_;
  std::vector<Frame> frames_;
  std::unordered_map<std::string, Anchor> anchors_;
  std::uint64_t nodes_ = 0;
  std::uint64_t alias_nodes_ = 0;
  Node root_;
  Error error_;
};

}  // namespace berth::text
