#include "scheduler/serve/webhook.h"

#include <spdlog/spdlog.h>

#include <chrono>
#include <utility>

#include "dialect/write/admission_review.h"
#include "observe/webhook_metrics.h"
#include "text/time.h"

namespace berth::scheduler {
namespace {

// An API server keeps up to 25 connections to a webhook, for up to 90 s each. The API server must close them first: a review sent
// into a closing connection is lost, and then its work is not held.
constexpr std::size_t kMostConnections = 256;
constexpr std::chrono::seconds kIdleTimeOut{120};

TimeMs wall_clock_now() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

}  // namespace

struct AdmissionWebhook::Impl {
  observe::HttpResponse review(const observe::HttpRequest& request) {
    const auto start = std::chrono::steady_clock::now();
    auto answer = dialect::answer_review(std::string(request.body));
    if (answer.http_status != 200) spdlog::warn("a request to /mutate is no review: {}", answer.body);
    if (answer.outcome == dialect::ReviewOutcome::kRefused) spdlog::warn("refused: {}", answer.body);
    metrics.reviewed(enum_name(answer.outcome),
                     std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
    return {answer.http_status, "application/json", std::move(answer.body)};
  }

  observe::Observation observation(bool with_metrics) {
    observe::Observation out;
    out.healthy = [] { return Status(); };
    out.ready = [this]() -> Status {
      if (tls->expires() > wall_clock_now()) return {};
      return fail(ErrorCode::kUnavailable, "the certificate ended at {}",
                  text::format_time_ms(tls->expires()));
    };
    if (with_metrics) out.metrics = [this] { return metrics.text(); };
    return out;
  }

  observe::WebhookMetrics metrics;
  std::shared_ptr<observe::ServerTls> tls;
  std::optional<observe::HttpServer> https;
  std::optional<observe::HttpServer> http;
};

AdmissionWebhook::AdmissionWebhook(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
AdmissionWebhook::~AdmissionWebhook() = default;

Result<std::unique_ptr<AdmissionWebhook>> AdmissionWebhook::start(WebhookOptions options) {
  auto impl = std::make_unique<Impl>();
  BERTH_ASSIGN(impl->tls, observe::ServerTls::load(options.tls));
  impl->metrics.set_certificate_expiry(impl->tls->expires());

  observe::HttpOptions listen;
  listen.address = options.address;
  listen.port = options.port;
  listen.most_connections = kMostConnections;
  listen.most_body_bytes = dialect::kMostReviewBytes;
  listen.idle_time_out = kIdleTimeOut;
  listen.tls = impl->tls;
  observe::HttpRoutes routes{.get = observe::serve_observation(impl->observation(false))};
  routes.post["/mutate"] = [self = impl.get()](const observe::HttpRequest& request) {
    return self->review(request);
  };
  BERTH_ASSIGN(impl->https, observe::HttpServer::start(listen, std::move(routes)));
  if (options.http) {
    BERTH_ASSIGN(impl->http,
                 observe::HttpServer::start(*options.http,
                                            {.get = observe::serve_observation(impl->observation(true))}));
  }
  return std::unique_ptr<AdmissionWebhook>(new AdmissionWebhook(std::move(impl)));
}

std::uint16_t AdmissionWebhook::port() const {
  return impl_->https->port();
}

std::uint16_t AdmissionWebhook::http_port() const {
  return impl_->http ? impl_->http->port() : std::uint16_t{0};
}

void AdmissionWebhook::refresh_certificate() {
  const auto changed = impl_->tls->refresh();
  if (!changed) {
    impl_->metrics.loaded_certificate(false);
    spdlog::error("the certificate in use stays, the new one cannot be used: {}", changed.error().str());
  } else if (*changed) {
    impl_->metrics.loaded_certificate(true);
    impl_->metrics.set_certificate_expiry(impl_->tls->expires());
    spdlog::info("new certificate, until {}", text::format_time_ms(impl_->tls->expires()));
  }
}

void AdmissionWebhook::end_connections() {
  impl_->https->end_connections();
}

}  // namespace berth::scheduler
