// Progress on a terminal: one line that is written over itself at most ten times a second, on standard error,
// since what is on standard output is the same for equal runs.
#pragma once

#include <chrono>
#include <ostream>
#include <string>

namespace berth::cli {

class ProgressLine {
 public:
  // `shown`: whether the stream is a terminal.
  ProgressLine(std::ostream& err, bool shown)
      : err_(err), shown_(shown), start_(std::chrono::steady_clock::now()) {}

  // Calls make() for the text when it is time for one.
  template <class Make>
  void show(Make&& make) {
    if (!shown_) return;
    const double elapsed = seconds();
    if (elapsed - last_ < 0.1) return;
    last_ = elapsed;
    err_ << "\r\033[K" << make(elapsed) << std::flush;
  }
  void clear() {
    if (shown_) err_ << "\r\033[K" << std::flush;
  }
  double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }

 private:
  std::ostream& err_;
  bool shown_;
  std::chrono::steady_clock::time_point start_;
  double last_ = -1;
};

}  // namespace berth::cli
