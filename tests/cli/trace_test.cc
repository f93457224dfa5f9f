// `berth trace`: its three commands from end to end, and their refusals.
#include "cli/trace.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

namespace berth::cli {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class TraceCommand : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "/berth-trace-XXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string path(const std::string& name) const { return folder_ + "/" + name; }
  std::string file(const std::string& name, const std::string& content) const {
    std::ofstream(path(name)) << content;
    return path(name);
  }
  static std::string text(const std::string& path) {
    std::ifstream in(path);
    std::stringstream out;
    out << in.rdbuf();
    return out.str();
  }
  int convert(const ConvertArguments& arguments) {
    err_.str("");
    return run_convert(arguments, err_);
  }
  int generate(const GenerateArguments& arguments) {
    err_.str("");
    return run_generate(arguments, err_);
  }
  std::string inspect(const std::string& path, const std::string& output = "table") {
    InspectArguments arguments;
    arguments.files = {path};
    arguments.output = output;
    std::ostringstream out;
    err_.str("");
    exit_ = run_inspect(arguments, out, err_);
    return out.str();
  }

  std::string folder_;
  std::ostringstream err_;
  int exit_ = 0;
};

constexpr const char* kJobs =
    "job_id,submit_s,gpus,duration_s,vc\n1,100,1,60,a\n2,200,20,60,\n3,400,8,60,b\n";

TEST_F(TraceCommand, ConvertSelectsAndScales) {
  ConvertArguments arguments;
  arguments.in = file("jobs.csv", kJobs);
  arguments.out = path("out.csv");
  arguments.to = "csv";
  ASSERT_EQ(convert(arguments), 0) << err_.str();
  EXPECT_EQ(text(arguments.out), kJobs);
  EXPECT_THAT(err_.str(), HasSubstr("3 jobs written"));

  arguments.from = "150s";
  arguments.scale_load = "2";
  arguments.from_zero = true;
  ASSERT_EQ(convert(arguments), 0) << err_.str();
  EXPECT_EQ(text(arguments.out), "job_id,submit_s,gpus,duration_s,vc\n2,0,20,60,\n3,100,8,60,b\n");
  EXPECT_THAT(err_.str(), HasSubstr("1  outside --from"));
}

TEST_F(TraceCommand, SamplingIsSeeded) {
  std::string jobs = "job_id,submit_s,gpus,duration_s\n";
  for (int i = 0; i < 1000; ++i) jobs += fmt::format("{},{},1,60\n", i, i);
  ConvertArguments arguments;
  arguments.in = file("jobs.csv", jobs);
  arguments.to = "csv";
  arguments.sample = "0.25";
  const auto sampled = [&](std::uint64_t seed) {
    arguments.seed = seed;
    arguments.out = path("out.csv");
    EXPECT_EQ(convert(arguments), 0) << err_.str();
    return text(arguments.out);
  };
  const std::string first = sampled(1);
  EXPECT_EQ(first, sampled(1));
  EXPECT_NE(first, sampled(2));
  EXPECT_NEAR(static_cast<double>(std::count(first.begin(), first.end(), '\n')), 250, 45);
}

TEST_F(TraceCommand, OutOfOrderNeedsSortForSwf) {
  ConvertArguments arguments;
  arguments.in = file("jobs.csv", "submit,gpus,duration\n5,1,60\n3,2,60\n");
  arguments.out = path("out.swf");
  arguments.to = "swf";
  EXPECT_EQ(convert(arguments), 2);
  EXPECT_THAT(err_.str(), HasSubstr("--sort"));
  EXPECT_FALSE(std::filesystem::exists(arguments.out));
  EXPECT_FALSE(std::filesystem::exists(arguments.out + ".part"));
  arguments.sort = true;
  arguments.reading.max_jobs = 1;
  EXPECT_EQ(convert(arguments), 2);
  EXPECT_THAT(err_.str(), AllOf(HasSubstr("jobs.csv:3"), HasSubstr("--max-jobs")));
  arguments.reading.max_jobs = 2;
  EXPECT_EQ(convert(arguments), 0) << err_.str();
  EXPECT_THAT(text(arguments.out), HasSubstr("\n1 3 -1 60 2 "));
}

TEST_F(TraceCommand, ConvertRefusesWithTheFix) {
  ConvertArguments good;
  good.in = file("jobs.csv", kJobs);
  good.out = path("out.jsonl");
  const auto refused = [&](auto change) {
    ConvertArguments arguments = good;
    change(arguments);
    EXPECT_EQ(convert(arguments), 2);
    EXPECT_FALSE(std::filesystem::exists(path("out.jsonl")));
    EXPECT_FALSE(std::filesystem::exists(path("out.jsonl.part")));
    return err_.str();
  };
  EXPECT_THAT(refused([](auto& a) { a.to = "xml"; }), AllOf(HasSubstr("--to"), HasSubstr("swf")));
  EXPECT_THAT(refused([](auto& a) { a.scale_load = "0"; }), HasSubstr("--scale-load"));
  EXPECT_THAT(refused([](auto& a) { a.sample = "1.5"; }), HasSubstr("--sample"));
  EXPECT_THAT(refused([](auto& a) { a.from = "soon"; }), HasSubstr("--from"));
  EXPECT_THAT(refused([](auto& a) { a.from = "9h", a.until = "8h"; }), HasSubstr("later"));
  EXPECT_THAT(refused([](auto& a) { a.from = "9h"; }), HasSubstr("no job is left"));
  EXPECT_THAT(refused([](auto& a) { a.reading.format = "csv"; }),
              AllOf(HasSubstr("--format"), HasSubstr("philly")));
  EXPECT_THAT(refused([](auto& a) { a.in = "/nowhere.csv"; }), HasSubstr("/nowhere.csv"));
  const std::string broken = file("broken.csv", std::string(kJobs) + "4,1,x,1,a\n");
  EXPECT_THAT(refused([&](auto& a) { a.in = broken; }), AllOf(HasSubstr("broken.csv:5"), HasSubstr("gpus")));
}

TEST_F(TraceCommand, GeneratedTracesRunThroughInspect) {
  for (const char* like : {"philly", "openb", "helios", "acme-seren", "acme-kalos", "lingjun"}) {
    GenerateArguments arguments;
    arguments.like = like;
    arguments.jobs = 300;
    arguments.nodes = 16;
    arguments.tenants = {"a=3", "b"};
    arguments.out = path("g.jsonl.zst");
    ASSERT_EQ(generate(arguments), 0) << err_.str();
    const std::string table = inspect(arguments.out);
    EXPECT_EQ(exit_, 0) << err_.str();
    EXPECT_THAT(table,
                AllOf(HasSubstr("300 jobs"), HasSubstr("nodes        16"), HasSubstr("queues       3")));
    const std::string json = inspect(arguments.out, "json");
    EXPECT_THAT(json, AllOf(HasSubstr("\"jobs\": 300"), HasSubstr("\"tenant\": \"a\"")));
  }
}

TEST_F(TraceCommand, GenerateRefusesWithTheFix) {
  GenerateArguments good;
  good.out = path("g.jsonl");
  const auto refused = [&](auto change) {
    GenerateArguments arguments = good;
    change(arguments);
    EXPECT_EQ(generate(arguments), 2);
    EXPECT_FALSE(std::filesystem::exists(path("g.jsonl")));
    return err_.str();
  };
  EXPECT_THAT(refused([](auto& a) { a.like = "acme"; }), AllOf(HasSubstr("--like"), HasSubstr("acme-seren")));
  EXPECT_THAT(refused([](auto& a) { a.span = "1s"; }), HasSubstr("--span"));
  EXPECT_THAT(refused([](auto& a) { a.tenants = {"a=x"}; }), HasSubstr("--tenant"));
  EXPECT_THAT(refused([](auto& a) { a.tenants = {"a", "a=2"}; }), HasSubstr("twice"));
}

}  // namespace
}  // namespace berth::cli
