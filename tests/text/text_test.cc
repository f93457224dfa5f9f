// First pass over the whole room; the files beside it go deeper, one per header.
#include <gtest/gtest.h>

#include "text/csv.h"
#include "text/document.h"
#include "text/fields.h"
#include "text/json.h"
#include "text/quantity.h"
#include "text/source.h"
#include "text/time.h"

namespace berth::text {
namespace {

TEST(Room, ReadsAYamlObjectThroughFields) {
  auto document =
      parse_document("name: a\nweight: 3\nwait: 1h30m\nlabels: {x: 'y'}\nlist:\n- n: 1\n- n: 2\n", "q.yaml");
  ASSERT_TRUE(document.has_value()) << document.error().str();
  Fields f(*document, document->root());
  EXPECT_EQ(f.string("name"), "a");
  EXPECT_EQ(f.integer("weight", 0, 10), 3);
  EXPECT_EQ(f.duration("wait"), 5'400'000);
  EXPECT_EQ(f.string_map("labels").at(0).second, "y");
  std::int64_t sum = 0;
  f.each("list", [&](Fields& item) { sum += item.integer("n"); });
  EXPECT_EQ(sum, 3);
  EXPECT_TRUE(f.done().has_value());
}

TEST(Room, NamesTheNearestKey) {
  auto document = parse_document("spec:\n  queues:\n  - nmae: a\n", "q.yaml");
  ASSERT_TRUE(document.has_value());
  Fields f(*document, document->root());
  Fields spec = f.child("spec");
  spec.each("queues", [&](Fields& item) { item.string("name"); });
  (void)spec.done();
  const Status status = f.done();
  ASSERT_FALSE(status.has_value());
  EXPECT_EQ(status.error().str(), "q.yaml:3:5: spec.queues[0].nmae: unknown key; did you mean name?");
}

TEST(Room, RefusesDuplicateKeysWithBothLines) {
  auto document = parse_document("a: 1\nb: 2\na: 3\n", "d.yaml");
  ASSERT_FALSE(document.has_value());
  EXPECT_EQ(document.error().str(), "d.yaml:3:1: key 'a' stands here and on line 1; remove one of them");
}

TEST(Room, ReadsSeveralDocumentsAndJsonStreams) {
  EXPECT_EQ(parse_documents("---\na: 1\n---\n---\nb: 2\n", "m.yaml")->size(), 2u);
  const auto lines = parse_documents("{\"a\": 1}\n{\"b\": [1, 2.50, \"x\\n\"]}\n", "m.jsonl");
  ASSERT_TRUE(lines.has_value()) << lines.error().str();
  ASSERT_EQ(lines->size(), 2u);
  EXPECT_EQ((*lines)[1].root().line(), 2u);
  EXPECT_EQ(to_json((*lines)[1].root()), "{\"b\":[1,2.50,\"x\\n\"]}");
}

TEST(Room, QuantitiesAreExact) {
  EXPECT_EQ(*parse_quantity("100m", 1000), 100);
  EXPECT_EQ(*parse_quantity("1.5", 1000), 1500);
  EXPECT_EQ(*parse_quantity("0.5Gi", 1), 1LL << 29);
  EXPECT_EQ(*parse_quantity("5E", 1), 5'000'000'000'000'000'000);
  EXPECT_EQ(*parse_quantity("1e3", 1), 1000);
  EXPECT_EQ(*parse_quantity("1n", 1000), 1);
  EXPECT_FALSE(parse_quantity_exact("1n", 1000)->exact);
  EXPECT_FALSE(parse_quantity("8Ei", 1).has_value());
  EXPECT_FALSE(parse_quantity("1 Gi", 1).has_value());
  EXPECT_EQ(format_quantity(1500, 1000), "1500m");
  EXPECT_EQ(format_quantity(3LL << 29, 1, QuantityForm::kBinary), "1536Mi");
}

TEST(Room, TimesRoundTrip) {
  EXPECT_EQ(*parse_time_ms("1970-01-01T00:00:01.250Z"), 1250);
  EXPECT_EQ(*parse_time_ms("2026-11-21T08:39:27+02:00"), *parse_time_ms("2026-11-21T06:39:27Z"));
  EXPECT_EQ(format_time_us(*parse_time_us("2026-11-21T06:39:27.123456Z")), "2026-11-21T06:39:27.123456Z");
  EXPECT_FALSE(parse_time_ms("2026-02-29T00:00:00Z").has_value());
  EXPECT_EQ(format_duration_ms(*parse_duration_ms("90s")), "1m30s");
}

TEST(Room, CsvNamesLineAndColumn) {
  ByteSource source = ByteSource::memory("b,a\n1,\"x,\"\"y\"\n2,z\nbad,w\n", "t.csv");
  auto csv = CsvReader::open(source, {"a", "b"});
  ASSERT_TRUE(csv.has_value()) << csv.error().str();
  ASSERT_TRUE(*csv->next());
  EXPECT_EQ(csv->field(0), "x,\"y");
  EXPECT_EQ(*csv->integer(1), 1);
  ASSERT_TRUE(*csv->next());
  ASSERT_TRUE(*csv->next());
  EXPECT_EQ(csv->integer(1).error().str(), "t.csv:4: column 'b': 'bad' is not a whole number");
  EXPECT_FALSE(*csv->next());
}

}  // namespace
}  // namespace berth::text
