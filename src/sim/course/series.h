// Several step functions of time, kept as exact integrals over equal bins: however long a run is, memory
// stays bounded and the means stay exact. When the bins are used up, neighbours are merged and the bins
// become twice as long (1 s, 2 s, 4 s, ...).
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/checked.h"
#include "base/time.h"

namespace berth::sim {

class BinnedSeries {
 public:
  // Tracks begin with the value 0 at `begin`. `most_bins` must be even.
  BinnedSeries(std::size_t tracks, TimeMs begin, std::size_t most_bins = 2048);

  // The value of the track from `at` on; `at` never goes back. O(bins passed), at most O(most_bins).
  void add(std::size_t track, std::int64_t change, TimeMs at);
  std::int64_t value(std::size_t track) const { return tracks_[track].value; }
  // The integral from begin to `at`, which is not before the track's last change.
  Int128 integral(std::size_t track, TimeMs at) const;
  // No value changes any more; the last bin ends here.
  void finish(TimeMs at);

  // After finish().
  std::size_t bins() const { return bins_; }
  DurationMs width() const { return width_; }
  TimeMs bin_begin(std::size_t bin) const { return begin_ + static_cast<TimeMs>(bin) * width_; }
  // The mean over the bin (the last bin: over the part of it before finish()), rounded down.
  std::int64_t mean(std::size_t track, std::size_t bin) const;

 private:
  struct Track {
    std::int64_t value = 0;
    TimeMs since = 0;
    Int128 total = 0;
    std::vector<Int128> bins;  // empty until the value is not 0 for the first time
  };

  void reach(TimeMs at);
  void spend(Track& track, TimeMs at);

  TimeMs begin_;
  TimeMs end_ = 0;
  DurationMs width_ = kSecond;
  std::size_t most_;
  std::size_t bins_ = 0;
  std::vector<Track> tracks_;
};

}  // namespace berth::sim
