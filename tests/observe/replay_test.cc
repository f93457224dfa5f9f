#include "observe/replay.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "observe/log_support.h"

namespace berth::observe {
namespace {

using ::testing::HasSubstr;

Result<ReplayReport> replay_text(const std::string& text, const ReplayOptions& options = {}) {
  auto reader = LogReader::memory(text, "log.jsonl");
  return replay(reader, options);
}

std::string replaced(std::string text, const std::string& what, const std::string& with) {
  const auto at = text.find(what);
  EXPECT_NE(at, std::string::npos) << what << " is not in\n" << text;
  return at == std::string::npos ? text : text.replace(at, what.size(), with);
}

TEST(Replay, GivesTheSameBytes) {
  ReplayOptions options;
  options.audit = true;
  const auto report = replay_text(testing::session_log(), options);
  ASSERT_TRUE(report) << report.error().str();
  ASSERT_TRUE(report->same()) << report->difference->str();
  EXPECT_EQ(report->sessions, 1);
  EXPECT_EQ(report->events, 12);
  EXPECT_EQ(report->refused, 1);
  EXPECT_EQ(report->decide_calls, 3);
  EXPECT_EQ(report->decisions, 2);  // a at once, b when a has ended
  EXPECT_EQ(report->unfinished_line, 0u);
}

TEST(Replay, TheConfigurationOfTheSessionCounts) {
  engine::EngineConfig config;
  config.placement = Placement::kSpread;
  const auto log = testing::session_log(config);
  EXPECT_NE(log, testing::session_log());
  const auto report = replay_text(log);
  ASSERT_TRUE(report);
  EXPECT_TRUE(report->same());
  // The same log under another configuration decides otherwise.
  const auto other = replay_text(replaced(log, R"("placement":"spread")", R"("placement":"pack")"));
  ASSERT_TRUE(other);
  EXPECT_FALSE(other->same());
}

TEST(Replay, NamesTheFirstLineThatDiffers) {
  const auto log = testing::session_log();
  const auto report = replay_text(replaced(log, R"("workload":"a","slots")", R"("workload":"b","slots")"));
  ASSERT_TRUE(report) << report.error().str();
  ASSERT_FALSE(report->same());
  EXPECT_EQ(report->difference->line, 9u);
  EXPECT_THAT(report->difference->expected, HasSubstr(R"("workload":"b","slots")"));
  EXPECT_THAT(report->difference->got, HasSubstr(R"("workload":"a","slots")"));
  EXPECT_THAT(report->difference->str(), HasSubstr("line 9: differs at byte"));
  EXPECT_EQ(report->decide_calls, 1);
}

TEST(Replay, ADroppedEventIsSeen) {
  auto log = testing::session_log();
  const auto at = log.find(R"({"e":"node","node":{"name":"n1")");
  log.erase(at, log.find('\n', at) + 1 - at);
  const auto report = replay_text(log);
  ASSERT_TRUE(report);
  EXPECT_FALSE(report->same());
}

TEST(Replay, AnEventThatIsNotRefusedAsBeforeIsADifference) {
  const auto log = testing::session_log();
  const auto at = log.find(",\"refused\":");
  ASSERT_NE(at, std::string::npos);
  auto edited = log;
  edited.replace(at, log.find('\n', at) - at, "}");
  const auto report = replay_text(edited);
  ASSERT_TRUE(report);
  ASSERT_FALSE(report->same());
  EXPECT_EQ(report->difference->line, 8u);
}

TEST(Replay, SeveralSessionsFollowOneAnother) {
  const auto report = replay_text(testing::session_log() + testing::session_log());
  ASSERT_TRUE(report);
  EXPECT_TRUE(report->same());
  EXPECT_EQ(report->sessions, 2);
  EXPECT_EQ(report->decide_calls, 6);
}

TEST(Replay, AnUnfinishedLineIsReportedAndTheRestReplayed) {
  const auto log = testing::session_log();
  const auto report = replay_text(log.substr(0, log.size() - 5));
  ASSERT_TRUE(report);
  EXPECT_TRUE(report->same());
  EXPECT_EQ(report->unfinished_line, 16u);
  EXPECT_EQ(report->decide_calls, 2);
}

TEST(Replay, TheEndOfARecordIsTold) {
  std::string log = testing::session_log();
  append_end_line(log, "full");
  const auto report = replay_text(log + "\n");
  ASSERT_TRUE(report);
  EXPECT_EQ(report->end, "full");
}

TEST(Replay, AMomentInThePastCanBeLookedAt) {
  std::vector<std::size_t> pending;
  ReplayOptions options;
  options.look = [&](const engine::Engine& engine, const LogLine& line, std::uint32_t) {
    if (std::holds_alternative<LogDecide>(line)) pending.push_back(engine.pending_count());
  };
  ASSERT_TRUE(replay_text(testing::session_log(), options));
  EXPECT_EQ(pending, (std::vector<std::size_t>{1, 1, 0}));
}

TEST(Replay, FilesAreRead) {
  const testing::ScratchFolder folder;
  LogOptions zstd;
  zstd.compression = LogCompression::kZstd;
  auto writer = LogWriter::open(folder.file("log.zst"), zstd);
  ASSERT_TRUE(writer);
  {
    RecordedEngine engine({}, [&](std::string_view line) { return writer->write(line); });
    testing::run_session(engine);
    EXPECT_TRUE(engine.record_status());
  }
  ASSERT_TRUE(writer->close());
  const auto report = replay_file(folder.file("log.zst"));
  ASSERT_TRUE(report) << report.error().str();
  EXPECT_TRUE(report->same());
  EXPECT_EQ(report->decide_calls, 3);
  EXPECT_FALSE(replay_file(folder.file("missing")));
}

TEST(RecordedEngine, AnErrorOfTheSinkDoesNotStopDecisions) {
  int lines = 0;
  RecordedEngine engine({}, [&](std::string_view) -> Status {
    if (++lines > 3) return fail(ErrorCode::kUnavailable, "the disk is full");
    return {};
  });
  testing::run_session(engine);
  EXPECT_EQ(lines, 4);
  ASSERT_FALSE(engine.record_status());
  EXPECT_EQ(engine.record_status().error().message, "the disk is full");
  EXPECT_EQ(engine.engine().stats().starts, 2);
}

}  // namespace
}  // namespace berth::observe
