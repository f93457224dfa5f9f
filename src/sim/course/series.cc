#include "sim/course/series.h"

#include <algorithm>

namespace berth::sim {

BinnedSeries::BinnedSeries(std::size_t tracks, TimeMs begin, std::size_t most_bins)
    : begin_(begin), end_(begin), most_(most_bins), tracks_(tracks) {
  for (Track& track : tracks_) track.since = begin;
}

void BinnedSeries::reach(TimeMs at) {
  while ((at - begin_) / width_ >= static_cast<TimeMs>(most_)) {
    for (Track& track : tracks_) {
      if (track.bins.empty()) continue;
      for (std::size_t i = 0; i < most_ / 2; ++i) track.bins[i] = track.bins[2 * i] + track.bins[2 * i + 1];
      std::fill(track.bins.begin() + static_cast<std::ptrdiff_t>(most_ / 2), track.bins.end(), 0);
    }
    width_ *= 2;
  }
}

void BinnedSeries::spend(Track& track, TimeMs at) {
  if (at <= track.since) return;
  if (track.value != 0) {
    if (track.bins.empty()) track.bins.assign(most_, 0);
    track.total += static_cast<Int128>(track.value) * (at - track.since);
    auto bin = static_cast<std::size_t>((track.since - begin_) / width_);
    for (TimeMs from = track.since; from < at; ++bin) {
      const TimeMs to = std::min(at, bin_begin(bin + 1));
      track.bins[bin] += static_cast<Int128>(track.value) * (to - from);
      from = to;
    }
  }
  track.since = at;
}

void BinnedSeries::add(std::size_t track, std::int64_t change, TimeMs at) {
  reach(at);
  spend(tracks_[track], at);
  tracks_[track].value += change;
  end_ = std::max(end_, at);
}

Int128 BinnedSeries::integral(std::size_t track, TimeMs at) const {
  const Track& t = tracks_[track];
  return t.total + static_cast<Int128>(t.value) * std::max<TimeMs>(0, at - t.since);
}

void BinnedSeries::finish(TimeMs at) {
  if (at > begin_) reach(at - 1);
  for (Track& track : tracks_) spend(track, at);
  end_ = std::max(end_, at);
  bins_ = end_ == begin_ ? 0 : static_cast<std::size_t>((end_ - begin_ - 1) / width_ + 1);
}

std::int64_t BinnedSeries::mean(std::size_t track, std::size_t bin) const {
  const DurationMs length = std::min(width_, end_ - bin_begin(bin));
  return length <= 0 || tracks_[track].bins.empty() ? 0 : clamp_to_int64(tracks_[track].bins[bin] / length);
}

}  // namespace berth::sim
