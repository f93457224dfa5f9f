#include "observe/tls.h"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <mutex>
#include <optional>
#include <utility>

namespace berth::observe {
namespace {

constexpr std::size_t kMostFileBytes = 1 << 20;

struct Free {
  void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
  void operator()(SSL* ssl) const { SSL_free(ssl); }
  void operator()(BIO* bio) const { BIO_free(bio); }
  void operator()(X509* certificate) const { X509_free(certificate); }
  void operator()(unsigned char* text) const { OPENSSL_free(text); }
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
  void operator()(std::FILE* file) const { std::fclose(file); }
};
template <class T>
using Owned = std::unique_ptr<T, Free>;

Result<std::string> read_whole(const std::string& path) {
  const Owned<std::FILE> file(std::fopen(path.c_str(), "rbe"));
  if (file == nullptr) return fail(ErrorCode::kInvalid, "cannot open {}: {}", path, std::strerror(errno));
  std::string out(kMostFileBytes + 1, '\0');
  out.resize(std::fread(out.data(), 1, out.size(), file.get()));
  if (std::ferror(file.get()) != 0) return fail(ErrorCode::kInvalid, "cannot read {}", path);
  if (out.size() > kMostFileBytes) {
    return fail(ErrorCode::kInvalid, "{} is larger than {} bytes: that is no certificate or key", path,
                kMostFileBytes);
  }
  return out;
}

Owned<BIO> reader_of(const std::string& text) {
  return Owned<BIO>(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
}

// Without this OpenSSL would ask for the passphrase of an encrypted key on the terminal.
int no_passphrase(char*, int, int, void*) {
  return -1;
}

struct Pair {
  std::string certificate;
  std::string key;
  bool operator==(const Pair&) const = default;
};

struct Context {
  Owned<SSL_CTX> ssl;
  std::vector<std::string> names;  // of clients; none: any
};
struct Loaded {
  std::shared_ptr<Context> context;
  TimeMs expires = 0;
};

Result<TimeMs> end_of(const X509* certificate, const std::string& path) {
  std::tm when{};
  if (ASN1_TIME_to_tm(X509_get0_notAfter(certificate), &when) != 1) {
    return fail(ErrorCode::kInvalid, "{}: the end of the certificate cannot be read", path);
  }
  return static_cast<TimeMs>(::timegm(&when)) * kSecond;
}

tl::unexpected<Error> invalid(std::string words) {
  ERR_clear_error();
  return fail(ErrorCode::kInvalid, "{}", words);
}

bool has_name(X509* certificate, const std::vector<std::string>& names) {
  X509_NAME* subject = X509_get_subject_name(certificate);
  // The last one counts where there are several, as for Kubernetes' own servers.
  int last = -1;
  for (int i = -1; (i = X509_NAME_get_index_by_NID(subject, NID_commonName, i)) >= 0;) last = i;
  if (last < 0) return false;
  unsigned char* raw = nullptr;
  const int length = ASN1_STRING_to_UTF8(&raw, X509_NAME_ENTRY_get_data(X509_NAME_get_entry(subject, last)));
  if (length < 0) return false;
  const Owned<unsigned char> text(raw);
  const std::string_view name(reinterpret_cast<const char*>(raw), static_cast<std::size_t>(length));
  return std::find(names.begin(), names.end(), name) != names.end();
}

// Checks the certificate that a client shows in its handshake.
int check_client(X509_STORE_CTX* chain, void* context) {
  if (X509_verify_cert(chain) != 1) return 0;
  const auto& names = static_cast<const Context*>(context)->names;
  if (names.empty() || has_name(X509_STORE_CTX_get0_cert(chain), names)) return 1;
  X509_STORE_CTX_set_error(chain, X509_V_ERR_APPLICATION_VERIFICATION);
  return 0;
}

Status ask_for(const TlsClients& clients, Context& context) {
  SSL_CTX* ssl = context.ssl.get();
  const auto authorities = reader_of(clients.authorities);
  int known = 0;
  while (X509* next = PEM_read_bio_X509(authorities.get(), nullptr, no_passphrase, nullptr)) {
    const Owned<X509> authority(next);
    if (X509_STORE_add_cert(SSL_CTX_get_cert_store(ssl), next) != 1 || SSL_CTX_add_client_CA(ssl, next) != 1)
      return invalid("OpenSSL does not take an authority of clients");
    ++known;
  }
  if (known == 0) return invalid("there is no authority of clients in PEM (-----BEGIN CERTIFICATE-----)");
  context.names = clients.names;
  SSL_CTX_set_verify(ssl, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
  SSL_CTX_set_cert_verify_callback(ssl, check_client, &context);
  ERR_clear_error();  // the end of the text is one
  return {};
}

// `clients`: nullptr: any client.
Result<Loaded> load_pair(const Pair& pair, const TlsFiles& files, const TlsClients* clients) {
  ERR_clear_error();
  Loaded out;
  out.context = std::make_shared<Context>();
  out.context->ssl.reset(SSL_CTX_new(TLS_server_method()));
  SSL_CTX* context = out.context->ssl.get();
  if (context == nullptr || SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION) != 1 ||
      SSL_CTX_set_cipher_list(context, "ECDHE+AESGCM:ECDHE+CHACHA20") != 1) {
    return invalid("OpenSSL cannot be set up for TLS");
  }
  SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION | SSL_OP_NO_TICKET |
                                   SSL_OP_CIPHER_SERVER_PREFERENCE);
  SSL_CTX_set_num_tickets(context, 0);
  SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                                SSL_MODE_RELEASE_BUFFERS);

  const auto certificates = reader_of(pair.certificate);
  const Owned<X509> own(PEM_read_bio_X509(certificates.get(), nullptr, no_passphrase, nullptr));
  if (own == nullptr) {
    return invalid(
        fmt::format("{} has no certificate in PEM (-----BEGIN CERTIFICATE-----)", files.certificate));
  }
  BERTH_ASSIGN(out.expires, end_of(own.get(), files.certificate));
  if (SSL_CTX_use_certificate(context, own.get()) != 1) {
    return invalid(fmt::format("{}: OpenSSL does not take this certificate", files.certificate));
  }
  while (X509* next = PEM_read_bio_X509(certificates.get(), nullptr, no_passphrase, nullptr)) {
    if (SSL_CTX_add0_chain_cert(context, next) != 1) {
      X509_free(next);
      return invalid(fmt::format("{}: OpenSSL does not take its further certificates", files.certificate));
    }
  }
  const Owned<EVP_PKEY> key(
      PEM_read_bio_PrivateKey(reader_of(pair.key).get(), nullptr, no_passphrase, nullptr));
  if (key == nullptr) {
    return invalid(fmt::format("{} has no private key in PEM without a passphrase", files.key));
  }
  if (SSL_CTX_use_PrivateKey(context, key.get()) != 1 || SSL_CTX_check_private_key(context) != 1) {
    return invalid(
        fmt::format("the key of {} is not that of the certificate of {}", files.key, files.certificate));
  }
  if (clients != nullptr) BERTH_TRY(ask_for(*clients, *out.context));
  ERR_clear_error();
  return out;
}

}  // namespace

struct TlsSession::Impl {
  std::shared_ptr<const Context> context;  // before `ssl`, which asks it for names
  Owned<SSL> ssl;
  bool broken = false;  // after such an error nothing more may be asked of the session, not even its end

  IoResult result(int got, std::size_t bytes) {
    if (got > 0) return {Io::kDone, bytes};
    switch (SSL_get_error(ssl.get(), got)) {
      case SSL_ERROR_WANT_READ:
        return {Io::kWantsRead, 0};
      case SSL_ERROR_WANT_WRITE:
        return {Io::kWantsWrite, 0};
      case SSL_ERROR_ZERO_RETURN:
        return {Io::kGone, 0};
      default:
        broken = true;
        return {Io::kGone, 0};
    }
  }
};

TlsSession::TlsSession(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
TlsSession::~TlsSession() = default;

IoResult TlsSession::read(char* to, std::size_t most) {
  ERR_clear_error();
  std::size_t bytes = 0;
  const int got = SSL_read_ex(impl_->ssl.get(), to, most, &bytes);
  return impl_->result(got, bytes);
}

IoResult TlsSession::write(std::string_view bytes) {
  ERR_clear_error();
  std::size_t written = 0;
  const int got = SSL_write_ex(impl_->ssl.get(), bytes.data(), bytes.size(), &written);
  return impl_->result(got, written);
}

bool TlsSession::pending() const {
  return SSL_has_pending(impl_->ssl.get()) == 1;
}

void TlsSession::close() {
  if (impl_->broken || SSL_is_init_finished(impl_->ssl.get()) == 0) return;
  ERR_clear_error();
  (void)SSL_shutdown(impl_->ssl.get());
}

struct ServerTls::Impl {
  // The files as they are; one that cannot be read is an error, and counts as empty.
  Result<bool> refresh() {
    Pair now;
    auto certificate = read_whole(files.certificate);
    auto key = read_whole(files.key);
    if (certificate) now.certificate = std::move(*certificate);
    if (key) now.key = std::move(*key);
    const std::lock_guard lock(mutex);
    if (now == tried) return false;
    tried = now;
    if (!certificate) return tl::unexpected(certificate.error());
    if (!key) return tl::unexpected(key.error());
    BERTH_ASSIGN(loaded, load_pair(now, files, nullptr));
    used = std::move(now);
    if (asks_clients) BERTH_TRY(renew());
    return true;
  }

  Status set_clients(std::optional<TlsClients> now) {
    const std::lock_guard lock(mutex);
    if (now == clients) return {};
    clients = std::move(now);
    return renew();
  }

  // The context for the clients that there are; without any, or before the files: none.
  Status renew() {
    loaded.context = nullptr;
    if (!used || !clients) return {};
    BERTH_ASSIGN(loaded, load_pair(*used, files, &*clients));
    return {};
  }

  std::shared_ptr<const Context> context() const {
    const std::lock_guard lock(mutex);
    return loaded.context;
  }

  TlsFiles files;
  bool asks_clients = false;
  mutable std::mutex mutex;
  std::optional<Pair> tried;
  std::optional<Pair> used;
  std::optional<TlsClients> clients;
  Loaded loaded;
};

ServerTls::ServerTls(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
ServerTls::~ServerTls() = default;

Result<std::shared_ptr<ServerTls>> ServerTls::load(TlsFiles files) {
  auto impl = std::make_unique<Impl>();
  impl->files = std::move(files);
  BERTH_TRY(impl->refresh());
  return std::shared_ptr<ServerTls>(new ServerTls(std::move(impl)));
}

std::shared_ptr<ServerTls> ServerTls::for_clients(TlsFiles files) {
  auto impl = std::make_unique<Impl>();
  impl->files = std::move(files);
  impl->asks_clients = true;
  return std::shared_ptr<ServerTls>(new ServerTls(std::move(impl)));
}

Status ServerTls::set_clients(std::optional<TlsClients> clients) {
  return impl_->set_clients(std::move(clients));
}

Result<bool> ServerTls::refresh() {
  return impl_->refresh();
}

TimeMs ServerTls::expires() const {
  const std::lock_guard lock(impl_->mutex);
  return impl_->loaded.expires;
}

std::unique_ptr<TlsSession> ServerTls::session(int fd) const {
  const auto context = impl_->context();
  if (context == nullptr) return nullptr;
  ERR_clear_error();
  auto session = std::make_unique<TlsSession::Impl>();
  session->ssl.reset(SSL_new(context->ssl.get()));
  session->context = context;
  if (session->ssl == nullptr || SSL_set_fd(session->ssl.get(), fd) != 1) return nullptr;
  SSL_set_accept_state(session->ssl.get());
  return std::unique_ptr<TlsSession>(new TlsSession(std::move(session)));
}

}  // namespace berth::observe
