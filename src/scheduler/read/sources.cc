#include "scheduler/read/sources.h"

#include <fmt/format.h>
#include <simdjson.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <chrono>
#include <thread>
#include <vector>

#include "dialect/base/kind.h"
#include "dialect/base/names.h"
#include "dialect/objects/gang_systems.h"
#include "kube/api_status.h"
#include "kube/clock.h"
#include "kube/paths.h"
#include "kube/protobuf_json.h"
#include "text/time.h"

namespace berth::scheduler {
namespace {

constexpr std::chrono::milliseconds kBetweenLooks{200};  // for kinds, while the API server is not ready

// Kueue's own, by its documented default; held by whichever of its replicas decides.
constexpr std::string_view kKueueLease = "c1f6bfd2.kueue.x-k8s.io";
constexpr DurationMs kLeaseGrace = 30 * kSecond;  // clocks differ, and a new holder needs a moment

constexpr std::int64_t kLongestLease = 3600;  // seconds; Kueue's own are 15
constexpr std::string_view kTenants = "/api/v1/namespaces?labelSelector=";

// Namespaces of the leases that were recently renewed, or given back. A Kueue that gave its lease back may be replaced, or may start
// again with another configuration a moment later; Berth must not write Kueue's objects in between. A time in the future is no renewal.
std::vector<std::string> held_in(std::string_view list, TimeMs now) {
  std::vector<std::string> out;
  simdjson::dom::parser parser;
  simdjson::dom::element root;
  simdjson::dom::array items;
  if (parser.parse(list.data(), list.size()).get(root) != simdjson::SUCCESS) return out;
  if (root["items"].get(items) != simdjson::SUCCESS) return out;
  for (const simdjson::dom::element item : items) {
    std::string_view renewed, ns;
    std::int64_t seconds = 0;
    if (item.at_pointer("/spec/renewTime").get(renewed) != simdjson::SUCCESS) continue;
    if (item.at_pointer("/spec/leaseDurationSeconds").get(seconds) != simdjson::SUCCESS) continue;
    if (item.at_pointer("/metadata/namespace").get(ns) != simdjson::SUCCESS) continue;
    const auto at = text::parse_time_ms(renewed);
    seconds = std::clamp<std::int64_t>(seconds, 0, kLongestLease);
    if (at && *at <= now + kLeaseGrace && now < *at + seconds * kSecond + kLeaseGrace) out.emplace_back(ns);
  }
  return out;
}

bool is_among(std::string_view list, std::string_view name) {
  simdjson::dom::parser parser;
  simdjson::dom::element root;
  simdjson::dom::array items;
  if (parser.parse(list.data(), list.size()).get(root) != simdjson::SUCCESS) return false;
  if (root["items"].get(items) != simdjson::SUCCESS) return false;
  return std::any_of(items.begin(), items.end(), [&](const simdjson::dom::element item) {
    std::string_view text;
    return item.at_pointer("/metadata/name").get(text) == simdjson::SUCCESS && text == name;
  });
}

}  // namespace

// One that cannot be decoded goes as text: the decision thread tells why.
void Sources::push(dialect::Kind kind, const kube::Change& change) {
  const bool is_pod = kind == dialect::Kind::kPod && !change.object.empty();
  if (!is_pod || change.type == kube::ChangeType::kDeleted) return inbox_.push(kind, change);
  auto decoded = decoder_.decode(change.object, kind, true);
  if (!decoded) return inbox_.push(kind, change);
  inbox_.push(change, std::get<dialect::Pod>(std::move(*decoded)));
}

// The words for a wrong field come from the JSON.
Status Sources::push_pod(const kube::Change& change, const kube::BinaryObject& object) {
  if (auto pod = dialect::decode_pod(object.bytes, devices_)) {
    inbox_.push(change, *std::move(pod));
    return {};
  }
  BERTH_TRY(kube::write_json(object, text_));
  text_.reserve(text_.size() + kube::kJsonPadding);
  kube::Change in_json = change;
  in_json.object = text_;
  push(dialect::Kind::kPod, in_json);
  return {};
}

Result<std::unique_ptr<Sources>> Sources::start(kube::Transport& transport, Inbox& inbox,
                                                SourcesOptions options, const std::function<bool()>& ended) {
  std::unique_ptr<Sources> sources(new Sources(transport, inbox, std::move(options)));
  std::string said;
  for (auto found = sources->look_again(); !found; found = sources->look_again()) {
    if (found.error().code != ErrorCode::kUnavailable || ended()) return tl::unexpected<Error>(found.error());
    if (const std::string text = found.error().str(); text != said) {
      spdlog::warn("waiting for the API server: {}", text);
      said = text;
    }
    std::this_thread::sleep_for(kBetweenLooks);
  }
  for (const dialect::KindInfo& source : dialect::kinds()) {
    if (source.vital && !sources->reflectors_.contains(source.kind)) {
      return fail(ErrorCode::kUnsupported, "{} does not serve {}, without which nothing can be scheduled",
                  transport.config().server, source.resource);
    }
  }
  return sources;
}

Result<bool> Sources::look_again() {
  BERTH_TRY(discovery_.refresh());
  const auto served = discovery_.served();
  bool any = false;
  for (const dialect::KindInfo& source : dialect::kinds()) {
    if (reflectors_.contains(source.kind)) continue;
    if (!workloads_ && source.of_workloads) continue;
    const std::string_view version = served->version_of(source.group, source.resource);
    if (version.empty()) continue;
    if (source.kind == dialect::Kind::kWorkload) workload_version_ = version;
    if (source.kind == dialect::Kind::kProvisioningRequest) {
      const std::lock_guard lock(mutex_);
      provisioning_version_ = version;
    }
    if (dialect::gang_system(source.kind) != nullptr) {
      auto versions = std::make_shared<std::map<dialect::Kind, std::string>>(*gang_versions());
      versions->insert_or_assign(source.kind, version);
      const std::lock_guard lock(mutex_);
      gang_versions_ = std::move(versions);
    }
    kube::ReflectorOptions options;
    options.path = kube::ResourcePath{source.group, version, source.resource}.collection();
    options.field_selector = source.field_selector;
    options.binary = source.binary;
    if (source.kind == dialect::Kind::kPod) {
      options.take_binary = [this](const kube::Change& change, const kube::BinaryObject& object) {
        return push_pod(change, object);
      };
    }
    options.seed = static_cast<std::uint64_t>(source.kind) + 1;
    options.ready = [this] { return inbox_.accepts(); };
    auto reflector = std::make_unique<kube::Reflector>(
        transport_, std::move(options),
        [this, kind = source.kind](const kube::Change& change) { push(kind, change); });
    const std::lock_guard lock(mutex_);
    reflectors_.emplace(source.kind, std::move(reflector));
    any = true;
  }
  return any;
}

void Sources::look_for_kueue() {
  if (workload_version_.empty()) return;
  kube::Request request;
  request.path = kube::kLeases.collection() + "?fieldSelector=metadata.name%3D" + std::string(kKueueLease);
  const kube::Response response = transport_.call(std::move(request));
  if (!response.ok()) {
    // Without the right to look: what both would write shows it, too (workload_objects.h).
    spdlog::debug("looking for Kueue's lease: {}", kube::response_error("leases", response).str());
    return serve_kueue(workload_version_);
  }
  std::vector<std::string> held = held_in(response.body, kube::wall_us() / 1000);
  if (!held.empty()) {
    // The role `edit` may write leases: one in a tenant's namespace is not Kueue's.
    kube::Request tenants;
    tenants.path = fmt::format("{}{}", kTenants, kube::escape(dialect::kTenant));
    const kube::Response listed = transport_.call(std::move(tenants));
    if (listed.ok()) std::erase_if(held, [&](const auto& ns) { return is_among(listed.body, ns); });
  }
  serve_kueue(held.empty() ? workload_version_ : std::string());
}

void Sources::serve_kueue(const std::string& version) {
  const std::lock_guard lock(mutex_);
  if (!kueue_known_ || kueue_version_ != version) {
    if (version.empty()) {
      spdlog::warn(
          "Kueue runs here (its lease {} is held): Workloads and the status of its queues are left to it",
          kKueueLease);
    } else {
      spdlog::info("Kueue's Workloads and queues are kept up to date ({}/{})", dialect::kKueueGroup, version);
    }
  }
  kueue_known_ = true;
  kueue_version_ = version;
}

std::shared_ptr<const std::map<dialect::Kind, std::string>> Sources::gang_versions() const {
  const std::lock_guard lock(mutex_);
  return gang_versions_;
}

std::string Sources::provisioning_version() const {
  const std::lock_guard lock(mutex_);
  return provisioning_version_;
}

std::string Sources::kueue_version() const {
  const std::lock_guard lock(mutex_);
  return kueue_version_;
}

bool Sources::all_synced() const {
  for (const auto& [kind, reflector] : reflectors_) {
    if (!reflector->stats().synced.load(std::memory_order_acquire)) return false;
  }
  return true;
}

std::vector<dialect::Kind> Sources::kinds() const {
  std::vector<dialect::Kind> out;
  for (const auto& [kind, reflector] : reflectors_) out.push_back(kind);
  return out;
}

std::vector<std::pair<std::string, double>> Sources::silences() const {
  const std::lock_guard lock(mutex_);
  const std::int64_t now = kube::boottime_ms();
  std::vector<std::pair<std::string, double>> out;
  for (const auto& [kind, reflector] : reflectors_) {
    const std::int64_t last = reflector->stats().last_contact_ms.load(std::memory_order_relaxed);
    if (last == 0) continue;
    out.emplace_back(enum_name(kind), static_cast<double>(std::max<std::int64_t>(0, now - last)) / 1000.0);
  }
  return out;
}

std::vector<std::string> Sources::problems() const {
  std::vector<std::string> out;
  for (const auto& [kind, reflector] : reflectors_) {
    if (auto problem = reflector->last_problem(); !problem.empty()) {
      out.push_back(fmt::format("{}: {}", enum_name(kind), problem));
    }
  }
  return out;
}

}  // namespace berth::scheduler
