// The program: all commands, one file each, and how a command line that is wrong is answered.
#pragma once

#include <CLI/CLI.hpp>
#include <iosfwd>
#include <string>

namespace berth::cli {

// Adds every command. Their callbacks set `exit_code`.
void register_commands(CLI::App& app, int& exit_code);

// 0 to 2, as the command says; 2 where the command line is wrong, and `err` says how. As `kubectl-berth`, a plugin of kubectl, it calls
// itself kubectl berth.
int run_program(int argc, char** argv, const std::string& version, std::ostream& err);

}  // namespace berth::cli
