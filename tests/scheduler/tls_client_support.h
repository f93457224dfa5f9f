// A TLS client that shows what a server of Berth's does in handshakes.
#pragma once

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <fstream>
#include <string>

#include "kube/fake_http_support.h"

namespace berth::scheduler::testing {

inline void write_file(const std::string& path, const std::string& text) {
  std::ofstream(path, std::ios::trunc) << text;
}

// A client that trusts one authority.
class TlsClient {
 public:
  // `identity`: nullptr: it shows no certificate of its own.
  TlsClient(std::uint16_t port, const std::string& ca_pem, int most_version = 0,
            const kube::testing::CertificatePair* identity = nullptr) {
    context_ = SSL_CTX_new(TLS_client_method());
    BIO* bio = BIO_new_mem_buf(ca_pem.data(), static_cast<int>(ca_pem.size()));
    X509* authority = PEM_read_bio_X509(bio, nullptr, nullptr, nullptr);
    X509_STORE_add_cert(SSL_CTX_get_cert_store(context_), authority);
    X509_free(authority);
    BIO_free(bio);
    SSL_CTX_set_verify(context_, SSL_VERIFY_PEER, nullptr);
    SSL_CTX_set_security_level(context_,
                               0);  // else OpenSSL itself would not offer what the server has to refuse
    if (identity != nullptr) {
      BIO* own = BIO_new_mem_buf(identity->cert_pem.data(), static_cast<int>(identity->cert_pem.size()));
      X509* certificate = PEM_read_bio_X509(own, nullptr, nullptr, nullptr);
      BIO* secret = BIO_new_mem_buf(identity->key_pem.data(), static_cast<int>(identity->key_pem.size()));
      EVP_PKEY* key = PEM_read_bio_PrivateKey(secret, nullptr, nullptr, nullptr);
      SSL_CTX_use_certificate(context_, certificate);
      SSL_CTX_use_PrivateKey(context_, key);
      X509_free(certificate);
      EVP_PKEY_free(key);
      BIO_free(own);
      BIO_free(secret);
    }
    if (most_version != 0) {
      SSL_CTX_set_min_proto_version(context_, TLS1_VERSION);
      SSL_CTX_set_max_proto_version(context_, most_version);
    }
    fd_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const timeval patience{.tv_sec = 20, .tv_usec = 0};
    ::setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::connect(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
    ssl_ = SSL_new(context_);
    SSL_set_fd(ssl_, fd_);
    connected_ = SSL_connect(ssl_) == 1;
    ERR_clear_error();
  }
  ~TlsClient() {
    SSL_free(ssl_);
    ::close(fd_);
    SSL_CTX_free(context_);
  }
  TlsClient(const TlsClient&) = delete;
  TlsClient& operator=(const TlsClient&) = delete;

  bool connected() const { return connected_; }
  std::string version() const { return SSL_get_version(ssl_); }
  int fd() const { return fd_; }
  // The answer, read by its length; empty where the connection ends first.
  std::string ask(const std::string& request) {
    std::size_t sent = 0;
    for (std::size_t at = 0; at < request.size(); at += sent) {
      if (SSL_write_ex(ssl_, request.data() + at, request.size() - at, &sent) != 1) return "";
    }
    std::string out;
    for (;;) {
      const auto head = out.find("\r\n\r\n");
      const auto length = out.find("Content-Length: ");
      if (head != std::string::npos && out.size() >= head + 4 + std::stoul(out.substr(length + 16)))
        return out;
      char block[4096];
      const int got = SSL_read(ssl_, block, sizeof(block));
      if (got <= 0) return "";
      out.append(block, static_cast<std::size_t>(got));
    }
  }
  std::string get(const std::string& target) {
    return ask("GET " + target + " HTTP/1.1\r\nHost: berth\r\n\r\n");
  }

 private:
  SSL_CTX* context_ = nullptr;
  SSL* ssl_ = nullptr;
  int fd_ = -1;
  bool connected_ = false;
};

}  // namespace berth::scheduler::testing
