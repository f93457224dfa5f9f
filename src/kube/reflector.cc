#include "kube/reflector.h"

#include <algorithm>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <vector>

#include "base/random.h"
#include "kube/api_status.h"
#include "kube/known_objects.h"
#include "kube/object_reader.h"
#include "kube/paths.h"

namespace berth::kube {

namespace {

constexpr std::uint32_t kMaxPage = 50'000;
constexpr int kMaxStreamFailures = 3;

// Why a stream was ended by us, or what its end means.
enum class Next : std::uint8_t { kResume, kRelist, kPages };

}  // namespace

struct Reflector::Impl : std::enable_shared_from_this<Reflector::Impl> {
  Impl(Transport& t, ReflectorOptions o, ChangeSink s)
      : transport(t),
        options(std::move(o)),
        sink(std::move(s)),
        reader(options.max_line, static_cast<bool>(options.take_binary)),
        random(options.seed),
        page(options.page),
        pages_only(options.mode == ListMode::kPages),
        binary(options.binary) {}

  struct Stream final : StreamHandler {
    Stream(std::weak_ptr<Impl> i, std::uint64_t g) : impl(std::move(i)), generation(g) {}
    void on_begin(const Response& begun) override {
      const auto self = impl.lock();
      if (self != nullptr && self->generation == generation) self->reader.begin(begun.form);
    }
    Flow on_data(std::string_view bytes) override {
      const auto self = impl.lock();
      return self == nullptr || self->generation != generation ? Flow::kStop : self->on_data(bytes);
    }
    void on_end(const Response& end) override {
      const auto self = impl.lock();
      if (self != nullptr && self->generation == generation) self->on_end(end);
    }
    std::weak_ptr<Impl> impl;
    std::uint64_t generation;
  };

  Transport& transport;
  ReflectorOptions options;
  ChangeSink sink;
  ReflectorStats stats;
  std::mutex problem_mutex;
  std::string problem;
  // All below: on the I/O thread only.
  ObjectReader reader;
  Random random;
  KnownObjects known;
  std::string key;  // scratch
  std::string resource_version;
  std::uint32_t pass = 0;
  std::uint32_t page;
  std::uint32_t most_page = kMaxPage;
  bool pages_only;
  bool binary;              // asked for
  int stream_failures = 0;  // streaming lists that broke off, in a row
  std::uint32_t failures = 0;
  std::uint64_t generation = 0;  // of the stream; answers of older ones are ignored
  StreamId stream = 0;
  bool initial = false;   // in a streaming list, before its end
  bool progress = false;  // this watch has delivered something
  Nanos stream_start = 0;
  Next next = Next::kResume;
  bool closing = false;

  void set_problem(std::string text) {
    const std::lock_guard lock(problem_mutex);
    problem = std::move(text);
  }

  void later(DurationMs wait, void (Impl::*what)()) {
    transport.loop().after(wait, [self = weak_from_this(), what] {
      if (const auto impl = self.lock(); impl != nullptr && !impl->closing) (impl.get()->*what)();
    });
  }

  DurationMs backoff(DurationMs retry_after) {
    const DurationMs base = doubled(options.first_backoff, failures, options.max_backoff);
    ++failures;
    return std::max(random.between(base, base + base / 2), retry_after);
  }

  std::string query() const {
    std::string out;
    if (!options.field_selector.empty()) out += "&fieldSelector=" + escape(options.field_selector);
    if (!options.label_selector.empty()) out += "&labelSelector=" + escape(options.label_selector);
    return out;
  }

  Accept accept() const { return binary ? Accept::kBinary : Accept::kJson; }

  // --- lists ---------------------------------------------------------------------------------------------

  void list() {
    ++pass;
    if (pages_only) return list_page({});
    open_watch(true);
  }

  void list_page(const std::string& token) {
    Request request;
    request.path = options.path + "?limit=" + std::to_string(page) + query();
    if (!token.empty()) request.path += "&continue=" + escape(token);
    request.accept = accept();
    request.timeout = 2 * kMinute;
    request.max_response = options.max_page;
    transport.submit(std::move(request), [self = weak_from_this(), token](Response&& response) {
      if (const auto impl = self.lock(); impl != nullptr && !impl->closing)
        impl->on_page(std::move(response), token);
    });
  }

  void on_page(Response&& response, const std::string& token) {
    const bool again = !token.empty();
    if (!response.ok()) {
      if (response.status == 410) {
        stats.expired.fetch_add(1, std::memory_order_relaxed);
        // The snapshot went away between two pages: larger pages end sooner.
        if (again) page = std::min(page * 4, most_page);
      } else if (response.too_large && page > 1) {
        // The objects are large. Fewer at a time, from now on: a longer body would have to be held whole.
        page = std::max<std::uint32_t>(1, page / 8);
        most_page = page;
        return again ? list_page(token) : list();
      } else {
        stats.failures.fetch_add(1, std::memory_order_relaxed);
      }
      set_problem(response_error("LIST " + options.path, response).message);
      return later(backoff(response.retry_after), &Impl::list);
    }
    stats.last_contact_ms.store(boottime_ms(), std::memory_order_relaxed);
    stats.bytes.fetch_add(response.body.size(), std::memory_order_relaxed);
    const auto list_page_read =
        reader.page(response.form, response.body, [&](const ListItem& item) -> Status {
          BERTH_ASSIGN(const ObjectMeta meta, reader.item_meta(item));
          BERTH_TRY(upsert(meta, item.object, item.binary));
          return {};
        });
    if (!list_page_read) {
      stats.failures.fetch_add(1, std::memory_order_relaxed);
      if (response.form == Form::kBinary) binary = false;
      set_problem("LIST " + options.path + ": " + list_page_read.error().message);
      return later(backoff(0), &Impl::list);
    }
    if (!list_page_read->next.empty()) return list_page(list_page_read->next);
    resource_version = list_page_read->resource_version;
    list_complete();
    watch();
  }

  // Everything that this pass did not show is gone.
  void list_complete() {
    std::vector<KnownObjects::Number> gone;
    known.each([&](KnownObjects::Number at) {
      if (known.pass(at) != pass) gone.push_back(at);
    });
    std::sort(gone.begin(), gone.end(), [&](auto a, auto b) { return known.key(a) < known.key(b); });
    for (const KnownObjects::Number at : gone) {
      deliver_delete(at);
      known.erase(at);
      stats.lost_deletes.fetch_add(1, std::memory_order_relaxed);
    }
    reader.let_go();
    page = std::min(options.page, most_page);
    stream_failures = 0;
    stats.lists.fetch_add(1, std::memory_order_relaxed);
    stats.objects.store(known.size(), std::memory_order_relaxed);
    set_problem({});
    Change change;
    change.type = ChangeType::kSynced;
    change.resource_version = resource_version;
    sink(change);
    stats.synced.store(true, std::memory_order_release);
  }

  // --- changes -------------------------------------------------------------------------------------------

  void deliver_delete(KnownObjects::Number at) {
    const std::string_view name = known.key(at);
    const std::size_t slash = name.find('/');
    Change change;
    change.type = ChangeType::kDeleted;
    change.ns = name.substr(0, slash);
    change.name = name.substr(slash + 1);
    change.uid = known.uid(at);
    change.resource_version = known.version(at);
    sink(change);
  }

  void make_key(const ObjectMeta& meta) {
    key.assign(meta.ns);
    key += '/';
    key += meta.name;
  }

  Status upsert(const ObjectMeta& meta, std::string_view object, const BinaryObject& binary_object) {
    make_key(meta);
    KnownObjects::Number at = known.find(key);
    ChangeType type = ChangeType::kModified;
    if (at != KnownObjects::kNone && known.uid(at) != meta.uid) {
      // Deleted and made again while we were not looking.
      deliver_delete(at);
      stats.lost_deletes.fetch_add(1, std::memory_order_relaxed);
      known.erase(at);
      at = KnownObjects::kNone;
    }
    if (at == KnownObjects::kNone) {
      at = known.add(key, meta.uid);
      stats.objects.store(known.size(), std::memory_order_relaxed);
      type = ChangeType::kAdded;
    }
    known.set_pass(at, pass);
    if (type == ChangeType::kModified && known.version(at) == meta.resource_version) {
      stats.repeats.fetch_add(1, std::memory_order_relaxed);
      return {};
    }
    known.set_version(at, meta.resource_version);
    const Change change{type, meta.ns, meta.name, meta.uid, meta.resource_version, object};
    if (binary_object.bytes.data() == nullptr) {
      sink(change);
      return {};
    }
    auto taken = options.take_binary(change, binary_object);
    if (taken) return {};
    // It comes again, in JSON.
    if (type == ChangeType::kAdded) {
      known.erase(at);
    } else {
      known.set_version(at, {});
    }
    return taken;
  }

  void remove(const ObjectMeta& meta, std::string_view object) {
    make_key(meta);
    const KnownObjects::Number at = known.find(key);
    if (at == KnownObjects::kNone || known.uid(at) != meta.uid) {
      stats.repeats.fetch_add(1, std::memory_order_relaxed);
      return;
    }
    known.erase(at);
    stats.objects.store(known.size(), std::memory_order_relaxed);
    sink({ChangeType::kDeleted, meta.ns, meta.name, meta.uid, meta.resource_version, object});
  }

  // --- watches -------------------------------------------------------------------------------------------

  void watch() { open_watch(false); }

  void open_watch(bool streaming_list) {
    const std::int64_t least = std::max<std::int64_t>(options.watch_timeout_min / kSecond, 1);
    const std::int64_t seconds = random.between(least, 2 * least);
    Request request;
    request.path =
        options.path + "?watch=1&allowWatchBookmarks=true&timeoutSeconds=" + std::to_string(seconds);
    if (streaming_list) {
      request.path += "&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&resourceVersion=";
    } else {
      request.path += "&resourceVersion=" + escape(resource_version);
    }
    request.path += query();
    request.accept = accept();
    request.timeout = (seconds + 30) * kSecond;
    initial = streaming_list;
    progress = false;
    next = Next::kResume;
    reader.begin(Form::kJson);
    ++generation;
    stream_start = boottime_ns();
    stats.watches.fetch_add(1, std::memory_order_relaxed);
    stream =
        transport.open_stream(std::move(request), std::make_shared<Stream>(weak_from_this(), generation));
    if (initial) watch_silence(generation, stream_start);
  }

  // A server that does not know streaming lists may take the request for an ordinary watch: it then never says where
  // the list ends.
  void watch_silence(std::uint64_t of, Nanos seen) {
    transport.loop().after(options.initial_silence, [self = weak_from_this(), of, seen] {
      const auto impl = self.lock();
      if (impl == nullptr || impl->closing || impl->generation != of || !impl->initial) return;
      const Nanos contact = std::max(
          impl->stream_start, impl->stats.last_contact_ms.load(std::memory_order_relaxed) * kNanosPerMs);
      if (contact > seen) return impl->watch_silence(of, contact);
      impl->next = Next::kPages;
      impl->transport.close_stream(impl->stream);
    });
  }

  Flow on_data(std::string_view bytes) {
    if (closing) return Flow::kStop;
    if (options.ready && !options.ready()) return Flow::kPause;
    stats.bytes.fetch_add(bytes.size(), std::memory_order_relaxed);
    stats.last_contact_ms.store(boottime_ms(), std::memory_order_relaxed);
    bool go_on = true;
    const bool fits = reader.feed(bytes, [&](std::string_view event) {
      go_on = on_event(event);
      reader.let_go();
      return go_on;
    });
    if (!fits) {
      stats.failures.fetch_add(1, std::memory_order_relaxed);
      set_problem(fmt::format("WATCH {}: an event is longer than {} bytes", options.path, options.max_line));
      next = Next::kPages;
    }
    return fits && go_on ? Flow::kMore : Flow::kStop;
  }

  // False ends the stream; `next` says what follows.
  bool on_event(std::string_view bytes) {
    stats.events.fetch_add(1, std::memory_order_relaxed);
    const auto event = reader.event(bytes);
    if (!event) return broken(event.error().message);
    if (event->type == WatchType::kError) return on_error_event(event->object);
    const ObjectMeta& meta = event->meta;
    if (!initial && !progress) {
      progress = true;
      failures = 0;
      set_problem({});
    }
    switch (event->type) {
      case WatchType::kAdded:
      case WatchType::kModified:
        if (const auto taken = upsert(meta, event->object, event->binary); !taken)
          return broken(taken.error().message);
        break;
      case WatchType::kDeleted:
        remove(meta, event->object);
        break;
      case WatchType::kBookmark: {
        stats.bookmarks.fetch_add(1, std::memory_order_relaxed);
        resource_version.assign(meta.resource_version);
        if (!initial) return true;
        if (!WatchJson::ends_initial_events(event->object)) {
          next = Next::kPages;  // an ordinary watch: the server does not know streaming lists
          return false;
        }
        initial = false;
        list_complete();
        return true;
      }
      case WatchType::kError:
        break;
    }
    // Until a streaming list is complete there is no version to resume at.
    if (!initial) resource_version.assign(meta.resource_version);
    return true;
  }

  bool broken(const std::string& message) {
    stats.failures.fetch_add(1, std::memory_order_relaxed);
    if (reader.form() == Form::kBinary) binary = false;
    set_problem("WATCH " + options.path + ": " + message);
    next = Next::kRelist;
    return false;
  }

  bool on_error_event(std::string_view object) {
    ApiStatus status;
    if (!parse_api_status(object, status)) return broken("an ERROR event without a Status");
    set_problem(fmt::format("WATCH {}: {} {}", options.path, status.code, status.message));
    if (status.code == 410) {
      stats.expired.fetch_add(1, std::memory_order_relaxed);
      next = Next::kRelist;
    } else {
      stats.failures.fetch_add(1, std::memory_order_relaxed);
      progress = false;  // back off
      next = Next::kResume;
    }
    return false;
  }

  void on_end(const Response& end) {
    if (closing) return;
    ++generation;
    const bool healthy = boottime_ns() - stream_start >= options.healthy_after * kNanosPerMs;
    if (healthy) failures = 0;
    if (end.status != 0 && !end.ok()) return on_refused(end);
    const bool was_initial = std::exchange(initial, false);
    if (next == Next::kPages) {
      pages_only = true;
      return list();
    }
    if (was_initial) {
      stats.failures.fetch_add(1, std::memory_order_relaxed);
      if (next == Next::kResume) {
        set_problem("WATCH " + options.path + ": the initial events broke off: " + end.error);
      }
      if (end.sent && ++stream_failures >= kMaxStreamFailures) pages_only = true;
      return later(backoff(0), &Impl::list);
    }
    if (next == Next::kRelist) {
      // At once the first time: what was missed waits.
      if (failures == 0) {
        ++failures;
        return list();
      }
      return later(backoff(0), &Impl::list);
    }
    if (progress || healthy) return watch();
    if (!end.error.empty() && end.error != "stopped by the reader") {
      stats.failures.fetch_add(1, std::memory_order_relaxed);
      set_problem("WATCH " + options.path + ": " + end.error);
    }
    later(backoff(0), &Impl::watch);
  }

  // An HTTP status other than 2xx.
  void on_refused(const Response& end) {
    const bool was_initial = std::exchange(initial, false);
    ApiStatus status;
    static_cast<void>(parse_api_status(end.body, status));
    set_problem(response_error("WATCH " + options.path, end).message);
    if (end.status == 410) {
      stats.expired.fetch_add(1, std::memory_order_relaxed);
      if (failures == 0) {
        ++failures;
        return list();
      }
      return later(backoff(0), &Impl::list);
    }
    stats.failures.fetch_add(1, std::memory_order_relaxed);
    const DurationMs wait = std::max(end.retry_after, status.retry_after);
    if (was_initial) {
      // 400 and 422: "sendInitialEvents is forbidden"; 405, 415: an API that has lists only.
      if (end.status == 400 || end.status == 422 || end.status == 405 || end.status == 415) {
        pages_only = true;
        return list();
      }
      return later(backoff(wait), &Impl::list);
    }
    const bool from_the_future = status.cause == "ResourceVersionTooLarge" || end.status == 400;
    later(backoff(wait), from_the_future ? &Impl::list : &Impl::watch);
  }

  void close() {
    closing = true;
    ++generation;
    if (stream != 0) transport.close_stream(stream);
  }
};

Reflector::Reflector(Transport& transport, ReflectorOptions options, ChangeSink sink)
    : impl_(std::make_shared<Impl>(transport, std::move(options), std::move(sink))) {
  transport.loop().post([impl = impl_] {
    if (!impl->closing) impl->list();
  });
}

Reflector::~Reflector() {
  impl_->transport.loop().run_sync([this] { impl_->close(); });
}

const ReflectorStats& Reflector::stats() const {
  return impl_->stats;
}

std::string Reflector::last_problem() const {
  const std::lock_guard lock(impl_->problem_mutex);
  return impl_->problem;
}

}  // namespace berth::kube
