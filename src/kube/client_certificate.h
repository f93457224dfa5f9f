// A client certificate and its key, parsed once for all connections of an identity: OpenSSL 3 takes a millisecond and more to read a
// key, and a scheduler opens hundreds of connections. Internal to curl_handles.cc.
#pragma once

#include <memory>
#include <string>

#include "kube/identity.h"

namespace berth::kube {

class ClientCertificate {
 public:
  // nullptr where the identity has none, where it cannot be read (libcurl says why, when it tries), or where it names no authorities:
  // connections of different certificates are told apart by those.
  static std::shared_ptr<const ClientCertificate> of(const Identity& identity);
  ~ClientCertificate();
  ClientCertificate(const ClientCertificate&) = delete;
  ClientCertificate& operator=(const ClientCertificate&) = delete;

  // The identity's authorities with its generation in a comment. libcurl uses a connection again only for the same text, so none of
  // a former certificate.
  const std::string& authorities() const { return authorities_; }
  // Gives it to the connections of an SSL_CTX. False: OpenSSL refused it.
  bool give_to(void* ssl_context) const;

 private:
  struct Parsed;
  ClientCertificate(std::unique_ptr<Parsed> parsed, std::string authorities);

  std::unique_ptr<Parsed> parsed_;
  std::string authorities_;
};

}  // namespace berth::kube
