// A small HTTP/1.1 server for tests: loopback only, a thread per connection, plain or TLS. Knows nothing of Kubernetes.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace berth::kube::testing {

struct CertificatePair {
  std::string cert_pem;
  std::string key_pem;
};

// A certificate authority made for one test.
class TestAuthority {
 public:
  explicit TestAuthority(const std::string& name = "test-ca");
  ~TestAuthority();
  TestAuthority(TestAuthority&&) noexcept;
  // For a server: subject alternative names like "IP:127.0.0.1,DNS:localhost". For a client: no names.
  CertificatePair issue(const std::string& common_name, const std::string& alternative_names) const;
  const std::string& ca_pem() const { return ca_pem_; }

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
  std::string ca_pem_;
};

struct HttpRequest {
  std::string method;
  std::string path;                            // without the query, not unescaped
  std::map<std::string, std::string> query;    // unescaped
  std::string target;                          // as sent
  std::map<std::string, std::string> headers;  // names in lower case
  std::string body;
  std::string client_name;  // common name of the client's certificate
};

struct HttpResponse {
  int status = 200;
  std::string body;
  std::string content_type = "application/json";
  std::map<std::string, std::string> headers;
  bool close_without_answer = false;
  bool close_after = false;
};

// The server's side of one connection, for answers that are streamed.
class HttpConnection {
 public:
  virtual ~HttpConnection() = default;
  virtual bool send(std::string_view bytes) = 0;  // false when the client is gone
  virtual bool stopping() const = 0;
  // Whether the client has hung up.
  virtual bool peer_gone() = 0;
};

class HttpServer {
 public:
  // Fills the answer and returns true, or streams it itself over the connection and returns false (it is closed then).
  using Handler = std::function<bool(const HttpRequest&, HttpResponse&, HttpConnection&)>;

  struct Tls {
    CertificatePair server;
    std::string client_ca_pem;  // empty: client certificates are not asked for
  };

  HttpServer(Handler handler, const Tls* tls);
  ~HttpServer();
  std::uint16_t port() const { return port_; }
  std::uint64_t connections() const { return accepted_.load(); }
  // Closes every connection; new ones are accepted.
  void drop_connections();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
  std::uint16_t port_ = 0;
  std::atomic<std::uint64_t> accepted_{0};
};

}  // namespace berth::kube::testing
