#include "scheduler/serve/visibility.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "kube/paths.h"
#include "kube/reflector.h"
#include "text/document.h"
#include "text/fields.h"
#include "text/json.h"
#include "text/time.h"

namespace berth::scheduler {
namespace {

constexpr std::string_view kFrontProxyNs = "kube-system";
constexpr std::string_view kFrontProxy = "extension-apiserver-authentication";
constexpr kube::ResourcePath kConfigMaps{"", "v1", "configmaps"};
constexpr kube::ResourcePath kEndpointSlices{"discovery.k8s.io", "v1", "endpointslices"};
constexpr text::Limits kLimits{.max_depth = 16, .max_nodes = 10'000, .max_document_bytes = 4 << 20};
// An API server keeps its connections for 90 s: it must be the one that gives them up.
constexpr std::chrono::seconds kKeptOpen{120};
constexpr std::chrono::seconds kWholeAnswer{30};
constexpr auto kLookEvery = std::chrono::seconds(1);
constexpr auto kWriteEvery = std::chrono::seconds(30);
constexpr auto kWriteAgain = std::chrono::seconds(2);

observe::HttpResponse json_of(int status, std::string body) {
  return {status, "application/json", std::move(body)};
}

std::string endpoint_slice(const VisibilityOptions& options, std::uint16_t port) {
  text::JsonWriter json;
  json.begin_object()
      .field("apiVersion", "discovery.k8s.io/v1")
      .field("kind", "EndpointSlice")
      .key("metadata")
      .begin_object()
      .field("name", kVisibilityService)
      .field("namespace", options.ns);
  json.key("labels")
      .begin_object()
      .field("kubernetes.io/service-name", kVisibilityService)
      .field("endpointslice.kubernetes.io/managed-by", "berth.dev")
      .end_object()
      .end_object();
  json.field("addressType", options.advertise.find(':') == std::string::npos ? "IPv4" : "IPv6");
  json.key("endpoints").begin_array().begin_object().key("addresses").begin_array();
  json.value(options.advertise).end_array();
  json.key("conditions").begin_object().field("ready", true).end_object().end_object().end_array();
  json.key("ports").begin_array().begin_object();
  json.field("name", "https").field("port", port).field("protocol", "TCP").end_object().end_array();
  json.end_object();
  return json.take();
}

}  // namespace

Result<observe::TlsClients> read_front_proxy(std::string_view config_map) {
  BERTH_ASSIGN(auto document, text::parse_json(std::string(config_map), std::string(kFrontProxy), kLimits));
  text::Fields object(document, document.root(), text::Unknown::kIgnore);
  auto data = object.optional_child("data");
  observe::TlsClients out;
  out.authorities = data.string_or("requestheader-client-ca-file");
  const std::string names = data.string_or("requestheader-allowed-names");
  BERTH_TRY(object.done());
  if (out.authorities.empty()) {
    return fail(ErrorCode::kNotFound,
                "ConfigMap {}/{} names no requestheader-client-ca-file: the API servers have no front proxy "
                "(--requestheader-client-ca-file, --proxy-client-cert-file)",
                kFrontProxyNs, kFrontProxy);
  }
  if (names.empty()) return out;
  BERTH_ASSIGN(auto list, text::parse_json(names, "requestheader-allowed-names", kLimits));
  for (const auto& name : list.root().items()) out.names.emplace_back(name.text());
  return out;
}

struct Visibility::Impl {
  Impl(kube::Transport& transport_in, VisibilityOptions options_in, Ask ask_in,
       std::function<bool()> decides_in)
      : transport(transport_in),
        options(std::move(options_in)),
        ask(std::move(ask_in)),
        decides(std::move(decides_in)),
        tls(observe::ServerTls::for_clients(options.tls)) {}

  ~Impl() {
    reflector.reset();
    {
      const std::lock_guard lock(mutex);
      stopping = true;
    }
    changed.notify_all();
    if (thread.joinable()) thread.join();
  }

  observe::HttpResponse answer(const observe::HttpRequest& request) const {
    if (auto page = dialect::visibility_discovery(request.path)) return json_of(200, std::move(*page));
    const auto failed = [](const Error& error) {
      auto out = dialect::api_error(error);
      return json_of(out.http_status, std::move(out.body));
    };
    const auto question = dialect::read_pending_question(request.path, request.query);
    if (!question) return failed(question.error());
    const auto places = ask(*question);
    if (!places) return failed(places.error());
    return json_of(200, dialect::pending_summary(question->version, *places));
  }

  void take(const kube::Change& change) {
    const std::lock_guard lock(mutex);
    if (change.type == kube::ChangeType::kSynced) {
      synced = true;
    } else {
      config_map = change.type == kube::ChangeType::kDeleted ? std::string() : std::string(change.object);
    }
    news = true;
    changed.notify_all();
  }

  // An error is logged once, until it changes.
  void say(std::string& last, const Status& status) {
    std::string words = status ? std::string() : status.error().str();
    if (words == last) return;
    last = std::move(words);
    if (!last.empty()) spdlog::warn("the visibility API is not served yet (--visibility-address): {}", last);
  }

  void look_at_files() {
    const auto refreshed = tls->refresh();
    if (refreshed && *refreshed) {
      spdlog::info("the visibility API is served at https port {}, certificate valid until {}",
                   server->port(), text::format_time_ms(tls->expires()));
      said_of_files.clear();
    } else if (!refreshed) {
      say(said_of_files, tl::unexpected(refreshed.error()));
    }
  }

  void look_at_clients(const std::string& text) {
    if (text.empty()) {
      (void)tls->set_clients(std::nullopt);
      return say(said_of_clients,
                 fail(ErrorCode::kNotFound, "ConfigMap {}/{}, which identifies API servers, does not exist",
                      kFrontProxyNs, kFrontProxy));
    }
    auto clients = read_front_proxy(text);
    say(said_of_clients, clients ? tls->set_clients(std::move(*clients)) : tl::unexpected(clients.error()));
    if (!clients) (void)tls->set_clients(std::nullopt);
  }

  // True: it stands.
  bool write_endpoint() {
    kube::Request request;
    request.method = kube::Method::kPatch;
    request.path = kEndpointSlices.object(options.ns, kVisibilityService) + "?fieldManager=berth&force=true";
    request.body_type = kube::BodyType::kApplyPatch;
    request.body = endpoint_slice(options, server->port());
    request.timeout = 5 * kSecond;
    const auto response = transport.call(std::move(request));
    say(said_of_endpoint, response.ok()
                              ? Status()
                              : fail(ErrorCode::kUnavailable, "EndpointSlice {}/{} cannot be written: {} {}",
                                     options.ns, kVisibilityService, response.status,
                                     response.error.empty() ? response.body : response.error));
    return response.ok();
  }

  void run() {
    auto write_at = std::chrono::steady_clock::now();
    bool decided = false;
    std::unique_lock lock(mutex);
    while (!stopping) {
      const bool is_news = std::exchange(news, false) && synced;
      const std::string text = config_map;
      lock.unlock();
      look_at_files();
      if (is_news) look_at_clients(text);
      const auto now = std::chrono::steady_clock::now();
      const bool deciding = decides();
      if (deciding && !decided) write_at = now;
      decided = deciding;
      if (deciding && !options.advertise.empty() && tls->expires() > 0 && now >= write_at)
        write_at = now + (write_endpoint() ? kWriteEvery : kWriteAgain);
      lock.lock();
      changed.wait_for(lock, kLookEvery, [&] { return stopping || news; });
    }
  }

  kube::Transport& transport;
  const VisibilityOptions options;
  const Ask ask;
  const std::function<bool()> decides;
  const std::shared_ptr<observe::ServerTls> tls;
  std::optional<observe::HttpServer> server;
  std::string said_of_files, said_of_clients, said_of_endpoint;

  std::mutex mutex;
  std::condition_variable changed;
  std::string config_map;
  bool synced = false;
  bool news = false;
  bool stopping = false;
  std::unique_ptr<kube::Reflector> reflector;
  std::thread thread;
};

Result<std::unique_ptr<Visibility>> Visibility::start(kube::Transport& transport, VisibilityOptions options,
                                                      Ask ask, std::function<bool()> decides) {
  auto impl = std::make_unique<Impl>(transport, std::move(options), std::move(ask), std::move(decides));
  observe::HttpOptions listen = impl->options.listen;
  listen.tls = impl->tls;
  listen.idle_time_out = kKeptOpen;
  listen.time_out = kWholeAnswer;
  observe::HttpRoutes routes;
  routes.under["/"] = [self = impl.get()](const observe::HttpRequest& request) {
    return self->answer(request);
  };
  BERTH_ASSIGN(impl->server, observe::HttpServer::start(listen, std::move(routes)));
  impl->reflector = std::make_unique<kube::Reflector>(
      transport,
      kube::ReflectorOptions{.path = kConfigMaps.collection(kFrontProxyNs),
                             .field_selector = fmt::format("metadata.name={}", kFrontProxy)},
      [self = impl.get()](const kube::Change& change) { self->take(change); });
  impl->thread = std::thread([self = impl.get()] { self->run(); });
  return std::unique_ptr<Visibility>(new Visibility(std::move(impl)));
}

Visibility::Visibility(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Visibility::~Visibility() = default;

std::uint16_t Visibility::port() const {
  return impl_->server->port();
}

}  // namespace berth::scheduler
