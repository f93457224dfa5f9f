// Leadership by a Lease (coordination.k8s.io/v1): at most one of several replicas leads at a time.
//
// A candidate takes the lease when it was not renewed for the duration that its holder wrote. Only our own clock counts, from the
// last change that we saw; stamps of other machines are never compared. A leader renews every retry_period and leads until its last
// successful renewal, counted from before that request was sent, plus renew_deadline, on a clock that goes on while the machine
// sleeps or the process is stopped (CLOCK_BOOTTIME).
//
// Each time of leading has a term number, counted up from 1. Work decided in one term carries its number and is fenced by
// holds(term) right before it is written: false once the time is over, however the process spent it.
//
// Callbacks run on the I/O thread: started(term), then stopped(term) exactly once per started. A lost leader stays a
// candidate until it is destroyed; a process that prefers to exit does so in stopped().
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "kube/transport.h"

namespace berth::kube {

struct LeaderOptions {
  std::string ns = "kube-system";
  std::string name = "berth";
  std::string identity;  // unique per process, for example host_uuid; see make_identity()
  // lease_duration > renew_deadline > 1.2 x retry_period
  DurationMs lease_duration = 15 * kSecond;
  DurationMs renew_deadline = 10 * kSecond;
  DurationMs retry_period = 2 * kSecond;
  std::uint64_t seed = 1;
  std::function<void(std::uint64_t term)> started;
  std::function<void(std::uint64_t term)> stopped;
  std::function<void(const std::string& holder)> observed;  // another holder (or none: empty) was seen
};

// "<host name>_<random>"
std::string make_identity();

class LeaderElector {
 public:
  static Result<std::unique_ptr<LeaderElector>> create(Transport& transport, LeaderOptions options);
  // Gives the lease back if it is held (bounded by two seconds); stopped() is called before.
  ~LeaderElector();
  LeaderElector(const LeaderElector&) = delete;
  LeaderElector& operator=(const LeaderElector&) = delete;

  // Two loads and one clock read; from any thread.
  bool is_leader() const { return boottime_ns() < valid_until_.load(std::memory_order_acquire); }
  bool holds(std::uint64_t term) const {
    const Nanos until = valid_until_.load(std::memory_order_acquire);
    return term_.load(std::memory_order_acquire) == term && boottime_ns() < until;
  }
  // The current or last term; 0 before the first.
  std::uint64_t term() const { return term_.load(std::memory_order_acquire); }
  // Milliseconds until leadership ends unless it is renewed; 0 where it has ended.
  DurationMs remaining() const;
  // Why the last attempt to get or renew the lease failed; empty when all is well.
  std::string last_problem() const;

 private:
  struct Impl;
  LeaderElector() = default;
  std::atomic<Nanos> valid_until_{0};
  std::atomic<std::uint64_t> term_{0};
  std::shared_ptr<Impl> impl_;
};

}  // namespace berth::kube
