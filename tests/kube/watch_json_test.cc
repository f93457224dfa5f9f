#include "kube/watch_json.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/heap.h"
#include "kube/api_status.h"
#include "kube/reflector.h"

namespace berth::kube {
namespace {

std::string padded(std::string text) {
  text.reserve(text.size() + kJsonPadding);
  return text;
}

TEST(LineSplitter, AnyCutGivesTheSameLines) {
  const std::string stream = "one\n\ntwo is longer\nthree" + std::string(200, 'x') + "\nlast\nrest";
  for (std::size_t piece = 1; piece <= stream.size(); ++piece) {
    LineSplitter splitter(1000);
    std::vector<std::string> lines;
    for (std::size_t at = 0; at < stream.size(); at += piece) {
      ASSERT_TRUE(splitter.feed(std::string_view(stream).substr(at, piece), [&](std::string_view line) {
        lines.emplace_back(line);
        return true;
      }));
    }
    ASSERT_EQ(lines.size(), 4u) << piece;
    EXPECT_EQ(lines[1], "two is longer");
    EXPECT_EQ(lines[3], "last");
    EXPECT_EQ(splitter.pending(), 4u);
  }
}

TEST(WatchJson, LargeLinesLeaveNoBuffersBehind) {
  if (heap_use().in_use == 0) GTEST_SKIP() << "the allocator of this build counts nothing";
  constexpr std::size_t kMiB = std::size_t{1} << 20;
  LineSplitter splitter(8 * kMiB);
  WatchJson watch;
  const std::string text = R"({"object":{"metadata":{"name":"p","labels":{"x":")" +
                           std::string(2 * kMiB, 'x') + R"("}}},"type":"ADDED"})" + "\n";
  const std::size_t before = heap_use().in_use;
  std::size_t during = 0;
  for (const std::string_view piece :
       {std::string_view(text).substr(0, kMiB), std::string_view(text).substr(kMiB)}) {
    ASSERT_TRUE(splitter.feed(piece, [&](std::string_view line) {
      const auto read = watch.line(line);
      EXPECT_TRUE(read && watch.meta(read->object));
      during = heap_use().in_use;
      watch.let_go();
      return true;
    }));
  }
  EXPECT_GT(during, before + 2 * kMiB);
  EXPECT_LT(heap_use().in_use, before + kMiB / 2);
}

TEST(LineSplitter, RefusesLongLines) {
  LineSplitter splitter(10);
  const auto any = [](std::string_view) { return true; };
  EXPECT_TRUE(splitter.feed("0123456789\n", any));
  EXPECT_FALSE(splitter.feed("0123456789a\n", any));
  LineSplitter slow(10);
  EXPECT_TRUE(slow.feed("01234", any));
  EXPECT_TRUE(slow.feed("56789", any));
  EXPECT_FALSE(slow.feed("a", any));
}

TEST(WatchJson, LinesInBothForms) {
  WatchJson watch;
  const std::string fast = padded(R"({"type":"ADDED","object":{"metadata":{"name":"x"}}})");
  const auto a = watch.line(fast);
  ASSERT_TRUE(a);
  EXPECT_EQ(a->type, WatchType::kAdded);
  EXPECT_EQ(a->object, R"({"metadata":{"name":"x"}})");
  const std::string slow = padded(R"( { "object" : {"metadata":{"name":"y"}} , "type" : "DELETED" } )");
  const auto b = watch.line(slow);
  ASSERT_TRUE(b) << b.error().str();
  EXPECT_EQ(b->type, WatchType::kDeleted);
  EXPECT_EQ(b->object, R"({"metadata":{"name":"y"}})");
  for (const char* bad : {"{}", "nonsense", R"({"type":"OTHER","object":{}})",
                          R"({"type":"ADDED","object":3})", R"({"type":"ADDED"})"}) {
    const std::string text = padded(bad);
    EXPECT_FALSE(watch.line(text)) << bad;
  }
}

TEST(WatchJson, Meta) {
  WatchJson watch;
  const std::string text = padded(
      R"({"kind":"Pod","spec":{"a":[1,{"metadata":{"name":"no"}}]},"metadata":{"labels":{"name":"no"},"name":"p\u0031",)"
      R"("namespace":"ns","uid":"u","resourceVersion":"7"}})");
  const auto meta = watch.meta(text);
  ASSERT_TRUE(meta) << meta.error().str();
  EXPECT_EQ(meta->name, "p1");
  EXPECT_EQ(meta->ns, "ns");
  EXPECT_EQ(meta->uid, "u");
  EXPECT_EQ(meta->resource_version, "7");
  const std::string bad = padded(R"({"metadata":{"name":3}})");
  EXPECT_FALSE(watch.meta(bad));
}

TEST(WatchJson, Pages) {
  WatchJson watch;
  std::string body =
      R"({"kind":"PodList","metadata":{"resourceVersion":"5","continue":"tok"},"items":[{"metadata":{"name":"a"}},{"metadata":{"name":"b"}}]})";
  std::vector<std::string> names;
  const auto page = watch.page(body, [&](std::string_view object) -> Status {
    names.emplace_back(watch.meta(object)->name);
    return {};
  });
  ASSERT_TRUE(page) << page.error().str();
  EXPECT_EQ(page->resource_version, "5");
  EXPECT_EQ(page->next, "tok");
  EXPECT_EQ(names, (std::vector<std::string>{"a", "b"}));
  std::string empty = R"({"metadata":{"resourceVersion":"5"},"items":null})";
  EXPECT_TRUE(watch.page(empty, [](std::string_view) -> Status { return {}; }));
  std::string truncated = body.substr(0, body.size() - 20);
  EXPECT_FALSE(watch.page(truncated, [](std::string_view) -> Status { return {}; }));
}

// Half a list would free the room of the rest. The last two were found by tests/fuzz.
TEST(WatchJson, ABrokenListIsNeverHalfAList) {
  const std::vector<std::string> broken = {
      R"({"metadata":{"resourceVersion":"5"},"items":[{"metadata":{"name":"a"}} {"metadata":{"name":"b"}}]})",
      R"({"metadata":{"resourceVersion":"5"},"items":[{"metadata":{"name":"a"}}:{"metadata":{"name":"b"}}]})",
      R"({"metadata":{"x":"ann":40pe":"y","resourceVersion":"5"},"items":[{"metadata":{"name":"a"}}]})",
      R"({"metadata":{"resourceVersion":"5" "continue":"c"},"items":[{"metadata":{"name":"a"}}]})",
      R"({"kind":"PodList","metadata":{"resourceVersires":"x":"ann":40pe":"B":""}}}{"t":"B","object":{"kind":,"resourceVersion":"5"}}]})",
      R"({"kind":"PodList","metadata":{"resourceVersion":"5","continue":,"items":[{"metadatatems":}}}}}}}}[{"metadata":{"name":"a"}}]})"};
  WatchJson watch;
  for (std::string body : broken) {
    const std::string shown = body;
    EXPECT_FALSE(watch.page(body, [](std::string_view) -> Status { return {}; })) << shown;
  }
  const std::string meta = padded(R"({"metadata":{"name":"a":3,"uid":"u"}})");
  EXPECT_FALSE(watch.meta(meta));
}

TEST(WatchJson, EndOfInitialEvents) {
  EXPECT_TRUE(WatchJson::ends_initial_events(
      R"({"metadata":{"resourceVersion":"5","annotations":{"k8s.io/initial-events-end":"true"}}})"));
  EXPECT_FALSE(WatchJson::ends_initial_events(R"({"metadata":{"resourceVersion":"5"}})"));
}

TEST(ApiStatus, ReadsReasonAndCause) {
  ApiStatus status;
  EXPECT_TRUE(parse_api_status(
      R"({"kind":"Status","code":429,"reason":"TooManyRequests","message":"m","details":{"retryAfterSeconds":3,"causes":[{"reason":"DisruptionBudget"}]}})",
      status));
  EXPECT_EQ(status.code, 429);
  EXPECT_EQ(status.cause, "DisruptionBudget");
  EXPECT_EQ(status.retry_after, 3 * kSecond);
  EXPECT_FALSE(parse_api_status("<html>", status));
  EXPECT_FALSE(parse_api_status("[]", status));
}

}  // namespace
}  // namespace berth::kube
