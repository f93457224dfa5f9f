// Waiting in tests for what happens on another thread, with a generous bound that only a failing test reaches.
#pragma once

#include <chrono>
#include <thread>

namespace berth::kube::testing {

template <class Condition>
bool wait_for(Condition condition, std::chrono::milliseconds most = std::chrono::seconds(20)) {
  const auto end = std::chrono::steady_clock::now() + most;
  while (!condition()) {
    if (std::chrono::steady_clock::now() >= end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

}  // namespace berth::kube::testing
