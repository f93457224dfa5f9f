// A migration guide as steps to take: the commands and manifests of docs/migration/NAME.md, in their order.
#pragma once

#include <algorithm>
#include <sstream>
#include <string>
#include <vector>

#include "base/result.h"
#include "e2e/files.h"

namespace berth::e2e {

// A block of a step: commands, one after the other, or a manifest that the reader saves under the name in its first line ("# train.yaml").
struct GuideBlock {
  std::vector<std::string> commands;
  std::string file;  // empty: commands
  std::string text;
};

struct GuidePage {
  std::string name;
  std::vector<std::vector<GuideBlock>> steps;  // of "## Move in N steps"
  std::vector<GuideBlock> back;                // of "## Go back"
};

// A line that is not indented begins a command.
inline GuideBlock guide_block(const std::string& language, const std::string& text) {
  GuideBlock out;
  std::istringstream lines(text);
  std::string line;
  if (language == "yaml") {
    std::getline(lines, line);
    out.file = line.starts_with("# ") ? line.substr(2) : "";
    out.text = text;
    return out;
  }
  while (std::getline(lines, line)) {
    if (line.starts_with(' ') && !out.commands.empty()) {
      out.commands.back() += "\n" + line;
    } else {
      out.commands.push_back(line);
    }
  }
  return out;
}

// Errors: no such page.
inline Result<GuidePage> read_guide(const std::string& name) {
  BERTH_ASSIGN(const std::string text, text_of(BERTH_SOURCE_DIR "/docs/migration/" + name + ".md"));
  GuidePage out{.name = name, .steps = {}, .back = {}};
  std::istringstream lines(text);
  std::string line, section, language, block;
  std::size_t indent = 0;
  while (std::getline(lines, line)) {
    const std::size_t begin = line.find_first_not_of(' ');
    const bool fence = begin != std::string::npos && line.compare(begin, 3, "```") == 0;
    if (fence && language.empty()) {
      language = line.substr(begin + 3);
      indent = begin;
      block.clear();
    } else if (fence) {
      if (section.starts_with("## Move in") && !out.steps.empty())
        out.steps.back().push_back(guide_block(language, block));
      if (section == "## Go back") out.back.push_back(guide_block(language, block));
      language.clear();
    } else if (!language.empty()) {
      block += line.substr(std::min(indent, line.size())) + "\n";
    } else if (line.starts_with("## ")) {
      section = line;
    } else if (section.starts_with("## Move in") && !line.empty() && line[0] >= '1' && line[0] <= '9') {
      out.steps.emplace_back();
    }
  }
  return out;
}

}  // namespace berth::e2e
