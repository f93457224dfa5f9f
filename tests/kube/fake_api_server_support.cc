#include "kube/fake_api_server_support.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <thread>

#include "kube/fake_store_support.h"

namespace berth::kube::testing {

namespace {

constexpr const char* kTime = "2026-01-01T00:00:00Z";

Json status_json(int code, const std::string& reason, const std::string& message,
                 const std::string& cause = {}, int retry_after_s = 0) {
  Json details = Json::object();
  if (!cause.empty()) details["causes"] = Json::array({Json{{"reason", cause}, {"message", message}}});
  if (retry_after_s > 0) details["retryAfterSeconds"] = retry_after_s;
  return Json{{"kind", "Status"},   {"apiVersion", "v1"}, {"metadata", Json::object()}, {"status", "Failure"},
              {"message", message}, {"reason", reason},   {"details", details},         {"code", code}};
}

void refuse(HttpResponse& response, int code, const std::string& reason, const std::string& message,
            const std::string& cause = {}) {
  response.status = code;
  response.body = status_json(code, reason, message, cause).dump();
}

std::string text_at(const Json& object, const char* a, const char* b) {
  if (!object.is_object() || !object.contains(a) || !object[a].is_object() || !object[a].contains(b))
    return {};
  return object[a][b].is_string() ? object[a][b].get<std::string>() : std::string();
}

std::string reason_of(int status) {
  switch (status) {
    case 401:
      return "Unauthorized";
    case 403:
      return "Forbidden";
    case 404:
      return "NotFound";
    case 409:
      return "Conflict";
    case 410:
      return "Expired";
    case 422:
      return "Invalid";
    case 429:
      return "TooManyRequests";
    case 503:
      return "ServiceUnavailable";
    case 504:
      return "Timeout";
    default:
      return "InternalError";
  }
}

}  // namespace

// Where a path leads.
struct FakeApiServer::Route {
  std::string table;  // the collection without a namespace
  std::string api_version;
  std::string resource;
  std::string ns;
  std::string name;
  std::string subresource;

  std::string key() const { return ns + "/" + name; }

  static std::optional<Route> parse(const std::string& path) {
    std::vector<std::string> parts;
    for (std::size_t begin = 1; begin < path.size();) {
      const std::size_t end = std::min(path.find('/', begin), path.size());
      parts.push_back(path.substr(begin, end - begin));
      begin = end + 1;
    }
    Route route;
    std::size_t at = 0;
    if (parts.size() >= 3 && parts[0] == "api") {
      route.table = "/api/" + parts[1];
      route.api_version = parts[1];
      at = 2;
    } else if (parts.size() >= 4 && parts[0] == "apis") {
      route.table = "/apis/" + parts[1] + "/" + parts[2];
      route.api_version = parts[1] + "/" + parts[2];
      at = 3;
    } else {
      return std::nullopt;
    }
    if (parts[at] == "namespaces" && parts.size() > at + 2) {
      route.ns = parts[at + 1];
      at += 2;
    }
    route.resource = parts[at];
    route.table += "/" + parts[at++];
    if (at < parts.size()) route.name = parts[at++];
    if (at < parts.size()) route.subresource = parts[at++];
    if (at < parts.size()) return std::nullopt;
    return route;
  }
};

struct FakeApiServer::Store : ObjectStore {
  struct Snapshot {
    std::int64_t rv = 0;
    std::vector<std::shared_ptr<const Json>> items;
  };
  std::map<std::string, Snapshot> snapshots;
  int next_snapshot = 0;
  std::vector<Fault> faults;
  std::vector<Seen> seen;
  std::function<void(const Seen&)> hook;
  std::string token;
  bool streaming_lists = true;
  int end_epoch = 0;
  int cut_epoch = 0;
  int error_epoch = 0;
  int error_code = 0;
  std::size_t chunk = 0;
  std::atomic<int> open_watches{0};
};

FakeApiServer::FakeApiServer(FakeOptions options)
    : options_(std::move(options)), store_(std::make_unique<Store>()) {
  store_->token = options_.token;
  store_->streaming_lists = options_.streaming_lists;
  HttpServer::Tls tls;
  if (options_.tls) {
    tls.server = authority_.issue("kube-apiserver", "IP:127.0.0.1,DNS:localhost,DNS:kubernetes.default.svc");
    tls.client_ca_pem = authority_.ca_pem();
  }
  server_ = std::make_unique<HttpServer>(
      [this](const HttpRequest& request, HttpResponse& response, HttpConnection& connection) {
        return handle(request, response, connection);
      },
      options_.tls ? &tls : nullptr);
}
FakeApiServer::~FakeApiServer() {
  {
    const std::lock_guard lock(store_->mutex);
    ++store_->end_epoch;
  }
  store_->changed.notify_all();
  server_.reset();
}

std::string FakeApiServer::url() const {
  return (options_.tls ? "https://127.0.0.1:" : "http://127.0.0.1:") + std::to_string(server_->port());
}

ClusterConfig FakeApiServer::config() const {
  ClusterConfig config;
  config.source = "fake";
  config.context = "fake";
  config.server = url();
  if (options_.tls) config.ca.data = authority_.ca_pem();
  return config;
}

// --- straight access ------------------------------------------------------------------------------------------

Json FakeApiServer::create(const std::string& collection, const char* object) {
  return create(collection, Json::parse(object));
}

Json FakeApiServer::create(const std::string& collection, Json object) {
  const auto route = Route::parse(collection);
  const std::lock_guard lock(store_->mutex);
  Json& metadata = object["metadata"];
  if (!route->ns.empty()) metadata["namespace"] = route->ns;
  if (!metadata.contains("uid")) metadata["uid"] = store_->new_uid();
  metadata["creationTimestamp"] = kTime;
  if (!object.contains("apiVersion")) object["apiVersion"] = route->api_version;
  const std::string key = route->ns + "/" + metadata["name"].get<std::string>();
  return *store_->put(route->table, key, std::move(object));
}

void FakeApiServer::change(const std::string& object_path, const std::function<void(Json&)>& edit) {
  const auto route = Route::parse(object_path);
  const std::lock_guard lock(store_->mutex);
  const auto found = store_->find(route->table, route->key());
  if (found == nullptr) return;
  Json object = *found;
  edit(object);
  store_->put(route->table, route->key(), std::move(object));
}

void FakeApiServer::remove(const std::string& object_path) {
  const auto route = Route::parse(object_path);
  const std::lock_guard lock(store_->mutex);
  store_->erase(route->table, route->key());
}

std::optional<Json> FakeApiServer::get(const std::string& object_path) const {
  const auto route = Route::parse(object_path);
  const std::lock_guard lock(store_->mutex);
  const auto found = store_->find(route->table, route->key());
  if (found == nullptr) return std::nullopt;
  return *found;
}

std::vector<Json> FakeApiServer::list(const std::string& collection) const {
  const auto route = Route::parse(collection);
  const std::lock_guard lock(store_->mutex);
  std::vector<Json> out;
  for (const auto& object : store_->list(route->table, route->ns)) out.push_back(*object);
  return out;
}

std::int64_t FakeApiServer::resource_version() const {
  const std::lock_guard lock(store_->mutex);
  return store_->rv();
}

int FakeApiServer::finish_deletes() {
  const std::lock_guard lock(store_->mutex);
  const auto ended = store_->where([](const Json& object) {
    const Json& metadata = object["metadata"];
    return metadata.contains("deletionTimestamp") &&
           (!metadata.contains("finalizers") || metadata["finalizers"].empty());
  });
  for (const auto& [table, key] : ended) store_->erase(table, key);
  return static_cast<int>(ended.size());
}

// --- faults -----------------------------------------------------------------------------------------------------

void FakeApiServer::add_fault(Fault fault) {
  const std::lock_guard lock(store_->mutex);
  store_->faults.push_back(std::move(fault));
}
void FakeApiServer::clear_faults() {
  const std::lock_guard lock(store_->mutex);
  store_->faults.clear();
}
void FakeApiServer::set_token(std::string token) {
  const std::lock_guard lock(store_->mutex);
  store_->token = std::move(token);
}
void FakeApiServer::compact() {
  const std::lock_guard lock(store_->mutex);
  store_->compact();
  store_->snapshots.clear();
  store_->changed.notify_all();
}
void FakeApiServer::expire_continue_tokens() {
  const std::lock_guard lock(store_->mutex);
  store_->snapshots.clear();
}
void FakeApiServer::end_watches() {
  const std::lock_guard lock(store_->mutex);
  ++store_->end_epoch;
  store_->changed.notify_all();
}
void FakeApiServer::cut_watches_mid_line() {
  const std::lock_guard lock(store_->mutex);
  ++store_->cut_epoch;
}
void FakeApiServer::send_watch_error(int code) {
  const std::lock_guard lock(store_->mutex);
  store_->error_code = code;
  ++store_->error_epoch;
  store_->changed.notify_all();
}
void FakeApiServer::set_watch_chunk(std::size_t bytes) {
  const std::lock_guard lock(store_->mutex);
  store_->chunk = bytes;
}
void FakeApiServer::set_streaming_lists(bool served) {
  const std::lock_guard lock(store_->mutex);
  store_->streaming_lists = served;
}
std::vector<Seen> FakeApiServer::seen() const {
  const std::lock_guard lock(store_->mutex);
  return store_->seen;
}
int FakeApiServer::count(const std::string& method, const std::string& contains) const {
  const std::lock_guard lock(store_->mutex);
  return static_cast<int>(std::count_if(store_->seen.begin(), store_->seen.end(), [&](const Seen& seen) {
    return seen.method == method && seen.target.find(contains) != std::string::npos;
  }));
}
void FakeApiServer::forget_seen() {
  const std::lock_guard lock(store_->mutex);
  store_->seen.clear();
}
void FakeApiServer::on_request(std::function<void(const Seen&)> hook) {
  const std::lock_guard lock(store_->mutex);
  store_->hook = std::move(hook);
}
int FakeApiServer::watches() const {
  return store_->open_watches.load();
}

// --- requests ---------------------------------------------------------------------------------------------------

bool FakeApiServer::handle(const HttpRequest& request, HttpResponse& response, HttpConnection& connection) {
  const auto header = [&](const char* name) {
    const auto it = request.headers.find(name);
    return it == request.headers.end() ? std::string() : it->second;
  };
  const bool watching = request.method == "GET" && request.query.contains("watch");
  Seen seen{watching ? "WATCH" : request.method,
            request.target,
            request.body,
            header("content-type"),
            header("authorization"),
            request.client_name};
  std::function<void(const Seen&)> hook;
  std::optional<Fault> fault;
  std::string token;
  {
    const std::lock_guard lock(store_->mutex);
    store_->seen.push_back(seen);
    hook = store_->hook;
    token = store_->token;
    for (Fault& candidate : store_->faults) {
      if (candidate.times == 0 || (!candidate.method.empty() && candidate.method != seen.method) ||
          seen.target.find(candidate.contains) == std::string::npos) {
        continue;
      }
      if (candidate.times > 0) --candidate.times;
      fault = candidate;
      break;
    }
  }
  if (hook) hook(seen);
  if (!token.empty() && seen.authorization != "Bearer " + token) {
    refuse(response, 401, "Unauthorized", "Unauthorized");
    return true;
  }
  const auto wait = [&] {
    for (int ms = 0; ms < fault->delay_ms && !connection.stopping(); ms += 5) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
  };
  const auto answer_fault = [&] {
    response.status = fault->status;
    response.body =
        status_json(fault->status, reason_of(fault->status), "injected", fault->cause, fault->retry_after_s)
            .dump();
    if (fault->retry_after_s > 0) response.headers["Retry-After"] = std::to_string(fault->retry_after_s);
  };
  if (fault.has_value()) {
    if (fault->kind == FaultKind::kStatus) {
      answer_fault();
      return true;
    }
    if (fault->kind == FaultKind::kCloseBefore) return false;
    if (fault->kind == FaultKind::kDelay) wait();
  }
  if (discovery(request, response)) return true;
  const auto route = Route::parse(request.path);
  if (!route.has_value() || options_.unserved.contains(route->table)) {
    refuse(response, 404, "NotFound", "the server could not find the requested resource");
    return true;
  }
  if (watching) return watch(request, *route, response, connection);
  {
    const std::lock_guard lock(store_->mutex);
    try {
      serve(request, *route, response);
    } catch (const Json::exception& error) {
      refuse(response, 400, "BadRequest", error.what());
    }
  }
  if (fault.has_value()) {
    if (fault->kind == FaultKind::kCloseAfter) response.close_without_answer = true;
    if (fault->kind == FaultKind::kDelayAnswer) wait();
    if (fault->kind == FaultKind::kStatusAfter) answer_fault();
  }
  return true;
}

void FakeApiServer::serve(const HttpRequest& request, const Route& route, HttpResponse& response) {
  Store& store = *store_;
  const auto query = [&](const char* name) {
    const auto it = request.query.find(name);
    return it == request.query.end() ? std::string() : it->second;
  };
  // A collection.
  if (route.name.empty() && request.method == "GET") {
    Store::Snapshot snapshot;
    std::size_t begin = 0;
    if (const std::string from = query("continue"); !from.empty()) {
      const std::size_t colon = from.find(':');
      const auto it = store.snapshots.find(from.substr(0, colon));
      if (it == store.snapshots.end()) {
        return refuse(response, 410, "Expired", "The provided continue parameter is too old");
      }
      snapshot = it->second;
      begin = std::stoul(from.substr(colon + 1));
    } else {
      const Selector selector(query("fieldSelector"), query("labelSelector"));
      snapshot.rv = store.rv();
      for (auto& object : store.list(route.table, route.ns)) {
        if (selector.matches(*object)) snapshot.items.push_back(std::move(object));
      }
    }
    const std::string limit_text = query("limit");
    const std::size_t limit = limit_text.empty() ? snapshot.items.size() : std::stoul(limit_text);
    const std::size_t end = std::min(snapshot.items.size(), begin + std::max<std::size_t>(limit, 1));
    std::string items;
    for (std::size_t i = begin; i < end; ++i) {
      Json item = *snapshot.items[i];
      item.erase("apiVersion");  // as the real server does in lists
      item.erase("kind");
      items += (i == begin ? "" : ",") + item.dump();
    }
    std::string more;
    if (end < snapshot.items.size()) {
      std::string id = query("continue");
      id = id.empty() ? "s" + std::to_string(++store.next_snapshot) : id.substr(0, id.find(':'));
      store.snapshots[id] = snapshot;
      more = R"("continue":")" + id + ":" + std::to_string(end) + R"(",)";
    }
    response.body = R"({"kind":"List","apiVersion":")" + route.api_version + R"(","metadata":{)" + more +
                    R"("resourceVersion":")" + std::to_string(snapshot.rv) + R"("},"items":[)" + items + "]}";
    return;
  }
  if (route.name.empty() && request.method == "POST") {
    Json object = Json::parse(request.body);
    const std::string name = text_at(object, "metadata", "name");
    if (name.empty()) return refuse(response, 422, "Invalid", "metadata.name: Required value");
    if (!text_at(object, "metadata", "resourceVersion").empty()) {
      return refuse(response, 400, "BadRequest",
                    "resourceVersion should not be set on objects to be created");
    }
    const std::string key = route.ns + "/" + name;
    if (store.find(route.table, key) != nullptr) {
      return refuse(response, 409, "AlreadyExists", route.resource + " \"" + name + "\" already exists");
    }
    object["metadata"]["uid"] = store.new_uid();
    object["metadata"]["creationTimestamp"] = kTime;
    if (!route.ns.empty()) object["metadata"]["namespace"] = route.ns;
    response.status = 201;
    response.body = store.put(route.table, key, std::move(object))->dump();
    return;
  }
  const auto found = store.find(route.table, route.key());
  if (found == nullptr) {
    return refuse(response, 404, "NotFound", route.resource + " \"" + route.name + "\" not found");
  }
  const std::string uid = text_at(*found, "metadata", "uid");
  const std::string version = text_at(*found, "metadata", "resourceVersion");
  const auto uid_conflict = [&](const std::string& wanted) {
    if (wanted.empty() || wanted == uid) return false;
    refuse(response, 409, "Conflict",
           "Precondition failed: UID in precondition: " + wanted + ", UID in object meta: " + uid);
    return true;
  };
  if (request.method == "GET") {
    response.body = found->dump();
    return;
  }
  if (request.method == "POST" && route.subresource == "binding") {
    const Json binding = Json::parse(request.body);
    if (uid_conflict(text_at(binding, "metadata", "uid"))) return;
    const std::string said =
        "Operation cannot be fulfilled on pods/binding \"" + route.name + "\": pod " + route.name;
    Json pod = *found;
    if (pod["metadata"].contains("deletionTimestamp")) {
      return refuse(response, 409, "Conflict", said + " is being deleted, cannot be assigned to a host");
    }
    if (const std::string node = text_at(pod, "spec", "nodeName"); !node.empty()) {
      return refuse(response, 409, "Conflict", said + " is already assigned to node \"" + node + "\"");
    }
    if (pod.contains("spec") && pod["spec"].contains("schedulingGates") &&
        !pod["spec"]["schedulingGates"].empty()) {
      return refuse(response, 409, "Conflict", said + " has non-empty .spec.schedulingGates");
    }
    pod["spec"]["nodeName"] = text_at(binding, "target", "name");
    merge_patch(pod["status"],
                Json{{"conditions", Json::array({Json{{"type", "PodScheduled"}, {"status", "True"}}})}},
                true);
    if (pod["status"].is_object()) pod["status"].erase("nominatedNodeName");
    store.put(route.table, route.key(), std::move(pod));
    response.status = 201;
    response.body = R"({"kind":"Status","apiVersion":"v1","status":"Success","code":201})";
    return;
  }
  if (request.method == "DELETE") {
    const Json options = request.body.empty() ? Json::object() : Json::parse(request.body);
    if (uid_conflict(text_at(options, "preconditions", "uid"))) return;
    const bool bound = !text_at(*found, "spec", "nodeName").empty();
    const bool held =
        found->at("metadata").contains("finalizers") && !found->at("metadata")["finalizers"].empty();
    const bool now = options.value("gracePeriodSeconds", 1) == 0;
    if (held || (options_.graceful_deletes && route.resource == "pods" && bound && !now)) {
      if (!found->at("metadata").contains("deletionTimestamp")) {
        Json object = *found;
        object["metadata"]["deletionTimestamp"] = kTime;
        store.put(route.table, route.key(), std::move(object));
      }
    } else {
      store.erase(route.table, route.key());
    }
    response.body = found->dump();
    return;
  }
  Json next;
  if (request.method == "PUT") {
    next = Json::parse(request.body);
    if (uid_conflict(text_at(next, "metadata", "uid"))) return;
    const std::string wanted = text_at(next, "metadata", "resourceVersion");
    if (wanted.empty()) {
      return refuse(response, 422, "Invalid", "metadata.resourceVersion: must be specified for an update");
    }
    if (wanted != version) {
      return refuse(response, 409, "Conflict",
                    "Operation cannot be fulfilled on " + route.resource + " \"" + route.name +
                        "\": the object has been modified; please apply your changes to the latest version");
    }
    next["metadata"]["uid"] = uid;
    next["metadata"]["creationTimestamp"] = kTime;
  } else if (request.method == "PATCH") {
    const auto type = request.headers.find("content-type");
    const bool strategic =
        type != request.headers.end() && type->second.find("strategic") != std::string::npos;
    if (type == request.headers.end() || type->second.find("merge-patch+json") == std::string::npos) {
      return refuse(response, 415, "UnsupportedMediaType", "this server takes merge patches only");
    }
    const Json patch = Json::parse(request.body);
    if (const std::string other = text_at(patch, "metadata", "uid"); !other.empty() && other != uid) {
      return refuse(response, 422, "Invalid",
                    "metadata.uid: Invalid value: \"" + other + "\": field is immutable");
    }
    const std::string wanted = text_at(patch, "metadata", "resourceVersion");
    if (!wanted.empty() && wanted != version)
      return refuse(response, 409, "Conflict", "the object has been modified");
    next = *found;
    merge_patch(next, patch, strategic);
  } else {
    return refuse(response, 405, "MethodNotAllowed", "method not allowed");
  }
  // Status is written through its subresource only, and nothing else through that.
  Json object = *found;
  if (route.subresource == "status") {
    if (next.contains("status")) object["status"] = next["status"];
  } else if (route.resource == "pods" || route.resource == "nodes") {
    const Json status = object.contains("status") ? object["status"] : Json();
    object = next;
    if (!status.is_null()) object["status"] = status;
  } else {
    object = next;
  }
  if (object == *found) {
    response.body = found->dump();  // nothing changed: no new resourceVersion
    return;
  }
  response.body = store.put(route.table, route.key(), std::move(object))->dump();
}

bool FakeApiServer::watch(const HttpRequest& request, const Route& route, HttpResponse& response,
                          HttpConnection& connection) {
  Store& store = *store_;
  const auto query = [&](const char* name) {
    const auto it = request.query.find(name);
    return it == request.query.end() ? std::string() : it->second;
  };
  const bool bookmarks = query("allowWatchBookmarks") == "true";
  bool initial = options_.knows_streaming_lists && query("sendInitialEvents") == "true";
  const Selector selector(query("fieldSelector"), query("labelSelector"));
  const std::string from = query("resourceVersion");
  const auto deadline =
      std::chrono::steady_clock::now() +
      std::chrono::seconds(query("timeoutSeconds").empty() ? 1800 : std::stol(query("timeoutSeconds")));

  std::unique_lock lock(store.mutex);
  if (initial && !store.streaming_lists) {
    refuse(response, 422, "Invalid",
           "sendInitialEvents is forbidden for watch unless the WatchList feature gate is enabled");
    return true;
  }
  if (initial && (query("resourceVersionMatch") != "NotOlderThan" || !bookmarks)) {
    refuse(response, 422, "Invalid",
           "sendInitialEvents needs resourceVersionMatch=NotOlderThan and bookmarks");
    return true;
  }
  const std::int64_t wanted = from.empty() || from == "0" ? -1 : std::stoll(from);
  if (wanted > store.rv()) {
    refuse(response, 504, "Timeout", "Too large resource version", "ResourceVersionTooLarge");
    return true;
  }
  std::vector<std::string> out;
  const auto line = [](const std::string& type, const Json& object) {
    return R"({"type":")" + type + R"(","object":)" + object.dump() + "}\n";
  };
  const auto bookmark = [&](bool end) {
    Json object{
        {"kind", "Bookmark"},
        {"apiVersion", route.api_version},
        {"metadata", {{"resourceVersion", std::to_string(store.rv())}, {"creationTimestamp", nullptr}}}};
    if (end) object["metadata"]["annotations"] = Json{{"k8s.io/initial-events-end", "true"}};
    return line("BOOKMARK", object);
  };
  bool expired = wanted >= 0 && wanted < store.oldest();
  std::uint64_t position = wanted >= 0 ? store.position_after(wanted) : store.position();
  if (wanted < 0) {
    for (const auto& object : store.list(route.table, route.ns)) {
      if (selector.matches(*object)) out.push_back(line("ADDED", *object));
    }
    if (initial) out.push_back(bookmark(true));
  }
  const int end_epoch = store.end_epoch;
  const int cut_epoch = store.cut_epoch;
  const int error_epoch = store.error_epoch;
  auto next_bookmark = std::chrono::steady_clock::now() + std::chrono::milliseconds(options_.bookmark_ms);
  store.open_watches.fetch_add(1);
  lock.unlock();
  bool open = connection.send(
      "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n");
  const auto send_chunk = [&](std::string_view bytes) {
    std::array<char, 24> size{};
    std::snprintf(size.data(), size.size(), "%zx\r\n", bytes.size());
    std::string frame = size.data();
    frame.append(bytes).append("\r\n");
    return connection.send(frame);
  };
  lock.lock();
  bool good_order = false;
  while (open && !connection.stopping()) {
    while (const StoreEvent* event = store.at(position)) {
      ++position;
      if (event->table != route.table || (!route.ns.empty() && event->ns != route.ns)) continue;
      const bool was = event->before != nullptr && selector.matches(*event->before);
      const bool is = event->type != "DELETED" && selector.matches(*event->after);
      if (is) {
        out.push_back(line(was ? "MODIFIED" : "ADDED", *event->after));
      } else if (was) {
        Json last = *event->before;
        last["metadata"]["resourceVersion"] = std::to_string(event->rv);
        out.push_back(line("DELETED", last));
      }
    }
    if (store.lost(position)) expired = true;
    if (out.empty() && bookmarks && std::chrono::steady_clock::now() >= next_bookmark) {
      out.push_back(bookmark(false));
      next_bookmark = std::chrono::steady_clock::now() + std::chrono::milliseconds(options_.bookmark_ms);
    }
    if (store.error_epoch != error_epoch) {
      out.push_back(line("ERROR", status_json(store.error_code, reason_of(store.error_code), "injected")));
      good_order = true;
    } else if (expired) {
      out.push_back(line("ERROR", status_json(410, "Expired", "too old resource version")));
      good_order = true;
    }
    const bool cut = store.cut_epoch != cut_epoch && !out.empty();
    const std::size_t piece = store.chunk;
    lock.unlock();
    for (const std::string& text : out) {
      if (!open) break;
      if (cut) {
        open = send_chunk(std::string_view(text).substr(0, text.size() / 2));
        open = false;
      } else if (piece == 0) {
        open = send_chunk(text);
      } else {
        for (std::size_t at = 0; at < text.size() && open; at += piece) {
          open = send_chunk(std::string_view(text).substr(at, piece));
        }
      }
    }
    out.clear();
    lock.lock();
    if (!open || good_order || connection.peer_gone()) break;
    if (store.end_epoch != end_epoch || std::chrono::steady_clock::now() >= deadline) {
      good_order = true;
      break;
    }
    if (store.at(position) == nullptr) {
      store.changed.wait_for(lock, std::chrono::milliseconds(std::min(options_.bookmark_ms, 20)));
    }
  }
  lock.unlock();
  if (good_order) connection.send("0\r\n\r\n");
  store.open_watches.fetch_sub(1);
  return false;
}

}  // namespace berth::kube::testing
