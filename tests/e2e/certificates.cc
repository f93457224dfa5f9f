#include "e2e/certificates.h"

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include <algorithm>

namespace berth::e2e {
namespace {

struct Free {
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
  void operator()(X509* cert) const { X509_free(cert); }
  void operator()(BIO* bio) const { BIO_free(bio); }
};
using Key = std::unique_ptr<EVP_PKEY, Free>;
using Cert = std::unique_ptr<X509, Free>;
using Bio = std::unique_ptr<BIO, Free>;

std::string text_of(const Bio& bio) {
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio.get(), &data);
  return {data, static_cast<std::size_t>(size)};
}

std::string private_pem(EVP_PKEY* key) {
  const Bio bio(BIO_new(BIO_s_mem()));
  if (EVP_PKEY_is_a(key, "RSA") == 1) {
    PEM_write_bio_PrivateKey_traditional(bio.get(), key, nullptr, nullptr, 0, nullptr, nullptr);
  } else {
    PEM_write_bio_PrivateKey(bio.get(), key, nullptr, nullptr, 0, nullptr, nullptr);
  }
  return text_of(bio);
}

std::string cert_pem_of(X509* cert) {
  const Bio bio(BIO_new(BIO_s_mem()));
  PEM_write_bio_X509(bio.get(), cert);
  return text_of(bio);
}

void add_extension(X509* cert, X509* issuer, int kind, const char* value) {
  X509V3_CTX context;
  X509V3_set_ctx_nodb(&context);
  X509V3_set_ctx(&context, issuer, cert, nullptr, nullptr, 0);
  if (X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, &context, kind, value)) {
    X509_add_ext(cert, extension, -1);
    X509_EXTENSION_free(extension);
  }
}

void add_name(X509_NAME* name, const char* field, const std::string& value) {
  X509_NAME_add_entry_by_txt(name, field, MBSTRING_UTF8, reinterpret_cast<const unsigned char*>(value.data()),
                             static_cast<int>(value.size()), -1, 0);
}

// A certificate over `key` without extensions, not yet signed.
Cert blank(EVP_PKEY* key, const std::string& common_name, const std::vector<std::string>& organisations) {
  Cert cert(X509_new());
  X509_set_version(cert.get(), 2);
  std::uint64_t serial = 0;
  RAND_bytes(reinterpret_cast<unsigned char*>(&serial), sizeof serial);
  ASN1_INTEGER_set_uint64(X509_get_serialNumber(cert.get()), serial >> 1);
  X509_gmtime_adj(X509_getm_notBefore(cert.get()), -3600);
  X509_gmtime_adj(X509_getm_notAfter(cert.get()), 7L * 24 * 3600);
  X509_set_pubkey(cert.get(), key);
  X509_NAME* name = X509_get_subject_name(cert.get());
  for (const auto& organisation : organisations) {
    add_name(name, "O", organisation);
  }
  add_name(name, "CN", common_name);
  return cert;
}

}  // namespace

struct Authority::Impl {
  Key key;
  Cert cert;
  std::string pem;

  Result<KeyPair> issue(const std::string& common_name, const std::vector<std::string>& organisations,
                        const char* usage, const char* names, bool rsa = false) const {
    if (common_name.size() > kLongestName)
      return fail(ErrorCode::kInvalid, "{} is too long a name for a certificate", common_name);
    const Key subject(rsa ? EVP_RSA_gen(2048) : EVP_EC_gen("P-256"));
    if (subject == nullptr) {
      return fail(ErrorCode::kInternal, "OpenSSL could not make a key");
    }
    const Cert made = blank(subject.get(), common_name, organisations);
    X509_set_issuer_name(made.get(), X509_get_subject_name(cert.get()));
    add_extension(made.get(), cert.get(), NID_basic_constraints, "critical,CA:FALSE");
    add_extension(made.get(), cert.get(), NID_key_usage, "critical,digitalSignature");
    add_extension(made.get(), cert.get(), NID_ext_key_usage, usage);
    if (names != nullptr) {
      add_extension(made.get(), cert.get(), NID_subject_alt_name, names);
    }
    add_extension(made.get(), cert.get(), NID_authority_key_identifier, "keyid");
    if (X509_sign(made.get(), key.get(), EVP_sha256()) == 0) {
      return fail(ErrorCode::kInternal, "OpenSSL could not sign a certificate");
    }
    return KeyPair{cert_pem_of(made.get()), private_pem(subject.get())};
  }
};

Authority::Authority(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Authority::Authority(Authority&&) noexcept = default;
Authority& Authority::operator=(Authority&&) noexcept = default;
Authority::~Authority() = default;

Result<Authority> Authority::create(const std::string& common_name) {
  auto impl = std::make_unique<Impl>();
  impl->key.reset(EVP_RSA_gen(2048));
  if (impl->key == nullptr) {
    return fail(ErrorCode::kInternal, "OpenSSL could not make a key");
  }
  impl->cert = blank(impl->key.get(), common_name, {});
  X509* cert = impl->cert.get();
  X509_set_issuer_name(cert, X509_get_subject_name(cert));
  add_extension(cert, cert, NID_basic_constraints, "critical,CA:TRUE");
  add_extension(cert, cert, NID_key_usage, "critical,keyCertSign,cRLSign,digitalSignature");
  add_extension(cert, cert, NID_subject_key_identifier, "hash");
  if (X509_sign(cert, impl->key.get(), EVP_sha256()) == 0) {
    return fail(ErrorCode::kInternal, "OpenSSL could not sign a certificate");
  }
  impl->pem = cert_pem_of(cert);
  return Authority(std::move(impl));
}

const std::string& Authority::cert_pem() const {
  return impl_->pem;
}

Result<KeyPair> Authority::server(const std::string& common_name, const std::string& names, bool rsa) const {
  return impl_->issue(common_name, {}, "serverAuth", names.c_str(), rsa);
}

Result<KeyPair> Authority::client(const std::string& user, const std::vector<std::string>& groups,
                                  bool rsa) const {
  return impl_->issue(user, groups, "clientAuth", nullptr, rsa);
}

std::string base64(std::string_view text) {
  std::string out(4 * ((text.size() + 2) / 3), '\0');
  auto* to =
      reinterpret_cast<unsigned char*>(out.data());  // which has room for the zero that EVP writes behind it
  EVP_EncodeBlock(to, reinterpret_cast<const unsigned char*>(text.data()), static_cast<int>(text.size()));
  return out;
}

std::string from_base64(const std::string& text) {
  std::string out(text.size() / 4 * 3 + 1, '\0');
  const int size =
      EVP_DecodeBlock(reinterpret_cast<unsigned char*>(out.data()),
                      reinterpret_cast<const unsigned char*>(text.data()), static_cast<int>(text.size()));
  const auto padding = std::count(text.begin(), text.end(), '=');
  out.resize(size < padding ? 0 : static_cast<std::size_t>(size - padding));
  return out;
}

Result<std::pair<std::string, std::string>> signing_keys() {
  const Key key(EVP_EC_gen("P-256"));
  if (key == nullptr) {
    return fail(ErrorCode::kInternal, "OpenSSL could not make a key");
  }
  const Bio bio(BIO_new(BIO_s_mem()));
  PEM_write_bio_PUBKEY(bio.get(), key.get());
  return std::pair(private_pem(key.get()), text_of(bio));
}

}  // namespace berth::e2e
