// One connection of HttpServer: bytes in to requests, answers to bytes out, with or without TLS, without ever waiting. Sockets
// and bounds are the server's (http_server.h).
#pragma once

#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "observe/http_message.h"
#include "observe/http_server.h"
#include "observe/tls.h"

namespace berth::observe {

class Socket {
 public:
  explicit Socket(int fd = -1) : fd_(fd) {}
  Socket(Socket&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Socket& operator=(Socket&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Socket() {
    if (fd_ >= 0) ::close(fd_);
  }
  int fd() const { return fd_; }

 private:
  int fd_;
};

// The longest time between two questions to a stream for more.
inline constexpr std::chrono::milliseconds kHttpStreamTick{100};

// State that all connections of a server share. Lives longer than they do.
struct HttpShared {
  HttpOptions options;
  HttpRoutes routes;
  std::size_t held_bytes = 0;           // of requests that are being read
  std::atomic<bool> is_ending = false;  // no connection is kept any more
};

class HttpConnection {
 public:
  using Clock = std::chrono::steady_clock;

  // `tls`: nullptr for plain HTTP.
  HttpConnection(Socket socket, std::unique_ptr<TlsSession> tls, HttpShared& shared);
  ~HttpConnection();
  HttpConnection(const HttpConnection&) = delete;
  HttpConnection& operator=(const HttpConnection&) = delete;

  int fd() const { return socket_.fd(); }
  short wants() const { return wants_; }  // POLLIN or POLLOUT
  Clock::time_point deadline() const { return deadline_; }
  // When serve() is to be called again, whatever the socket says.
  Clock::time_point due() const { return due_; }
  // It has its answer, whether or not it may send another request. One that streams has not.
  bool is_answered() const { return idle_ || phase_ == Phase::kEnd; }

  // Goes on as far as it can; false when it is finished.
  bool serve();

 private:
  enum class Phase : std::uint8_t {
    kRead,
    kWrite,
    kStream,  // all that there was is written: waits for more
    kEnd      // all written: waits for the other side to close, so that the answer is not cut off by a reset
  };
  enum class Step : std::uint8_t { kNext, kWaits, kFinished };

  Step read_request();
  Step write_answer();
  Step follow_stream();
  Step drop_input();
  void count_held(std::size_t bytes);
  void answer_if_done();
  void answer(std::string bytes);
  Step waits_or_finished(Io io);
  IoResult receive(char* to, std::size_t most);
  IoResult send(std::string_view bytes);

  Socket socket_;
  std::unique_ptr<TlsSession> tls_;
  HttpShared* shared_;
  Phase phase_ = Phase::kRead;
  Clock::time_point deadline_;
  Clock::time_point due_ = Clock::time_point::max();
  std::shared_ptr<HttpStream> stream_;
  bool idle_ = false;
  short wants_;
  HttpReader reader_;
  std::size_t held_bytes_ = 0;  // of it, as counted in shared_
  std::string out_;
  std::size_t written_ = 0;
  bool keep_ = false;  // after this answer
};

}  // namespace berth::observe
