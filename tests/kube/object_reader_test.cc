#include "kube/object_reader.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/heap.h"
#include "kube/api_status.h"
#include "kube/protobuf_support.h"
#include "kube/reflector.h"

namespace berth::kube {
namespace {

using nlohmann::json;
using testing::binary_frame;
using testing::binary_list;
using testing::field;

json pod(const std::string& name, const std::string& version = "7") {
  return {{"metadata",
           {{"name", name}, {"namespace", "ns"}, {"uid", "u-" + name}, {"resourceVersion", version}}}};
}

std::string framed(std::string_view bytes) {
  std::string out;
  for (int shift = 24; shift >= 0; shift -= 8) out += static_cast<char>(bytes.size() >> shift);
  return out.append(bytes);
}

TEST(FrameSplitter, AnyCutGivesTheSameFrames) {
  const std::string stream = framed("one") + framed("") + framed(std::string(700, 'x')) + framed("last") +
                             framed("rest").substr(0, 6);
  for (std::size_t piece = 1; piece <= stream.size(); ++piece) {
    FrameSplitter splitter(1000);
    std::vector<std::string> frames;
    for (std::size_t at = 0; at < stream.size(); at += piece) {
      ASSERT_TRUE(splitter.feed(std::string_view(stream).substr(at, piece), [&](std::string_view frame) {
        frames.emplace_back(frame);
        return true;
      }));
    }
    ASSERT_EQ(frames.size(), 4u) << piece;
    EXPECT_EQ(frames[0], "one");
    EXPECT_EQ(frames[1], "");
    EXPECT_EQ(frames[2].size(), 700u);
    EXPECT_EQ(frames[3], "last");
    EXPECT_EQ(splitter.pending(), 6u);
  }
}

TEST(FrameSplitter, RefusesLongFramesByTheirHead) {
  const auto any = [](std::string_view) { return true; };
  FrameSplitter splitter(10);
  EXPECT_TRUE(splitter.feed(framed("0123456789"), any));
  EXPECT_FALSE(splitter.feed(std::string_view("\0\0\0\x0b", 4), any));
  EXPECT_FALSE(FrameSplitter(10).feed("\xff\xff\xff\xff", any));
  FrameSplitter slow(10);
  EXPECT_TRUE(slow.feed(std::string_view("\0\0\0", 3), any));
  EXPECT_FALSE(slow.feed("\x0b", any));
  // One that stops gets no more of the chunk.
  FrameSplitter stopped(10);
  int frames = 0;
  EXPECT_TRUE(stopped.feed(framed("a") + framed("b"), [&](std::string_view) { return ++frames == 0; }));
  EXPECT_EQ(frames, 1);
}

std::string event_of(const std::string& type, const json& object, std::string_view kind) {
  return binary_frame(type, object, kind).substr(4);
}

TEST(ObjectReader, EventsInBothForms) {
  ObjectReader reader(1000);
  reader.begin(Form::kBinary);
  for (const auto& [name, type] :
       {std::pair("ADDED", WatchType::kAdded), std::pair("MODIFIED", WatchType::kModified),
        std::pair("DELETED", WatchType::kDeleted), std::pair("BOOKMARK", WatchType::kBookmark)}) {
    const std::string bytes = event_of(name, pod("a"), "Pod");
    const auto event = reader.event(bytes);
    ASSERT_TRUE(event) << event.error().str();
    EXPECT_EQ(event->type, type);
    EXPECT_EQ(event->meta.name, "a");
    EXPECT_EQ(event->meta.ns, "ns");
    EXPECT_EQ(event->meta.uid, "u-a");
    EXPECT_EQ(event->meta.resource_version, "7");
    const json object = json::parse(event->object);
    EXPECT_EQ(object["metadata"], pod("a")["metadata"]);
    EXPECT_EQ(object["kind"], "Pod");
  }
  json last = pod("");
  last["metadata"]["annotations"] = {{"k8s.io/initial-events-end", "true"}};
  const std::string mark = event_of("BOOKMARK", last, "Node");
  const auto end = reader.event(mark);
  ASSERT_TRUE(end);
  EXPECT_TRUE(WatchJson::ends_initial_events(end->object));
  const std::string gone =
      event_of("ERROR", {{"message", "too old"}, {"reason", "Expired"}, {"code", 410}}, "Status");
  const auto error = reader.event(gone);
  ASSERT_TRUE(error) << error.error().str();
  ApiStatus status;
  ASSERT_TRUE(parse_api_status(error->object, status));
  EXPECT_EQ(status.code, 410);
  reader.begin(Form::kJson);
  std::string line = R"({"type":"ADDED","object":{"metadata":{"name":"x"}}})";
  line.reserve(line.size() + kJsonPadding);
  ASSERT_TRUE(reader.event(line));
  EXPECT_EQ(reader.event(line)->meta.name, "x");
}

// Objects that are there stay binary; deletes, marks and errors are JSON.
TEST(ObjectReader, LeavesObjectsInBinaryForm) {
  ObjectReader reader(1000, true);
  reader.begin(Form::kBinary);
  for (const auto& [name, left] : {std::pair("ADDED", true), std::pair("MODIFIED", true),
                                   std::pair("DELETED", false), std::pair("BOOKMARK", false)}) {
    const std::string bytes = event_of(name, pod("a"), "Pod");
    const auto event = reader.event(bytes);
    ASSERT_TRUE(event) << event.error().str();
    EXPECT_EQ(event->meta.name, "a");
    EXPECT_EQ(event->binary.bytes.empty(), !left);
    EXPECT_EQ(event->object.empty(), left);
    std::string text;
    if (left) {
      ASSERT_TRUE(write_json(event->binary, text));
      EXPECT_EQ(json::parse(text)["metadata"], pod("a")["metadata"]);
    }
  }
  std::string body =
      binary_list({{"metadata", {{"resourceVersion", "5"}}}, {"items", {pod("a"), pod("b")}}}, "Pod");
  std::string names;
  ASSERT_TRUE(reader.page(Form::kBinary, body, [&](const ListItem& item) -> Status {
    BERTH_ASSIGN(const ObjectMeta meta, reader.item_meta(item));
    EXPECT_TRUE(item.object.empty());
    EXPECT_EQ(item.binary.kind, "Pod");
    names += meta.name;
    return {};
  }));
  EXPECT_EQ(names, "ab");
}

TEST(ObjectReader, BrokenEventsAreFaults) {
  ObjectReader reader(1000);
  reader.begin(Form::kBinary);
  const std::string whole = event_of("ADDED", pod("a"), "Pod");
  for (std::size_t length = 0; length < whole.size(); ++length) {
    const std::vector<char> cut(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(length));
    EXPECT_FALSE(reader.event({cut.data(), cut.size()})) << length;
  }
  EXPECT_FALSE(reader.event(event_of("OTHER", pod("a"), "Pod")));
  EXPECT_FALSE(reader.event(event_of("ADDED", pod("a"), "Secret")));
  EXPECT_FALSE(reader.event(R"({"type":"ADDED","object":{"metadata":{"name":"x"}}})"));
}

TEST(ObjectReader, Pages) {
  ObjectReader reader(0);
  std::string body = binary_list(
      {{"metadata", {{"resourceVersion", "5"}, {"continue", "tok"}}}, {"items", {pod("a"), pod("b", "9")}}},
      "Node");
  std::vector<std::string> names;
  const auto page = reader.page(Form::kBinary, body, [&](const ListItem& item) -> Status {
    BERTH_ASSIGN(const ObjectMeta meta, reader.item_meta(item));
    EXPECT_EQ(json::parse(item.object)["metadata"]["name"], std::string(meta.name));
    EXPECT_FALSE(json::parse(item.object).contains("kind"));
    names.push_back(std::string(meta.name) + meta.resource_version.data()[0]);
    return {};
  });
  ASSERT_TRUE(page) << page.error().str();
  EXPECT_EQ(page->resource_version, "5");
  EXPECT_EQ(page->next, "tok");
  EXPECT_EQ(names, (std::vector<std::string>{"a7", "b9"}));
  // An error of the reader of items ends it.
  const auto stopped = reader.page(
      Form::kBinary, body, [](const ListItem&) -> Status { return fail(ErrorCode::kExhausted, "full"); });
  ASSERT_FALSE(stopped);
  EXPECT_EQ(stopped.error().message, "full");
  // Then JSON, by the same reader.
  std::string text = R"({"metadata":{"resourceVersion":"5"},"items":[{"metadata":{"name":"j"}}]})";
  names.clear();
  ASSERT_TRUE(reader.page(Form::kJson, text, [&](const ListItem& item) -> Status {
    BERTH_ASSIGN(const ObjectMeta meta, reader.item_meta(item));
    names.emplace_back(meta.name);
    return {};
  }));
  EXPECT_EQ(names, std::vector<std::string>{"j"});
}

// Half a list would free the room of the rest.
TEST(ObjectReader, ABrokenPageIsNeverHalfAList) {
  ObjectReader reader(0);
  const auto any = [](const ListItem&) -> Status { return {}; };
  const std::string whole =
      binary_list({{"metadata", {{"resourceVersion", "5"}}}, {"items", {pod("a"), pod("b")}}}, "Pod");
  // The last four bytes are two empty fields of the envelope, behind the list.
  for (std::size_t length = 0; length < whole.size() - 4; ++length) {
    std::string cut = whole.substr(0, length);
    EXPECT_FALSE(reader.page(Form::kBinary, cut, any)) << length;
  }
  std::string fine = whole;
  EXPECT_TRUE(reader.page(Form::kBinary, fine, any));
  for (const auto& [kind, list] : {std::pair("PodList", field(2, "")), std::pair("Pod", field(1, "")),
                                   std::pair("List", field(1, "")), std::pair("SecretList", field(1, ""))}) {
    std::string other =
        std::string(kEnvelopeMark) + field(1, field(1, "v1") + field(2, kind)) + field(2, list);
    EXPECT_FALSE(reader.page(Form::kBinary, other, any)) << kind;
  }
}

TEST(ObjectReader, LargeEventsLeaveNoBuffersBehind) {
  if (heap_use().in_use == 0) GTEST_SKIP() << "the allocator of this build counts nothing";
  constexpr std::size_t kMiB = std::size_t{1} << 20;
  json large = pod("p");
  large["metadata"]["labels"] = {{"x", std::string(2 * kMiB, 'x')}};
  const std::string frame = binary_frame("ADDED", large, "Pod");
  ObjectReader reader(8 * kMiB);
  reader.begin(Form::kBinary);
  const std::size_t before = heap_use().in_use;
  std::size_t during = 0;
  int events = 0;
  for (const std::string_view piece :
       {std::string_view(frame).substr(0, kMiB), std::string_view(frame).substr(kMiB)}) {
    ASSERT_TRUE(reader.feed(piece, [&](std::string_view bytes) {
      EXPECT_TRUE(reader.event(bytes));
      during = heap_use().in_use;
      reader.let_go();
      ++events;
      return true;
    }));
  }
  EXPECT_EQ(events, 1);
  EXPECT_GT(during, before + 4 * kMiB);
  EXPECT_LT(heap_use().in_use, before + kMiB / 2);
}

}  // namespace
}  // namespace berth::kube
