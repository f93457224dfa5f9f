#include "observe/decision_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/random.h"
#include "observe/codec.h"
#include "observe/log_support.h"

namespace berth::observe {
namespace {

using ::testing::HasSubstr;
using testing::read_bytes;
using testing::ScratchFolder;
using testing::write_bytes;

constexpr std::string_view kFirst = R"({"format":"berth-decision-log","version":1})";

struct ReadLog {
  std::vector<LogLine> lines;
  std::string error;
  std::uint32_t unfinished = 0;
};

ReadLog read_all(LogReader reader) {
  ReadLog out;
  for (;;) {
    auto line = reader.next();
    if (!line) {
      out.error = line.error().str();
      return out;
    }
    if (!*line) break;
    out.lines.push_back(std::move(**line));
  }
  out.unfinished = reader.unfinished_line();
  return out;
}
ReadLog read_text(const std::string& text) {
  return read_all(LogReader::memory(text, "log.jsonl"));
}

std::string line_of_event(const Event& event) {
  std::string out;
  append_event_line(out, event);
  return out;
}

TEST(DecisionLog, HasTheDocumentedForm) {
  std::string out;
  append_session_line(out, {});
  EXPECT_EQ(out, kFirst);
  out.clear();
  engine::EngineConfig config;
  config.search_steps = 7;
  append_session_line(out, config);
  EXPECT_EQ(out, R"({"format":"berth-decision-log","version":1,"engine":{"search_steps":7}})");
  out.clear();
  append_event_line(out, NodeRemove{"n1"}, "no such node");
  EXPECT_EQ(out, R"({"e":"node-remove","name":"n1","refused":"no such node"})");
  out.clear();
  append_decide_line(out, 60'000, {});
  EXPECT_EQ(out, R"({"decide":60000})");
  out.clear();
  const std::vector<Decision> decisions(2, Decision{DecisionKind::kEvict, "a", "b", {}, {}, 3, {}});
  append_decide_line(out, 0, decisions);
  EXPECT_EQ(out, R"({"decide":0,"decisions":[{"kind":"evict","workload":"a","beneficiary":"b","cost":3},)"
                 R"({"kind":"evict","workload":"a","beneficiary":"b","cost":3}]})");
  out.clear();
  append_end_line(out, "full");
  EXPECT_EQ(out, R"({"end":"full"})");
}

TEST(DecisionLog, ReadsWhatItWrites) {
  const auto log =
      read_text(std::string(kFirst) + "\n" + R"({"e":"node-remove","name":"n1","refused":"why"})" + "\n\n" +
                R"({"decide":5,"decisions":[{"workload":"w"}]})" + "\n" + R"({"end":"x"})" + "\n");
  ASSERT_EQ(log.error, "");
  ASSERT_EQ(log.lines.size(), 4u);
  EXPECT_EQ(std::get<LogEvent>(log.lines[1]).refused, "why");
  EXPECT_EQ(std::get<NodeRemove>(std::get<LogEvent>(log.lines[1]).event).name, "n1");
  EXPECT_EQ(std::get<LogDecide>(log.lines[2]).now, 5);
  EXPECT_EQ(std::get<LogDecide>(log.lines[2]).decisions.at(0).workload, "w");
  EXPECT_EQ(std::get<LogEnd>(log.lines[3]).why, "x");
}

TEST(DecisionLog, RefusesWhatIsNoLog) {
  EXPECT_THAT(read_text("").error, HasSubstr("log.jsonl:1: the decision log is empty"));
  EXPECT_THAT(read_text("{\"decide\":1}\n").error, HasSubstr("log.jsonl:1:1: this is no decision log"));
  EXPECT_THAT(read_text("apiVersion: v1\n").error, HasSubstr("log.jsonl:1"));
  EXPECT_THAT(read_text("{\"format\":\"other\"}\n").error, HasSubstr("this is no decision log"));
  EXPECT_THAT(read_text(R"({"format":"berth-decision-log","version":2})"
                        "\n")
                  .error,
              HasSubstr("version 2 of the decision log; this Berth reads version 1"));
  EXPECT_THAT(read_text(R"({"format":"berth-decision-log"})"
                        "\n")
                  .error,
              HasSubstr("version (missing)"));
}

TEST(DecisionLog, AWrongLineIsNamed) {
  const std::string head = std::string(kFirst) + "\n{\"decide\":1}\n";
  EXPECT_THAT(read_text(head + "{\"decide\":\"x\"}\n").error,
              HasSubstr("log.jsonl:3:11: decide: must be an integer"));
  EXPECT_THAT(read_text(head + "{\"other\":1}\n").error,
              HasSubstr("log.jsonl:3:1: a line of a decision log must have"));
  EXPECT_THAT(read_text(head + "[]\n").error, HasSubstr("log.jsonl:3"));
  EXPECT_THAT(read_text(head + "{\"decide\":1\n{\"decide\":2}\n").error, HasSubstr("log.jsonl:3"));
  EXPECT_THAT(read_text(head + R"({"decide":1,"decisions":[{"slots":[{"node":1}]}]})" + "\n").error,
              HasSubstr("decisions[0].slots[0].node: must be a string"));
}

TEST(DecisionLog, ATimeBehindTheYear9999IsRefused) {
  for (const char* time : {"9223372036854775807", "253402300800000", "-9223372036854775808"}) {
    EXPECT_THAT(read_text(std::string(kFirst) + "\n{\"decide\":" + time + "}\n").error,
                HasSubstr(std::string("log.jsonl:2:11: decide is ") + time));
  }
  EXPECT_EQ(read_text(std::string(kFirst) + "\n{\"decide\":253402300799999}\n").error, "");
}

TEST(DecisionLog, AnUnfinishedLastLineIsNamedWhereverItWasCut) {
  const std::string whole = std::string(kFirst) + "\n" + line_of_event(testing::gpu_node("n1", 8));
  const auto start = kFirst.size() + 2;
  for (std::size_t cut = start; cut < whole.size(); ++cut) {
    const auto log = read_text(whole.substr(0, cut));
    ASSERT_EQ(log.error, "") << cut;
    ASSERT_EQ(log.lines.size(), 1u) << cut;
    ASSERT_EQ(log.unfinished, 2u) << cut;
  }
  EXPECT_EQ(read_text(whole).unfinished, 0u);  // whole but for its end: nothing is lost
  EXPECT_EQ(read_text(whole).lines.size(), 2u);
}

TEST(DecisionLog, ALineWithoutEndIsBounded) {
  const auto log = read_text(std::string(kFirst) + "\n" + std::string(kMostLogLineBytes + (1 << 20), ' '));
  EXPECT_THAT(log.error, HasSubstr("log.jsonl:2: the line is longer than 16777216 bytes"));
}

class Compressions : public ::testing::TestWithParam<LogCompression> {};
INSTANTIATE_TEST_SUITE_P(All, Compressions,
                         ::testing::Values(LogCompression::kNone, LogCompression::kGzip,
                                           LogCompression::kZstd));

TEST_P(Compressions, WhatIsWrittenIsRead) {
  const ScratchFolder folder;
  const auto path = folder.file("log");
  LogOptions options;
  options.compression = GetParam();
  options.buffer_bytes = 1000;
  auto writer = LogWriter::open(path, options);
  ASSERT_TRUE(writer);
  ASSERT_TRUE(writer->write(kFirst));
  for (int i = 0; i < 5000; ++i) {
    ASSERT_TRUE(writer->write(line_of_event(NodeRemove{fmt::format("node-{}", i)})));
  }
  ASSERT_TRUE(writer->close());
  EXPECT_FALSE(writer->write(kFirst));
  const auto log = read_all(*LogReader::open(path));
  ASSERT_EQ(log.error, "");
  ASSERT_EQ(log.lines.size(), 5001u);
  EXPECT_EQ(std::get<NodeRemove>(std::get<LogEvent>(log.lines[5000]).event).name, "node-4999");
}

TEST_P(Compressions, AfterFlushTheLinesAreOnTheFile) {
  const ScratchFolder folder;
  LogOptions options;
  options.compression = GetParam();
  auto writer = LogWriter::open(folder.file("log"), options);
  ASSERT_TRUE(writer);
  ASSERT_TRUE(writer->write(kFirst));
  ASSERT_TRUE(writer->write("{\"decide\":1}"));
  ASSERT_TRUE(writer->flush());
  auto reader = LogReader::open(folder.file("log"));
  ASSERT_TRUE(reader);
  const auto first = reader->next();
  ASSERT_TRUE(first) << first.error().str();
  EXPECT_TRUE(first->has_value());
}

TEST(LogWriter, ATruncatedCompressedLogIsAnErrorThatNamesIt) {
  const ScratchFolder folder;
  LogOptions options;
  options.compression = LogCompression::kGzip;
  auto writer = LogWriter::open(folder.file("log.gz"), options);
  ASSERT_TRUE(writer);
  ASSERT_TRUE(writer->write(kFirst));
  for (int i = 0; i < 100; ++i) ASSERT_TRUE(writer->write(fmt::format("{{\"decide\":{}}}", i * i * 7919)));
  ASSERT_TRUE(writer->close());
  const auto bytes = read_bytes(folder.file("log.gz"));
  write_bytes(folder.file("cut.gz"), bytes.substr(0, bytes.size() / 2));
  const auto log = read_all(*LogReader::open(folder.file("cut.gz")));
  EXPECT_THAT(log.error, HasSubstr("cut.gz"));
}

TEST(LogWriter, AppendsToALogAndCutsAnUnfinishedLineOff) {
  const ScratchFolder folder;
  const auto path = folder.file("log");
  const std::string first = std::string(kFirst) + "\n{\"decide\":1}\n";
  write_bytes(path, first + R"({"decide":2,"decis)");
  auto writer = LogWriter::open(path);
  ASSERT_TRUE(writer) << writer.error().str();
  ASSERT_TRUE(writer->write(kFirst));
  ASSERT_TRUE(writer->close());
  EXPECT_EQ(read_bytes(path), first + std::string(kFirst) + "\n");
}

TEST(LogWriter, CutsALongUnfinishedLineOffToo) {
  const ScratchFolder folder;
  const auto path = folder.file("log");
  const std::string first = std::string(kFirst) + "\n";
  write_bytes(path, first + std::string(20'000, 'x'));
  ASSERT_TRUE(LogWriter::open(path));
  EXPECT_EQ(read_bytes(path), first);
  write_bytes(path, std::string(kFirst));  // not even the first line was finished
  ASSERT_TRUE(LogWriter::open(path));
  EXPECT_EQ(read_bytes(path), "");
}

TEST(LogWriter, TouchesNoFileThatIsNoLog) {
  const ScratchFolder folder;
  write_bytes(folder.file("notes"), "my notes");
  const auto plain = LogWriter::open(folder.file("notes"));
  ASSERT_FALSE(plain);
  EXPECT_THAT(plain.error().str(), HasSubstr("is no plain decision log: choose another name"));
  EXPECT_EQ(read_bytes(folder.file("notes")), "my notes");
  LogOptions gzip;
  gzip.compression = LogCompression::kGzip;
  const auto compressed = LogWriter::open(folder.file("notes"), gzip);
  ASSERT_FALSE(compressed);
  EXPECT_THAT(compressed.error().str(), HasSubstr("cannot be continued"));
  const auto nowhere = LogWriter::open(folder.file("no/such/folder"));
  ASSERT_FALSE(nowhere);
  EXPECT_THAT(nowhere.error().str(), HasSubstr("cannot open the decision log: No such file"));
}

TEST(LogWriter, EndsAtItsBoundWithALineThatSaysSo) {
  const ScratchFolder folder;
  LogOptions options;
  options.most_bytes = 70;
  auto writer = LogWriter::open(folder.file("log"), options);
  ASSERT_TRUE(writer);
  ASSERT_TRUE(writer->write(kFirst));
  for (int i = 0; i < 100; ++i) ASSERT_TRUE(writer->write("{\"decide\":1}"));
  EXPECT_TRUE(writer->ended());
  EXPECT_LE(writer->bytes(), 70);
  ASSERT_TRUE(writer->close());
  const auto log = read_all(*LogReader::open(folder.file("log")));
  ASSERT_EQ(log.error, "");
  ASSERT_EQ(log.lines.size(), 4u);
  EXPECT_EQ(std::get<LogEnd>(log.lines[3]).why, "the log reached its bound of 70 bytes");
}

TEST(LogWriter, AFullDeviceIsAnErrorThatStays) {
  LogOptions options;
  options.buffer_bytes = 10;
  auto writer = LogWriter::open("/dev/full", options);
  ASSERT_TRUE(writer);
  const auto status = writer->write(kFirst);
  ASSERT_FALSE(status);
  EXPECT_THAT(status.error().str(),
              HasSubstr("/dev/full: cannot write the decision log: No space left on device"));
  EXPECT_FALSE(writer->write(kFirst));
  EXPECT_FALSE(writer->close());
}

TEST(DecisionLog, FlippedBytesAreErrorsOrOtherLogsAndNeverMore) {
  const std::string log = testing::session_log();
  Random random(5);
  int wrong = 0;
  for (int round = 0; round < 1000; ++round) {
    std::string bytes = log;
    for (auto n = 1 + random.below(3); n > 0; --n) {
      bytes[random.below(bytes.size())] = static_cast<char>(random.below(256));
    }
    wrong += read_text(bytes).error.empty() ? 0 : 1;
  }
  EXPECT_GT(wrong, 300);
}

}  // namespace
}  // namespace berth::observe
