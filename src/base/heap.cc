#include "base/heap.h"

#include <cstdint>

// jemalloc's own interface (jemalloc(3)). A build with a sanitizer does not link it.
extern "C" {
[[gnu::weak]] int mallctl(const char* name, void* old, std::size_t* old_size, void* now,
                          std::size_t now_size);

// Few threads of Berth allocate much, and each arena keeps free pages of its own. A burst's memory goes back a second after it.
[[gnu::visibility("default")]] const char* malloc_conf = "narenas:4,dirty_decay_ms:1000,muzzy_decay_ms:0";
}

namespace berth {
namespace {

template <class T>
T read(const char* name) {
  T value{};
  std::size_t size = sizeof value;
  return mallctl(name, &value, &size, nullptr, 0) == 0 ? value : T{};
}

}  // namespace

HeapUse heap_use() {
  if (mallctl == nullptr) return {};
  mallctl("thread.tcache.flush", nullptr, nullptr, nullptr, 0);
  std::uint64_t epoch = 1;
  std::size_t size = sizeof epoch;
  mallctl("epoch", &epoch, &size, &epoch, size);  // the figures are those of this moment
  return {.in_use = read<std::size_t>("stats.allocated"),
          .free = read<std::size_t>("stats.arenas.4096.pdirty") * read<std::size_t>("arenas.page")};
}

void give_heap_back() {
  if (mallctl != nullptr) mallctl("arena.4096.purge", nullptr, nullptr, nullptr, 0);  // 4096: all arenas
}

}  // namespace berth
