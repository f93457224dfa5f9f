#include "text/tree_builder.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <unordered_set>
#include <utility>

namespace berth::text {
namespace {

constexpr std::uint32_t kMaxColumn = (1U << 24) - 1;

bool is_null_word(std::string_view text) {
  return text.empty() || text == "~" || text == "null" || text == "Null" || text == "NULL";
}

std::uint32_t narrow(std::uint64_t n) {
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(n, std::numeric_limits<std::uint32_t>::max()));
}

}  // namespace

void TreeBuilder::start(std::string file, std::string text) {
  storage_ = std::make_unique<Document::Storage>();
  storage_->file = std::move(file);
  storage_->text = std::move(text);
  children_.clear();
  frames_.clear();
  anchors_.clear();
  nodes_ = 0;
  alias_nodes_ = 0;
  root_ = Node();
}

bool TreeBuilder::refuse(ErrorCode code, std::uint64_t line, std::uint64_t column, std::string message) {
  error_ = Error{code, std::move(message), SourcePlace{storage_->file, narrow(line), narrow(column)}};
  return false;
}

bool TreeBuilder::count(std::uint64_t line, std::uint64_t column) {
  if (++nodes_ <= limits_.max_nodes) return true;
  return refuse(ErrorCode::kExhausted, line, column,
                fmt::format("the document has more than {} nodes; split it into several", limits_.max_nodes));
}

template <class T>
const T* TreeBuilder::keep(const T* from, std::size_t n) {
  if (n == 0) return nullptr;
  void* to = storage_->arena.allocate(n * sizeof(T), alignof(T));
  std::memcpy(to, static_cast<const void*>(from), n * sizeof(T));
  return static_cast<const T*>(to);
}

bool TreeBuilder::scalar(std::string_view text, bool quoted, std::uint64_t line, std::uint64_t column,
                         bool kept, std::string_view anchor) {
  if (!count(line, column)) return false;
  if (text.size() > std::numeric_limits<std::uint32_t>::max()) {
    return refuse(ErrorCode::kExhausted, line, column, "a value has more than 4 GiB");
  }
  Node node;
  node.kind_ = !quoted && is_null_word(text) ? NodeKind::kNull : NodeKind::kScalar;
  node.quoted_ = quoted;
  node.data_ = kept ? text.data() : keep(text.data(), text.size());
  node.size_ = static_cast<std::uint32_t>(text.size());
  node.line_ = narrow(line);
  node.column_ = static_cast<std::uint32_t>(std::min<std::uint64_t>(column, kMaxColumn)) & kMaxColumn;
  if (!anchor.empty()) anchors_[std::string(anchor)] = {node, {}};
  return add(node, {});
}

bool TreeBuilder::begin(NodeKind kind, std::uint64_t line, std::uint64_t column, std::string_view anchor) {
  if (!count(line, column)) return false;
  if (frames_.size() >= limits_.max_depth) {
    return refuse(ErrorCode::kExhausted, line, column,
                  fmt::format("values are nested more than {} deep", limits_.max_depth));
  }
  if (!anchor.empty()) anchors_.erase(std::string(anchor));
  Frame frame;
  frame.node.kind_ = kind;
  frame.node.line_ = narrow(line);
  frame.node.column_ = static_cast<std::uint32_t>(std::min<std::uint64_t>(column, kMaxColumn)) & kMaxColumn;
  frame.first_child = children_.size();
  frame.anchor = anchor;
  frames_.push_back(std::move(frame));
  return true;
}

bool TreeBuilder::end() {
  Frame frame = std::move(frames_.back());
  frames_.pop_back();
  const std::size_t n = children_.size() - frame.first_child;
  const Node* first = children_.data() + frame.first_child;
  std::size_t size = n;
  if (frame.node.is_sequence()) {
    frame.node.data_ = keep(first, n);
  } else {
    entries_.clear();
    bool merges = false;
    for (std::size_t i = 0; i + 1 < n; i += 2) {
      entries_.push_back({first[i], first[i + 1]});
      merges |= !first[i].quoted() && first[i].text() == "<<";
    }
    if (!check_duplicates(entries_)) return false;
    if (merges && !merge(entries_)) return false;
    size = entries_.size();
    frame.extent.nodes = std::max<std::uint64_t>(frame.extent.nodes, 1 + 2 * size);
    frame.node.data_ = keep(entries_.data(), size);
  }
  if (size > std::numeric_limits<std::uint32_t>::max()) {
    return refuse(ErrorCode::kExhausted, frame.node.line(), frame.node.column(),
                  "a list is longer than 2^32");
  }
  frame.node.size_ = static_cast<std::uint32_t>(size);
  children_.resize(frame.first_child);
  frame.extent.height += 1;
  if (!frame.anchor.empty()) anchors_[frame.anchor] = {frame.node, frame.extent};
  return add(frame.node, frame.extent);
}

bool TreeBuilder::alias(std::string_view name, std::uint64_t line, std::uint64_t column) {
  const auto found = anchors_.find(std::string(name));
  if (found == anchors_.end()) {
    return refuse(ErrorCode::kInvalid, line, column,
                  fmt::format("alias *{} has no anchor &{} that is complete before it", name, name));
  }
  const Anchor& anchor = found->second;
  alias_nodes_ += anchor.extent.nodes;
  if (alias_nodes_ > limits_.max_alias_nodes) {
    return refuse(ErrorCode::kExhausted, line, column,
                  fmt::format("aliases expand to more than {} nodes", limits_.max_alias_nodes));
  }
  if (frames_.size() + anchor.extent.height > limits_.max_depth) {
    return refuse(
        ErrorCode::kExhausted, line, column,
        fmt::format("values are nested more than {} deep through alias *{}", limits_.max_depth, name));
  }
  return add(anchor.node, anchor.extent);
}

bool TreeBuilder::add(Node node, Extent extent) {
  if (frames_.empty()) {
    root_ = node;
    return true;
  }
  Frame& frame = frames_.back();
  if (frame.node.is_mapping() && (children_.size() - frame.first_child) % 2 == 0) {
    if (node.is_null()) {
      if (node.size_ == 0) return refuse(ErrorCode::kInvalid, node.line(), node.column(), "a key is empty");
      node.kind_ = NodeKind::kScalar;  // the word null as a key is its text
    }
    if (!node.is_scalar()) {
      return refuse(ErrorCode::kInvalid, node.line(), node.column(),
                    fmt::format("a key must be a string, not {}", node.describe()));
    }
  }
  frame.extent.nodes += extent.nodes;
  frame.extent.height = std::max(frame.extent.height, extent.height);
  children_.push_back(node);
  return true;
}

bool TreeBuilder::check_duplicates(std::span<Entry> entries) {
  const auto complain = [&](const Node& first, const Node& second) {
    return refuse(ErrorCode::kInvalid, second.line(), second.column(),
                  fmt::format("key '{}' stands here and on line {}; remove one of them",
                              second.text().substr(0, 100), first.line()));
  };
  if (entries.size() <= 12) {
    for (std::size_t i = 1; i < entries.size(); ++i) {
      for (std::size_t j = 0; j < i; ++j) {
        if (entries[i].name() == entries[j].name()) return complain(entries[j].key, entries[i].key);
      }
    }
    return true;
  }
  std::unordered_map<std::string_view, std::size_t> seen;
  seen.reserve(entries.size());
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const auto [at, fresh] = seen.emplace(entries[i].name(), i);
    if (!fresh) return complain(entries[at->second].key, entries[i].key);
  }
  return true;
}

// Keys of the mapping itself win over merged ones, earlier merged mappings over later ones
// (yaml.org/type/merge.html).
bool TreeBuilder::merge(std::vector<Entry>& entries) {
  std::vector<Entry> merged;
  Entry request;
  for (const Entry& entry : entries) {
    if (!entry.key.quoted() && entry.name() == "<<") {
      request = entry;
    } else {
      merged.push_back(entry);
    }
  }
  if (request.value.is_sequence()) {
    for (const Node& item : request.value.items()) {
      if (!merge_from(item, request.key, merged)) return false;
    }
  } else if (!merge_from(request.value, request.key, merged)) {
    return false;
  }
  entries = std::move(merged);
  return true;
}

bool TreeBuilder::merge_from(const Node& source, const Node& place, std::vector<Entry>& merged) {
  if (!source.is_mapping()) {
    return refuse(
        ErrorCode::kInvalid, place.line(), place.column(),
        fmt::format("merge key << needs a mapping or a list of mappings, not {}", source.describe()));
  }
  std::unordered_set<std::string_view> present;
  for (const Entry& entry : merged) present.insert(entry.name());
  for (const Entry& entry : source.entries()) {
    if (!present.insert(entry.name()).second) continue;
    alias_nodes_ += 2;
    merged.push_back(entry);
  }
  alias_nodes_ += 1;
  if (alias_nodes_ > limits_.max_alias_nodes) {
    return refuse(ErrorCode::kExhausted, place.line(), place.column(),
                  fmt::format("merge keys expand to more than {} nodes", limits_.max_alias_nodes));
  }
  return true;
}

Document TreeBuilder::finish() {
  Document document;
  document.storage_ = std::move(storage_);
  document.root_ = root_;
  return document;
}

}  // namespace berth::text
