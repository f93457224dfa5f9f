// Values that copies share, and keys of bounded length.
#include "base/shared.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/digest.h"

namespace berth {
namespace {

using Words = std::vector<std::string>;

TEST(Shared, CopiesShareUntilOneIsEdited) {
  Shared<Words> a = Words{"x"};
  Shared<Words> b = a;
  EXPECT_TRUE(a.same(b));
  b.edit().emplace_back("y");
  EXPECT_FALSE(a.same(b));
  EXPECT_EQ(a, Words{"x"});
  EXPECT_EQ(b, (Words{"x", "y"}));
  const auto* place = &*b;
  b.edit().emplace_back("z");  // its own already
  EXPECT_EQ(&*b, place);
}

TEST(Shared, EqualsByValueAndNothingIsNothing) {
  Shared<Words> none;
  Shared<Words> emptied;
  emptied.edit().emplace_back("x");
  emptied.edit().clear();
  EXPECT_EQ(none, emptied);
  EXPECT_TRUE(none.empty());
  EXPECT_EQ(none.size(), 0u);
  Shared<Words> a = Words{"x"};
  Shared<Words> b = Words{"x"};
  EXPECT_FALSE(a.same(b));
  EXPECT_EQ(a, b);
  a.clear();
  EXPECT_EQ(a, none);
  EXPECT_EQ(b.size(), 1u);
}

std::string hex(std::string_view text) {
  std::string out;
  for (const auto byte : sha256(text)) out += fmt::format("{:02x}", byte);
  return out;
}

// The digests are those of sha256sum(1).
TEST(Digest, Sha256) {
  EXPECT_EQ(hex(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(hex(std::string(55, 'a')), "9f4390f8d30c2dd92ec9f095b65e2b9ae9b0a925a5258e241c9f1e910f734318");
  EXPECT_EQ(hex(std::string(56, 'a')), "b35439a4ac6f0948b6d6f9e3c6af0f5f590ce20f1bde7090ef7970686ec6738a");
  EXPECT_EQ(hex(std::string(64, 'a')), "ffe054fe7ae0cb6dc65c3af9b61d5209f439851db43d0ba5997337df154668eb");
  EXPECT_EQ(hex(std::string(1000, 'a')), "41edece42d63e8d9bf515a9ba6932e1c20cbc9f5a5d134645adb5db1b9737ea3");
}

TEST(Digest, ShortTextsStayAndLongOnesDoNot) {
  const std::string bound(kShortKey, 'k');
  EXPECT_EQ(short_key(bound), bound);
  EXPECT_FALSE(is_digest(bound));
  const std::string long_key = short_key(bound + "k");
  EXPECT_EQ(long_key.size(), 33u);
  EXPECT_TRUE(is_digest(long_key));
  EXPECT_NE(long_key, short_key(bound + "l"));
}

}  // namespace
}  // namespace berth
