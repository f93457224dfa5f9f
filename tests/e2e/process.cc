#include "e2e/process.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <fstream>
#include <functional>
#include <future>
#include <mutex>
#include <sstream>
#include <thread>

extern char** environ;

namespace berth::e2e {
namespace {

// The thread that forks (see the header). It is never joined: its end would kill the children.
class Spawner {
 public:
  static Spawner& instance() {
    static auto* spawner = new Spawner;
    return *spawner;
  }

  pid_t run(const std::function<pid_t()>& work) {
    std::packaged_task<pid_t()> task(work);
    auto result = task.get_future();
    {
      const std::lock_guard lock(mutex_);
      queue_.push_back(std::move(task));
    }
    ready_.notify_one();
    return result.get();
  }

 private:
  Spawner() {
    std::thread([this] {
      while (true) {
        std::unique_lock lock(mutex_);
        ready_.wait(lock, [this] { return !queue_.empty(); });
        auto task = std::move(queue_.front());
        queue_.pop_front();
        lock.unlock();
        task();
      }
    }).detach();
  }

  std::mutex mutex_;
  std::condition_variable ready_;
  std::deque<std::packaged_task<pid_t()>> queue_;
};

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> out;
  out.reserve(texts.size() + 1);
  for (auto& text : texts) {
    out.push_back(text.data());
  }
  out.push_back(nullptr);
  return out;
}

double seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
}

}  // namespace

Result<Process> Process::start(ProcessOptions options) {
  if (options.argv.empty() || access(options.argv[0].c_str(), X_OK) != 0) {
    return fail(ErrorCode::kNotFound, "cannot run '{}': {}", options.argv.empty() ? "" : options.argv[0],
                std::strerror(errno));
  }
  const int log = ::open(options.log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (log < 0) {
    return fail(ErrorCode::kInvalid, "cannot write the log {}: {}", options.log, std::strerror(errno));
  }
  // Everything that allocates happens before the fork: another thread may hold the allocator's lock.
  auto argv_text = options.argv;
  auto argv = pointers(argv_text);
  std::vector<std::string> env_text;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    bool replaced = false;
    for (const auto& [name, value] : options.env) {
      replaced =
          replaced || (text.starts_with(name) && text.size() > name.size() && text[name.size()] == '=');
    }
    if (!replaced) {
      env_text.emplace_back(text);
    }
  }
  for (const auto& [name, value] : options.env) {
    env_text.push_back(name + "=" + value);
  }
  auto env = pointers(env_text);
  const int nice_by = options.nice;
  const pid_t parent = getpid();
  const pid_t pid = Spawner::instance().run([&]() -> pid_t {
    const pid_t child = fork();
    if (child != 0) {
      return child > 0 ? child : -errno;
    }
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) {
      _exit(127);  // the parent died before the line above
    }
    const int null = ::open("/dev/null", O_RDONLY);
    dup2(null, STDIN_FILENO);
    dup2(log, STDOUT_FILENO);
    dup2(log, STDERR_FILENO);
    if (nice_by != 0) {
      setpriority(PRIO_PROCESS, 0, nice_by);
    }
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, nullptr);
    std::signal(SIGPIPE, SIG_DFL);
    execve(argv[0], argv.data(), env.data());
    _exit(127);
  });
  ::close(log);
  if (pid < 0) {
    return fail(ErrorCode::kUnavailable, "cannot start '{}': {}", options.argv[0], std::strerror(-pid));
  }
  Process process;
  process.options_ = std::move(options);
  process.pid_ = pid;
  return process;
}

Process& Process::operator=(Process&& other) noexcept {
  if (this != &other) {
    kill_now();
    options_ = std::move(other.options_);
    pid_ = std::exchange(other.pid_, -1);
    exit_text_ = std::move(other.exit_text_);
    exit_status_ = other.exit_status_;
    usage_ = other.usage_;
  }
  return *this;
}

bool Process::reap(bool block) {
  if (pid_ <= 0) {
    return true;
  }
  int status = 0;
  rusage used{};
  pid_t got = 0;
  do {
    got = wait4(pid_, &status, block ? 0 : WNOHANG, &used);
  } while (got < 0 && errno == EINTR);
  if (got == 0) {
    return false;
  }
  if (got == pid_) {
    usage_.cpu_seconds = seconds(used.ru_utime) + seconds(used.ru_stime);
    usage_.peak_rss_bytes = static_cast<std::uint64_t>(used.ru_maxrss) * 1024;
    if (WIFEXITED(status)) {
      exit_status_ = WEXITSTATUS(status);
      exit_text_ = "exit status " + std::to_string(exit_status_);
    } else {
      exit_text_ = "signal " + std::to_string(WTERMSIG(status)) + " (" + strsignal(WTERMSIG(status)) + ")";
    }
  }
  pid_ = -1;
  return true;
}

bool Process::running() {
  return pid_ > 0 && !reap(false);
}

void Process::send(int signal) const {
  if (pid_ > 0) {
    ::kill(pid_, signal);
  }
}

bool Process::wait(int timeout_ms) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(timeout_ms);
  while (running()) {
    if (std::chrono::steady_clock::now() >= end) {
      return false;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return true;
}

void Process::stop(int grace_ms) {
  send(SIGTERM);
  send(SIGCONT);  // a stopped process ends only when it goes on
  if (!wait(grace_ms)) {
    kill_now();
  }
}

void Process::kill_now() {
  if (pid_ > 0) {
    ::kill(pid_, SIGKILL);
    reap(true);
  }
}

Usage Process::usage() {
  if (pid_ <= 0) {
    return usage_;
  }
  const std::string folder = "/proc/" + std::to_string(pid_);
  std::ifstream stat(folder + "/stat");
  std::string text((std::istreambuf_iterator<char>(stat)), {});
  if (const auto paren = text.rfind(')'); paren != std::string::npos) {
    std::istringstream rest(text.substr(paren + 2));
    std::string skip;
    for (int field = 3; field < 14; ++field) {
      rest >> skip;
    }
    double user = 0;
    double system = 0;
    rest >> user >> system;
    usage_.cpu_seconds = (user + system) / static_cast<double>(sysconf(_SC_CLK_TCK));
  }
  std::ifstream status(folder + "/status");
  std::string line;
  while (std::getline(status, line)) {
    if (line.starts_with("VmHWM:")) {
      usage_.peak_rss_bytes = std::strtoull(line.c_str() + 6, nullptr, 10) * 1024;
    }
  }
  return usage_;
}

double resident_mib(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/statm");
  std::size_t whole = 0, resident = 0;
  file >> whole >> resident;
  return static_cast<double>(resident) * static_cast<double>(sysconf(_SC_PAGESIZE)) / 1048576;
}

std::string tail(const std::string& path, std::size_t lines) {
  std::ifstream file(path);
  std::deque<std::string> last;
  std::string line;
  while (std::getline(file, line)) {
    last.push_back(line.substr(0, 400));
    if (last.size() > lines) {
      last.pop_front();
    }
  }
  std::string out;
  for (const auto& text : last) {
    out += "  " + text + "\n";
  }
  return out;
}

}  // namespace berth::e2e
