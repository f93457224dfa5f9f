#include "kube/curl_handles.h"

#include <string_view>

namespace berth::kube {

namespace {

std::string_view media_type(BodyType type) {
  switch (type) {
    case BodyType::kJson:
      return "application/json";
    case BodyType::kStrategicMergePatch:
      return "application/strategic-merge-patch+json";
    case BodyType::kMergePatch:
      return "application/merge-patch+json";
    case BodyType::kJsonPatch:
      return "application/json-patch+json";
    case BodyType::kApplyPatch:
      return "application/apply-patch+yaml";
    case BodyType::kProtobuf:
      return kBinaryType;
  }
  return "application/json";
}

std::string_view accepted(Accept accept) {
  switch (accept) {
    case Accept::kJson:
      return "application/json";
    case Accept::kAggregatedDiscovery:
      return "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,"
             "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,application/json";
    case Accept::kBinary:
      return "application/vnd.kubernetes.protobuf,application/json";
  }
  return "application/json";
}

CURLcode give_certificate(CURL*, void* ssl_context, void* certificate) {
  return static_cast<const ClientCertificate*>(certificate)->give_to(ssl_context) ? CURLE_OK
                                                                                  : CURLE_SSL_CERTPROBLEM;
}

}  // namespace

CurlHandles::CurlHandles(const ClusterConfig& config, const TransportOptions& options, const Url& url,
                         std::function<void(CURL*)> set_up)
    : config_(config), options_(options), set_up_(std::move(set_up)), base_(config.server) {
  bypass_proxy_ = config_.proxy_url.empty() && url.loopback();
  if (config_.tls_server_name.empty() || url.scheme != "https") return;
  const std::string port = std::to_string(url.port);
  base_ = "https://" + config_.tls_server_name + ":" + port + url.prefix;
  connect_to_.add(config_.tls_server_name + ":" + port + ":" + url.host + ":" + port);
  host_header_ = "Host: " + url.host + ":" + port;
}

CurlHandles::~CurlHandles() {
  for (const CurlHandle& handle : idle_) curl_easy_cleanup(handle.easy);
}

CURL* CurlHandles::make() {
  CURL* easy = curl_easy_init();
  if (easy == nullptr) return nullptr;
  curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(easy, CURLOPT_PATH_AS_IS, 1L);
  curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 0L);
  curl_easy_setopt(easy, CURLOPT_USERAGENT, options_.user_agent.c_str());
  curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(options_.connect_timeout));
  curl_easy_setopt(easy, CURLOPT_TCP_KEEPALIVE, 1L);
  curl_easy_setopt(easy, CURLOPT_TCP_KEEPIDLE, 30L);
  curl_easy_setopt(easy, CURLOPT_TCP_KEEPINTVL, 10L);
  curl_easy_setopt(easy, CURLOPT_HTTP_VERSION,
                   static_cast<long>(options_.http2 ? CURL_HTTP_VERSION_2TLS : CURL_HTTP_VERSION_1_1));
  if (options_.http2) curl_easy_setopt(easy, CURLOPT_PIPEWAIT, 1L);
  if (connect_to_.get() != nullptr) curl_easy_setopt(easy, CURLOPT_CONNECT_TO, connect_to_.get());
  if (bypass_proxy_) {
    curl_easy_setopt(easy, CURLOPT_PROXY, "");
  } else if (!config_.proxy_url.empty()) {
    curl_easy_setopt(easy, CURLOPT_PROXY, config_.proxy_url.c_str());
  }
  curl_easy_setopt(easy, CURLOPT_SSLVERSION, static_cast<long>(CURL_SSLVERSION_TLSv1_2));
  if (config_.insecure) {
    curl_easy_setopt(easy, CURLOPT_SSL_VERIFYPEER, 0L);
    curl_easy_setopt(easy, CURLOPT_SSL_VERIFYHOST, 0L);
  }
  set_up_(easy);
  return easy;
}

CurlHandle CurlHandles::take(const std::shared_ptr<const Identity>& identity) {
  CurlHandle handle;
  if (idle_.empty()) {
    handle.easy = make();
    if (handle.easy == nullptr) return handle;
  } else {
    handle = std::move(idle_.back());
    idle_.pop_back();
  }
  if (handle.identity != identity) set_identity(handle, identity);
  return handle;
}

void CurlHandles::set_identity(CurlHandle& handle, const std::shared_ptr<const Identity>& identity) {
  // The blobs point into the identity or its certificate, which the handle keeps alive.
  const auto set = [&](CURLoption option, const std::string& pem) {
    if (pem.empty()) {
      curl_easy_setopt(handle.easy, option, nullptr);
      return;
    }
    curl_blob blob{const_cast<char*>(pem.data()), pem.size(), CURL_BLOB_NOCOPY};
    curl_easy_setopt(handle.easy, option, &blob);
  };
  if (parsed_for_ != identity) {
    parsed_ = ClientCertificate::of(*identity);
    parsed_for_ = identity;
  }
  const bool is_parsed = parsed_ != nullptr;
  if (!identity->ca_pem.empty()) {
    set(CURLOPT_CAINFO_BLOB, is_parsed ? parsed_->authorities() : identity->ca_pem);
    // Otherwise the system's authorities would be trusted beside the cluster's own.
    curl_easy_setopt(handle.easy, CURLOPT_CAPATH, nullptr);
  }
  const bool had_one = handle.identity != nullptr && !handle.identity->cert_pem.empty();
  if (!identity->cert_pem.empty() || had_one) {
    set(CURLOPT_SSLCERT_BLOB, is_parsed ? std::string() : identity->cert_pem);
    set(CURLOPT_SSLKEY_BLOB, is_parsed ? std::string() : identity->key_pem);
    curl_easy_setopt(handle.easy, CURLOPT_SSL_CTX_FUNCTION, is_parsed ? &give_certificate : nullptr);
    curl_easy_setopt(handle.easy, CURLOPT_SSL_CTX_DATA, parsed_.get());
  }
  if (!identity->user.empty()) {
    curl_easy_setopt(handle.easy, CURLOPT_HTTPAUTH, static_cast<long>(CURLAUTH_BASIC));
    curl_easy_setopt(handle.easy, CURLOPT_USERNAME, identity->user.c_str());
    curl_easy_setopt(handle.easy, CURLOPT_PASSWORD, identity->password.c_str());
  }
  handle.identity = identity;
  handle.certificate = parsed_;
}

std::shared_ptr<const HeaderList> CurlHandles::headers(const Request& request, const Identity& identity) {
  if (headers_generation_ != identity.generation) {
    headers_.fill(nullptr);
    headers_generation_ = identity.generation;
  }
  const std::size_t body = request.body.empty() ? 0 : 1 + static_cast<std::size_t>(request.body_type);
  const std::size_t index = body + 8 * static_cast<std::size_t>(request.accept);
  auto& cached = headers_[index];
  if (cached == nullptr) {
    auto list = std::make_shared<HeaderList>();
    list->add("Accept: " + std::string(accepted(request.accept)));
    list->add("Expect:");
    if (body != 0) list->add("Content-Type: " + std::string(media_type(request.body_type)));
    if (!identity.token.empty()) list->add("Authorization: Bearer " + identity.token);
    if (!host_header_.empty()) list->add(host_header_);
    cached = std::move(list);
  }
  return cached;
}

}  // namespace berth::kube
