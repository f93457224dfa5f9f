#include "cli/help/man.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iostream>
#include <memory>
#include <string_view>

#include "cli/help/suggest.h"

namespace berth::cli {
namespace {

// Text that troff prints as it is.
std::string plain(std::string_view text) {
  std::string out;
  bool at_start = true;
  for (const char c : text) {
    if (at_start && (c == '.' || c == '\'')) out += "\\&";
    at_start = c == '\n';
    if (c == '\\') {
      out += "\\e";
    } else if (c == '-') {
      out += "\\-";
    } else {
      out += c;
    }
  }
  return out;
}

std::string upper(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  return out;
}

std::string value_word(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  const auto open = type.find('{');
  return open == std::string::npos ? type : type.substr(open);
}

void add_option(std::string& out, const CLI::Option& option) {
  std::string names;
  const auto add = [&](std::string_view dashes, const std::string& name) {
    names += fmt::format("{}\\fB{}{}\\fR", names.empty() ? "" : ", ", plain(dashes), plain(name));
  };
  for (const auto& name : option.get_snames()) add("-", name);
  for (const auto& name : option.get_lnames()) add("--", name);
  if (option.get_positional()) names = fmt::format("\\fB{}\\fR", plain(option.get_name(true)));
  if (!option.get_positional() && option.get_items_expected_max() > 0)
    names += fmt::format(" \\fI{}\\fR", plain(value_word(option)));
  out += fmt::format(".TP\n{}\n{}", names, plain(option.get_description()));
  if (const auto& standard = option.get_default_str(); !standard.empty())
    out += fmt::format(" (default: {})", plain(standard));
  out += "\n";
}

std::string page_of(const CLI::App& app, const std::string& path, const std::string& page,
                    const std::string& version) {
  std::string out = fmt::format(".TH {} 1 \"\" \"{}\" \"Berth\"\n", upper(plain(page)), plain(version));
  out += fmt::format(".SH NAME\n{} \\- {}\n", plain(page), plain(app.get_description()));
  out += fmt::format(".SH SYNOPSIS\n.B {}\n", plain(path));
  const auto below = commands_of(app, false);
  if (!below.empty()) out += ".I COMMAND\n";
  std::string positional, flags;
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_positional()) {
      out += fmt::format("{}{}{}\n", option->get_required() ? "" : "[", plain(option->get_name(true)),
                         option->get_required() ? "" : "]");
      add_option(positional, *option);
    } else {
      add_option(flags, *option);
    }
  }
  out += "[FLAGS]\n";
  if (!below.empty()) out += ".SH COMMANDS\n";
  for (const CLI::App* command : below) {
    out +=
        fmt::format(".TP\n\\fB{}\\fR\n{}\n", plain(command->get_name()), plain(command->get_description()));
  }
  if (!positional.empty()) out += ".SH ARGUMENTS\n" + positional;
  if (!flags.empty()) out += ".SH FLAGS\n" + flags;
  if (const std::string footer = app.get_footer(); !footer.empty())
    out += fmt::format(".SH NOTES\n.nf\n{}\n.fi\n", plain(footer));
  if (page != "berth") out += ".SH SEE ALSO\n.BR berth (1)\n";
  return out;
}

void add_pages(const CLI::App& app, const std::string& path, const std::string& page,
               const std::string& version, std::vector<ManPage>& out) {
  out.push_back({page + ".1", page_of(app, path, page, version)});
  for (const CLI::App* below : commands_of(app, false))
    add_pages(*below, path + " " + below->get_name(), page + "-" + below->get_name(), version, out);
}

}  // namespace

std::vector<ManPage> man_pages(const CLI::App& app, const std::string& version) {
  std::vector<ManPage> out;
  add_pages(app, "berth", "berth", version, out);
  return out;
}

void register_man(CLI::App& app, int& exit_code) {
  const auto folder = std::make_shared<std::string>();
  CLI::App* command = app.add_subcommand("man", "Writes manual pages of all commands into a folder");
  command->group("");  // for those that make packages
  command->add_option("DIR", *folder, "Folder, which must be there")->required();
  command->callback([&app, folder, &exit_code] {
    exit_code = 0;
    for (const ManPage& page : man_pages(app, app.version())) {
      const std::string path = *folder + "/" + page.name;
      std::ofstream file(path);
      file << page.text << std::flush;
      if (file) continue;
      std::cerr << "berth man: " << path << ": " << std::strerror(errno) << "\n";
      exit_code = 1;
      return;
    }
  });
}

}  // namespace berth::cli
