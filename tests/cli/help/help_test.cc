// Words that are probably meant, completion and manual pages, of the commands as they are.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "cli/help/completion.h"
#include "cli/help/man.h"
#include "cli/help/suggest.h"
#include "cli/program.h"

namespace berth::cli {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

class Help : public ::testing::Test {
 protected:
  Help() {
    app_.name("berth");
    app_.set_version_flag("--version", "berth 1.2.3");
    register_commands(app_, exit_code_);
  }
  std::string unknown(std::vector<std::string> args) const { return unknown_word(app_, args); }

  CLI::App app_{"Berth"};
  int exit_code_ = 0;
};

TEST_F(Help, NamesTheCommandThatWasMeant) {
  EXPECT_EQ(unknown({"git"}),
            "berth: there is no command \"git\"; did you mean get?\nberth --help shows all");
  EXPECT_EQ(
      unknown({"get", "wrokloads"}),
      "berth get: there is no command \"wrokloads\"; did you mean workloads?\nberth get --help shows all");
  EXPECT_EQ(unknown({"frobnicate"}), "berth: there is no command \"frobnicate\"\nberth --help shows all");
  EXPECT_THAT(unknown({"queue", "setquota", "a"}), HasSubstr("did you mean set-quota?"));
}

TEST_F(Help, NamesTheFlagThatWasMeant) {
  EXPECT_EQ(unknown({"get", "workloads", "--namspace=x"}),
            "berth get workloads: there is no flag --namspace; did you mean --namespace?\n"
            "berth get workloads --help shows all");
  EXPECT_EQ(unknown({"get", "nodes", "-A"}),
            "berth get nodes: there is no flag -A\nberth get nodes --help shows all");
}

TEST_F(Help, LeavesKnownWordsAlone) {
  EXPECT_EQ(unknown({"get", "workloads", "-n", "gti", "-o", "json", "--watch"}), "");
  EXPECT_EQ(unknown({"explain", "team-a/train", "--quick"}), "");
  EXPECT_EQ(unknown({"queue", "set-quota", "a", "nvidia.com/gpu=1", "--limit", "cpu=-1"}), "");
  EXPECT_EQ(unknown({"explain", "--", "--odd"}), "");
  EXPECT_EQ(unknown({}), "");
}

TEST_F(Help, AWrongCommandLineIsAnsweredInOneLine) {
  std::array<std::string, 3> words{"/usr/bin/kubectl-berth", "gte", "nodes"};
  std::array<char*, 3> argv{words[0].data(), words[1].data(), words[2].data()};
  std::ostringstream err;
  EXPECT_EQ(run_program(3, argv.data(), "v", err), 2);
  EXPECT_EQ(
      err.str(),
      "kubectl berth: there is no command \"gte\"; did you mean get?\nkubectl berth --help shows all\n");
}

// The answers of a real bash.
TEST_F(Help, BashCompletesCommandsFlagsAndWords) {
  const auto script = completion_for(app_, "bash");
  ASSERT_TRUE(script.has_value());
  const std::string file = std::string(::testing::TempDir()) + "/berth-completion.bash";
  std::ofstream(file) << *script;
  const auto complete = [&](const std::string& words, int at) {
    const std::string command =
        fmt::format("bash -c '. {}; COMP_WORDS=({}); COMP_CWORD={}; _berth; echo \"${{COMPREPLY[@]}}\"'",
                    file, words, at);
    std::string out;
    std::FILE* pipe = popen(command.c_str(), "r");
    std::array<char, 4096> buffer{};
    while (pipe != nullptr && std::fgets(buffer.data(), buffer.size(), pipe) != nullptr) out += buffer.data();
    if (pipe != nullptr) pclose(pipe);
    return out;
  };
  EXPECT_EQ(complete("berth ge", 1), "get\n");
  EXPECT_EQ(complete("berth get w", 2), "workloads\n");
  EXPECT_EQ(complete("berth get workloads -o j", 4), "json\n");
  EXPECT_EQ(complete("berth get workloads --sta", 3), "--state\n");
  EXPECT_EQ(complete("berth get workloads --state Pe", 4), "Pending\n");
  EXPECT_EQ(complete("berth completion f", 2), "fish\n");
  EXPECT_THAT(complete("berth ma", 1), Not(HasSubstr("man")));
}

TEST_F(Help, ZshAndFishHaveEveryCommand) {
  const auto zsh = completion_for(app_, "zsh");
  const auto fish = completion_for(app_, "fish");
  ASSERT_TRUE(zsh && fish);
  EXPECT_THAT(*zsh, AllOf(HasSubstr("#compdef berth"), HasSubstr("bashcompinit")));
  EXPECT_THAT(
      *fish, AllOf(HasSubstr("'get workloads'"),
                   HasSubstr("complete -c berth -n 'test \"$(__berth_path)\" = \"get\"' -f -a workloads -d "),
                   HasSubstr("-s o -l output -x -a 'table wide json yaml name'")));
  EXPECT_FALSE(completion_for(app_, "tcsh").has_value());
}

TEST_F(Help, EveryCommandHasAPage) {
  const auto pages = man_pages(app_, app_.version());
  std::vector<std::string> names;
  for (const ManPage& page : pages) names.push_back(page.name);
  for (const char* name :
       {"berth.1", "berth-get.1", "berth-get-workloads.1", "berth-queue-set-quota.1", "berth-plan.1"})
    EXPECT_THAT(names, Contains(name));
  EXPECT_THAT(names, Not(Contains("berth-man.1")));
  for (const ManPage& page : pages) {
    EXPECT_THAT(page.text, AllOf(HasSubstr(".TH BERTH"), HasSubstr("berth 1.2.3"), HasSubstr(".SH NAME")))
        << page.name;
    if (page.name == "berth-explain.1") {
      EXPECT_THAT(page.text, AllOf(HasSubstr(".SH ARGUMENTS"), HasSubstr("\\fB\\-\\-quick\\fR"),
                                   HasSubstr("berth explain team\\-a/train")));
    }
  }
}

// Where groff is installed, it understands every page.
TEST_F(Help, PagesAreCleanTroff) {
  if (std::system("command -v groff >/dev/null 2>&1") != 0) GTEST_SKIP() << "there is no groff";
  for (const ManPage& page : man_pages(app_, app_.version())) {
    const std::string file = std::string(::testing::TempDir()) + "/" + page.name;
    std::ofstream(file) << page.text << std::flush;
    const std::string said = file + ".said";
    const std::string command = fmt::format("groff -man -Tascii -ww {} >{}.out 2>{}", file, file, said);
    EXPECT_EQ(std::system(command.c_str()), 0) << page.name;
    std::ostringstream words;
    words << std::ifstream(said).rdbuf();
    EXPECT_EQ(words.str(), "") << page.name;
  }
}

}  // namespace
}  // namespace berth::cli
