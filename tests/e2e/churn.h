// A stream of one-GPU pods that each live for a while, and what is seen of them: how long a waiting pod is without a reason, how
// long a bind takes, how much room is free while work waits that fits.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "e2e/berth_fixture.h"

namespace berth::e2e {

// Fed from ObserverOfPods::on_pod; read from any thread. Pods of namespace default alone, each of which asks for one GPU.
class ChurnBook {
 public:
  using Clock = std::chrono::steady_clock;

  void on_pod(const SeenPod& pod, bool deleted) {
    if (!pod.key.starts_with("default/")) return;
    const auto now = Clock::now();
    const std::lock_guard lock(mutex_);
    auto& entry = pods_[pod.uid];
    if (entry.seen == Clock::time_point{}) {
      entry.seen = now;
      entry.key = pod.key;
      ++arrived_;
    }
    if (!entry.bound && !pod.scheduled_reason.empty() && !entry.told) {
      entry.told = true;
      if (!entry.early) untold_.push_back(now - entry.seen);
    }
    if (!entry.bound && !pod.node.empty()) {
      entry.bound = true;
      entry.bound_at = now;
      bind_times_.push_back(now - entry.seen);
      was_bound_.push_back(pod.key);
    }
    if (deleted) pods_.erase(pod.uid);
  }

  struct Now {
    std::size_t waiting = 0;
    std::size_t bound = 0;
    double longest_untold = 0;  // seconds that a pod which waits now has been without a reason
  };
  Now now() const {
    const std::lock_guard lock(mutex_);
    Now out;
    const auto time = Clock::now();
    for (const auto& [uid, pod] : pods_) {
      ++(pod.bound ? out.bound : out.waiting);
      if (pod.bound || pod.told || pod.early) continue;
      out.longest_untold =
          std::max(out.longest_untold, std::chrono::duration<double>(time - pod.seen).count());
    }
    return out;
  }
  // What came so far is no part of what is measured. Those of it that are bound end one after the other over the next `life`.
  void begin(std::chrono::milliseconds life) {
    const std::lock_guard lock(mutex_);
    untold_.clear();
    bind_times_.clear();
    std::size_t at = 0;
    for (auto& [uid, pod] : pods_) {
      pod.early = true;
      if (pod.bound) pod.bound_at = Clock::now() - life + life * ++at / static_cast<int>(pods_.size());
    }
  }
  // Bound for `life` or longer, each once; a few at a time, so that several threads share them.
  std::vector<std::string> take_old(std::chrono::milliseconds life) {
    constexpr std::size_t kAtOnce = 2;
    const std::lock_guard lock(mutex_);
    std::vector<std::string> out;
    const auto time = Clock::now();
    for (auto& [uid, pod] : pods_) {
      if (!pod.bound || pod.ended || time - pod.bound_at < life) continue;
      pod.ended = true;
      out.push_back(pod.key);
      if (out.size() == kAtOnce) break;
    }
    return out;
  }
  // Seconds from the first sight of a pod to its bind, of the binds since the last call, in order.
  std::vector<double> take_bind_times() {
    const std::lock_guard lock(mutex_);
    std::vector<double> out;
    for (const auto& time : std::exchange(bind_times_, {}))
      out.push_back(std::chrono::duration<double>(time).count());
    std::sort(out.begin(), out.end());
    return out;
  }
  double longest_to_first_reason() const {
    const std::lock_guard lock(mutex_);
    double out = 0;
    for (const auto& time : untold_) out = std::max(out, std::chrono::duration<double>(time).count());
    return out;
  }
  std::vector<std::string> was_bound() const {
    const std::lock_guard lock(mutex_);
    return was_bound_;
  }
  std::vector<std::string> present() const {
    const std::lock_guard lock(mutex_);
    std::vector<std::string> out;
    for (const auto& [uid, pod] : pods_) out.push_back(pod.key);
    return out;
  }

 private:
  struct Pod {
    std::string key;
    Clock::time_point seen{}, bound_at{};
    bool bound = false, told = false, ended = false, early = false;
  };
  mutable std::mutex mutex_;
  std::map<std::string, Pod> pods_;
  std::vector<Clock::duration> untold_, bind_times_;
  std::vector<std::string> was_bound_;
  std::size_t arrived_ = 0;
};

struct ChurnShape {
  double per_second = 30;
  std::chrono::milliseconds life{8000};
  PodShape pod;  // its name is a prefix
};

// Pods come evenly until stop(); each is deleted when it has been bound for its life. Both on threads of their own: several delete,
// because each request waits for its answer.
class Churn {
 public:
  Churn(const TestCluster& cluster, ChurnBook& book, ChurnShape shape)
      : cluster_(cluster), book_(book), shape_(std::move(shape)) {
    comes_ = std::thread([this] { come(); });
    for (std::thread& goes : goes_) goes = std::thread([this] { go(); });
  }
  ~Churn() { stop(); }
  Churn(const Churn&) = delete;
  Churn& operator=(const Churn&) = delete;

  // No pod comes or goes any more.
  void stop() {
    stop_ = true;
    if (comes_.joinable()) comes_.join();
    for (std::thread& goes : goes_) {
      if (goes.joinable()) goes.join();
    }
  }
  std::size_t made() const { return made_; }
  std::size_t failed() const { return failed_; }

 private:
  void come() {
    auto api = cluster_.client();
    const auto begin = ChurnBook::Clock::now();
    const std::string path = "/api/v1/namespaces/" + shape_.pod.ns + "/pods";
    for (std::size_t i = 0; !stop_; ++i) {
      std::this_thread::sleep_until(
          begin + std::chrono::duration_cast<ChurnBook::Clock::duration>(
                      std::chrono::duration<double>(static_cast<double>(i) / shape_.per_second)));
      ++(api.post(path, pod_json(shape_.pod, i)).ok() ? made_ : failed_);
    }
  }
  void go() {
    auto api = cluster_.client();
    while (!stop_) {
      const auto old = book_.take_old(shape_.life);
      for (const std::string& key : old) {
        const auto slash = key.find('/');
        failed_ +=
            api.del(fmt::format("/api/v1/namespaces/{}/pods/{}", key.substr(0, slash), key.substr(slash + 1)))
                    .ok()
                ? 0
                : 1;
      }
      if (old.empty()) std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
  }

  const TestCluster& cluster_;
  ChurnBook& book_;
  const ChurnShape shape_;
  std::atomic<bool> stop_{false};
  std::atomic<std::size_t> made_{0}, failed_{0};
  std::thread comes_;
  std::array<std::thread, 4> goes_;
};

// The value of one line of /metrics ("name{labels}"); -1 where it is not there.
inline double metric_of(const std::string& text, const std::string& line) {
  const auto at = text.find("\n" + line + " ");
  return at == std::string::npos ? -1 : std::strtod(text.c_str() + at + line.size() + 2, nullptr);
}

}  // namespace berth::e2e
