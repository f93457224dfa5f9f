// Files that appear whole or not at all, and what is written into them, compressed or not.
#include "text/sink.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "text/source.h"

namespace berth::text {
namespace {

class SinkTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "/berth-sink-XXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::string folder_;
};

TEST_F(SinkTest, WhatIsWrittenComesBack) {
  std::string want;
  for (int i = 0; i < 100'000; ++i) want += std::to_string(i * 7919) + "\n";  // several buffers
  for (const char* name : {"plain", "packed.gz", "packed.zst"}) {
    const std::string path = folder_ + "/" + name;
    auto sink = ByteSink::open(path);
    ASSERT_TRUE(sink) << sink.error().str();
    for (std::size_t at = 0; at < want.size(); at += 1000) {
      ASSERT_TRUE(sink->write(std::string_view(want).substr(at, 1000)));
    }
    EXPECT_FALSE(std::filesystem::exists(path)) << "it appears when it is whole";
    ASSERT_TRUE(sink->commit());
    const auto got = read_file(path);
    ASSERT_TRUE(got) << got.error().str();
    EXPECT_TRUE(*got == want) << name;
    EXPECT_EQ(std::filesystem::file_size(path) < want.size(), path.find("packed") != std::string::npos);
    EXPECT_FALSE(std::filesystem::exists(path + ".part"));
  }
}

TEST_F(SinkTest, EmptyFilesAreWholeToo) {
  for (const char* name : {"plain", "packed.gz", "packed.zst"}) {
    auto sink = ByteSink::open(folder_ + "/" + name);
    ASSERT_TRUE(sink && sink->commit());
    EXPECT_EQ(*read_file(folder_ + "/" + name), "");
  }
}

TEST_F(SinkTest, NothingIsLeftWithoutCommit) {
  const std::string path = folder_ + "/file";
  std::ofstream(path) << "as it was";
  {
    auto sink = ByteSink::open(path);
    ASSERT_TRUE(sink);
    ASSERT_TRUE(sink->write("new"));
  }
  EXPECT_FALSE(std::filesystem::exists(path + ".part"));
  EXPECT_EQ(*read_file(path), "as it was");
}

TEST_F(SinkTest, ErrorsNameTheFile) {
  const auto sink = ByteSink::open(folder_ + "/no/such/file");
  ASSERT_FALSE(sink);
  EXPECT_THAT(sink.error().str(), testing::HasSubstr("/no/such/file"));
  if (!std::filesystem::exists("/dev/full")) return;
  // A full disk, by way of a link: renaming over it would succeed, writing into it must not.
  std::filesystem::create_symlink("/dev/full", folder_ + "/full.part");
  auto full = ByteSink::open(folder_ + "/full");
  ASSERT_TRUE(full);
  (void)full->write("bytes");
  EXPECT_FALSE(full->commit());
  EXPECT_FALSE(std::filesystem::exists(folder_ + "/full"));
}

}  // namespace
}  // namespace berth::text
