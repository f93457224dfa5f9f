// The command or flag that was probably meant.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace berth::cli {

// The first word that is neither a command nor a flag where it stands, with the nearest known one. "": there is none such.
// For example: berth get: there is no command "wrokloads"; did you mean workloads?
std::string unknown_word(const CLI::App& app, const std::vector<std::string>& args);

// All commands below this one; hidden ones only with `hidden`.
std::vector<const CLI::App*> commands_of(const CLI::App& app, bool hidden);
// "-o", "--output"; those of the help too. Positional arguments have none.
std::vector<std::string> flags_of(const CLI::App& app);

}  // namespace berth::cli
