#include "scheduler/board/board.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <ctime>
#include <mutex>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "kube/clock.h"
#include "scheduler/board/assets.h"
#include "scheduler/board/snapshot.h"
#include "scheduler/board/views.h"
#include "scheduler/board/visitors.h"
#include "text/json.h"

namespace berth::scheduler {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::string_view kApi = "/api/v1/";
constexpr std::string_view kStories = "workloads/";
constexpr auto kFirstWait = std::chrono::seconds(2);
constexpr auto kHeartbeat = std::chrono::seconds(15);
constexpr int kShareOfTime = 20;
constexpr std::size_t kMostStorySlots = 500;
constexpr std::string_view kHeaders =
    "Content-Security-Policy: default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'\r\n"
    "Referrer-Policy: no-referrer\r\nX-Frame-Options: DENY\r\nCross-Origin-Opener-Policy: same-origin\r\n"
    "Cross-Origin-Resource-Policy: same-origin\r\nPermissions-Policy: camera=(), geolocation=(), "
    "microphone=()\r\n";

// Whether a Host line names this machine itself, with any port.
bool names_loopback(std::string_view host) {
  const bool six = host.starts_with('[');
  const auto end = six ? host.find(']') : host.find(':');
  std::string name(host.substr(six ? 1 : 0, end == std::string_view::npos ? end : end - (six ? 1 : 0)));
  return name == "localhost" || observe::is_loopback(name);
}

int status_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::kNotFound:
      return 404;
    case ErrorCode::kInvalid:
      return 400;
    case ErrorCode::kUnauthorized:
      return 401;
    default:
      return 503;
  }
}

observe::HttpResponse page(int status, std::string_view type, std::string body) {
  observe::HttpResponse out{status, std::string(type), std::move(body)};
  out.headers = kHeaders;
  if (status == 401) out.headers += "WWW-Authenticate: Bearer\r\n";
  return out;
}
observe::HttpResponse words(int status, std::string text) {
  return page(status, "text/plain; charset=utf-8", std::move(text) + "\n");
}
observe::HttpResponse answer_of(Result<std::string> json) {
  if (json) return page(200, "application/json", std::move(*json));
  return words(status_of(json.error().code), json.error().message);
}

// The CPU time of this thread.
Clock::duration cpu_time() {
  std::timespec time{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
}

std::set<std::string> namespaces_in(const Snapshot& snapshot) {
  std::set<std::string> out;
  std::string_view last;
  for (const BoardWorkload& row : snapshot.workloads) {
    const auto ns = namespace_of(row.facts->name);
    if (ns != last && !ns.empty()) out.emplace(ns);
    last = ns;
  }
  return out;
}

}  // namespace

struct Board::Impl {
  // A snapshot, and what is the same for all clients.
  struct Shown {
    std::shared_ptr<const Snapshot> snapshot;
    std::set<std::string> namespaces;
    std::string summary;  // for those that see all
  };

  Impl(kube::Transport& transport, const observe::Follower& follower_in, Chronicle& chronicle_in,
       BoardOptions options_in, Explain explain_in)
      : follower(follower_in),
        chronicle(chronicle_in),
        options(std::move(options_in)),
        explain(std::move(explain_in)),
        visitors(transport, [] { return kube::boottime_ms(); }) {}

  ~Impl() {
    server.reset();
    {
      const std::lock_guard lock(mutex);
      stopping = true;
    }
    changed.notify_all();
    if (thread.joinable()) thread.join();
  }

  // ------------------------------------------------------------------------------------------------ snapshots

  void run() {
    std::unique_lock lock(mutex);
    while (!stopping) {
      const bool wanted = Clock::now() - last_asked < options.asked_for;
      rests = !wanted;
      const auto before = shown;
      lock.unlock();
      if (tls != nullptr) look_at_files();
      const auto start = Clock::now();
      const auto cpu_before = cpu_time();
      std::shared_ptr<const Shown> next;
      std::string problem;
      if (wanted) next = look(before.get(), problem);
      const Clock::duration took = Clock::now() - start;
      const Clock::duration worked = cpu_time() - cpu_before;
      lock.lock();
      if (next != nullptr) shown = std::move(next);
      if (wanted) failed = std::move(problem);
      if (wanted) looked = start;
      changed.notify_all();
      // While it looks the follower stands still, so it rests as long at least, whatever it waited for.
      const auto pause = std::max<Clock::duration>({kEvery, took, worked * (kShareOfTime - 1)});
      // The first question after a pause need not wait.
      changed.wait_for(lock, pause, [&] { return stopping || (!wanted && asked_anew); });
      asked_anew = false;
    }
  }

  // nullptr: nothing has changed, or `problem` says why there is none.
  std::shared_ptr<const Shown> look(const Shown* before, std::string& problem) {
    const Snapshot* last = before == nullptr ? nullptr : before->snapshot.get();
    const TimeMs as_of = follower.as_of();
    auto taken = follower.ask([&](const engine::Engine& engine) -> std::shared_ptr<const Snapshot> {
      if (last != nullptr && last->engine_changes == engine.changes() && last->as_of == as_of) return nullptr;
      return take_snapshot(engine, chronicle, as_of, last);
    });
    if (!taken) {
      problem = taken.error().message;
      return nullptr;
    }
    if (*taken == nullptr) return nullptr;
    auto out = std::make_shared<Shown>();
    out->snapshot = std::move(*taken);
    out->namespaces = namespaces_in(*out->snapshot);
    note_minute(*out->snapshot);
    out->summary = Views(out->snapshot, chronicle, everything).summary();
    return out;
  }

  void note_minute(const Snapshot& snapshot) {
    std::int64_t used = 0, devices = 0, pending = 0, running = 0;
    std::set<std::string_view> resources;
    for (const auto& [name, node] : snapshot.nodes) {
      for (const auto& [resource, use] : node.devices) resources.insert(resource);
    }
    for (const auto resource : resources) {
      const auto sum = snapshot.sums.find(std::string(resource));
      if (sum == snapshot.sums.end()) continue;
      used += sum->second.used;
      devices += sum->second.capacity;
    }
    for (const BoardWorkload& row : snapshot.workloads) {
      pending += row.state == BoardState::kPending ? 1 : 0;
      running += row.state == BoardState::kRunning ? 1 : 0;
    }
    chronicle.look(snapshot.as_of, used, devices, pending, running);
  }

  void look_at_files() {
    const auto refreshed = tls->refresh();
    if (!refreshed) spdlog::error("the dashboard's former certificate stays: {}", refreshed.error().str());
  }

  // The latest; the first question, and the first after a pause, wait for one.
  Result<std::shared_ptr<const Shown>> current() {
    std::unique_lock lock(mutex);
    last_asked = Clock::now();
    const auto least = rests ? last_asked : Clock::time_point::min();
    asked_anew = true;
    changed.notify_all();
    changed.wait_for(lock, kFirstWait,
                     [&] { return (shown != nullptr && looked >= least) || !failed.empty() || stopping; });
    if (!failed.empty()) return fail(ErrorCode::kUnavailable, "{}", failed);
    if (shown == nullptr) return fail(ErrorCode::kUnavailable, "the state is being read; try again");
    return shown;
  }

  // -------------------------------------------------------------------------------------------------- answers

  Result<Sight> sight_of(std::string_view authorization, const Shown& now) {
    if (tls == nullptr) return everything;
    return visitors.sight_of(authorization, now.namespaces);
  }

  observe::HttpResponse answer(const observe::HttpRequest& request) {
    if (tls == nullptr && !names_loopback(request.host)) {
      return words(
          403,
          "without --dashboard-cert only loopback is served: ask for http://127.0.0.1 or http://localhost");
    }
    if (request.path.starts_with(kApi)) {
      return api(request.path.substr(kApi.size()), request);
    }
    for (const BoardAsset& asset : board_assets()) {
      if (asset.path == request.path) return page(200, asset.type, std::string(asset.body));
    }
    return words(404, "no such page; the dashboard is at /, its data at /api/v1/");
  }

  observe::HttpResponse api(const std::string& name, const observe::HttpRequest& request) {
    if (name == "about") {
      text::JsonWriter json;
      json.begin_object().field("api", 1).field("version", options.version);
      json.field("sign_in", tls != nullptr).end_object();
      return page(200, "application/json", json.take());
    }
    const auto now = current();
    if (!now) return answer_of(tl::unexpected(now.error()));
    const auto sight = sight_of(request.authorization, **now);
    if (!sight) return answer_of(tl::unexpected(sight.error()));
    if (name == "changes") return stream(std::string(request.authorization));
    const Views views((*now)->snapshot, chronicle, *sight);
    if (name == "summary") return answer_of(views.summary());
    if (name == "queues") return answer_of(views.queues(request.query));
    if (name == "workloads") return answer_of(views.workloads(request.query));
    if (name == "nodes") return answer_of(views.nodes(request.query));
    if (name == "decisions") return answer_of(views.decisions(request.query));
    if (name == "timeline") return answer_of(views.timeline(request.query));
    if (name.starts_with(kStories)) return answer_of(story(views, *sight, name.substr(kStories.size())));
    return words(404,
                 "no such page: about, summary, queues, workloads, workloads/UID, nodes, decisions, "
                 "timeline, changes");
  }

  // By uid, or namespace/name. Nothing is asked about work that is not to be seen.
  Result<std::string> story(const Views& views, const Sight& sight, const std::string& asked) {
    auto facts = chronicle.facts(asked);
    if (facts == nullptr && asked.find('/') != std::string::npos) facts = chronicle.named(asked);
    if (facts == nullptr || !sight.sees_name(facts->name)) return views.story(asked, {}, {});
    Verdict verdict{VerdictKind::kPlaced, {}};
    if (auto now = explain(facts->uid)) verdict = std::move(*now);
    std::vector<Views::StorySlot> slots;
    (void)follower.ask([&](const engine::Engine& engine) {
      for (std::int64_t set = 0; slots.size() < kMostStorySlots; ++set) {
        std::int64_t index = 0;
        for (; slots.size() < kMostStorySlots; ++index) {
          const auto slot = engine.slot(facts->uid, set, index);
          if (!slot) break;
          slots.push_back({set, index, slot->state,
                           sight.nodes || sight.sees_name(facts->name) ? std::string(slot->node) : ""});
        }
        if (index == 0) break;
      }
      return true;
    });
    return views.story(facts->uid, std::move(verdict), slots);
  }

  // --------------------------------------------------------------------------------------------------- stream

  // A summary when there is a new snapshot, and a sign of life when there is none for long.
  class Changes : public observe::HttpStream {
   public:
    Changes(Impl& board, std::string authorization)
        : board_(board), authorization_(std::move(authorization)) {
      ++board_.streams;
    }
    ~Changes() override { --board_.streams; }
    std::optional<std::string> next() override {
      const auto now = Clock::now();
      if (now < next_) return std::string();
      next_ = now + kEvery;
      const auto shown = board_.latest();
      if (shown != nullptr && shown->snapshot->revision != sent_) {
        sent_ = shown->snapshot->revision;
        said_ = now;
        return message(*shown);
      }
      if (now - said_ < kHeartbeat) return std::string();
      said_ = now;
      return ": alive\n\n";
    }

   private:
    std::optional<std::string> message(const Shown& shown) {
      const auto sight = board_.sight_of(authorization_, shown);
      if (!sight) return std::nullopt;  // the client asks again, and hears why
      const std::string data = sight->all && sight->nodes && sight->queues
                                   ? shown.summary
                                   : Views(shown.snapshot, board_.chronicle, *sight).summary();
      if (data.size() > kMostEventBytes) return std::nullopt;
      return fmt::format("data: {}\n\n", data);
    }

    Impl& board_;
    const std::string authorization_;
    std::uint64_t sent_ = 0;
    Clock::time_point next_{};
    Clock::time_point said_ = Clock::now();
  };

  std::shared_ptr<const Shown> latest() {
    const std::lock_guard lock(mutex);
    last_asked = Clock::now();
    return shown;
  }

  observe::HttpResponse stream(std::string authorization) {
    if (streams >= kMostStreams) return words(503, "too many dashboards are open; close one, or wait");
    auto out = page(200, "text/event-stream", "");
    out.stream = std::make_shared<Changes>(*this, std::move(authorization));
    return out;
  }

  const observe::Follower& follower;
  Chronicle& chronicle;
  const BoardOptions options;
  const Explain explain;
  const Sight everything{true, true, true, {}};
  Visitors visitors;
  std::shared_ptr<observe::ServerTls> tls;
  std::atomic<int> streams{0};

  std::mutex mutex;
  std::condition_variable changed;
  std::shared_ptr<const Shown> shown;
  std::string failed;
  Clock::time_point last_asked{};
  Clock::time_point looked{};  // when the last look began
  bool rests = true;           // nothing has been asked for long: no looks
  bool asked_anew = false;
  bool stopping = false;
  std::thread thread;
  std::optional<observe::HttpServer> server;
};

Result<std::unique_ptr<Board>> Board::start(kube::Transport& transport, const observe::Follower& follower,
                                            Chronicle& chronicle, BoardOptions options, Explain explain) {
  if (!options.tls && !observe::is_loopback(options.listen.address)) {
    return fail(
        ErrorCode::kInvalid,
        "--dashboard-address {}: it names workloads of all namespaces, so without --dashboard-cert and "
        "--dashboard-key it listens on loopback only (kubectl port-forward reaches it)",
        options.listen.address);
  }
  auto impl = std::make_unique<Impl>(transport, follower, chronicle, std::move(options), std::move(explain));
  observe::HttpOptions listen = impl->options.listen;
  if (impl->options.tls) {
    BERTH_ASSIGN(impl->tls, observe::ServerTls::load(*impl->options.tls));
    listen.tls = impl->tls;
  }
  listen.idle_time_out = std::chrono::seconds(30);
  listen.most_head_bytes = 32'768;  // tokens are long
  listen.time_out = std::chrono::seconds(15);
  observe::HttpRoutes routes;
  routes.under["/"] = [self = impl.get()](const observe::HttpRequest& request) {
    return self->answer(request);
  };
  impl->thread = std::thread([self = impl.get()] { self->run(); });
  BERTH_ASSIGN(impl->server, observe::HttpServer::start(listen, std::move(routes)));
  return std::unique_ptr<Board>(new Board(std::move(impl)));
}

Board::Board(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Board::~Board() = default;

std::uint16_t Board::port() const {
  return impl_->server->port();
}

}  // namespace berth::scheduler
