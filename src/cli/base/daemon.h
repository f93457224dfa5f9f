// Shared parts of the subcommands that run until a signal: their log, and the signals that end them.
#pragma once

#include <CLI/CLI.hpp>
#include <csignal>
#include <string>

namespace berth::cli {

// --log-level; `level` is the default.
void add_log_level(CLI::App& command, std::string& level);
// The log goes to standard error.
void start_log(const std::string& level);
// SIGTERM and SIGINT, from now on blocked in this thread and those that it starts: they reach only the one that waits for them.
sigset_t block_end_signals();
// In this thread alone they end the program again, until they are blocked once more: while it waits for nothing but a server.
void unblock_end_signals();

}  // namespace berth::cli
