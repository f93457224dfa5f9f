// Manual pages (section 1) made from the help of the commands: `berth man DIR` writes them. scripts/package puts them into the package.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace berth::cli {

struct ManPage {
  std::string name;  // "berth-get-workloads.1"
  std::string text;  // troff, with the macros of man(7)
};
// One for the program, and one for each command but the hidden ones.
std::vector<ManPage> man_pages(const CLI::App& app, const std::string& version);

void register_man(CLI::App& app, int& exit_code);

}  // namespace berth::cli
