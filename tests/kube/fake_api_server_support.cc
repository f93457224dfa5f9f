#include "kube/fake_api_server_support.h"

#include <algorithm>
#include <chrono>
#include <thread>

#include "kube/binding_support.h"
#include "kube/fake_parts_support.h"
#include "kube/protobuf_support.h"

namespace berth::kube::testing {

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
        const bool whole = handle(request, response, connection);
        if (whole) to_binary(request, response);
        return whole;
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
            header("accept"),
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
    response.body = status_json(fault->status, reason_of(fault->status), fault->message, fault->cause,
                                fault->retry_after_s)
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
  if (options_.allows && request.path.ends_with("subjectaccessreviews")) {
    response.status = 201;
    const bool allowed = options_.allows(Json::parse(request.body)["spec"]);
    response.body = Json{{"status", {{"allowed", allowed}}}}.dump();
    return true;
  }
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

std::string FakeApiServer::binary_kind(const HttpRequest& request, const Route& route) const {
  const auto accept = request.headers.find("accept");
  if (!options_.binary || accept == request.headers.end() || !accept->second.starts_with(kBinaryType))
    return {};
  return route.table == "/api/v1/pods" ? "Pod" : route.table == "/api/v1/nodes" ? "Node" : "";
}

void FakeApiServer::to_binary(const HttpRequest& request, HttpResponse& response) const {
  const auto route = Route::parse(request.path);
  const std::string kind = route.has_value() ? binary_kind(request, *route) : std::string();
  if (kind.empty()) return;
  const Json body = Json::parse(response.body);
  const bool list = body["kind"] == "List";
  response.body =
      list ? binary_list(body, kind) : binary_object(body, body["kind"] == "Status" ? "Status" : kind);
  if (options_.broken_binary) response.body.back() = '\x7f';
  response.content_type = kBinaryType;
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
    const auto type = request.headers.find("content-type");
    const bool protobuf =
        type != request.headers.end() && type->second == "application/vnd.kubernetes.protobuf";
    const Json binding = protobuf ? binding_of(request.body) : Json::parse(request.body);
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
    if (const auto given = binding["metadata"].find("annotations"); given != binding["metadata"].end()) {
      merge_patch(pod["metadata"]["annotations"], *given, true);
    }
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

}  // namespace berth::kube::testing
