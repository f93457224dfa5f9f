// Series of Prometheus whose label values come and go, within bounds. For the metrics of this folder alone.
//
// Not thread-safe.
#pragma once

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>

namespace berth::observe {

using SeriesLabels = std::map<std::string, std::string>;

inline prometheus::Family<prometheus::Counter>& counters(prometheus::Registry& registry, const char* name,
                                                         const char* help) {
  return prometheus::BuildCounter().Name(name).Help(help).Register(registry);
}
inline prometheus::Family<prometheus::Gauge>& gauges(prometheus::Registry& registry, const char* name,
                                                     const char* help) {
  return prometheus::BuildGauge().Name(name).Help(help).Register(registry);
}
inline prometheus::Family<prometheus::Histogram>& histograms(prometheus::Registry& registry, const char* name,
                                                             const char* help) {
  return prometheus::BuildHistogram().Name(name).Help(help).Register(registry);
}

// The value of a label that others choose: the first `most` different ones as they are, all others as "other".
class LabelCap {
 public:
  static constexpr std::string_view kOther = "other";

  explicit LabelCap(std::size_t most) : most_(most) {}
  std::string of(std::string_view value) {
    if (const auto known = values_.find(value); known != values_.end()) return *known;
    if (values_.size() >= most_) return std::string(kOther);
    return *values_.emplace(value).first;
  }

 private:
  const std::size_t most_;
  std::set<std::string, std::less<>> values_;
};

// A family whose series follow a changing set of label values: those that a round does not set vanish with its end.
class Following {
 public:
  explicit Following(prometheus::Family<prometheus::Gauge>& family) : family_(&family) {}

  // How many series the bound of all series together leaves out: 0 or 1.
  std::int64_t set(SeriesLabels labels, double value, std::size_t& room) {
    if (room == 0) return 1;
    --room;
    auto [it, added] = series_.try_emplace(std::move(labels));
    if (added) it->second.gauge = &family_->Add(it->first);
    it->second.gauge->Set(value);
    it->second.round = round_;
    return 0;
  }
  void end_round() {
    for (auto it = series_.begin(); it != series_.end();) {
      if (it->second.round != round_) {
        family_->Remove(it->second.gauge);
        it = series_.erase(it);
      } else {
        ++it;
      }
    }
    ++round_;
  }

 private:
  struct Series {
    prometheus::Gauge* gauge = nullptr;
    std::int64_t round = 0;
  };
  prometheus::Family<prometheus::Gauge>* family_;
  std::map<SeriesLabels, Series> series_;
  std::int64_t round_ = 1;
};

}  // namespace berth::observe
