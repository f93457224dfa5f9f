// Kinds of pods. Where the openb trace is at hand ($BERTH_TRACES), its lists: 151 kinds in the default list, 457 in
// gpuspec33, drawn as often as they stand there. Otherwise as many generated ones of the same spread: 13 % without a device,
// 38 % shares, 48 % one device, 1 % two to eight.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/random.h"

namespace berth::bench {

struct Kind {
  std::int64_t cpu = 1000;        // thousandths
  std::int64_t memory = 1 << 30;  // bytes
  std::int64_t gpus = 1;
  std::int64_t milli = 1000;        // of each
  std::vector<std::string> models;  // any of these; empty = any
  std::uint64_t weight = 1;

  std::int64_t devices() const { return gpus * milli; }
};

class Kinds {
 public:
  // `count` 1 (one whole device), 151 or 457.
  explicit Kinds(std::int64_t count);

  const Kind& draw(Random& random) const;
  std::size_t size() const { return kinds_.size(); }
  bool from_trace() const { return from_trace_; }

 private:
  bool read(const std::string& path);
  void generate(std::size_t count);
  void sum_weights();

  std::vector<Kind> kinds_;
  std::vector<std::uint64_t> up_to_;  // sums of the weights
  bool from_trace_ = false;
};

}  // namespace berth::bench
