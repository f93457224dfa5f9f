// Malformed input gives errors with a place, never a crash; what is written reads back the same.
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <zlib.h>
#include <zstd.h>

#include <limits>

#include "text/csv.h"
#include "text/document.h"
#include "text/fields.h"
#include "text/json.h"
#include "text/quantity.h"
#include "text/source.h"
#include "text/time.h"

namespace berth::text {
namespace {

__extension__ typedef __int128 Int128;

std::string gzip(const std::string& plain) {
  z_stream stream{};
  deflateInit2(&stream, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY);
  std::string out(deflateBound(&stream, static_cast<uLong>(plain.size())) + 64, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(plain.data()));
  stream.avail_in = static_cast<uInt>(plain.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

std::string zstd(const std::string& plain) {
  ZSTD_CCtx* context = ZSTD_createCCtx();
  ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 1);
  std::string out(ZSTD_compressBound(plain.size()) + 16, '\0');
  out.resize(ZSTD_compress2(context, out.data(), out.size(), plain.data(), plain.size()));
  ZSTD_freeCCtx(context);
  return out;
}

std::string error_of(std::string text, std::string file = "f.yaml", const Limits& limits = {}) {
  const auto documents = parse_documents(std::move(text), std::move(file), limits);
  return documents ? "no error" : documents.error().str();
}

std::string as_json(std::string text) {
  const auto document = parse_document(std::move(text), "f.yaml");
  return document ? to_json(document->root()) : document.error().str();
}

TEST(Yaml, ResolvesTheCoreSchema) {
  EXPECT_EQ(
      as_json("[yes, no, on, off, true, False, ~, null, 12, -3, 0x1f, 0o17, 1e3, 1.50, .5, '12', !!str 7]"),
      R"(["yes","no","on","off",true,false,null,null,12,-3,31,15,1e3,1.50,0.5,"12","7"])");
  EXPECT_EQ(as_json("a: |\n  x\n  y\nb: >-\n  p\n  q\n"), R"({"a":"x\ny\n","b":"p q"})");
  EXPECT_EQ(as_json("99999999999999999999"), "99999999999999999999");
}

TEST(Yaml, AliasesAndMergeKeys) {
  EXPECT_EQ(as_json("base: &b {x: 1, y: 2}\nuse:\n  <<: *b\n  y: 3\nagain: *b\n"),
            R"({"base":{"x":1,"y":2},"use":{"y":3,"x":1},"again":{"x":1,"y":2}})");
  EXPECT_EQ(error_of("a: *nobody\n"),
            "f.yaml:1:4: alias *nobody has no anchor &nobody that is complete before it");
  EXPECT_NE(error_of("a: &x [*x]\n").find("alias *x"), std::string::npos);
  EXPECT_NE(error_of("<<: 3\n").find("merge key << needs a mapping"), std::string::npos);
}

TEST(Yaml, BoundsHold) {
  std::string bomb = "a0: &a0 [1,1,1,1,1,1,1,1,1,1]\n";
  for (int i = 1; i < 12; ++i) {
    bomb += fmt::format("a{}: &a{} [", i, i);
    for (int j = 0; j < 10; ++j) bomb += fmt::format("{}*a{}", j == 0 ? "" : ",", i - 1);
    bomb += "]\n";
  }
  EXPECT_NE(error_of(bomb).find("aliases expand to more than 1000000 nodes"), std::string::npos);
  EXPECT_NE(error_of(std::string(100'000, '[')).find("nested more than 64 deep"), std::string::npos);
  EXPECT_NE(error_of("- " + std::string(70, '[') + std::string(70, ']')).find("nested more than 64 deep"),
            std::string::npos);
  std::string chain = "- &c0 [1]\n";
  for (int i = 1; i < 70; ++i) chain += fmt::format("- &c{} [*c{}]\n", i, i - 1);
  EXPECT_NE(error_of(chain).find("through alias"), std::string::npos);
  EXPECT_NE(error_of("[1,2,3,4]", "f.yaml", {.max_nodes = 4}).find("more than 4 nodes"), std::string::npos);
  EXPECT_NE(error_of("a: 12345", "f.yaml", {.max_bytes = 4}).find("more than 4 bytes"), std::string::npos);
  std::string wide;
  for (int i = 0; i < 1000; ++i) wide += fmt::format("k{}: 1\n", i);
  EXPECT_EQ(error_of(wide), "no error");
  EXPECT_EQ(error_of(wide + "k7: 2\n"),
            "f.yaml:1001:1: key 'k7' stands here and on line 8; remove one of them");
}

TEST(Yaml, MalformedTextNamesThePlace) {
  EXPECT_TRUE(error_of("a: b: c\n").starts_with("f.yaml:1:"));
  EXPECT_TRUE(error_of("a: [1, 2\nb: 3\n").starts_with("f.yaml:2:"));
  EXPECT_TRUE(error_of("a: \"open\n").starts_with("f.yaml:"));
  EXPECT_NE(error_of("a: \xff\xfe\n").find("UTF-8"), std::string::npos);
  EXPECT_NE(error_of("? [a]\n: 1\n").find("a key must be a string, not a list"), std::string::npos);
  EXPECT_NE(error_of("a: !secret x\n").find("tag !secret is not supported"), std::string::npos);
  EXPECT_NE(error_of("? \n: 1\n").find("a key is empty"), std::string::npos);
  EXPECT_TRUE(error_of(": 1\n").starts_with("f.yaml:1:1: "));
  EXPECT_EQ(parse_document("", "e").error().str(), "e: the file holds no document");
  EXPECT_NE(parse_document("a: 1\n---\nb: 1\n", "e").error().str().find("e:3:1:"), std::string::npos);
  // Flow style that only looks like JSON.
  EXPECT_EQ(as_json("{a: 1, b: [x, y]}\n"), R"({"a":1,"b":["x","y"]})");
  EXPECT_EQ(as_json("\n\n  {a: it's}\n"), R"({"a":"it's"})");
}

TEST(Json, IsStrict) {
  for (const char* bad : {"{",
                          "[1,]",
                          "{\"a\" 1}",
                          "{a:1}",
                          "01",
                          "1.",
                          "-",
                          "\"\\x\"",
                          "\"\\u12g4\"",
                          "\"a",
                          "nul",
                          "[1 2]",
                          "{\"a\":1,\"a\":2}",
                          "\"\x01\"",
                          "\"\xC0\x80\"",
                          "1 2",
                          "",
                          "+1",
                          "\"\\",
                          "\"\\u",
                          "{\"a\":",
                          "]"}) {
    const auto document = parse_json(bad, "f.json", {}, 5);
    ASSERT_FALSE(document.has_value()) << bad;
    EXPECT_TRUE(document.error().str().starts_with("f.json:5:")) << document.error().str();
  }
  EXPECT_EQ(to_json(parse_json("\"\\ud83d\\ude00\\ud800x\"", "f")->root()),
            "\"\xF0\x9F\x98\x80\xEF\xBF\xBDx\"");
  EXPECT_NE(error_of("{\"a\": 1}\n{\"b\": }\n", "x.jsonl").find("x.jsonl:2:7:"), std::string::npos);
  EXPECT_EQ(parse_json("{\"a\":\n [1, true]}", "f")->root().find("a")->items()[1].column(), 6u);
}

TEST(Json, StringsAndNumbersRoundTrip) {
  EXPECT_TRUE(rc::check("string", [](const std::vector<std::uint16_t>& codes) {
    std::string text;
    for (const std::uint16_t code : codes) {
      const auto c = static_cast<std::uint32_t>(code % 0x700);
      if (c < 0x80) {
        text.push_back(static_cast<char>(c));
      } else {
        text.push_back(static_cast<char>(0xC0 | (c >> 6)));
        text.push_back(static_cast<char>(0x80 | (c & 0x3F)));
      }
    }
    std::string json;
    append_json_string(json, text);
    const auto document = parse_json(json, "f");
    RC_ASSERT(document.has_value());
    RC_ASSERT(std::string(document->root().text()) == text);
  }));
  EXPECT_TRUE(rc::check("any bytes give valid JSON", [](const std::string& bytes) {
    std::string json;
    append_json_string(json, bytes);
    RC_ASSERT(parse_json(json, "f").has_value());
  }));
  EXPECT_TRUE(rc::check("numbers", [](std::int64_t n, double d) {
    JsonWriter writer;
    writer.begin_array().value(n).value(d).end_array();
    const auto document = parse_json(writer.str(), "f");
    RC_ASSERT(document.has_value());
    RC_ASSERT(document->root().items()[0].as_int() == n);
    RC_ASSERT(document->root().items()[1].as_double() == d);
  }));
  JsonWriter pretty(JsonStyle::kIndented);
  pretty.begin_object()
      .field("a", 1)
      .key("b")
      .begin_array()
      .value("x")
      .null()
      .end_array()
      .key("c")
      .begin_object()
      .end_object();
  pretty.end_object();
  EXPECT_EQ(pretty.str(), "{\n  \"a\": 1,\n  \"b\": [\n    \"x\",\n    null\n  ],\n  \"c\": {}\n}");
  EXPECT_EQ(JsonWriter().value(std::numeric_limits<std::uint64_t>::max()).str(), "18446744073709551615");
}

TEST(AnyBytes, NeverCrashTheReaders) {
  EXPECT_TRUE(rc::check("bytes", [](const std::string& bytes) {
    (void)parse_documents(bytes, "f");
    (void)parse_quantity(bytes, 1000);
    (void)parse_time_ms(bytes);
    (void)parse_duration_ms(bytes);
    ByteSource source = ByteSource::memory(bytes, "f");
    auto csv = CsvReader::open(source, {});
    while (csv) {
      const auto more = csv->next();
      if (!more || !*more) break;
    }
  }));
  EXPECT_TRUE(rc::check("structured bytes", [] {
    const auto pieces = *rc::gen::container<std::vector<std::string>>(
        rc::gen::element<std::string>("{", "}", "[", "]", ":", ",", "\"", "'", "a", "1", " ", "\n", "- ",
                                      "&a ", "*a", "<<", "---\n", "|", "!", "~", "\\u"));
    std::string text;
    for (const std::string& piece : pieces) text += piece;
    const auto documents = parse_documents(text, "f");
    if (!documents) RC_ASSERT(!documents.error().message.empty());
    ByteSource source = ByteSource::memory(text, "f");
    auto csv = CsvReader::open(source, {});
    while (csv) {
      const auto more = csv->next();
      if (!more || !*more) break;
    }
  }));
}

TEST(QuantityText, AgreesWithA128BitReference) {
  struct Unit {
    const char* suffix;
    std::int64_t numerator;
    std::int64_t denominator;
  };
  static const std::vector<Unit> kUnits{
      {"n", 1, 1'000'000'000}, {"u", 1, 1'000'000}, {"m", 1, 1000},          {"", 1, 1},
      {"k", 1000, 1},          {"M", 1'000'000, 1}, {"G", 1'000'000'000, 1}, {"Ki", 1024, 1},
      {"Mi", 1 << 20, 1},      {"Gi", 1 << 30, 1},  {"Ti", 1LL << 40, 1},    {"e3", 1000, 1},
      {"E-2", 1, 100}};
  EXPECT_TRUE(rc::check("reference", [] {
    const auto whole = *rc::gen::inRange<std::int64_t>(0, 1'000'000'000);
    const auto millionths = *rc::gen::inRange<std::int64_t>(0, 1'000'000);
    const Unit unit = *rc::gen::elementOf(kUnits);
    const std::int64_t scale = *rc::gen::element<std::int64_t>(1, 1000, 1'000'000);
    const bool negative = *rc::gen::arbitrary<bool>();
    const std::string text = fmt::format("{}{}.{:06}{}", negative ? "-" : "", whole, millionths, unit.suffix);
    const Int128 top = (Int128{whole} * 1'000'000 + millionths) * unit.numerator * scale;
    const Int128 bottom = Int128{1'000'000} * unit.denominator;
    const Int128 expected = (top + bottom - 1) / bottom;
    const auto got = parse_quantity_exact(text, scale);
    if (expected > std::numeric_limits<std::int64_t>::max()) {
      RC_ASSERT(!got.has_value());
      RC_ASSERT(got.error().code == ErrorCode::kExhausted);
    } else {
      RC_ASSERT(got.has_value());
      RC_ASSERT(got->value == static_cast<std::int64_t>(negative ? -expected : expected));
      RC_ASSERT(got->exact == (top % bottom == 0));
    }
    // More digits take the long way; zeros must not change the result.
    const auto longer = parse_quantity_exact(
        fmt::format("{}00000000{}.{:06}0000000000{}", negative ? "-" : "", whole, millionths, unit.suffix),
        scale);
    RC_ASSERT(longer.has_value() == got.has_value());
    if (got) RC_ASSERT(longer->value == got->value && longer->exact == got->exact);
  }));
  EXPECT_TRUE(rc::check("format round trip", [](std::int64_t value) {
    const std::int64_t scale = *rc::gen::element<std::int64_t>(1, 1000, 1'000'000'000);
    for (const QuantityForm form : {QuantityForm::kDecimal, QuantityForm::kBinary}) {
      const auto back = parse_quantity_exact(format_quantity(value, scale, form), scale);
      RC_ASSERT(back.has_value());
      RC_ASSERT(back->value == value && back->exact);
    }
  }));
  for (const std::int64_t edge :
       {std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max()}) {
    EXPECT_EQ(*parse_quantity(format_quantity(edge, 1000), 1000), edge);
  }
}

TEST(QuantityText, EdgesAndMistakes) {
  EXPECT_EQ(*parse_quantity("0.99999999999999999999999999999999Ei", 1), 1LL << 60);
  EXPECT_FALSE(parse_quantity_exact("0.99999999999999999999999999999999Ei", 1)->exact);
  EXPECT_EQ(*parse_quantity("9223372036854775807", 1), std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(*parse_quantity("1e-999", 1), 1);
  EXPECT_EQ(*parse_quantity("0e999999", 1), 0);
  EXPECT_EQ(parse_quantity("9223372036854775808", 1).error().code, ErrorCode::kExhausted);
  EXPECT_EQ(parse_quantity("1e999", 1).error().code, ErrorCode::kExhausted);
  for (const char* bad : {"", " 1", "1 ", "1K", "1ki", "1mi", "1e", "1e3k", "1e0k", "1.2.3", "--1", "m", ".",
                          "1Gib", "0x10", "1_0", "inf", "nan"}) {
    EXPECT_EQ(parse_quantity(bad, 1).has_value() ? "accepted" : "refused", std::string("refused")) << bad;
  }
}

TEST(TimeText, RoundTrips) {
  EXPECT_TRUE(rc::check("micros", [] {
    const auto us = *rc::gen::inRange<std::int64_t>(-62'135'596'800'000'000, 253'402'300'799'999'999);
    RC_ASSERT(*parse_time_us(format_time_us(us)) == us);
    const std::int64_t ms = us / 1000;
    RC_ASSERT(*parse_time_ms(format_time_ms(ms)) == ms);
  }));
  EXPECT_TRUE(rc::check("durations", [](std::int64_t ms) {
    RC_PRE(ms != std::numeric_limits<std::int64_t>::min());
    RC_ASSERT(*parse_duration_ms(format_duration_ms(ms)) == ms);
  }));
  EXPECT_EQ(format_time_ms(1'795'243'167'000), "2026-11-21T06:39:27Z");
  EXPECT_EQ(format_time_seconds(-1), "1969-12-31T23:59:59Z");
  EXPECT_EQ(*parse_time_ms("2016-12-31T23:59:60Z"), *parse_time_ms("2017-01-01T00:00:00Z"));
  EXPECT_EQ(*parse_duration_ms("1.5h"), 5'400'000);
  EXPECT_EQ(*parse_duration_ms("2d"), 172'800'000);
  EXPECT_EQ(*parse_duration_ms("1500us500us"), 2);
  for (const char* bad : {"", "5", "m", "1x", "5 m", "1h-3m", "1e3s", "0.5us", "1us", "99999999999999999w"}) {
    EXPECT_FALSE(parse_duration_ms(bad).has_value()) << bad;
  }
  for (const char* bad :
       {"", "2026-11-21", "2026-13-01T00:00:00Z", "2026-11-21T24:00:00Z", "2026-11-21T06:39:27",
        "2026-11-21T06:39:27.Z", "2026-11-21T06:39:27Zx", "2026-11-21T06:39:27+2:00"}) {
    EXPECT_FALSE(parse_time_us(bad).has_value()) << bad;
  }
}

TEST(Source, DecompressesAndFindsDamage) {
  std::string plain;
  std::uint32_t state = 1;
  for (int i = 0; i < 400'000; ++i)
    plain.push_back(static_cast<char>('a' + ((state = state * 1664525 + 1013904223) >> 28)));
  for (const std::string& packed : {gzip(plain), zstd(plain)}) {
    ByteSource whole = ByteSource::memory(packed, "w");
    EXPECT_EQ(read_all(whole).value(), plain);
    ByteSource twice = ByteSource::memory(packed + packed, "w");
    EXPECT_EQ(read_all(twice).value(), plain + plain);
    for (const std::size_t cut : {std::size_t{5}, packed.size() / 2, packed.size() - 1}) {
      ByteSource broken = ByteSource::memory(packed.substr(0, cut), "trace.gz");
      const auto got = read_all(broken);
      ASSERT_FALSE(got.has_value());
      EXPECT_NE(got.error().str().find(fmt::format("trace.gz: the {} stream is cut off at byte {}",
                                                   packed[0] == '\x1f' ? "gzip" : "zstd", cut)),
                std::string::npos)
          << got.error().str();
      EXPECT_FALSE(read_all(broken).has_value()) << "the error stays";
    }
    std::string damaged = packed;
    for (std::size_t i = damaged.size() / 2; i < damaged.size() / 2 + 64; ++i)
      damaged[i] = static_cast<char>(~damaged[i]);
    ByteSource bad = ByteSource::memory(damaged, "d");
    EXPECT_FALSE(read_all(bad).has_value());
    ByteSource bounded = ByteSource::memory(packed, "b", {.max_bytes = 1000});
    EXPECT_EQ(read_all(bounded).error().code, ErrorCode::kExhausted);
    ByteSource trailing = ByteSource::memory(packed + "xxxxxxxx", "t");
    EXPECT_FALSE(read_all(trailing).has_value());
  }
  EXPECT_EQ(ByteSource::open("/nonexistent/file").error().code, ErrorCode::kNotFound);
  auto folder = ByteSource::open("/tmp");
  EXPECT_FALSE(read_all(*folder).has_value());
}

TEST(Source, Lines) {
  ByteSource source = ByteSource::memory("one\r\n\ntwo\n" + std::string(300'000, 'x') + "\nlast", "l");
  LineReader lines(source);
  EXPECT_EQ(**lines.next(), "one");
  EXPECT_EQ(**lines.next(), "");
  EXPECT_EQ(**lines.next(), "two");
  EXPECT_EQ((**lines.next()).size(), 300'000u);
  EXPECT_EQ(**lines.next(), "last");
  EXPECT_EQ(lines.line(), 5u);
  EXPECT_FALSE(lines.next()->has_value());
  ByteSource again = ByteSource::memory("a\n" + std::string(5000, 'y'), "l");
  LineReader bounded(again, 1000);
  EXPECT_EQ(**bounded.next(), "a");
  EXPECT_EQ(bounded.next().error().str(), "l:2: the line is longer than 1000 bytes");
}

TEST(Documents, StreamsFromCompressedSource) {
  std::string json, yaml;
  for (int i = 0; i < 20'000; ++i) {
    json += fmt::format("{{\"kind\":\"Pod\",\"n\":{},\"s\":\"}}]{{\"}}\n", i);
    yaml += fmt::format("---\nkind: Pod\nn: {}\n", i);
  }
  for (const std::string& text : {json, yaml}) {
    ByteSource source = ByteSource::memory(gzip(text), "dump");
    DocumentReader reader(source);
    for (int i = 0; i < 20'000; ++i) {
      auto document = reader.next();
      ASSERT_TRUE(document.has_value()) << document.error().str();
      ASSERT_TRUE(document->has_value());
      ASSERT_EQ((*document)->root().find("n")->as_int(), i);
    }
    EXPECT_FALSE(reader.next()->has_value());
  }
}

TEST(Csv, RoundTripsAnyFields) {
  EXPECT_TRUE(rc::check("fields", [](const std::vector<std::array<std::string, 3>>& rows) {
    std::string text = "x,y,z\n";
    const auto quoted = [](const std::string& field) {
      std::string out = "\"";
      for (const char c : field) out += c == '"' ? "\"\"" : std::string(1, c);
      return out + "\"";
    };
    for (const auto& row : rows)
      text += quoted(row[0]) + "," + quoted(row[1]) + "," + quoted(row[2]) + "\r\n";
    ByteSource source = ByteSource::memory(text, "c");
    auto csv = CsvReader::open(source, {"z", "x"}, {"w"});
    RC_ASSERT(csv.has_value());
    for (const auto& row : rows) {
      RC_ASSERT(*csv->next());
      RC_ASSERT(std::string(csv->field(0)) == row[2]);
      RC_ASSERT(std::string(csv->field(1)) == row[0]);
      RC_ASSERT(csv->field(2).empty() && !csv->has(2));
    }
    RC_ASSERT(!*csv->next());
  }));
}

TEST(Csv, Mistakes) {
  const auto problem = [](std::string text, const CsvOptions& options = {}) -> std::string {
    ByteSource source = ByteSource::memory(std::move(text), "t.csv");
    auto csv = CsvReader::open(source, {"gpus"}, {}, options);
    while (csv) {
      const auto more = csv->next();
      if (!more) return more.error().str();
      if (!*more) return "no error";
    }
    return csv.error().str();
  };
  EXPECT_EQ(problem("gpu,b\n"), "t.csv:1: column 'gpus' is missing (is it 'gpu'?); the columns are: gpu, b");
  EXPECT_EQ(problem("gpus,gpus\n"), "t.csv:1: column 'gpus' stands in the header twice");
  EXPECT_TRUE(problem("").starts_with("t.csv:1: the file is empty"));
  EXPECT_TRUE(problem("gpus,b\n1\n").starts_with("t.csv:2: the record has 1 fields, the header 2"));
  EXPECT_TRUE(problem("gpus,b\n1,2,3\n").starts_with("t.csv:2: the record has 3 fields, the header 2"));
  EXPECT_TRUE(problem("gpus,b\n\n1,a\"b\n").starts_with("t.csv:3: field 2 has a quote inside"));
  EXPECT_TRUE(problem("gpus,b\n1,\"a\"b\n").starts_with("t.csv:2: field 2 goes on after"));
  EXPECT_TRUE(problem("gpus,b\n1,\"a\n\n").starts_with("t.csv:2: the file ends inside a quoted field"));
  EXPECT_NE(
      problem("gpus\n" + std::string(500, '1') + "\n", {.max_record_bytes = 100}).find("more than 100 bytes"),
      std::string::npos);
  EXPECT_EQ(problem("\xEF\xBB\xBFgpus,b\r\n1,2\r\n"), "no error");
}

std::string field_error(const std::string& yaml, void (*read)(Fields&), Unknown unknown = Unknown::kRefuse) {
  const auto document = parse_document(yaml, "c.yaml");
  if (!document) return document.error().str();
  Fields fields(*document, document->root(), unknown);
  read(fields);
  const Status status = fields.done();
  return status ? "no error" : status.error().str();
}

TEST(FieldErrors, SayPlaceValueAndFix) {
  enum class Order { kFifo, kFair };
  static constexpr Choice<Order> kOrders[] = {{"fifo", Order::kFifo}, {"fair", Order::kFair}};
  const auto integer = [](Fields& f) { f.integer("n", 0, 10); };
  EXPECT_EQ(field_error("n: abc", integer), "c.yaml:1:4: n: must be an integer from 0 to 10, not \"abc\"");
  EXPECT_EQ(field_error("n: 11", integer), "c.yaml:1:4: n: must be an integer from 0 to 10, not \"11\"");
  EXPECT_EQ(field_error("n: '3'", integer),
            "c.yaml:1:4: n: must be an integer from 0 to 10, not \"3\" (remove the quotes)");
  EXPECT_EQ(field_error("n: 010", integer), "c.yaml:1:4: n: 010 may mean octal or decimal; write 0o10 or 10");
  EXPECT_EQ(field_error("n: 010", integer, Unknown::kIgnore), "no error");
  EXPECT_EQ(field_error("{}", integer), "c.yaml:1:1: n: is required");
  EXPECT_EQ(field_error("n: null", integer), "c.yaml:1:4: n: is required");
  EXPECT_EQ(field_error("n: 1\nother: 2", integer, Unknown::kIgnore), "no error");
  EXPECT_EQ(field_error("n: 1\nother: 2", integer), "c.yaml:2:1: other: unknown key; known keys: n");
  EXPECT_EQ(field_error("- 1", integer), "c.yaml:1:1: must be a mapping (key: value), not a list");
  EXPECT_EQ(field_error("s: 1.0", [](Fields& f) { f.string("s"); }),
            "c.yaml:1:4: s: must be a string, not an integer; put it in quotes: \"1.0\"");
  EXPECT_EQ(field_error("s: yes", [](Fields& f) { f.string("s"); }), "no error");
  EXPECT_EQ(field_error("b: yes", [](Fields& f) { f.boolean("b"); }),
            "c.yaml:1:4: b: must be true or false, not \"yes\"");
  EXPECT_EQ(field_error(
                "b: yes", [](Fields& f) { EXPECT_TRUE(f.boolean("b")); }, Unknown::kIgnore),
            "no error");
  EXPECT_EQ(field_error("d: 300", [](Fields& f) { f.duration("d"); }),
            "c.yaml:1:4: d: a duration needs a unit; write for example 300s");
  EXPECT_EQ(field_error("d: 1s", [](Fields& f) { f.duration("d", 5000); }),
            "c.yaml:1:4: d: must be a duration of at least 5s, not \"1s\"");
  EXPECT_EQ(field_error("o: fiar", [](Fields& f) { f.choice("o", kOrders); }),
            "c.yaml:1:4: o: must be one of fifo, fair, not \"fiar\"; did you mean fair?");
  EXPECT_EQ(field_error("q: -1", [](Fields& f) { f.quantity("q", 1); }),
            "c.yaml:1:4: q: must not be negative, not \"-1\"");
  EXPECT_EQ(field_error("l: {a: 1}", [](Fields& f) { f.list("l"); }),
            "c.yaml:1:4: l: must be a list, not a mapping");
  EXPECT_EQ(field_error("l:\n  a.b/c: 1", [](Fields& f) { f.string_map("l"); }),
            "c.yaml:2:10: l[\"a.b/c\"]: must be a string, not an integer; put it in quotes: \"1\"");
  EXPECT_EQ(
      field_error("m:\n  x: {k: 1}\n  y: {k: z}",
                  [](Fields& f) { f.each_entry("m", [](std::string_view, Fields& e) { e.integer("k"); }); }),
      "c.yaml:3:10: m.y.k: must be an integer, not \"z\"");
  EXPECT_EQ(field_error("a: 1",
                        [](Fields& f) {
                          f.ignore("a");
                          EXPECT_FALSE(f.optional_child("absent"));
                        }),
            "no error");
}

}  // namespace
}  // namespace berth::text
