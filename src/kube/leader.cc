#include "kube/leader.h"

#include <simdjson.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <future>
#include <mutex>
#include <optional>
#include <random>

#include "base/random.h"
#include "kube/api_status.h"
#include "kube/paths.h"
#include "text/json.h"
#include "text/time.h"

namespace berth::kube {

namespace {

constexpr DurationMs kReleaseTime = 2 * kSecond;

// A Lease as the server has it.
struct Record {
  std::string metadata;  // JSON, written back as it is (it holds the resourceVersion)
  std::string holder;
  std::int64_t duration_s = 0;
  std::int64_t transitions = 0;
  std::string acquire_time;
  std::string renew_time;

  // Whether it has changed; the stamps are compared as texts only.
  bool same(const Record& other) const {
    return holder == other.holder && duration_s == other.duration_s && transitions == other.transitions &&
           acquire_time == other.acquire_time && renew_time == other.renew_time;
  }
};

std::optional<Record> parse_lease(std::string_view body) {
  simdjson::dom::parser parser;
  simdjson::dom::element root;
  simdjson::dom::element metadata;
  if (parser.parse(body.data(), body.size()).get(root) != simdjson::SUCCESS || !root.is_object() ||
      root["metadata"].get(metadata) != simdjson::SUCCESS) {
    return std::nullopt;
  }
  Record record;
  record.metadata = simdjson::minify(metadata);
  simdjson::dom::element spec;
  if (root["spec"].get(spec) != simdjson::SUCCESS || !spec.is_object()) return record;
  const auto text = [&](const char* key, std::string& into) {
    std::string_view value;
    if (spec[key].get(value) == simdjson::SUCCESS) into = value;
  };
  text("holderIdentity", record.holder);
  text("acquireTime", record.acquire_time);
  text("renewTime", record.renew_time);
  std::int64_t number = 0;
  if (spec["leaseDurationSeconds"].get(number) == simdjson::SUCCESS) {
    record.duration_s = std::clamp<std::int64_t>(number, 0, 86'400);
  }
  if (spec["leaseTransitions"].get(number) == simdjson::SUCCESS) record.transitions = number;
  return record;
}

}  // namespace

struct LeaderElector::Impl : std::enable_shared_from_this<LeaderElector::Impl> {
  Impl(Transport& t, LeaderOptions o, LeaderElector* e)
      : transport(t), options(std::move(o)), owner(e), random(options.seed) {}

  Transport& transport;
  const LeaderOptions options;
  LeaderElector* owner;  // nullptr once it is gone
  std::mutex problem_mutex;
  std::string problem;
  // All below: on the I/O thread only.
  Random random;
  std::optional<Record> record;  // as seen last
  Nanos observed_at = 0;         // when it last changed, by our clock
  bool leading = false;
  bool busy = false;  // a request is under way
  bool closing = false;
  IoLoop::TimerId expiry{};
  std::shared_ptr<std::promise<void>> released;

  void set_problem(std::string text) {
    const std::lock_guard lock(problem_mutex);
    problem = std::move(text);
  }

  std::string object_path() const { return kLeases.object(options.ns, options.name); }

  Nanos valid_until() const { return owner->valid_until_.load(std::memory_order_relaxed); }

  std::string lease_body(const std::string& metadata, const std::string& holder, std::int64_t duration_s,
                         const std::string& acquired, std::int64_t transitions) const {
    text::JsonWriter json;
    json.begin_object().field("apiVersion", "coordination.k8s.io/v1").field("kind", "Lease");
    json.key("metadata");
    if (metadata.empty()) {
      json.begin_object().field("name", options.name).field("namespace", options.ns).end_object();
    } else {
      json.raw(metadata);
    }
    json.key("spec").begin_object().field("holderIdentity", holder).field("leaseDurationSeconds", duration_s);
    json.field("acquireTime", acquired).field("renewTime", text::format_time_us(wall_us()));
    json.field("leaseTransitions", transitions).end_object().end_object();
    return json.take();
  }

  template <class Handle>
  void ask(Method method, std::string path, std::string body, DurationMs timeout, Handle handle) {
    Request request;
    request.method = method;
    request.path = std::move(path);
    request.body = std::move(body);
    request.timeout = timeout;
    request.max_response = 1 << 20;
    busy = true;
    transport.submit(std::move(request), [self = shared_from_this(), handle](Response&& response) {
      self->busy = false;
      if (self->closing) {
        // A write that was under way has changed the object: a renewal, or the one that took it.
        if (auto now = response.ok() ? parse_lease(response.body) : std::nullopt; now) {
          self->held = now->holder == self->options.identity;
          self->record = std::move(*now);
        }
        return self->release();
      }
      handle(std::move(response));
    });
  }

  DurationMs request_timeout() const { return std::max<DurationMs>(options.renew_deadline / 2, 1); }

  void next_try() {
    DurationMs wait = options.retry_period;
    if (!leading) wait += random.between(0, options.retry_period * 6 / 5);
    transport.loop().after(wait, [self = weak_from_this()] {
      if (const auto impl = self.lock(); impl != nullptr && !impl->closing) impl->attempt();
    });
  }

  // One round: renew our lease, or read its holder and take it if its time is over.
  void attempt() {
    if (leading && record.has_value()) return put(true);
    get();
  }

  void get() {
    ask(Method::kGet, object_path(), {}, request_timeout(), [this](Response&& response) {
      if (response.status == 404) return create();
      if (!response.ok()) return failed("GET", response);
      auto seen = parse_lease(response.body);
      if (!seen) return failed_with("GET " + object_path() + ": the answer is not a Lease");
      observe(std::move(*seen));
      const bool ours = record->holder == options.identity;
      if (leading && !ours) {  // taken: it is that holder's, and must not be renewed as if it were ours
        set_problem(fmt::format("{} took it", record->holder.empty() ? "another process" : record->holder));
        lose();
        return next_try();
      }
      const bool over = boottime_ns() >= observed_at + record->duration_s * 1000 * kNanosPerMs;
      if (!ours && !record->holder.empty() && !over) {
        set_problem({});
        return next_try();
      }
      put(false);
    });
  }

  void observe(Record seen) {
    const bool changed = !record.has_value() || !record->same(seen);
    const bool other = !record.has_value() || record->holder != seen.holder;
    record = std::move(seen);
    if (changed) observed_at = boottime_ns();
    if (other && record->holder != options.identity && options.observed) options.observed(record->holder);
  }

  void create() {
    const Nanos start = boottime_ns();
    const std::string now = text::format_time_us(wall_us());
    ask(Method::kPost, kLeases.collection(options.ns),
        lease_body({}, options.identity, options.lease_duration / kSecond, now, 0), request_timeout(),
        [this, start](Response&& response) { written("POST", start, std::move(response)); });
  }

  void put(bool renewing) {
    const Nanos start = boottime_ns();
    const bool keeps = record->holder == options.identity;
    const std::string acquired =
        keeps && !record->acquire_time.empty() ? record->acquire_time : text::format_time_us(wall_us());
    const std::int64_t transitions = record->transitions + (keeps ? 0 : 1);
    ask(Method::kPut, object_path(),
        lease_body(record->metadata, options.identity, options.lease_duration / kSecond, acquired,
                   transitions),
        request_timeout(), [this, start, renewing](Response&& response) {
          // Another client wrote the object: read it before anything else.
          if (renewing && response.status == 409) return get();
          written("PUT", start, std::move(response));
        });
  }

  void written(const char* what, Nanos start, Response&& response) {
    if (!response.ok()) return failed(what, response);
    auto seen = parse_lease(response.body);
    if (!seen) return failed_with(object_path() + ": the answer is not a Lease");
    observe(std::move(*seen));
    set_problem({});
    const Nanos until = start + options.renew_deadline * kNanosPerMs;
    // We may have been stopped for longer than our time: then that term is over, though the lease is ours again.
    if (leading && boottime_ns() >= valid_until()) lose();
    if (boottime_ns() < until) {
      if (leading) {
        owner->valid_until_.store(until, std::memory_order_release);
      } else {
        leading = true;
        const std::uint64_t term = owner->term_.load(std::memory_order_relaxed) + 1;
        owner->term_.store(term, std::memory_order_release);
        owner->valid_until_.store(until, std::memory_order_release);
        if (options.started) options.started(term);
      }
      watch_expiry();
    }
    next_try();
  }

  void watch_expiry() {
    transport.loop().cancel(expiry);
    const DurationMs left = (valid_until() - boottime_ns()) / kNanosPerMs + 1;
    expiry = transport.loop().after(left, [self = weak_from_this()] {
      const auto impl = self.lock();
      if (impl == nullptr || impl->closing || !impl->leading) return;
      if (boottime_ns() >= impl->valid_until()) return impl->lose();
      impl->watch_expiry();
    });
  }

  void lose() {
    leading = false;
    owner->valid_until_.store(0, std::memory_order_release);
    if (options.stopped) options.stopped(owner->term_.load(std::memory_order_relaxed));
  }

  void failed(const char* what, const Response& response) {
    failed_with(response_error(fmt::format("{} {}", what, object_path()), response).message);
  }
  void failed_with(std::string text) {
    set_problem(std::move(text));
    if (leading && boottime_ns() >= valid_until()) lose();
    next_try();
  }

  // --- the end -------------------------------------------------------------------------------------------

  void close(std::shared_ptr<std::promise<void>> done) {
    closing = true;
    released = std::move(done);
    transport.loop().cancel(expiry);
    held = leading && boottime_ns() < valid_until();
    if (leading) lose();
    if (!busy) release();
  }

  bool held = false;

  void release() {
    if (!held || !record.has_value()) return finish();
    held = false;
    Request request;
    request.method = Method::kPut;
    request.path = object_path();
    request.body = lease_body(record->metadata, "", 1, record->acquire_time, record->transitions);
    request.timeout = kReleaseTime;
    transport.submit(std::move(request), [self = shared_from_this()](Response&&) { self->finish(); });
  }

  void finish() {
    if (released != nullptr) std::exchange(released, nullptr)->set_value();
  }
};

std::string make_identity() {
  std::array<char, 256> name{};
  if (gethostname(name.data(), name.size() - 1) != 0) name[0] = '\0';
  std::random_device device;
  const auto part = [&] { return static_cast<std::uint32_t>(device()); };
  return fmt::format("{}_{:08x}{:08x}{:08x}", name[0] == '\0' ? "berth" : name.data(), part(), part(),
                     part());
}

Result<std::unique_ptr<LeaderElector>> LeaderElector::create(Transport& transport, LeaderOptions options) {
  if (options.identity.empty()) return fail(ErrorCode::kInvalid, "leader election needs an identity");
  if (options.lease_duration < kSecond || options.lease_duration % kSecond != 0) {
    return fail(ErrorCode::kInvalid,
                "leader election: the lease duration must be whole seconds, at least one");
  }
  if (options.lease_duration <= options.renew_deadline) {
    return fail(ErrorCode::kInvalid,
                "leader election: the lease duration ({} ms) must be longer than the renew deadline ({} ms)",
                options.lease_duration, options.renew_deadline);
  }
  if (options.retry_period < 1 || options.renew_deadline * 5 <= options.retry_period * 6) {
    return fail(
        ErrorCode::kInvalid,
        "leader election: the renew deadline ({} ms) must be longer than 1.2 times the retry period ({} ms)",
        options.renew_deadline, options.retry_period);
  }
  std::unique_ptr<LeaderElector> elector(new LeaderElector());
  elector->impl_ = std::make_shared<Impl>(transport, std::move(options), elector.get());
  transport.loop().post([impl = elector->impl_] {
    if (!impl->closing) impl->attempt();
  });
  return elector;
}

LeaderElector::~LeaderElector() {
  const auto done = std::make_shared<std::promise<void>>();
  auto future = done->get_future();
  impl_->transport.loop().run_sync([&] { impl_->close(done); });
  future.wait_for(std::chrono::milliseconds(kReleaseTime + kSecond / 2));
}

DurationMs LeaderElector::remaining() const {
  const Nanos left = valid_until_.load(std::memory_order_acquire) - boottime_ns();
  return left <= 0 ? 0 : left / kNanosPerMs;
}

std::string LeaderElector::last_problem() const {
  const std::lock_guard lock(impl_->problem_mutex);
  return impl_->problem;
}

}  // namespace berth::kube
