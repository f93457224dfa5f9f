#include "observe/http_connection.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>

namespace berth::observe {

HttpConnection::HttpConnection(Socket socket, std::unique_ptr<TlsSession> tls, HttpShared& shared)
    : socket_(std::move(socket)),
      tls_(std::move(tls)),
      shared_(&shared),
      deadline_(Clock::now() + shared.options.time_out),
      wants_(POLLIN),
      reader_(shared.options.most_head_bytes, shared.options.most_body_bytes) {}

HttpConnection::~HttpConnection() {
  count_held(0);
}

void HttpConnection::count_held(std::size_t bytes) {
  shared_->held_bytes += bytes - held_bytes_;
  held_bytes_ = bytes;
}

bool HttpConnection::serve() {
  if (Clock::now() >= deadline_) return false;
  for (Step step = Step::kNext; step == Step::kNext;) {
    switch (phase_) {
      case Phase::kRead:
        step = read_request();
        break;
      case Phase::kWrite:
        step = write_answer();
        break;
      case Phase::kStream:
        step = follow_stream();
        break;
      case Phase::kEnd:
        step = drop_input();
        break;
    }
    if (step == Step::kFinished) return false;
  }
  return true;
}

IoResult HttpConnection::receive(char* to, std::size_t most) {
  if (tls_ != nullptr) return tls_->read(to, most);
  const auto got = ::recv(socket_.fd(), to, most, MSG_DONTWAIT);
  if (got > 0) return {Io::kDone, static_cast<std::size_t>(got)};
  return {got < 0 && (errno == EAGAIN || errno == EINTR) ? Io::kWantsRead : Io::kGone, 0};
}

IoResult HttpConnection::send(std::string_view bytes) {
  if (tls_ != nullptr) return tls_->write(bytes);
  const auto sent = ::send(socket_.fd(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  if (sent >= 0) return {Io::kDone, static_cast<std::size_t>(sent)};
  return {errno == EAGAIN || errno == EINTR ? Io::kWantsWrite : Io::kGone, 0};
}

HttpConnection::Step HttpConnection::waits_or_finished(Io io) {
  if (io == Io::kGone) return Step::kFinished;
  wants_ = io == Io::kWantsWrite ? POLLOUT : POLLIN;
  return Step::kWaits;
}

HttpConnection::Step HttpConnection::read_request() {
  char block[16384];
  const auto got = receive(block, sizeof(block));
  if (got.io != Io::kDone) return waits_or_finished(got.io);
  if (idle_) {
    idle_ = false;
    deadline_ = Clock::now() + shared_->options.time_out;
  }
  reader_.put({block, got.bytes});
  count_held(reader_.held_bytes());
  answer_if_done();
  return Step::kNext;
}

void HttpConnection::answer_if_done() {
  const auto& options = shared_->options;
  if (!reader_.is_done()) {
    if (shared_->held_bytes <= options.most_held_bytes) return;
    return answer(
        http_bytes({503, "text/plain; charset=utf-8", "too many requests at once; try again\n"}, true));
  }
  // Requests sent ahead of the answer are dropped: the connection ends.
  keep_ = reader_.keeps_open() && options.idle_time_out.count() > 0 &&
          (tls_ == nullptr || !tls_->pending()) && !shared_->is_ending;
  answer(reader_.answer(shared_->routes, keep_, &stream_));
  keep_ = keep_ && stream_ == nullptr;
}

void HttpConnection::answer(std::string bytes) {
  out_ = std::move(bytes);
  written_ = 0;
  phase_ = Phase::kWrite;
  reader_ = HttpReader(shared_->options.most_head_bytes, shared_->options.most_body_bytes);
  count_held(0);
}

HttpConnection::Step HttpConnection::write_answer() {
  const auto sent = send(std::string_view(out_).substr(written_));
  if (sent.io != Io::kDone) return waits_or_finished(sent.io);
  written_ += sent.bytes;
  if (written_ < out_.size()) return Step::kNext;
  out_.clear();
  if (stream_ != nullptr) {
    phase_ = Phase::kStream;
    deadline_ = Clock::time_point::max();
    due_ = Clock::now() + kHttpStreamTick;
    return waits_or_finished(Io::kWantsRead);
  }
  if (keep_) {
    keep_ = false;
    idle_ = true;
    phase_ = Phase::kRead;
    deadline_ = Clock::now() + shared_->options.idle_time_out;
    return waits_or_finished(Io::kWantsRead);
  }
  if (tls_ != nullptr) tls_->close();
  ::shutdown(socket_.fd(), SHUT_WR);
  phase_ = Phase::kEnd;
  return Step::kNext;
}

HttpConnection::Step HttpConnection::follow_stream() {
  char dropped[1024];
  const auto got =
      receive(dropped, sizeof(dropped));  // a client has nothing more to say; its end is seen here
  if (got.io == Io::kGone) return Step::kFinished;
  auto more = shared_->is_ending ? std::nullopt : stream_->next();
  if (more && more->empty()) {
    due_ = Clock::now() + kHttpStreamTick;
    return waits_or_finished(Io::kWantsRead);
  }
  due_ = Clock::time_point::max();
  deadline_ = Clock::now() + shared_->options.time_out;
  phase_ = Phase::kWrite;
  if (more) {
    out_ = std::move(*more);
    written_ = 0;
    return Step::kNext;
  }
  stream_.reset();
  if (tls_ != nullptr) tls_->close();
  ::shutdown(socket_.fd(), SHUT_WR);
  phase_ = Phase::kEnd;
  return Step::kNext;
}

HttpConnection::Step HttpConnection::drop_input() {
  char dropped[16384];
  // Beneath TLS: these bytes are not read.
  const auto got = ::recv(socket_.fd(), dropped, sizeof(dropped), MSG_DONTWAIT);
  if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR)) return Step::kFinished;
  return waits_or_finished(Io::kWantsRead);
}

}  // namespace berth::observe
