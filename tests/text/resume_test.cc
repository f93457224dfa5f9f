// Reading on behind a document that is wrong; what a tab is told; quantities at the end of what can be counted; how far words are apart.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

#include "text/document.h"
#include "text/fields.h"
#include "text/quantity.h"

namespace berth::text {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// The documents' texts of "v", and the errors, in the order of the text.
std::vector<std::string> read_on(const std::string& text) {
  std::vector<std::string> out;
  DocumentReader reader(text, "f");
  for (;;) {
    auto document = reader.next();
    if (!document) {
      out.push_back(document.error().str());
      if (!reader.resume()) return out;
      continue;
    }
    if (!*document) return out;
    const Node* value = (*document)->root().find("v");
    out.push_back(value == nullptr ? "-" : std::string(value->text()));
  }
}

TEST(Resume, GoesOnAtTheNextDocument) {
  EXPECT_THAT(read_on("v: 1\n---\nv: [\n---\nv: 2\n---\nv: 3\n"),
              ElementsAre("1", HasSubstr("f:4:"), "2", "3"));
  EXPECT_THAT(read_on("v: 1\n---\na:\n\tb: 1\n---\nv: 2\n"), ElementsAre("1", HasSubstr("f:4:1"), "2"));
  EXPECT_THAT(read_on("v: 1\n---\nv: 1\nv: 2\n---\nv: 3\n"), ElementsAre("1", HasSubstr("f:4:"), "3"));
  EXPECT_THAT(read_on("v: &a 1\n---\nv: *b\n---\nv: 3\n"), ElementsAre("1", HasSubstr("f:3:"), "3"));
  EXPECT_THAT(read_on("a: 'open\n---\nv: 2\n"), ElementsAre(HasSubstr("f:"), "2"));
}

// A wrong value, and then, in the same document, a text that is no YAML: the parser gives no events any more.
TEST(Resume, ADocumentThatIsWrongTwice) {
  EXPECT_THAT(read_on("v: 1\n---\nv: &a [*a]\n   w: 1\n---\nv: 2\n"),
              ElementsAre("1", HasSubstr("f:3:"), HasSubstr("f:4:"), "2"));
}

TEST(Resume, SeveralWrongOnesInARow) {
  EXPECT_THAT(read_on("v: [\n---\nv: ]\n---\nv: 1\n---\n\tv: 2\n"),
              ElementsAre(HasSubstr("f:2:"), HasSubstr("f:3:"), "1", HasSubstr("f:7:1")));
}

TEST(Resume, LinesAreThoseOfTheFile) {
  const std::string many(1000, '\n');
  const auto said = read_on("v: [\n" + many + "---\nv: 1\n---\nv: {\n---\nv: 5\n");
  ASSERT_EQ(said.size(), 4u);
  EXPECT_EQ(said[1], "1");
  EXPECT_THAT(said[2], HasSubstr("f:1006:"));
  EXPECT_EQ(said[3], "5");
}

TEST(Resume, JsonGoesOnBehindATextThatWasRefused) {
  EXPECT_THAT(read_on(R"({"v": "1"} {"v": 1, "v": 2} {"v": "3"})"), ElementsAre("1", HasSubstr("f:1:"), "3"));
  EXPECT_THAT(read_on(R"({"v": "1"} {"v": )"), ElementsAre("1", HasSubstr("f:1:")));
}

TEST(Resume, ATabIsNamed) {
  for (const char* text : {"a:\n\tb: 1\n", "a:\n  b: 1\n\tc: 2\n", "a:\n  \tb: 1\n"}) {
    EXPECT_THAT(read_on(text),
                ElementsAre(HasSubstr("a tab indents this line: tabs are not allowed for indentation")))
        << text;
  }
  EXPECT_THAT(read_on("v: \"a\tb\"\n"), ElementsAre("a\tb"));  // within a string it is a character
}

TEST(Quantities, AreCappedWhereTheyAreTooLarge) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  for (const char* text : {"10P", "9.3E", "1e30", "64Ei"})
    EXPECT_EQ(parse_quantity_capped(text, 1000).value(), kMost) << text;
  EXPECT_EQ(parse_quantity_capped("-1e30", 1).value(), std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(parse_quantity_capped("1500m", 1).value(), 2);
  EXPECT_EQ(parse_quantity_capped("9223372036854775807", 1).value(), kMost);
  EXPECT_FALSE(parse_quantity_capped("9 cores", 1).has_value());
}

TEST(Quantities, AWrongSuffixIsToldTheRightOne) {
  const auto error = [](const char* text) { return parse_quantity(text, 1).error().str(); };
  EXPECT_THAT(error("16GB"), HasSubstr("did you mean 16G or 16Gi?"));
  EXPECT_THAT(error("8gi"), HasSubstr("did you mean 8Gi?"));
  EXPECT_THAT(error("2 Gi"), HasSubstr("did you mean 2Gi?"));
  EXPECT_THAT(error("4K"), HasSubstr("did you mean 4k or 4Ki?"));
  EXPECT_THAT(error("lots"), HasSubstr("write for example"));
}

TEST(Words, AreSoManyEditsApart) {
  EXPECT_EQ(distance("paralelism", "parallelism"), 1u);
  EXPECT_EQ(distance("nodeselector", "nodeSelector"), 0u);
  EXPECT_EQ(distance("quuee", "queue"), 1u);
  EXPECT_EQ(distance("", "abc"), 3u);
  EXPECT_EQ(distance(std::string(100, 'a'), "a"), 100u);
}

}  // namespace
}  // namespace berth::text
