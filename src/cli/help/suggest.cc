#include "cli/help/suggest.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "text/fields.h"

namespace berth::cli {
namespace {

bool has_positional(const CLI::App& app) {
  const auto options = app.get_options();
  return std::any_of(options.begin(), options.end(),
                     [](const CLI::Option* option) { return option->get_positional(); });
}

// "--output" of "--output=json", "-o" of "-ojson".
std::string flag_in(const std::string& word) {
  if (word.starts_with("--")) return word.substr(0, word.find('='));
  return word.substr(0, 2);
}

bool is_number(const std::string& word) {
  return word.size() > 1 && word[0] == '-' && word[1] >= '0' && word[1] <= '9';
}

std::string did_you_mean(std::string_view word, const std::vector<std::string>& known) {
  const std::vector<std::string_view> all(known.begin(), known.end());
  const auto near = text::nearest(word, all);
  return near.empty() ? std::string() : fmt::format("; did you mean {}?", near);
}

}  // namespace

std::vector<const CLI::App*> commands_of(const CLI::App& app, bool hidden) {
  return app.get_subcommands(
      [&](const CLI::App* one) { return !one->get_name().empty() && (hidden || !one->get_group().empty()); });
}

std::vector<std::string> flags_of(const CLI::App& app) {
  std::vector<std::string> out;
  for (const CLI::Option* option : app.get_options()) {
    for (const auto& name : option->get_snames()) out.push_back("-" + name);
    for (const auto& name : option->get_lnames()) out.push_back("--" + name);
  }
  return out;
}

std::string unknown_word(const CLI::App& app, const std::vector<std::string>& args) {
  const CLI::App* current = &app;
  std::string path = app.get_name();
  for (std::size_t i = 0; i < args.size(); ++i) {
    const std::string& word = args[i];
    if (word == "--") return {};
    if (word.size() > 1 && word[0] == '-' && !is_number(word)) {
      const std::string flag = flag_in(word);
      const CLI::Option* option = current->get_option_no_throw(flag);
      if (option == nullptr) {
        // One letter is near to every other.
        const std::string meant = flag.size() > 2 ? did_you_mean(flag, flags_of(*current)) : std::string();
        return fmt::format("{}: there is no flag {}{}\n{} --help shows all", path, flag, meant, path);
      }
      const bool takes = option->get_items_expected_max() > 0 && word == flag;
      if (takes && i + 1 < args.size()) ++i;
      continue;
    }
    const auto commands = commands_of(*current, true);
    const auto found = std::find_if(commands.begin(), commands.end(),
                                    [&](const CLI::App* one) { return one->get_name() == word; });
    if (found != commands.end()) {
      current = *found;
      path += " " + word;
      continue;
    }
    if (commands.empty() || has_positional(*current)) continue;
    std::vector<std::string> names;
    for (const CLI::App* one : commands_of(*current, false)) names.push_back(one->get_name());
    return fmt::format("{}: there is no command \"{}\"{}\n{} --help shows all", path, word,
                       did_you_mean(word, names), path);
  }
  return {};
}

}  // namespace berth::cli
