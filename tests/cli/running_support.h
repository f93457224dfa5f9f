// A command that runs until a signal, on a thread of this process: what it has printed so far, and its end by SIGINT.
#pragma once

#include <gtest/gtest.h>
#include <pthread.h>

#include <atomic>
#include <csignal>
#include <functional>
#include <mutex>
#include <ostream>
#include <streambuf>
#include <string>
#include <thread>
#include <utility>

#include "cli/fake_cluster_support.h"
#include "kube/wait_support.h"

namespace berth::cli::testing {

// The output of a command, read while it prints.
class Screen : public std::streambuf {
 public:
  std::ostream& stream() { return stream_; }
  std::string text() const {
    const std::lock_guard lock(mutex_);
    return text_;
  }
  bool shows(const std::string& part) const { return text().find(part) != std::string::npos; }
  bool wait_for(const std::string& part) const {
    return kube::testing::wait_for([&] { return shows(part); });
  }
  void clear() {
    const std::lock_guard lock(mutex_);
    text_.clear();
  }

 protected:
  int_type overflow(int_type c) override {
    const std::lock_guard lock(mutex_);
    if (c != traits_type::eof()) text_ += traits_type::to_char_type(c);
    return traits_type::not_eof(c);
  }
  std::streamsize xsputn(const char* data, std::streamsize size) override {
    const std::lock_guard lock(mutex_);
    text_.append(data, static_cast<std::size_t>(size));
    return size;
  }

 private:
  mutable std::mutex mutex_;
  std::string text_;
  std::ostream stream_{this};
};

class Running {
 public:
  using Command = std::function<int(std::ostream& out, std::ostream& err)>;

  Running(FakeCluster& cluster, Command command) : cluster_(cluster) {
    thread_ = std::thread([this, command = std::move(command)] {
      tid_ = gettid();
      code_ = command(out.stream(), err.stream());
      ended_ = true;
    });
  }
  ~Running() {
    if (thread_.joinable()) end();
  }
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;

  // It waits for signals once its watches are open; before that a signal would end this process.
  bool follows() const {
    return kube::testing::wait_for([&] { return ended_ || cluster_.api().watches() > 0; }) && !ended_;
  }
  pid_t tid() const { return tid_; }
  // Ctrl-C, and its exit code.
  int end() {
    if (follows()) pthread_kill(thread_.native_handle(), SIGINT);
    thread_.join();
    return code_;
  }

  Screen out, err;

 private:
  FakeCluster& cluster_;
  std::atomic<pid_t> tid_{0};
  std::atomic<bool> ended_{false};
  std::atomic<int> code_{-1};
  std::thread thread_;
};

}  // namespace berth::cli::testing
