// A child process of a test: started with its output in a log file, killed when the test ends however it
// ends.
//
// The child gets SIGKILL when this process dies (PR_SET_PDEATHSIG), also by a crash. The kernel ties that
// signal to the *thread* that forked, so all children are forked by one thread that lives as long as the
// process.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"

namespace berth::e2e {

struct ProcessOptions {
  std::vector<std::string> argv;  // argv[0] is a path
  std::string log;                // file that standard output and error are appended to
  std::vector<std::pair<std::string, std::string>> env;  // added to this process's environment
  int nice = 0;
};

// CPU seconds so far and the highest resident memory.
struct Usage {
  double cpu_seconds = 0;
  std::uint64_t peak_rss_bytes = 0;
};

class Process {
 public:
  static Result<Process> start(ProcessOptions options);
  Process() = default;
  Process(Process&& other) noexcept { *this = std::move(other); }
  Process& operator=(Process&& other) noexcept;
  ~Process() { kill_now(); }

  pid_t pid() const { return pid_; }
  // False once it has ended; then exit_text() says how. Reaps.
  bool running();
  // "exit status 1", "signal 9 (Killed)"; empty while it runs.
  const std::string& exit_text() const { return exit_text_; }
  int exit_status() const { return exit_status_; }  // -1: no exit status (running, or ended by a signal)

  void send(int signal) const;  // SIGSTOP and SIGCONT pause and resume; nothing where it has ended
  // SIGTERM, then SIGKILL after `grace_ms`; waits for the end. A scheduler may take 5 s to finish its binds
  // (scheduler/loop/scheduler.h).
  void stop(int grace_ms = 15'000);
  void kill_now();
  // Waits for the end; false after `timeout_ms`.
  bool wait(int timeout_ms);

  // For a running process from /proc; for an ended one the value at the last question or at its end.
  Usage usage();
  const ProcessOptions& options() const { return options_; }

 private:
  bool reap(bool block);

  ProcessOptions options_;
  pid_t pid_ = -1;
  std::string exit_text_;
  int exit_status_ = -1;
  Usage usage_;
};

// Memory that a running process has at this moment; 0 where it has ended.
double resident_mib(pid_t pid);

// The last `lines` lines of a file, for error messages.
std::string tail(const std::string& path, std::size_t lines);

}  // namespace berth::e2e
