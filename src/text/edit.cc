#include "text/edit.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "text/tree_builder.h"

namespace berth::text {
namespace {

// Copies a tree through a builder, with the one value at `path` replaced.
class Editor {
 public:
  Editor(const Document& document, const Change& change, const std::vector<PathStep>& steps, TreeBuilder& out)
      : document_(document), change_(change), steps_(steps), out_(out) {}

  Status edit(const Node& node, std::size_t at) {
    if (at == steps_.size()) return copy(*change_.value, &node);
    const PathStep& step = steps_[at];
    return step.key.empty() ? edit_list(node, at) : edit_mapping(node, at);
  }

  // `place`: the node whose line and column the copy gets; nullptr = its own.
  Status copy(const Node& node, const Node* place) {
    const Node& where = place != nullptr ? *place : node;
    switch (node.kind()) {
      case NodeKind::kNull:
        return check(out_.scalar("", false, where.line(), where.column(), false));
      case NodeKind::kScalar:
        return check(out_.scalar(node.text(), node.quoted(), where.line(), where.column(), false));
      case NodeKind::kSequence:
        BERTH_TRY(check(out_.begin(NodeKind::kSequence, where.line(), where.column())));
        for (const Node& item : node.items()) BERTH_TRY(copy(item, place));
        return check(out_.end());
      case NodeKind::kMapping:
        BERTH_TRY(check(out_.begin(NodeKind::kMapping, where.line(), where.column())));
        for (const Entry& entry : node.entries()) {
          BERTH_TRY(copy(entry.key, place));
          BERTH_TRY(copy(entry.value, place));
        }
        return check(out_.end());
    }
    return {};
  }

 private:
  Status check(bool done) const {
    if (!done) return tl::unexpected<Error>(out_.error());
    return {};
  }

  Status edit_list(const Node& node, std::size_t at) {
    const std::size_t index = steps_[at].index;
    if (!node.is_sequence()) {
      return fail_at(document_.place(node), "{}: there is {} here, and no list with elements", change_.path,
                     node.describe());
    }
    if (index != PathStep::kEach && index >= node.items().size()) {
      return fail_at(document_.place(node), "{}: the list has {} elements, so the last is [{}]", change_.path,
                     node.items().size(), std::max<std::size_t>(node.items().size(), 1) - 1);
    }
    BERTH_TRY(check(out_.begin(NodeKind::kSequence, node.line(), node.column())));
    for (std::size_t i = 0; i < node.items().size(); ++i) {
      const bool here = index == PathStep::kEach || index == i;
      BERTH_TRY(here ? edit(node.items()[i], at + 1) : copy(node.items()[i], nullptr));
    }
    return check(out_.end());
  }

  Status edit_mapping(const Node& node, std::size_t at) {
    const std::string& key = steps_[at].key;
    if (!node.is_mapping() && !node.is_null()) {
      return fail_at(document_.place(node), "{}: there is {} here, and no mapping with a key {}",
                     change_.path, node.describe(), key);
    }
    BERTH_TRY(check(out_.begin(NodeKind::kMapping, node.line(), node.column())));
    bool found = false;
    for (const Entry& entry : node.entries()) {
      BERTH_TRY(copy(entry.key, nullptr));
      const bool here = entry.name() == key;
      found |= here;
      BERTH_TRY(here ? edit(entry.value, at + 1) : copy(entry.value, nullptr));
    }
    if (!found) {
      BERTH_TRY(check(out_.scalar(key, true, node.line(), node.column(), false)));
      BERTH_TRY(add(node, at + 1));
    }
    return check(out_.end());
  }

  // The rest of a path below a key that was not there.
  Status add(const Node& place, std::size_t at) {
    if (at == steps_.size()) return copy(*change_.value, &place);
    if (steps_[at].key.empty()) {
      return fail_at(document_.place(place), "{}: there is no list {}", change_.path, steps_[at - 1].key);
    }
    BERTH_TRY(check(out_.begin(NodeKind::kMapping, place.line(), place.column())));
    BERTH_TRY(check(out_.scalar(steps_[at].key, true, place.line(), place.column(), false)));
    BERTH_TRY(add(place, at + 1));
    return check(out_.end());
  }

  const Document& document_;
  const Change& change_;
  const std::vector<PathStep>& steps_;
  TreeBuilder& out_;
};

}  // namespace

Result<std::vector<PathStep>> parse_path(std::string_view path) {
  const auto wrong = [&](std::string_view why) {
    return fail(ErrorCode::kInvalid, "'{}' is no path: {}; write keys with dots, and [0] or [*] for elements",
                path, why);
  };
  std::vector<PathStep> steps;
  std::size_t at = 0;
  while (at < path.size()) {
    if (path[at] == '[') {
      const std::size_t close = path.find(']', at);
      if (close == std::string_view::npos) return wrong("a [ has no ]");
      if (steps.empty()) return wrong("it begins with an element");
      const std::string_view inside = path.substr(at + 1, close - at - 1);
      PathStep step;
      if (inside == "*") {
        step.index = PathStep::kEach;
      } else {
        const auto [end, error] = std::from_chars(inside.data(), inside.data() + inside.size(), step.index);
        if (inside.empty() || error != std::errc() || end != inside.data() + inside.size())
          return wrong("between [ and ] stands no number");
      }
      steps.push_back(std::move(step));
      at = close + 1;
      if (at < path.size() && path[at] != '[' && path[at] != '.') return wrong("after ] comes a dot");
      continue;
    }
    if (path[at] == '.') {
      if (steps.empty()) return wrong("it begins with a dot");
      ++at;
    }
    const std::size_t end = std::min(path.find_first_of(".[", at), path.size());
    if (end == at) return wrong("a key is empty");
    steps.push_back({std::string(path.substr(at, end - at)), 0});
    at = end;
  }
  if (steps.empty()) return wrong("it is empty");
  return steps;
}

Result<Document> with_changes(const Document& document, std::span<const Change> changes,
                              const Limits& limits) {
  Document latest;
  const Document* from = &document;
  const auto build = [&](const Change* change) -> Status {
    TreeBuilder builder(limits);
    builder.start(document.file());
    std::vector<PathStep> steps;
    const Change none;
    if (change != nullptr) {
      BERTH_ASSIGN(steps, parse_path(change->path));
    }
    Editor editor(*from, change != nullptr ? *change : none, steps, builder);
    BERTH_TRY(change != nullptr ? editor.edit(from->root(), 0) : editor.copy(from->root(), nullptr));
    Document made = builder.finish();
    latest = std::move(made);
    from = &latest;
    return {};
  };
  if (changes.empty()) BERTH_TRY(build(nullptr));
  for (const Change& change : changes) BERTH_TRY(build(&change));
  return latest;
}

}  // namespace berth::text
