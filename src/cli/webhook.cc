#include "cli/webhook.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <ctime>
#include <memory>
#include <string>
#include <thread>

#include "cli/address.h"
#include "cli/base/daemon.h"
#include "scheduler/serve/webhook.h"

namespace berth::cli {
namespace {

constexpr std::string_view kExample = "0.0.0.0:9443";

struct WebhookCommand {
  std::string listen = "127.0.0.1:9443";
  std::string http = "127.0.0.1:10262";
  std::string certificate;
  std::string key;
  int drain_seconds = 5;
  std::string log_level = "info";
};

Result<scheduler::WebhookOptions> to_webhook_options(const WebhookCommand& o) {
  scheduler::WebhookOptions out;
  BERTH_ASSIGN(const auto listen, parse_address("--listen", o.listen, kExample));
  out.address = listen.address;
  out.port = listen.port;
  out.tls = {.certificate = o.certificate, .key = o.key};
  BERTH_ASSIGN(out.http, parse_address_or_off("--http-address", o.http, "127.0.0.1:10262"));
  return out;
}

// Every second the certificate is looked at, until a signal comes.
void run_until(const sigset_t& signals, scheduler::AdmissionWebhook& webhook) {
  constexpr std::timespec kPause{.tv_sec = 1, .tv_nsec = 0};
  while (::sigtimedwait(&signals, nullptr, &kPause) < 0) {
    if (errno == EAGAIN) webhook.refresh_certificate();
  }
}

int run(const WebhookCommand& o) {
  auto options = to_webhook_options(o);
  if (!options) {
    fmt::print(stderr, "berth webhook: {}\n", options.error().str());
    return 2;
  }
  start_log(o.log_level);

  const sigset_t signals = block_end_signals();

  const auto webhook = scheduler::AdmissionWebhook::start(std::move(*options));
  if (!webhook) {
    fmt::print(stderr, "berth webhook: {}\n", webhook.error().str());
    return webhook.error().code == ErrorCode::kUnavailable ? 1 : 2;
  }
  spdlog::info("reviews at https port {}, path /mutate", (*webhook)->port());
  if ((*webhook)->http_port() != 0) spdlog::info("health and metrics on port {}", (*webhook)->http_port());
  run_until(signals, **webhook);
  // The API servers hear of the end of this replica about when it does: until then they still come here.
  (*webhook)->end_connections();
  std::this_thread::sleep_for(std::chrono::seconds(o.drain_seconds));
  spdlog::info("stopped");
  return 0;
}

}  // namespace

void register_webhook(CLI::App& app, int& exit_code) {
  const auto o = std::make_shared<WebhookCommand>();
  CLI::App* command = app.add_subcommand(
      "webhook",
      "Serves the mutating admission webhook of deploy/webhook.yaml, for API servers without "
      "MutatingAdmissionPolicy");
  command->footer(
      "It does what deploy/admission-policy.yaml does: pods and Jobs that name a queue (label "
      "kueue.x-k8s.io/queue-name or berth.dev/queue) get\nthe scheduler name berth, and such Jobs are "
      "suspended, "
      "so that they wait without pods until Berth releases them. It needs no rights\nin the cluster.\n\n"
      "Example:\n  berth webhook --listen 0.0.0.0:9443 --tls-cert tls.crt --tls-key tls.key\n"
      "then POST AdmissionReviews (admission.k8s.io/v1) to https://HOST:9443/mutate");
  command
      ->add_option(
          "--listen", o->listen,
          "ADDRESS:PORT of HTTPS, which API servers call at /mutate; 0.0.0.0 or [::] for every interface")
      ->capture_default_str();
  command
      ->add_option(
          "--tls-cert", o->certificate,
          "Certificate of the server in PEM, with the intermediate certificates. It must be valid for the "
          "name that API servers call (berth-webhook.berth-system.svc). A change is read within two seconds")
      ->required();
  command
      ->add_option("--tls-key", o->key,
                   "Its private key in PEM, without a passphrase; read again together with the certificate")
      ->required();
  command
      ->add_option("--http-address", o->http,
                   "ADDRESS:PORT of /healthz, /readyz and /metrics without TLS; off for none")
      ->capture_default_str();
  command
      ->add_option("--drain-seconds", o->drain_seconds,
                   "Seconds for which it still answers after SIGTERM, until API servers stop sending "
                   "requests to this replica")
      ->check(CLI::Range(0, 300))
      ->capture_default_str();
  add_log_level(*command, o->log_level);
  command->callback([o, &exit_code] { exit_code = run(*o); });
}

}  // namespace berth::cli
