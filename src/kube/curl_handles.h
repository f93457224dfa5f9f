// libcurl's easy handles, set up once and used again, and the header lists that requests share. Internal to transport.cc.
// On the I/O thread only.
#pragma once

#include <curl/curl.h>

#include <array>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "kube/client_certificate.h"
#include "kube/config.h"
#include "kube/identity.h"
#include "kube/transport.h"
#include "kube/url.h"

namespace berth::kube {

inline constexpr std::string_view kBinaryType = "application/vnd.kubernetes.protobuf";

class HeaderList {
 public:
  HeaderList() = default;
  HeaderList(const HeaderList&) = delete;
  HeaderList& operator=(const HeaderList&) = delete;
  ~HeaderList() { curl_slist_free_all(list_); }
  void add(const std::string& line) { list_ = curl_slist_append(list_, line.c_str()); }
  curl_slist* get() const { return list_; }

 private:
  curl_slist* list_ = nullptr;
};

struct CurlHandle {
  CURL* easy = nullptr;
  std::shared_ptr<const Identity> identity;  // whose certificates are set on it
  std::shared_ptr<const ClientCertificate> certificate;
};

class CurlHandles {
 public:
  // `set_up` finishes a new handle (callbacks). Config and options must outlive this.
  CurlHandles(const ClusterConfig& config, const TransportOptions& options, const Url& url,
              std::function<void(CURL*)> set_up);
  ~CurlHandles();
  CurlHandles(const CurlHandles&) = delete;
  CurlHandles& operator=(const CurlHandles&) = delete;

  // A handle with the identity's certificates; easy is nullptr when memory is out.
  CurlHandle take(const std::shared_ptr<const Identity>& identity);
  void give_back(CurlHandle handle) { idle_.push_back(std::move(handle)); }
  std::shared_ptr<const HeaderList> headers(const Request& request, const Identity& identity);
  // The prefix of the path of every request.
  const std::string& base() const { return base_; }

 private:
  CURL* make();
  void set_identity(CurlHandle& handle, const std::shared_ptr<const Identity>& identity);

  const ClusterConfig& config_;
  const TransportOptions& options_;
  std::function<void(CURL*)> set_up_;
  std::string base_;
  std::string host_header_;
  HeaderList connect_to_;  // where to connect when the name in TLS is another
  bool bypass_proxy_ = false;
  std::vector<CurlHandle> idle_;
  std::shared_ptr<const Identity> parsed_for_;
  std::shared_ptr<const ClientCertificate> parsed_;  // of that identity
  std::uint64_t headers_generation_ = 0;
  std::array<std::shared_ptr<const HeaderList>, 24> headers_;  // by Accept and BodyType
};

}  // namespace berth::kube
