#include "observe/webhook_metrics.h"

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

namespace berth::observe {

using prometheus::BuildCounter;
using prometheus::BuildGauge;
using prometheus::BuildHistogram;
using prometheus::Histogram;

struct WebhookMetrics::Impl {
  prometheus::Registry registry;
  prometheus::Family<prometheus::Counter>& reviews = BuildCounter()
                                                         .Name("berth_webhook_reviews_total")
                                                         .Help("Answers of the admission webhook")
                                                         .Register(registry);
  Histogram& seconds =
      BuildHistogram()
          .Name("berth_webhook_review_seconds")
          .Help("Time of one answer, without the network")
          .Register(registry)
          .Add({}, Histogram::BucketBoundaries{0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03, 0.1});
  prometheus::Family<prometheus::Counter>& loads =
      BuildCounter()
          .Name("berth_webhook_certificate_loads_total")
          .Help("Changed certificates that were taken, or could not be used")
          .Register(registry);
  prometheus::Gauge& expiry = BuildGauge()
                                  .Name("berth_webhook_certificate_expiry_seconds")
                                  .Help("When the certificate in use ends, Unix time")
                                  .Register(registry)
                                  .Add({});
};

WebhookMetrics::WebhookMetrics() : impl_(std::make_unique<Impl>()) {
  for (const char* outcome : {"changed", "unchanged", "refused", "unreadable"})
    impl_->reviews.Add({{"outcome", outcome}});
  for (const char* outcome : {"ok", "error"}) impl_->loads.Add({{"outcome", outcome}});
}
WebhookMetrics::~WebhookMetrics() = default;

void WebhookMetrics::reviewed(std::string_view outcome, double seconds) {
  impl_->reviews.Add({{"outcome", std::string(outcome)}}).Increment();
  impl_->seconds.Observe(seconds);
}

void WebhookMetrics::loaded_certificate(bool ok) {
  impl_->loads.Add({{"outcome", ok ? "ok" : "error"}}).Increment();
}

void WebhookMetrics::set_certificate_expiry(TimeMs at) {
  impl_->expiry.Set(static_cast<double>(at / kSecond));
}

std::string WebhookMetrics::text() const {
  return prometheus::TextSerializer().Serialize(impl_->registry.Collect());
}

}  // namespace berth::observe
