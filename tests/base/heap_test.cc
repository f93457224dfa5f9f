#include "base/heap.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

namespace berth {
namespace {

constexpr std::size_t kMiB = std::size_t{1} << 20;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || defined(__clang__)
constexpr bool kCounts = false;  // a sanitizer's allocator
#else
constexpr bool kCounts = true;
#endif

TEST(Heap, CountsWhatIsInUse) {
  if (!kCounts) GTEST_SKIP() << "the allocator of this build counts nothing";
  const std::size_t before = heap_use().in_use;
  EXPECT_GT(before, 0u) << "jemalloc is not linked";
  auto large = std::make_unique<std::string>(8 * kMiB, 'x');
  EXPECT_GE(heap_use().in_use, before + 8 * kMiB);
  large.reset();
  EXPECT_LT(heap_use().in_use, before + kMiB);
}

TEST(Heap, GivesFreePagesBack) {
  if (!kCounts) GTEST_SKIP() << "the allocator of this build counts nothing";
  {
    std::vector<std::string> many;
    for (int i = 0; i < 20'000; ++i) many.emplace_back(1000, 'x');
  }
  EXPECT_GT(heap_use().free, 8 * kMiB);
  give_heap_back();
  EXPECT_LT(heap_use().free, kMiB);
}

}  // namespace
}  // namespace berth
