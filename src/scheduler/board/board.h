// The dashboard: its pages, its JSON (views.h) and its stream of changes, on an address of its own (docs/dashboard.md).
//
// Without a certificate it listens on loopback only and shows everything, as /debug/state does. It refuses requests that name another
// host, so that no web site can ask through a browser. With a certificate it listens at any address, over TLS. Each request carries the
// token of a user, and shows what the API server lets that user list (visitors.h).
//
// It asks the follower, never the deciding engine, and only while a client asks. A snapshot is made at most every kEvery, and takes at most
// a twentieth of one core. A rest as long as it took follows. One thread makes the snapshots, one serves.
// Bounds: those of HttpServer, kMostStreams streams of at most kMostEventBytes in kEvery each, pages of at most Views::kMostItems.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/result.h"
#include "kube/transport.h"
#include "observe/follower.h"
#include "observe/http_server.h"
#include "observe/tls.h"
#include "scheduler/board/chronicle.h"

namespace berth::scheduler {

struct BoardOptions {
  observe::HttpOptions listen;
  std::optional<observe::TlsFiles> tls;
  std::string version;                          // of Berth
  std::chrono::milliseconds asked_for{15'000};  // after a question the snapshot is kept fresh for so long
};

class Board {
 public:
  static constexpr std::chrono::milliseconds kEvery{500};
  static constexpr int kMostStreams = 64;
  static constexpr std::size_t kMostEventBytes = 16'384;
  // Why a workload is where it is, by its uid.
  using Explain = std::function<Result<Verdict>(const std::string&)>;

  // Serves until it is destroyed. All of these must outlive it. Invalid: another address than loopback's, without a certificate.
  static Result<std::unique_ptr<Board>> start(kube::Transport& transport, const observe::Follower& follower,
                                              Chronicle& chronicle, BoardOptions options, Explain explain);
  ~Board();
  Board(const Board&) = delete;
  Board& operator=(const Board&) = delete;

  std::uint16_t port() const;

 private:
  struct Impl;
  explicit Board(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace berth::scheduler
