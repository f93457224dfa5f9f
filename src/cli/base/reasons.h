// Reasons as commands show them: trees, and what to do about each (docs/operations.md has the same in more words).
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "model/decision.h"
#include "text/json.h"

namespace berth::cli {

// A reason as text, each with those below it. Code "None": it says nothing itself.
struct ReasonTree {
  std::string code;
  std::string text;
  std::vector<ReasonTree> children;
};
ReasonTree tree_of(const Reason& reason);

// One line for each reason, two spaces deeper than the one above it.
void add_tree(std::string& out, const ReasonTree& tree, std::size_t depth);
void write_tree(text::JsonWriter& json, const ReasonTree& tree);

// Things that would be enough, by the reasons that say so.
std::vector<std::string> enough_in(const ReasonTree& tree);
// The same from a text that the tree has become.
std::vector<std::string> enough_in(std::string_view text);

// For a reason by its name, or by that of a pod's condition. "": nothing is known of it.
std::string_view remedy_for(std::string_view reason);

}  // namespace berth::cli
