// Completion indexes of an Indexed Job, as its status writes them: "1,3-5,7".
//
// Sorted, disjoint intervals. Unreadable parts are ignored, as in the Job controller. Cost: O(intervals), whatever the number of
// indexes.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace berth::dialect {

class JobIndexes {
 public:
  // Those below `completions`.
  static JobIndexes parse(std::string_view text, std::int64_t completions);

  void add(std::int64_t index) { add(index, index); }
  void add(const JobIndexes& others);
  std::int64_t count() const;
  // The lowest index from `from` on that is none of these.
  std::int64_t next_free(std::int64_t from) const;
  bool operator==(const JobIndexes&) const = default;

 private:
  struct Interval {
    std::int64_t first = 0;
    std::int64_t last = 0;
    bool operator==(const Interval&) const = default;
  };
  void add(std::int64_t first, std::int64_t last);

  std::vector<Interval> intervals_;
};

}  // namespace berth::dialect
