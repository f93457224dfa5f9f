// Metrics of `berth webhook` for Prometheus. Names, labels and meanings are a contract with dashboards.
//
//   name                                      kind       labels   meaning
//   berth_webhook_reviews_total               counter    outcome  changed, unchanged, refused, unreadable
//   berth_webhook_review_seconds              histogram           time of one answer, without the network
//   berth_webhook_certificate_loads_total     counter    outcome  ok, error: files that changed and were taken, or could not be
//   berth_webhook_certificate_expiry_seconds  gauge               when the certificate in use ends, Unix time
//
// Thread-safe.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/time.h"

namespace berth::observe {

class WebhookMetrics {
 public:
  WebhookMetrics();
  ~WebhookMetrics();
  WebhookMetrics(const WebhookMetrics&) = delete;
  WebhookMetrics& operator=(const WebhookMetrics&) = delete;

  void reviewed(std::string_view outcome, double seconds);
  void loaded_certificate(bool ok);
  void set_certificate_expiry(TimeMs at);

  // All of it in Prometheus' text format.
  std::string text() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace berth::observe
