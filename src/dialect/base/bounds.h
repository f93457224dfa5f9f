// How many entries Berth reads of one pod, template or other object. The API server bounds an object's total size, but not its
// entries. An entry of a few bytes may take a hundred in memory, and every entry is checked for every node. An object beyond a
// bound is not read on: its message names field and bound.
//
// Bounds hold per pod spec (kMarks, kLabels, kOwners: per object). docs/operations.md has them as a table, which a test compares.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace berth::dialect {

enum class Entry : std::uint8_t {
  kSelector,
  kTerm,
  kRequirement,
  kValue,
  kToleration,
  kPodTerm,
  kContainer,
  kPort,
  kAmount,
  kResource,
  kClaim,
  kGate,
  kMark,
  kLabel,
  kOwner,
  kText,
  kMarkText,
  kPart,
};

struct EntryBound {
  std::string_view what;  // "more than 128 <what>"
  std::size_t most;
};

inline constexpr std::array<EntryBound, 18> kEntryBounds = {{
    {"labels in a nodeSelector", 128},
    {"terms of node affinity, required and preferred together", 256},
    {"requirements (matchExpressions, matchFields, matchLabels) in all terms together", 512},
    {"values and namespaces in all terms together", 2048},
    {"tolerations", 256},
    {"required terms of podAffinity and podAntiAffinity, and topology spreads", 64},
    {"containers, init containers included", 256},
    {"host ports", 128},
    {"requests and limits in all containers together", 2048},
    {"different resources", 64},
    {"volumes of persistent volume claims", 128},
    {"scheduling gates", 64},
    {"labels and annotations that Berth reads", 64},
    {"labels", 512},
    {"owners", 64},
    {"bytes in selectors, terms and tolerations together", 65536},
    {"bytes in one label or annotation that Berth reads", 2048},
    {"tasks, subgroups and their label keys", 256},
}};

constexpr const EntryBound& bound_of(Entry entry) {
  return kEntryBounds[static_cast<std::size_t>(entry)];
}

// The amounts read so far.
class EntryCounts {
 public:
  // False where `more` of them are too many.
  bool add(Entry entry, std::size_t more) {
    std::size_t& count = counts_[static_cast<std::size_t>(entry)];
    count += more;
    return count <= bound_of(entry).most;
  }
  void begin_pod() {
    for (std::size_t i = 0; i <= static_cast<std::size_t>(Entry::kGate); ++i) counts_[i] = 0;
    counts_[static_cast<std::size_t>(Entry::kText)] = 0;
  }

 private:
  std::array<std::size_t, kEntryBounds.size()> counts_{};
};

}  // namespace berth::dialect
