#include "kube/fake_http_support.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdlib>

#include "kube/api_status.h"

namespace berth::kube::testing {

namespace {

std::string pem_of(const std::function<int(BIO*)>& write) {
  BIO* bio = BIO_new(BIO_s_mem());
  write(bio);
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio, &data);
  std::string out(data, static_cast<std::size_t>(size));
  BIO_free(bio);
  return out;
}

void set_common(X509* cert, const std::string& name, long serial) {
  X509_set_version(cert, 2);
  ASN1_INTEGER_set(X509_get_serialNumber(cert), serial);
  X509_gmtime_adj(X509_getm_notBefore(cert), -3600);
  X509_gmtime_adj(X509_getm_notAfter(cert), 24 * 3600);
  X509_NAME* subject = X509_get_subject_name(cert);
  X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_UTF8,
                             reinterpret_cast<const unsigned char*>(name.c_str()), -1, -1, 0);
}

void add_extension(X509* cert, X509* issuer, int nid, const char* value) {
  X509V3_CTX context;
  X509V3_set_ctx_nodb(&context);
  X509V3_set_ctx(&context, issuer, cert, nullptr, nullptr, 0);
  X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, &context, nid, value);
  X509_add_ext(cert, extension, -1);
  X509_EXTENSION_free(extension);
}

}  // namespace

struct TestAuthority::Impl {
  EVP_PKEY* key = nullptr;
  X509* cert = nullptr;
  mutable long serial = 1;
  ~Impl() {
    X509_free(cert);
    EVP_PKEY_free(key);
  }
};

TestAuthority::TestAuthority(const std::string& name) : impl_(std::make_unique<Impl>()) {
  impl_->key = EVP_EC_gen("P-256");
  impl_->cert = X509_new();
  set_common(impl_->cert, name, 1);
  X509_set_issuer_name(impl_->cert, X509_get_subject_name(impl_->cert));
  X509_set_pubkey(impl_->cert, impl_->key);
  add_extension(impl_->cert, impl_->cert, NID_basic_constraints, "critical,CA:TRUE");
  add_extension(impl_->cert, impl_->cert, NID_key_usage, "critical,keyCertSign,cRLSign");
  X509_sign(impl_->cert, impl_->key, EVP_sha256());
  ca_pem_ = pem_of([&](BIO* bio) { return PEM_write_bio_X509(bio, impl_->cert); });
}
TestAuthority::~TestAuthority() = default;
TestAuthority::TestAuthority(TestAuthority&&) noexcept = default;

CertificatePair TestAuthority::issue(const std::string& common_name,
                                     const std::string& alternative_names) const {
  EVP_PKEY* key = EVP_EC_gen("P-256");
  X509* cert = X509_new();
  set_common(cert, common_name, ++impl_->serial);
  X509_set_issuer_name(cert, X509_get_subject_name(impl_->cert));
  X509_set_pubkey(cert, key);
  add_extension(cert, impl_->cert, NID_basic_constraints, "CA:FALSE");
  if (!alternative_names.empty())
    add_extension(cert, impl_->cert, NID_subject_alt_name, alternative_names.c_str());
  X509_sign(cert, impl_->key, EVP_sha256());
  CertificatePair out;
  out.cert_pem = pem_of([&](BIO* bio) { return PEM_write_bio_X509(bio, cert); });
  out.key_pem = pem_of(
      [&](BIO* bio) { return PEM_write_bio_PrivateKey(bio, key, nullptr, nullptr, 0, nullptr, nullptr); });
  X509_free(cert);
  EVP_PKEY_free(key);
  return out;
}

namespace {

// Bytes of one connection, with or without TLS.
class Channel final : public HttpConnection {
 public:
  Channel(int fd, SSL* ssl, const std::atomic<bool>& stopping) : fd_(fd), ssl_(ssl), stopping_(stopping) {}
  ~Channel() override {
    if (ssl_ != nullptr) SSL_free(ssl_);
  }
  bool send(std::string_view bytes) override {
    while (!bytes.empty()) {
      ssize_t n = 0;
      if (ssl_ != nullptr) {
        n = SSL_write(ssl_, bytes.data(), static_cast<int>(std::min<std::size_t>(bytes.size(), 1 << 20)));
      } else {
        n = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR) continue;
      }
      if (n <= 0) return false;
      bytes.remove_prefix(static_cast<std::size_t>(n));
    }
    return true;
  }
  std::ptrdiff_t receive(char* into, std::size_t most) {
    if (ssl_ != nullptr) return SSL_read(ssl_, into, static_cast<int>(most));
    for (;;) {
      const ssize_t n = recv(fd_, into, most, 0);
      if (n < 0 && errno == EINTR) continue;
      return n;
    }
  }
  bool stopping() const override { return stopping_.load(); }
  bool peer_gone() override {
    char byte = 0;
    const ssize_t n = recv(fd_, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    return n == 0 || (n < 0 && errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR);
  }

 private:
  int fd_;
  SSL* ssl_;
  const std::atomic<bool>& stopping_;
};

std::string unescape(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%' && i + 2 < text.size()) {
      out.push_back(static_cast<char>(std::strtol(std::string(text.substr(i + 1, 2)).c_str(), nullptr, 16)));
      i += 2;
    } else {
      out.push_back(text[i] == '+' ? ' ' : text[i]);
    }
  }
  return out;
}

bool read_request(Channel& channel, std::string& buffer, HttpRequest& out) {
  std::array<char, 65536> chunk;
  std::size_t end = 0;
  while ((end = buffer.find("\r\n\r\n")) == std::string::npos) {
    if (buffer.size() > (1 << 20)) return false;
    const auto n = channel.receive(chunk.data(), chunk.size());
    if (n <= 0) return false;
    buffer.append(chunk.data(), static_cast<std::size_t>(n));
  }
  const std::string head = buffer.substr(0, end + 2);
  buffer.erase(0, end + 4);
  std::size_t at = head.find("\r\n");
  const std::string first = head.substr(0, at);
  const std::size_t space = first.find(' ');
  const std::size_t last = first.rfind(' ');
  if (space == std::string::npos || last == space) return false;
  out.method = first.substr(0, space);
  out.target = first.substr(space + 1, last - space - 1);
  const std::size_t mark = out.target.find('?');
  out.path = out.target.substr(0, mark);
  if (mark != std::string::npos) {
    std::string_view rest = std::string_view(out.target).substr(mark + 1);
    while (!rest.empty()) {
      const std::string_view pair = rest.substr(0, rest.find('&'));
      rest.remove_prefix(std::min(rest.size(), pair.size() + 1));
      const std::size_t equals = pair.find('=');
      out.query[unescape(pair.substr(0, equals))] =
          equals == std::string_view::npos ? "" : unescape(pair.substr(equals + 1));
    }
  }
  at += 2;
  while (at < head.size()) {
    const std::size_t stop = head.find("\r\n", at);
    const std::string line = head.substr(at, stop - at);
    at = stop + 2;
    const std::size_t colon = line.find(':');
    if (colon == std::string::npos) continue;
    std::string name = line.substr(0, colon);
    for (char& c : name) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    const std::size_t value = line.find_first_not_of(' ', colon + 1);
    out.headers[name] = value == std::string::npos ? "" : line.substr(value);
  }
  std::size_t length = 0;
  if (const auto it = out.headers.find("content-length"); it != out.headers.end()) {
    length = static_cast<std::size_t>(std::strtoull(it->second.c_str(), nullptr, 10));
  }
  while (buffer.size() < length) {
    const auto n = channel.receive(chunk.data(), chunk.size());
    if (n <= 0) return false;
    buffer.append(chunk.data(), static_cast<std::size_t>(n));
  }
  out.body = buffer.substr(0, length);
  buffer.erase(0, length);
  return true;
}

std::string common_name(SSL* ssl) {
  X509* cert = ssl == nullptr ? nullptr : SSL_get1_peer_certificate(ssl);
  if (cert == nullptr) return {};
  std::array<char, 256> name{};
  X509_NAME_get_text_by_NID(X509_get_subject_name(cert), NID_commonName, name.data(),
                            static_cast<int>(name.size()));
  X509_free(cert);
  return name.data();
}

}  // namespace

struct HttpServer::Impl {
  Handler handler;
  HttpServer* owner = nullptr;
  int listener = -1;
  SSL_CTX* context = nullptr;
  std::atomic<bool> stopping{false};
  std::mutex mutex;
  std::set<int> open;  // guarded by mutex
  std::vector<std::thread> threads;
  std::thread acceptor;

  void accept_all() {
    for (;;) {
      const int fd = accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
      if (stopping.load()) {
        if (fd >= 0) close(fd);
        return;
      }
      if (fd < 0) continue;
      const int one = 1;
      setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
      owner->accepted_.fetch_add(1);
      const std::lock_guard lock(mutex);
      open.insert(fd);
      threads.emplace_back([this, fd] { serve(fd); });
    }
  }

  void serve(int fd) {
    sigset_t pipe;
    sigemptyset(&pipe);
    sigaddset(&pipe, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &pipe, nullptr);
    SSL* ssl = nullptr;
    bool usable = true;
    if (context != nullptr) {
      ssl = SSL_new(context);
      SSL_set_fd(ssl, fd);
      usable = SSL_accept(ssl) == 1;
    }
    {
      Channel channel(fd, ssl, stopping);
      const std::string client = common_name(ssl);
      std::string buffer;
      while (usable && !stopping.load()) {
        HttpRequest request;
        if (!read_request(channel, buffer, request)) break;
        request.client_name = client;
        HttpResponse response;
        if (!handler(request, response, channel)) break;
        if (response.close_without_answer) break;
        std::string out = "HTTP/1.1 " + std::to_string(response.status) + " " +
                          std::string(http_phrase(response.status)) + "\r\n";
        out += "Content-Type: " + response.content_type + "\r\n";
        for (const auto& [name, value] : response.headers) out += name + ": " + value + "\r\n";
        out += "Content-Length: " + std::to_string(response.body.size()) + "\r\n\r\n" + response.body;
        if (!channel.send(out) || response.close_after) break;
      }
    }
    const std::lock_guard lock(mutex);
    open.erase(fd);
    close(fd);
  }
};

HttpServer::HttpServer(Handler handler, const Tls* tls) : impl_(std::make_unique<Impl>()) {
  impl_->handler = std::move(handler);
  impl_->owner = this;
  if (tls != nullptr) {
    impl_->context = SSL_CTX_new(TLS_server_method());
    const auto bio = [](const std::string& pem) {
      return BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size()));
    };
    BIO* cert_bio = bio(tls->server.cert_pem);
    X509* cert = PEM_read_bio_X509(cert_bio, nullptr, nullptr, nullptr);
    SSL_CTX_use_certificate(impl_->context, cert);
    X509_free(cert);
    BIO_free(cert_bio);
    BIO* key_bio = bio(tls->server.key_pem);
    EVP_PKEY* key = PEM_read_bio_PrivateKey(key_bio, nullptr, nullptr, nullptr);
    SSL_CTX_use_PrivateKey(impl_->context, key);
    EVP_PKEY_free(key);
    BIO_free(key_bio);
    if (!tls->client_ca_pem.empty()) {
      BIO* ca_bio = bio(tls->client_ca_pem);
      X509* ca = PEM_read_bio_X509(ca_bio, nullptr, nullptr, nullptr);
      X509_STORE_add_cert(SSL_CTX_get_cert_store(impl_->context), ca);
      SSL_CTX_add_client_CA(impl_->context, ca);
      X509_free(ca);
      BIO_free(ca_bio);
      SSL_CTX_set_verify(impl_->context, SSL_VERIFY_PEER, nullptr);
      SSL_CTX_set_session_id_context(impl_->context, reinterpret_cast<const unsigned char*>("berth"), 5);
    }
  }
  impl_->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof address;
  bind(impl_->listener, reinterpret_cast<sockaddr*>(&address), length);
  listen(impl_->listener, 512);
  getsockname(impl_->listener, reinterpret_cast<sockaddr*>(&address), &length);
  port_ = ntohs(address.sin_port);
  impl_->acceptor = std::thread([this] { impl_->accept_all(); });
}

HttpServer::~HttpServer() {
  impl_->stopping.store(true);
  shutdown(impl_->listener, SHUT_RDWR);
  impl_->acceptor.join();
  close(impl_->listener);
  drop_connections();
  for (std::thread& thread : impl_->threads) thread.join();
  if (impl_->context != nullptr) SSL_CTX_free(impl_->context);
}

void HttpServer::drop_connections() {
  const std::lock_guard lock(impl_->mutex);
  for (const int fd : impl_->open) shutdown(fd, SHUT_RDWR);
}

}  // namespace berth::kube::testing
