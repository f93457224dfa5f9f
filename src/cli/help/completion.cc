#include "cli/help/completion.h"

#include <fmt/format.h>

#include <algorithm>
#include <iostream>
#include <memory>

#include "cli/help/suggest.h"

namespace berth::cli {
namespace {

// Every command with its path below the program: "", "get", "get workloads".
struct Command {
  std::string path;
  const CLI::App* app;
};

void add_commands(const CLI::App& app, const std::string& path, std::vector<Command>& out) {
  out.push_back({path, &app});
  for (const CLI::App* below : commands_of(app, false))
    add_commands(*below, path.empty() ? below->get_name() : path + " " + below->get_name(), out);
}

std::vector<Command> all_commands(const CLI::App& app) {
  std::vector<Command> out;
  add_commands(app, "", out);
  return out;
}

std::vector<std::string> names_below(const CLI::App& app) {
  std::vector<std::string> out;
  for (const CLI::App* below : commands_of(app, false)) out.push_back(below->get_name());
  return out;
}

std::string bash_script(const CLI::App& app) {
  const auto commands = all_commands(app);
  std::string out =
      "_berth() {\n"
      "  local cur=\"${COMP_WORDS[COMP_CWORD]}\" prev=\"${COMP_WORDS[COMP_CWORD-1]}\" path=\"\" word "
      "words=\"\"\n"
      "  for word in \"${COMP_WORDS[@]:1:COMP_CWORD-1}\"; do\n"
      "    case \"${path:+$path }$word\" in\n";
  std::string paths;
  for (const auto& command : commands) {
    if (!command.path.empty()) paths += fmt::format("{}\"{}\"", paths.empty() ? "" : "|", command.path);
  }
  out += fmt::format("      {}) path=\"${{path:+$path }}$word\" ;;\n    esac\n  done\n", paths);
  out += "  case \"$path:$prev\" in\n";
  for (const auto& command : commands) {
    for (const CLI::Option* option : command.app->get_options()) {
      const auto words = words_of(*option);
      if (words.empty() || option->get_positional()) continue;
      std::string places;
      for (const auto& name : option->get_snames())
        places += fmt::format("{}\"{}:-{}\"", places.empty() ? "" : "|", command.path, name);
      for (const auto& name : option->get_lnames())
        places += fmt::format("{}\"{}:--{}\"", places.empty() ? "" : "|", command.path, name);
      out += fmt::format("    {}) words=\"{}\" ;;\n", places, fmt::join(words, " "));
    }
  }
  out += "  esac\n  if [ -z \"$words\" ]; then\n    case \"$path\" in\n";
  for (const auto& command : commands) {
    std::vector<std::string> words = names_below(*command.app);
    for (const CLI::Option* option : command.app->get_options()) {
      if (!option->get_positional()) continue;
      for (const auto& word : words_of(*option)) words.push_back(word);
    }
    const auto flags = flags_of(*command.app);
    words.insert(words.end(), flags.begin(), flags.end());
    out += fmt::format("      \"{}\") words=\"{}\" ;;\n", command.path, fmt::join(words, " "));
  }
  out +=
      "    esac\n  fi\n"
      "  COMPREPLY=($(compgen -W \"$words\" -- \"$cur\"))\n"
      "}\n"
      "complete -o default -F _berth berth kubectl-berth\n";
  return out;
}

std::string zsh_script(const CLI::App& app) {
  return "#compdef berth kubectl-berth\nautoload -U +X bashcompinit && bashcompinit\n" + bash_script(app);
}

// In single quotes.
std::string in_quotes(std::string_view text) {
  std::string out = "'";
  for (const char c : text.substr(0, text.find('\n'))) {
    if (c == '\'' || c == '\\') out += '\\';
    out += c;
  }
  return out + "'";
}

std::string fish_script(const CLI::App& app) {
  const auto commands = all_commands(app);
  std::string out = "set -g __berth_paths";
  for (const auto& command : commands) {
    if (!command.path.empty()) out += " " + in_quotes(command.path);
  }
  out +=
      "\nfunction __berth_path\n"
      "  set -l path ''\n"
      "  for word in (commandline -opc)[2..-1]\n"
      "    set -l next (string trim \"$path $word\")\n"
      "    contains -- $next $__berth_paths; and set path $next\n"
      "  end\n"
      "  echo $path\n"
      "end\n";
  for (const auto& command : commands) {
    const std::string at =
        fmt::format("complete -c berth -n 'test \"$(__berth_path)\" = \"{}\"'", command.path);
    for (const CLI::App* below : commands_of(*command.app, false))
      out += fmt::format("{} -f -a {} -d {}\n", at, below->get_name(), in_quotes(below->get_description()));
    for (const CLI::Option* option : command.app->get_options()) {
      const auto words = words_of(*option);
      if (option->get_positional()) {
        if (!words.empty()) out += fmt::format("{} -f -a '{}'\n", at, fmt::join(words, " "));
        continue;
      }
      out += at;
      for (const auto& name : option->get_snames()) out += " -s " + name;
      for (const auto& name : option->get_lnames()) out += " -l " + name;
      if (!words.empty()) {
        out += fmt::format(" -x -a '{}'", fmt::join(words, " "));
      } else if (option->get_items_expected_max() > 0) {
        out += " -r";
      }
      out += fmt::format(" -d {}\n", in_quotes(option->get_description()));
    }
  }
  return out;
}

}  // namespace

std::vector<std::string> words_of(const CLI::Option& option) {
  // CLI11 tells a closed list as a part of the type: "TEXT:{table,json}".
  const std::string type = option.get_type_name();
  const auto open = type.find('{');
  const auto close = type.rfind('}');
  std::vector<std::string> out;
  if (open == std::string::npos || close == std::string::npos) return out;
  for (std::size_t at = open + 1; at < close;) {
    const auto end = std::min(type.find(',', at), close);
    if (end > at) out.push_back(type.substr(at, end - at));
    at = end + 1;
  }
  return out;
}

Result<std::string> completion_for(const CLI::App& app, std::string_view shell) {
  if (shell == "bash") return bash_script(app);
  if (shell == "zsh") return zsh_script(app);
  if (shell == "fish") return fish_script(app);
  return fail(ErrorCode::kInvalid, "completion: \"{}\" is none of bash, zsh, fish", shell);
}

void register_completion(CLI::App& app, int& exit_code) {
  const auto shell = std::make_shared<std::string>();
  CLI::App* command =
      app.add_subcommand("completion", "Prints a script by which a shell completes commands and flags");
  command->add_option("SHELL", *shell, "bash, zsh or fish")
      ->required()
      ->check(CLI::IsMember({"bash", "zsh", "fish"}));
  command->footer(
      "Examples:\n  source <(berth completion bash)\n"
      "  berth completion zsh > \"${fpath[1]}/_berth\"\n"
      "  berth completion fish > ~/.config/fish/completions/berth.fish");
  command->callback([&app, shell, &exit_code] {
    const auto script = completion_for(app, *shell);
    if (script) std::cout << *script;
    exit_code = script ? 0 : 2;
  });
}

}  // namespace berth::cli
