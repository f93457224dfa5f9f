#include "kube/client_certificate.h"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

#include <utility>

namespace berth::kube {
namespace {

template <auto kFree>
struct Freed {
  template <class T>
  void operator()(T* object) const {
    kFree(object);
  }
};
void free_chain(STACK_OF(X509) * chain) {
  sk_X509_pop_free(chain, X509_free);
}
using Bio = std::unique_ptr<BIO, Freed<BIO_free>>;
using Certificate = std::unique_ptr<X509, Freed<X509_free>>;
using Key = std::unique_ptr<EVP_PKEY, Freed<EVP_PKEY_free>>;
using Chain = std::unique_ptr<STACK_OF(X509), Freed<free_chain>>;

Bio reader(const std::string& pem) {
  return Bio(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
}

// A key with a passphrase is not read: a scheduler cannot ask for the passphrase.
int no_passphrase(char*, int, int, void*) {
  return -1;
}

}  // namespace

struct ClientCertificate::Parsed {
  Certificate leaf;
  Chain chain;  // those behind it in the file
  Key key;
};

ClientCertificate::ClientCertificate(std::unique_ptr<Parsed> parsed, std::string authorities)
    : parsed_(std::move(parsed)), authorities_(std::move(authorities)) {}
ClientCertificate::~ClientCertificate() = default;

std::shared_ptr<const ClientCertificate> ClientCertificate::of(const Identity& identity) {
  if (identity.cert_pem.empty() || identity.key_pem.empty() || identity.ca_pem.empty()) return nullptr;
  auto parsed = std::make_unique<Parsed>();
  const Bio certificates = reader(identity.cert_pem);
  const Bio key = reader(identity.key_pem);
  parsed->chain.reset(sk_X509_new_null());
  if (certificates == nullptr || key == nullptr || parsed->chain == nullptr) return nullptr;
  parsed->leaf.reset(PEM_read_bio_X509_AUX(certificates.get(), nullptr, &no_passphrase, nullptr));
  parsed->key.reset(PEM_read_bio_PrivateKey(key.get(), nullptr, &no_passphrase, nullptr));
  while (parsed->leaf != nullptr) {
    Certificate next(PEM_read_bio_X509(certificates.get(), nullptr, &no_passphrase, nullptr));
    if (next == nullptr || sk_X509_push(parsed->chain.get(), next.get()) == 0) break;
    (void)next.release();
  }
  ERR_clear_error();  // the end of the file is one
  if (parsed->leaf == nullptr || parsed->key == nullptr) return nullptr;
  std::string authorities = "identity " + std::to_string(identity.generation) + "\n" + identity.ca_pem;
  return std::shared_ptr<const ClientCertificate>(
      new ClientCertificate(std::move(parsed), std::move(authorities)));
}

bool ClientCertificate::give_to(void* ssl_context) const {
  return SSL_CTX_use_cert_and_key(static_cast<SSL_CTX*>(ssl_context), parsed_->leaf.get(), parsed_->key.get(),
                                  parsed_->chain.get(), 1) == 1;
}

}  // namespace berth::kube
