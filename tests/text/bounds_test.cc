// Input that is examined without being taken, and input that is too large.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "text/document.h"
#include "text/source.h"

namespace berth::text {
namespace {

using ::testing::HasSubstr;

std::string all_of(ByteSource& source) {
  auto text = read_all(source);
  EXPECT_TRUE(text) << text.error().str();
  return text ? *text : "";
}

TEST(Peek, TakesNothing) {
  auto source = ByteSource::memory("hello, world", "m");
  EXPECT_EQ(*source.peek(5), "hello");
  EXPECT_EQ(source.offset(), 0u);
  EXPECT_EQ(*source.peek(3), "hello");
  EXPECT_EQ(*source.peek(7), "hello, ");
  char two[2];
  EXPECT_EQ(*source.read(two), 2u);
  EXPECT_EQ(source.offset(), 2u);
  EXPECT_EQ(*source.peek(100), "llo, world");
  EXPECT_EQ(all_of(source), "llo, world");
  EXPECT_EQ(source.offset(), 12u);
  EXPECT_EQ(*source.peek(1), "");
}

TEST(Peek, AnErrorComesWhenItIsReached) {
  // The first bytes of a gzip stream that is cut off.
  auto cut = ByteSource::memory(std::string("\x1f\x8b\x08\x00", 4), "m.gz");
  EXPECT_THAT(cut.peek(10).error().str(), HasSubstr("cut off"));
  auto long_one = ByteSource::memory("12345678", "m", {.max_bytes = 4});
  EXPECT_THAT(long_one.peek(8).error().str(), HasSubstr("more than 4 bytes"));
}

std::string stream_error(std::string text, const Limits& limits) {
  auto source = ByteSource::memory(std::move(text), "s");
  DocumentReader reader(source, limits);
  for (;;) {
    auto document = reader.next();
    if (!document) return document.error().str();
    if (!*document) return "";
  }
}

// Documents that end are held to the bound as well as those that never do; one after the other may be any number.
TEST(Bounds, OneDocumentHasABound) {
  const Limits limits{.max_document_bytes = 1'000'000};
  const std::string item = "{\"kind\": \"Pod\", \"metadata\": {\"name\": \"p\"}}";
  std::string many;
  for (int i = 0; i < 100'000; ++i) many += item + "\n";
  EXPECT_EQ(stream_error(many, limits), "");
  EXPECT_THAT(
      stream_error("{\"items\": [" + many, limits),
      HasSubstr("s:1:1: one JSON text has more than 1000000 bytes; write one object per document or line"));
  std::string list = "\n[";
  for (int i = 0; i < 100'000; ++i) list += (i == 0 ? "" : ",") + item;
  EXPECT_THAT(stream_error(list + "]", limits),
              HasSubstr("s:2:1: one JSON text has more than 1000000 bytes"));

  std::string yaml = "a: 1\n---\nitems:\n";
  std::string documents;
  for (int i = 0; i < 100'000; ++i) {
    yaml += "- {kind: Pod, metadata: {name: p}}\n";
    documents += "---\nkind: Pod\nmetadata: {name: p}\n";
  }
  EXPECT_EQ(stream_error(documents, limits), "");
  EXPECT_THAT(stream_error(yaml, limits), HasSubstr("s:2:1: one YAML document has more than 1000000 bytes"));
}

}  // namespace
}  // namespace berth::text
