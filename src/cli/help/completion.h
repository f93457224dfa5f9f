// `berth completion bash|zsh|fish`: scripts that complete commands, flags and the words that a flag takes, made from the commands
// themselves.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace berth::cli {

// Invalid: the shell is none of these.
Result<std::string> completion_for(const CLI::App& app, std::string_view shell);

// The words that a flag takes, where they are a closed list.
std::vector<std::string> words_of(const CLI::Option& option);

void register_completion(CLI::App& app, int& exit_code);

}  // namespace berth::cli
