// A client certificate and its key, parsed once for all connections of an identity. OpenSSL 3 takes a millisecond and more to read a
// key, and a scheduler opens hundreds of connections. Internal to curl_handles.cc.
#pragma once

#include <memory>
#include <string>

#include "kube/identity.h"

namespace berth::kube {

class ClientCertificate {
 public:
  // nullptr where the identity has no certificate or no authorities. Authorities tell connections of different certificates apart.
  // Also where a part cannot be read: libcurl says why when it tries.
  static std::shared_ptr<const ClientCertificate> of(const Identity& identity);
  ~ClientCertificate();
  ClientCertificate(const ClientCertificate&) = delete;
  ClientCertificate& operator=(const ClientCertificate&) = delete;

  // The identity's authorities, behind a line with its generation. libcurl reuses a connection only for the same text, and so none of
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
