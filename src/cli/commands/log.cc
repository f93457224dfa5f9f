#include "cli/commands/log.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <ctime>
#include <iostream>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <utility>

#include "cli/base/daemon.h"
#include "cli/base/show.h"
#include "cli/commands/shown.h"
#include "kube/clock.h"
#include "kube/paths.h"
#include "kube/reflector.h"
#include "text/json.h"
#include "text/time.h"

namespace berth::cli {
namespace {

// Several schedulers' events cannot be named in one selector: then all are read, and the others left out.
std::string selector_of(const LogOptions& options) {
  const bool own = options.scheduler_names == std::vector<std::string>{"berth"};
  std::string out = own ? "reportingController=berth" : "";
  if (options.reasons.size() == 1)
    out += fmt::format("{}reason={}", out.empty() ? "" : ",", options.reasons.front());
  return out;
}

bool is_wanted(const EventLine& event, const LogOptions& options) {
  const auto is = [&](const std::string& reason) { return reason == event.reason; };
  return is_decision(event, options.scheduler_names) &&
         (options.reasons.empty() || std::any_of(options.reasons.begin(), options.reasons.end(), is));
}

// Wanted events on their way from the watch. Beyond the bound the watch is held back until they are taken.
class Arrivals {
 public:
  static constexpr std::size_t kMost = 2'000;
  explicit Arrivals(const LogOptions& options) : options_(options) {}
  void push(const kube::Change& change) {
    if (change.type != kube::ChangeType::kAdded && change.type != kube::ChangeType::kModified) return;
    auto event = event_of(change.object);
    if (!event || !is_wanted(*event, options_)) return;
    const std::lock_guard lock(mutex_);
    all_.push_back(std::move(*event));
  }
  bool has_room() const {
    const std::lock_guard lock(mutex_);
    return all_.size() < kMost;
  }
  std::vector<EventLine> take() {
    const std::lock_guard lock(mutex_);
    return std::exchange(all_, {});
  }

 private:
  const LogOptions& options_;
  mutable std::mutex mutex_;
  std::vector<EventLine> all_;
};

// Until a signal comes. The watch lists first: what has happened comes with it.
void follow_events(const LogOptions& options, const Cluster& cluster, std::ostream& out, std::ostream& err) {
  const sigset_t signals = block_end_signals();
  Arrivals arrivals(options);
  Contact contact(err);
  kube::ReflectorOptions watch;
  watch.path = kube::kEvents.collection(cluster.ns);
  watch.field_selector = selector_of(options);
  watch.ready = [&arrivals] { return arrivals.has_room(); };
  kube::Reflector reflector(*cluster.transport, std::move(watch),
                            [&arrivals](const kube::Change& change) { arrivals.push(change); });
  std::vector<EventLine> events;  // of a list that is not complete they wait, for the order of their times
  constexpr std::timespec kPause{.tv_sec = 0, .tv_nsec = 300'000'000};
  while (::sigtimedwait(&signals, nullptr, &kPause) < 0) {
    if (errno != EAGAIN) continue;
    contact.look(reflector.last_problem());
    const bool complete = reflector.stats().synced;
    auto more = arrivals.take();
    std::move(more.begin(), more.end(), std::back_inserter(events));
    if (!complete || events.empty()) continue;
    for (const EventLine& event : decisions_of(std::exchange(events, {}), options, kube::wall_us() / 1000))
      out << line_of(event, options.json);
    out << std::flush;
  }
}

Status print_log(const LogOptions& options, const Cluster& cluster, std::ostream& out, std::ostream& err) {
  std::vector<EventLine> events;
  const auto list = [&]() -> Status {
    // A right that is missing is an error here, and not a watch that tries for ever.
    if (options.follow) return may_list_events(*cluster.transport, cluster.ns);
    return each_event(*cluster.transport, cluster.ns, selector_of(options),
                      [&](EventLine event) { events.push_back(std::move(event)); });
  };
  const auto status = list();
  if (!status) {
    if (status.error().code != ErrorCode::kUnauthorized) return status;
    return fail(ErrorCode::kUnauthorized, "{} refuses {}: {}", cluster.config.server,
                lacks_right("list", "events", "events.k8s.io", cluster.ns), role_for(cluster.ns));
  }
  if (options.follow) {
    follow_events(options, cluster, out, err);
    return {};
  }
  for (const EventLine& event : decisions_of(std::move(events), options, kube::wall_us() / 1000))
    out << line_of(event, options.json);
  return {};
}

}  // namespace

std::vector<EventLine> decisions_of(std::vector<EventLine> events, const LogOptions& options, TimeMs now) {
  std::erase_if(events, [&](const EventLine& event) {
    return !is_wanted(event, options) || event.at < now - options.since;
  });
  std::stable_sort(events.begin(), events.end(), [](const auto& a, const auto& b) { return a.at < b.at; });
  return events;
}

std::string line_of(const EventLine& event, bool json) {
  if (json) {
    text::JsonWriter out;
    out.begin_object().field("time", text::format_time_ms(event.at)).field("reason", event.reason);
    out.field("namespace", event.ns).field("kind", event.kind).field("name", event.name);
    out.field("text", event.note).field("count", event.count).end_object();
    return out.take() + "\n";
  }
  return fmt::format("{}  {:<16}  {}: {}\n", text::format_time_seconds(event.at), event.reason,
                     printable(event.about()), printable(event.note));
}

int run_log(const LogOptions& options, std::ostream& out, std::ostream& err) {
  if (options.follow) (void)block_end_signals();  // before there are threads
  const auto cluster = connect(options.cluster);
  if (options.follow) unblock_end_signals();  // until it follows
  const auto status =
      cluster ? print_log(options, *cluster, out, err) : Status(tl::unexpected<Error>(cluster.error()));
  if (status) return 0;
  err << "berth log: " << status.error().str() << "\n";
  return 1;
}

void register_log(CLI::App& app, int& exit_code) {
  const auto o = std::make_shared<LogOptions>();
  const auto since = std::make_shared<std::string>("1h");
  const auto format = std::make_shared<std::string>("text");
  const auto once = std::make_shared<bool>(false);
  CLI::App* command = app.add_subcommand("log", "Decisions as they happen: starts, evictions, waiting work");
  add_cluster_flags(*command, o->cluster, Scope::kNamespaces);
  command
      ->add_option("--reason", o->reasons,
                   "Only these: Scheduled, FailedScheduling, Preempted, Waiting, Released, Withdrawn, "
                   "OwnerNotRead, AuditDifference; may be repeated")
      ->type_size(1)
      ->allow_extra_args(false)
      ->check(CLI::IsMember({"Scheduled", "FailedScheduling", "Preempted", "Waiting", "Released", "Withdrawn",
                             "OwnerNotRead", "AuditDifference"}));
  command
      ->add_option("--since", *since, "How far back to begin: 10m, 1h; API servers keep events for an hour")
      ->capture_default_str();
  command->add_flag("--no-follow", *once, "End after what has happened");
  command->add_option("-o,--output", *format, "text, or json: one object a line")
      ->check(CLI::IsMember({"text", "json"}))
      ->capture_default_str();
  command->add_option("--scheduler-name", o->scheduler_names, "The schedulerName of Berth's pods")
      ->type_size(1)
      ->allow_extra_args(false)
      ->capture_default_str();
  command->footer(
      "Examples:\n  berth log -A                                     # follow the whole cluster\n"
      "  berth log -A --reason Preempted --no-follow      # the evictions of the last hour\n"
      "  berth log -n team-a --since 10m\n\n"
      "It reads events, which the role view shows. Berth writes them at a bounded rate: in a long run of\n"
      "starts some are missing. Every decision is in the decision log (berth scheduler --decision-log).");
  command->callback([o, since, format, once, &exit_code] {
    const auto back = text::parse_duration_ms(*since);
    if (!back || *back <= 0) {
      std::cerr << "berth log: --since \"" << *since << "\": write a duration such as 10m or 1h\n";
      exit_code = 2;
      return;
    }
    o->since = *back;
    o->follow = !*once;
    o->json = *format == "json";
    exit_code = run_log(*o, std::cout, std::cerr);
  });
}

}  // namespace berth::cli
