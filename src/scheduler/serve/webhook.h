// The admission webhook as a server: reviews in over HTTPS, answers of dialect/write/admission_review.h out; health and metrics beside
// it over plain HTTP. It calls no server: it needs no identity in the cluster, and no kubeconfig.
//
//   POST /mutate                  on the HTTPS address, AdmissionReview of admission.k8s.io/v1
//   GET /healthz /readyz          on both; not ready once the certificate has ended
//   GET /metrics                  on the HTTP address (observe/webhook_metrics.h)
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/result.h"
#include "observe/http_server.h"
#include "observe/tls.h"

namespace berth::scheduler {

struct WebhookOptions {
  std::string address = "127.0.0.1";  // of HTTPS
  std::uint16_t port = 0;             // 0 = any free one
  observe::TlsFiles tls;
  std::optional<observe::HttpOptions> http;  // none: no health and metrics over plain HTTP
};

class AdmissionWebhook {
 public:
  // Serves until it is destroyed.
  static Result<std::unique_ptr<AdmissionWebhook>> start(WebhookOptions options);
  ~AdmissionWebhook();
  AdmissionWebhook(const AdmissionWebhook&) = delete;
  AdmissionWebhook& operator=(const AdmissionWebhook&) = delete;

  std::uint16_t port() const;
  std::uint16_t http_port() const;  // 0 = none

  // Takes a certificate that has changed, and says so in the log. To be called every second or so; reads two small files.
  void refresh_certificate();
  // From now on every answer ends its connection, so that API servers come back to another replica.
  void end_connections();

 private:
  struct Impl;
  explicit AdmissionWebhook(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace berth::scheduler
