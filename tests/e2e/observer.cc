#include "e2e/observer.h"

#include <fmt/format.h>
#include <simdjson.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <set>

namespace berth::e2e {
namespace {

namespace dom = simdjson::dom;

std::string text(const dom::element& object, const char* pointer) {
  std::string_view value;
  return object.at_pointer(pointer).get(value) == simdjson::SUCCESS ? std::string(value) : std::string();
}

bool has(const dom::element& object, const char* pointer) {
  dom::element value;
  return object.at_pointer(pointer).get(value) == simdjson::SUCCESS;
}

template <class Each>
void each_item(const dom::element& object, const char* pointer, Each each) {
  dom::array array;
  if (object.at_pointer(pointer).get(array) == simdjson::SUCCESS) {
    for (const dom::element item : array) {
      each(item);
    }
  }
}

template <class Each>
void each_field(const dom::element& object, const char* pointer, Each each) {
  dom::object fields;
  if (object.at_pointer(pointer).get(fields) == simdjson::SUCCESS) {
    for (const auto field : fields) {
      each(std::string(field.key), field.value);
    }
  }
}

std::uint64_t version_of(const dom::element& object) {
  return std::strtoull(text(object, "/metadata/resourceVersion").c_str(), nullptr, 10);
}

std::map<std::string, std::string> strings(const dom::element& object, const char* pointer) {
  std::map<std::string, std::string> out;
  each_field(object, pointer, [&](const std::string& key, const dom::element& value) {
    std::string_view content;
    if (value.get(content) == simdjson::SUCCESS) {
      out[key] = content;
    }
  });
  return out;
}

Amounts amounts(const dom::element& object, const char* pointer) {
  Amounts out;
  for (const auto& [name, value] : strings(object, pointer)) {
    out[name] = amount_in_milli(value).value_or(0);
  }
  return out;
}

void add(Amounts& to, const Amounts& more, std::int64_t times = 1) {
  for (const auto& [name, amount] : more) {
    to[name] += times * amount;
  }
}

void raise(Amounts& to, const Amounts& least) {
  for (const auto& [name, amount] : least) {
    to[name] = std::max(to[name], amount);
  }
}

// The kubelet's reservation: the larger of the containers together (with the sidecars) and each init container with the sidecars
// started before it; then the overhead; pod-level requests replace the sum of what they name.
Amounts requests_of(const dom::element& pod) {
  Amounts total;
  each_item(pod, "/spec/containers",
            [&](const dom::element& c) { add(total, amounts(c, "/resources/requests")); });
  Amounts sidecars;
  Amounts highest_init;
  each_item(pod, "/spec/initContainers", [&](const dom::element& c) {
    const Amounts own = amounts(c, "/resources/requests");
    if (text(c, "/restartPolicy") == "Always") {
      add(sidecars, own);
      raise(highest_init, sidecars);
    } else {
      Amounts together = sidecars;
      add(together, own);
      raise(highest_init, together);
    }
  });
  add(total, sidecars);
  raise(total, highest_init);
  for (const auto& [name, amount] : amounts(pod, "/spec/resources/requests")) {
    total[name] = amount;
  }
  add(total, amounts(pod, "/spec/overhead"));
  total["pods"] = 1000;
  return total;
}

SeenTerm term_of(const dom::element& term) {
  SeenTerm out;
  for (const bool field : {false, true}) {
    each_item(term, field ? "/matchFields" : "/matchExpressions", [&](const dom::element& e) {
      SeenExpression expression{text(e, "/key"), text(e, "/operator"), {}, field};
      each_item(e, "/values", [&](const dom::element& value) {
        std::string_view content;
        if (value.get(content) == simdjson::SUCCESS) {
          expression.values.emplace_back(content);
        }
      });
      out.push_back(std::move(expression));
    });
  }
  return out;
}

std::shared_ptr<const SeenPod::Spec> spec_of(const dom::element& pod) {
  auto spec = std::make_shared<SeenPod::Spec>();
  spec->requests = requests_of(pod);
  spec->labels = strings(pod, "/metadata/labels");
  for (const auto& [key, value] : strings(pod, "/spec/nodeSelector")) {
    spec->selector.emplace_back(key, value);
  }
  constexpr const char* kRequired =
      "/spec/affinity/nodeAffinity/requiredDuringSchedulingIgnoredDuringExecution";
  spec->has_affinity = has(pod, kRequired);
  if (spec->has_affinity) {
    each_item(pod,
              "/spec/affinity/nodeAffinity/requiredDuringSchedulingIgnoredDuringExecution/nodeSelectorTerms",
              [&](const dom::element& term) { spec->affinity.push_back(term_of(term)); });
  }
  each_item(pod, "/spec/tolerations", [&](const dom::element& t) {
    spec->tolerations.push_back({text(t, "/key"), text(t, "/value"), text(t, "/effect")});
    spec->toleration_exists.push_back(text(t, "/operator") == "Exists");
  });
  return spec;
}

}  // namespace

Result<std::int64_t> amount_in_milli(std::string_view quantity) {
  const auto bad = [&] { return fail(ErrorCode::kInvalid, "'{}' is not a quantity", quantity); };
  std::size_t end = 0;
  while (end < quantity.size() && (std::isdigit(static_cast<unsigned char>(quantity[end])) != 0 ||
                                   quantity[end] == '.' || quantity[end] == '-' || quantity[end] == '+')) {
    ++end;
  }
  std::string_view suffix = quantity.substr(end);
  long double scale = 1000;
  if (suffix.size() > 1 && (suffix[0] == 'e' || suffix[0] == 'E') && suffix != "Ei") {
    int exponent = 0;
    const char* from = suffix.data() + (suffix[1] == '+' ? 2 : 1);
    if (std::from_chars(from, suffix.data() + suffix.size(), exponent).ptr != suffix.data() + suffix.size()) {
      return bad();
    }
    scale *= std::pow(10.0L, exponent);
  } else if (!suffix.empty()) {
    static const std::map<std::string_view, long double> kScales = {{"n", 1e-6L},
                                                                    {"u", 1e-3L},
                                                                    {"m", 1.0L},
                                                                    {"k", 1e6L},
                                                                    {"M", 1e9L},
                                                                    {"G", 1e12L},
                                                                    {"T", 1e15L},
                                                                    {"P", 1e18L},
                                                                    {"Ki", 1024e3L},
                                                                    {"Mi", 1048576e3L},
                                                                    {"Gi", 1073741824e3L},
                                                                    {"Ti", 1099511627776e3L},
                                                                    {"Pi", 1125899906842624e3L}};
    const auto found = kScales.find(suffix);
    if (found == kScales.end()) {
      return bad();
    }
    scale = found->second;
  }
  const std::string number(quantity.substr(0, end));
  char* rest = nullptr;
  const long double value = std::strtold(number.c_str(), &rest);
  if (number.empty() || rest != number.c_str() + number.size() || std::fabs(value * scale) > 9e18L) {
    return bad();
  }
  return static_cast<std::int64_t>(std::ceil(value * scale - 1e-9L));
}

struct ObserverOfPods::Stream {
  bool pods = false;
  std::string path;
  std::string version;  // to resume from
  bool expired = false;
  std::optional<std::uint64_t> at;  // recorded instead of the object's resourceVersion
  simdjson::dom::parser parser;
  std::map<std::string, std::uint64_t> known;  // key to version, of the objects that exist
  std::map<std::string, std::shared_ptr<const SeenPod::Spec>> specs;
  std::thread thread;
};

ObserverOfPods::ObserverOfPods(Endpoint endpoint) : endpoint_(std::move(endpoint)) {}

ObserverOfPods::~ObserverOfPods() {
  stop();
}

void ObserverOfPods::add_gang_label(const std::string& key, std::int64_t least) {
  gang_labels_.emplace_back(key, least);
}

Status ObserverOfPods::start() {
  for (const bool pods : {false, true}) {
    auto& stream = pods ? pod_stream_ : node_stream_;
    stream = std::make_unique<Stream>();
    stream->pods = pods;
    stream->path = pods ? "/api/v1/pods" : "/api/v1/nodes";
    ApiClient api(endpoint_);
    BERTH_TRY(list(api, *stream, false));
  }
  for (auto* stream : {node_stream_.get(), pod_stream_.get()}) {
    stream->thread = std::thread([this, stream] { run(*stream); });
  }
  return {};
}

void ObserverOfPods::stop() {
  stop_ = true;
  for (auto* stream : {node_stream_.get(), pod_stream_.get()}) {
    if (stream != nullptr && stream->thread.joinable()) {
      stream->thread.join();
    }
  }
}

std::pair<std::string, std::int64_t> ObserverOfPods::gang_of(
    const std::string& ns, const std::map<std::string, std::string>& labels) const {
  if (const auto name = labels.find("berth.dev/gang"); name != labels.end()) {
    const auto size = labels.find("berth.dev/gang-size");
    return {ns + "/" + name->second,
            size == labels.end() ? 0 : std::strtoll(size->second.c_str(), nullptr, 10)};
  }
  for (const auto& [key, least] : gang_labels_) {
    if (const auto name = labels.find(key); name != labels.end()) {
      return {ns + "/" + name->second, least};
    }
  }
  return {};
}

// Lists everything. `again`: after events were lost; what has vanished meanwhile is recorded as deleted.
Status ObserverOfPods::list(ApiClient& api, Stream& stream, bool again) {
  const auto reply = api.get(stream.path);
  BERTH_TRY(expect_ok(reply, "GET " + stream.path));
  simdjson::dom::parser parser;
  dom::element document;
  if (parser.parse(reply.body).get(document) != simdjson::SUCCESS) {
    return fail(ErrorCode::kInvalid, "GET {}: not JSON", stream.path);
  }
  // A node may have changed after pods were bound to it; what the list shows of nodes comes before what it shows of pods.
  if (!stream.pods) {
    stream.at = again ? std::strtoull(stream.version.c_str(), nullptr, 10) : 0;
  }
  auto before = std::move(stream.known);
  stream.known.clear();
  std::size_t differences = 0;
  each_item(document, "/items", [&](const dom::element& item) {
    const std::string line = fmt::format(R"({{"type":"ADDED","object":{}}})", simdjson::minify(item));
    const auto known = before.find(text(item, "/metadata/namespace") + "/" + text(item, "/metadata/name"));
    if (known == before.end() || known->second != version_of(item)) {
      ++differences;
      on_line(stream, line);
    } else {
      stream.known.insert(*known);
    }
    if (known != before.end()) {
      before.erase(known);
    }
  });
  stream.at.reset();
  stream.version = text(document, "/metadata/resourceVersion");
  if (again) {
    const std::lock_guard lock(mutex_);
    gaps_ += differences + before.size() > 0 ? 1 : 0;
    const auto version = std::strtoull(stream.version.c_str(), nullptr, 10);
    for (const auto& [key, unused] : before) {
      Event event{version, true, nullptr, nullptr};
      if (stream.pods) {
        event.pod = pods_[key];
        pods_.erase(key);
      } else {
        auto node = std::make_shared<SeenNode>();
        node->name = key.substr(1);
        event.node = node;
      }
      events_.push_back(std::move(event));
    }
  }
  return {};
}

void ObserverOfPods::run(Stream& stream) {
  ApiClient api(endpoint_);
  while (!stop_) {
    stream.expired = false;
    const auto path =
        fmt::format("{}?watch=1&allowWatchBookmarks=true&timeoutSeconds=3600&resourceVersion={}", stream.path,
                    stream.version);
    const auto reply = api.stream(
        path,
        [&](std::string_view line) {
          on_line(stream, line);
          return !stream.expired;
        },
        stop_);
    if (!stop_ && (stream.expired || reply.status == 410)) {
      if (!list(api, stream, true)) {
        std::this_thread::sleep_for(std::chrono::milliseconds(100));
      }
    } else if (!stop_ && reply.status != 200) {
      std::this_thread::sleep_for(std::chrono::milliseconds(100));  // the API server is down
    }
  }
}

void ObserverOfPods::on_line(Stream& stream, std::string_view line) {
  dom::element event;
  if (stream.parser.parse(line.data(), line.size(), true).get(event) != simdjson::SUCCESS) {
    const std::lock_guard lock(mutex_);
    problem_ = "a line of a watch is not JSON: " + std::string(line.substr(0, 200));
    return;
  }
  dom::element object;
  if (event["object"].get(object) != simdjson::SUCCESS) {
    return;
  }
  const std::string type = text(event, "/type");
  if (type == "ERROR") {
    stream.expired = true;
    return;
  }
  stream.version = text(object, "/metadata/resourceVersion");
  if (type == "BOOKMARK") {
    return;
  }
  const bool deleted = type == "DELETED";
  const std::string ns = text(object, "/metadata/namespace");
  const std::string name = text(object, "/metadata/name");
  const std::string key = ns + "/" + name;
  Event seen{stream.at.value_or(version_of(object)), deleted, nullptr, nullptr};
  if (deleted) {
    stream.known.erase(key);
  } else {
    stream.known[key] = version_of(object);
  }
  if (stream.pods) {
    auto pod = std::make_shared<SeenPod>();
    pod->key = key;
    pod->uid = text(object, "/metadata/uid");
    pod->node = text(object, "/spec/nodeName");
    pod->phase = text(object, "/status/phase");
    pod->scheduler = text(object, "/spec/schedulerName");
    pod->deleting = has(object, "/metadata/deletionTimestamp");
    each_item(object, "/status/conditions", [&](const dom::element& condition) {
      const std::string kind = text(condition, "/type");
      if (kind == "DisruptionTarget" && text(condition, "/status") == "True") {
        pod->disruption_target = true;
      } else if (kind == "PodScheduled" && text(condition, "/status") == "False") {
        pod->scheduled_reason = text(condition, "/reason");
        pod->scheduled_message = text(condition, "/message");
      }
    });
    // Selector, tolerations and requests may change while a pod waits (gates, resize): read again until it is
    // bound.
    auto& spec = stream.specs[pod->uid];
    const auto before = pods_.find(key);  // pods_ is only written by this stream's thread
    if (spec == nullptr || before == pods_.end() || before->second->node.empty()) {
      spec = spec_of(object);
    }
    pod->spec = spec;
    std::tie(pod->gang, pod->gang_size) = gang_of(ns, spec->labels);
    if (deleted) {
      stream.specs.erase(pod->uid);
    }
    if (on_pod_) {
      on_pod_(*pod, deleted);
    }
    seen.pod = std::move(pod);
  } else {
    auto node = std::make_shared<SeenNode>();
    node->name = name;
    node->allocatable = amounts(object, "/status/allocatable");
    node->labels = strings(object, "/metadata/labels");
    each_item(object, "/spec/taints", [&](const dom::element& taint) {
      node->taints.push_back({text(taint, "/key"), text(taint, "/value"), text(taint, "/effect")});
    });
    bool unschedulable = false;
    node->unschedulable =
        object.at_pointer("/spec/unschedulable").get(unschedulable) == simdjson::SUCCESS && unschedulable;
    seen.node = std::move(node);
  }
  record(std::move(seen));
}

void ObserverOfPods::record(Event event) {
  const std::lock_guard lock(mutex_);
  if (event.pod != nullptr) {
    auto& slot = pods_[event.pod->key];
    const auto change = [&](const SeenPod& pod, bool up) {
      const auto by = [up](std::size_t& counter, bool yes) {
        counter += yes ? (up ? 1 : std::size_t(-1)) : 0;
      };
      by(now_.pods, true);
      by(now_.bound, !pod.node.empty());
      by(now_.running, pod.phase == "Running");
      by(now_.terminal, pod.terminal());
    };
    const bool same = slot != nullptr && slot->uid == event.pod->uid;
    const bool was_bound = same && !slot->node.empty();
    if (slot != nullptr) {
      change(*slot, false);
    }
    if (!event.deleted) {
      change(*event.pod, true);
    }
    if (!event.pod->node.empty() && !was_bound) {
      ++now_.binds;
      now_.last_bind = Clock::now();
      if (now_.binds == 1) {
        now_.first_bind = now_.last_bind;
      }
      last_change_ = now_.last_bind;
    }
    if (event.deleted) {
      pods_.erase(event.pod->key);
      last_change_ = Clock::now();
    } else {
      slot = event.pod;
    }
  }
  events_.push_back(std::move(event));
  changed_.notify_all();
}

ObserverOfPods::Now ObserverOfPods::now() const {
  const std::lock_guard lock(mutex_);
  return now_;
}

bool ObserverOfPods::wait_until(const std::function<bool(const Now&)>& done,
                                std::chrono::milliseconds at_most) {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, at_most, [&] { return done(now_); });
}

bool ObserverOfPods::wait_quiet(std::chrono::milliseconds quiet, std::chrono::milliseconds at_most) {
  const auto end = Clock::now() + at_most;
  std::unique_lock lock(mutex_);
  last_change_ = std::max(last_change_, Clock::now() - quiet / 2);
  while (Clock::now() < end) {
    if (Clock::now() - last_change_ >= quiet) {
      return true;
    }
    changed_.wait_for(lock, std::chrono::milliseconds(20));
  }
  return false;
}

Status ObserverOfPods::catch_up(std::chrono::milliseconds at_most) {
  ApiClient api(endpoint_);
  const auto reply = api.get("/api/v1/pods");
  BERTH_TRY(expect_ok(reply, "GET /api/v1/pods"));
  simdjson::dom::parser parser;
  dom::element document;
  if (parser.parse(reply.body).get(document) != simdjson::SUCCESS) {
    return fail(ErrorCode::kInvalid, "GET /api/v1/pods: not JSON");
  }
  std::map<std::string, std::pair<std::string, std::string>> listed;  // uid to node and phase
  each_item(document, "/items", [&](const dom::element& pod) {
    listed[text(pod, "/metadata/uid")] = {text(pod, "/spec/nodeName"), text(pod, "/status/phase")};
  });
  std::unique_lock lock(mutex_);
  // Everything listed was seen with the same node and phase (or has moved on since), and nothing else exists.
  const auto caught_up = [&] {
    std::set<std::string> seen;
    for (const auto& [key, pod] : pods_) {
      const auto found = listed.find(pod->uid);
      if (found != listed.end() && (found->second.first.empty() || found->second.first == pod->node) &&
          (found->second.second == "Pending" || found->second.second == pod->phase || pod->terminal())) {
        seen.insert(pod->uid);
      }
    }
    std::set<std::string> gone;
    for (const auto& event : events_) {
      if (event.deleted && event.pod != nullptr) {
        gone.insert(event.pod->uid);
      }
    }
    return std::all_of(listed.begin(), listed.end(), [&](const auto& entry) {
      return seen.contains(entry.first) || gone.contains(entry.first);
    });
  };
  const auto end = Clock::now() + at_most;
  while (!caught_up()) {
    if (Clock::now() > end) {
      return fail(ErrorCode::kUnavailable, "the observer's watch is behind by more than {} ms",
                  at_most.count());
    }
    changed_.wait_for(lock, std::chrono::milliseconds(50));
  }
  return {};
}

std::map<std::string, SeenPod> ObserverOfPods::pods() const {
  const std::lock_guard lock(mutex_);
  std::map<std::string, SeenPod> out;
  for (const auto& [key, pod] : pods_) {
    out.emplace(key, *pod);
  }
  return out;
}

}  // namespace berth::e2e
