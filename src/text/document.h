// YAML and JSON documents as one tree of values that know where they stand.
//
// A Document owns its text and all its nodes; a Node is a small read-only value (24 bytes) that is valid as
// long as its Document lives (moving the Document keeps nodes valid). Aliases share nodes, merge keys ("<<")
// are resolved, duplicate keys are errors that name both lines, keys are always scalars.
//
// Plain scalars are resolved when they are read, by YAML 1.2's core schema: yes, no, on and off are strings.
//
// Bounds (Limits) hold for every input: depth, nodes, nodes reached through aliases, bytes.
// Cost: linear in the input. Errors: ErrorCode::kInvalid for wrong input, kExhausted for a bound, each with
// the place.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace berth::text {

class ByteSource;

// For one document, unless its reader sets another. A text that is refused for it has cost about that much memory.
inline constexpr std::uint64_t kMostDocumentBytes = std::uint64_t{256} << 20;

struct Limits {
  std::uint32_t max_depth = 64;          // nested sequences and mappings
  std::uint64_t max_nodes = 16'000'000;  // of one document: some 500 MiB of memory
  std::uint64_t max_document_bytes =
      kMostDocumentBytes;  // of one JSON text (which is read whole) or YAML document
  std::uint64_t max_scalar_bytes = std::uint64_t{64} << 20;  // of one YAML scalar or comment
  std::uint64_t max_alias_nodes = 1'000'000;         // nodes that aliases and merge keys add to one document
  std::uint64_t max_bytes = std::uint64_t{8} << 30;  // of one input, all its documents together
};

struct Entry;

enum class NodeKind : std::uint8_t { kNull, kScalar, kSequence, kMapping };

class Node {
 public:
  Node() = default;

  NodeKind kind() const { return kind_; }
  bool is_null() const { return kind_ == NodeKind::kNull; }
  bool is_scalar() const { return kind_ == NodeKind::kScalar; }
  bool is_sequence() const { return kind_ == NodeKind::kSequence; }
  bool is_mapping() const { return kind_ == NodeKind::kMapping; }

  // From 1; 0 for a node that stands in no text.
  std::uint32_t line() const { return line_; }
  std::uint32_t column() const { return column_; }

  // The text of a scalar, escapes resolved; of another kind, empty.
  std::string_view text() const {
    return is_scalar() ? std::string_view(static_cast<const char*>(data_), size_) : std::string_view();
  }
  // A scalar that is a string whatever it looks like: quoted, a block scalar, tagged !!str, or a JSON string.
  bool quoted() const { return quoted_; }

  // The elements of a sequence; of another kind, none.
  std::span<const Node> items() const {
    return is_sequence() ? std::span<const Node>(static_cast<const Node*>(data_), size_)
                         : std::span<const Node>();
  }
  // The entries of a mapping in the order of the text; of another kind, none.
  std::span<const Entry> entries() const;
  // Value of `key` in a mapping, or nullptr. Linear in the number of entries.
  const Node* find(std::string_view key) const;
  // find() along several keys: node.at({"spec", "template", "metadata"}). nullptr as soon as one is absent.
  const Node* at(std::initializer_list<std::string_view> path) const;

  // Core-schema resolution. Each is empty where the node is something else (a quoted scalar is a string
  // only).
  std::optional<bool> as_bool() const;         // true, True, TRUE, false, ...
  std::optional<std::int64_t> as_int() const;  // 12, -3, 0x1f, 0o17; also 1e3 and 2.0, which are whole
  std::optional<double> as_double() const;     // any number, .inf, .nan
  // The string of a scalar that is neither a number nor a boolean nor null (or that is quoted).
  std::optional<std::string_view> as_string() const;

  // "a mapping", "a string", "an integer", ...: for messages.
  std::string_view describe() const;

 private:
  friend class TreeBuilder;
  friend class Document;
  const void* data_ = nullptr;  // chars, Node[] or Entry[], all owned by the Document
  std::uint32_t size_ = 0;
  std::uint32_t line_ = 0;
  std::uint32_t column_ : 24 = 0;
  NodeKind kind_ : 4 = NodeKind::kNull;
  bool quoted_ : 1 = false;
};

struct Entry {
  Node key;  // always a scalar
  Node value;

  std::string_view name() const { return key.text(); }
};

inline std::span<const Entry> Node::entries() const {
  return is_mapping() ? std::span<const Entry>(static_cast<const Entry*>(data_), size_)
                      : std::span<const Entry>();
}

class Document {
 public:
  Document();
  Document(Document&&) noexcept;
  Document& operator=(Document&&) noexcept;
  ~Document();

  const Node& root() const { return root_; }
  const std::string& file() const;
  SourcePlace place(const Node& node) const { return {file(), node.line(), node.column()}; }

 private:
  friend class TreeBuilder;
  struct Storage;
  std::unique_ptr<Storage> storage_;
  Node root_;
};

// Reads the documents of a stream one at a time, so that a dump of any size needs the memory of its largest
// document. JSON (also several JSON texts one after the other, or JSON lines) is read through the same
// reader; empty documents are left out. After an error the reader is finished.
class DocumentReader {
 public:
  // `source` must outlive the reader.
  explicit DocumentReader(ByteSource& source, const Limits& limits = {});
  // Reads `text`, which is named `file` in messages; its first line is `first_line`.
  DocumentReader(std::string text, std::string file, const Limits& limits = {}, std::uint32_t first_line = 1);
  DocumentReader(DocumentReader&&) noexcept;
  ~DocumentReader();

  // The next document, or nullopt at the end. After an error nothing more comes, unless resume() goes on.
  Result<std::optional<Document>> next();
  // After an error in one document: goes on behind it (in YAML at the next line of "---"). False: nothing is known to follow.
  bool resume();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// All documents of a text (YAML or JSON).
Result<std::vector<Document>> parse_documents(std::string text, std::string file, const Limits& limits = {});
// Exactly one document; none or several are an error.
Result<Document> parse_document(std::string text, std::string file, const Limits& limits = {});
// All documents of a file, which may be compressed with gzip or zstd; "-" is standard input.
Result<std::vector<Document>> read_documents(const std::string& path, const Limits& limits = {});
// Exactly one document of a file.
Result<Document> read_document(const std::string& path, const Limits& limits = {});

// One strict JSON text (RFC 8259, no comments, duplicate keys refused), for example a line of JSON lines.
// `first_line` is the line of the file where `text` starts. About five times as fast as YAML.
Result<Document> parse_json(std::string text, std::string file, const Limits& limits = {},
                            std::uint32_t first_line = 1);

}  // namespace berth::text
