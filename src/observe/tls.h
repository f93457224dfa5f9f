// TLS of a server of Berth (OpenSSL): its certificate, taken anew when the files change, and the sessions of its connections.
//
// TLS 1.2 with forward secrecy and authenticated ciphers, and TLS 1.3; no renegotiation, no compression, no resumption (clients
// keep their connections instead).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"

namespace berth::observe {

// PEM files: the server's certificate followed by those between it and its authority, and its private key without a passphrase.
struct TlsFiles {
  std::string certificate;
  std::string key;
};

// The allowed clients: those with a client certificate of one of these authorities (PEM), and with one of these common names; none:
// with any name.
struct TlsClients {
  std::string authorities;
  std::vector<std::string> names;
  bool operator==(const TlsClients&) const = default;
};

// The result of a read or a write that does not wait.
enum class Io : std::uint8_t { kDone, kWantsRead, kWantsWrite, kGone };
struct IoResult {
  Io io = Io::kGone;
  std::size_t bytes = 0;  // kDone: at least one
};

// One connection. For one thread at a time.
class TlsSession {
 public:
  ~TlsSession();
  TlsSession(const TlsSession&) = delete;
  TlsSession& operator=(const TlsSession&) = delete;

  // The handshake goes along with the first of these. After kWantsWrite of a read or kWantsRead of a write, repeat the same call.
  IoResult read(char* to, std::size_t most);
  IoResult write(std::string_view bytes);
  // Whether bytes were received that read() has not given yet.
  bool pending() const;
  // Tells the other side that nothing more comes; does not wait for it.
  void close();

 private:
  friend class ServerTls;
  struct Impl;
  explicit TlsSession(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// Thread-safe.
class ServerTls {
 public:
  // Errors name the file and what is wrong with it.
  static Result<std::shared_ptr<ServerTls>> load(TlsFiles files);
  // For certain clients only, and files that may come later: no client can connect before both exist (refresh(), set_clients()).
  static std::shared_ptr<ServerTls> for_clients(TlsFiles files);
  ~ServerTls();

  // For a server of certain clients, from the next connection on; none: no client. On an error they cannot be read, and no client
  // can connect.
  Status set_clients(std::optional<TlsClients> clients);

  // Reads the files. True: they have changed, and new connections get the new certificate. An error: they have changed and cannot
  // be used (half of a pair that is just being replaced, say); the former certificate stays, and the same files are no
  // error a second time.
  Result<bool> refresh();
  // When the certificate in use ends; 0: there is none yet.
  TimeMs expires() const;
  // For a connected socket that does not block. nullptr if memory is short, or no client can connect.
  std::unique_ptr<TlsSession> session(int fd) const;

 private:
  struct Impl;
  explicit ServerTls(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace berth::observe
