// A certificate authority for one test cluster, made in memory with OpenSSL, written as PEM. Its own key is RSA 2048, as kubeadm's: the API
// server verifies the client's certificate with each request, which with an authority of EC P-256 took a fifth of its CPU. All
// other keys are P-256, but where a program reads RSA alone. Those stand in the form PKCS #1.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace berth::e2e {

struct KeyPair {
  std::string cert_pem;
  std::string key_pem;
};

// The bound of a subject (RFC 5280, ub-common-name).
inline constexpr std::size_t kLongestName = 64;

class Authority {
 public:
  static Result<Authority> create(const std::string& common_name);
  Authority(Authority&&) noexcept;
  Authority& operator=(Authority&&) noexcept;
  ~Authority();

  const std::string& cert_pem() const;
  // For a server on 127.0.0.1 and localhost, or of these names ("DNS:...,IP:..."). `rsa`: for programs that read no other keys.
  Result<KeyPair> server(const std::string& common_name,
                         const std::string& names = "IP:127.0.0.1,DNS:localhost", bool rsa = false) const;
  // For a Kubernetes user: the common name is the user, the organisations are its groups.
  Result<KeyPair> client(const std::string& user, const std::vector<std::string>& groups,
                         bool rsa = false) const;

 private:
  struct Impl;
  explicit Authority(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// As a caBundle wants it.
std::string base64(std::string_view text);
std::string from_base64(const std::string& text);

// A key pair for signing service account tokens: private and public PEM.
Result<std::pair<std::string, std::string>> signing_keys();

}  // namespace berth::e2e
