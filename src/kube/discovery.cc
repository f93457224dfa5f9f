#include "kube/discovery.h"

#include <simdjson.h>

#include <algorithm>
#include <optional>

#include "kube/api_status.h"

namespace berth::kube {

namespace {

using simdjson::dom::element;

constexpr std::size_t kMaxAnswer = std::size_t{32} << 20;
constexpr std::size_t kMaxGroupVersions = 2000;

std::string text_of(const element& from, std::string_view key) {
  std::string_view text;
  if (from[key].get(text) != simdjson::SUCCESS) return {};
  return std::string(text);
}

template <class Visit>
void each(const element& from, std::string_view key, Visit&& visit) {
  simdjson::dom::array array;
  if (from[key].get(array) != simdjson::SUCCESS) return;
  for (const element item : array) visit(item);
}

std::vector<std::string> texts_of(const element& from, std::string_view key) {
  std::vector<std::string> out;
  each(from, key, [&](const element& item) {
    std::string_view text;
    if (item.get(text) == simdjson::SUCCESS) out.emplace_back(text);
  });
  return out;
}

Result<std::string> ask(Transport& transport, const std::string& path, Accept accept) {
  Request request;
  request.path = path;
  request.accept = accept;
  request.max_response = kMaxAnswer;
  Response response = transport.call(std::move(request));
  if (!response.ok()) return tl::unexpected<Error>(response_error("GET " + path, response));
  return std::move(response.body);
}

// APIGroupDiscoveryList: all in one.
void read_aggregated(const element& root, ServedKinds& out) {
  each(root, "items", [&](const element& group) {
    element metadata;
    std::string name;
    if (group["metadata"].get(metadata) == simdjson::SUCCESS) name = text_of(metadata, "name");
    each(group, "versions", [&](const element& version) {
      ServedVersion served{name, text_of(version, "version"), {}};
      each(version, "resources", [&](const element& item) {
        ServedResource resource;
        resource.name = text_of(item, "resource");
        element kind;
        if (item["responseKind"].get(kind) == simdjson::SUCCESS) resource.kind = text_of(kind, "kind");
        resource.namespaced = text_of(item, "scope") == "Namespaced";
        resource.verbs = texts_of(item, "verbs");
        each(item, "subresources",
             [&](const element& sub) { resource.subresources.push_back(text_of(sub, "subresource")); });
        served.resources.push_back(std::move(resource));
      });
      out.versions.push_back(std::move(served));
    });
  });
}

// APIResourceList of one group and version; subresources are entries of their own ("pods/status").
void read_resources(const element& root, ServedVersion& out) {
  each(root, "resources", [&](const element& item) {
    std::string name = text_of(item, "name");
    if (name.find('/') != std::string::npos) return;
    ServedResource resource;
    resource.name = std::move(name);
    resource.kind = text_of(item, "kind");
    bool namespaced = false;
    if (item["namespaced"].get(namespaced) == simdjson::SUCCESS) resource.namespaced = namespaced;
    resource.verbs = texts_of(item, "verbs");
    out.resources.push_back(std::move(resource));
  });
  each(root, "resources", [&](const element& item) {
    const std::string name = text_of(item, "name");
    const std::size_t slash = name.find('/');
    if (slash == std::string::npos) return;
    for (ServedResource& resource : out.resources) {
      if (resource.name == name.substr(0, slash)) resource.subresources.push_back(name.substr(slash + 1));
    }
  });
}

Status read_one(Transport& transport, const std::string& path, ServedVersion served, ServedKinds& out) {
  auto body = ask(transport, path, Accept::kJson);
  // An aggregated API whose server is down must not hide all others.
  if (!body && body.error().code == ErrorCode::kUnavailable) return {};
  if (!body && body.error().code == ErrorCode::kNotFound) return {};
  if (!body) return tl::unexpected<Error>(body.error());
  simdjson::dom::parser parser;
  element root;
  if (parser.parse(*body).get(root) != simdjson::SUCCESS || !root.is_object()) {
    return fail(ErrorCode::kUnavailable, "GET {}: the answer is not JSON", path);
  }
  read_resources(root, served);
  out.versions.push_back(std::move(served));
  return {};
}

Status read_api(Transport& transport, const std::string& path, ServedKinds& out) {
  BERTH_ASSIGN(const std::string body, ask(transport, path, Accept::kAggregatedDiscovery));
  simdjson::dom::parser parser;
  element root;
  if (parser.parse(body).get(root) != simdjson::SUCCESS || !root.is_object()) {
    return fail(ErrorCode::kUnavailable, "GET {}: the answer is not JSON", path);
  }
  const std::string kind = text_of(root, "kind");
  if (kind == "APIGroupDiscoveryList") {
    read_aggregated(root, out);
    return {};
  }
  std::vector<std::pair<std::string, std::string>>
      versions;  // group, version; preferred first within a group
  if (kind == "APIVersions") {
    for (std::string& version : texts_of(root, "versions")) versions.emplace_back("", std::move(version));
  } else {
    each(root, "groups", [&](const element& group) {
      const std::string name = text_of(group, "name");
      element preferred;
      std::string first;
      if (group["preferredVersion"].get(preferred) == simdjson::SUCCESS)
        first = text_of(preferred, "version");
      if (!first.empty()) versions.emplace_back(name, first);
      each(group, "versions", [&](const element& version) {
        std::string text = text_of(version, "version");
        if (text != first) versions.emplace_back(name, std::move(text));
      });
    });
  }
  if (versions.size() > kMaxGroupVersions) {
    return fail(ErrorCode::kExhausted, "GET {}: more than {} groups and versions", path, kMaxGroupVersions);
  }
  for (const auto& [group, version] : versions) {
    const std::string at = group.empty() ? path + "/" + version : path + "/" + group + "/" + version;
    BERTH_TRY(read_one(transport, at, ServedVersion{group, version, {}}, out));
  }
  return {};
}

}  // namespace

const ServedResource* ServedKinds::find(std::string_view group, std::string_view version,
                                        std::string_view resource) const {
  for (const ServedVersion& served : versions) {
    if (served.group != group || served.version != version) continue;
    for (const ServedResource& item : served.resources) {
      if (item.name == resource) return &item;
    }
  }
  return nullptr;
}

std::string_view ServedKinds::version_of(std::string_view group, std::string_view resource) const {
  for (const ServedVersion& served : versions) {
    if (served.group == group && find(group, served.version, resource) != nullptr) return served.version;
  }
  return {};
}

Status Discovery::refresh() {
  Request ready;
  ready.path = "/readyz";
  // Not all users may ask, and not all servers know it: other answers say nothing.
  if (const Response response = transport_->call(std::move(ready)); response.status >= 500) {
    return fail(ErrorCode::kUnavailable,
                "GET /readyz: {}: the API server is not ready, and may not serve all its kinds yet",
                response.status);
  }
  auto served = std::make_shared<ServedKinds>();
  BERTH_TRY(read_api(*transport_, "/api", *served));
  BERTH_TRY(read_api(*transport_, "/apis", *served));
  const std::lock_guard lock(mutex_);
  served_ = std::move(served);
  return {};
}

std::shared_ptr<const ServedKinds> Discovery::served() const {
  const std::lock_guard lock(mutex_);
  return served_;
}

bool Discovery::serves(std::string_view group, std::string_view version, std::string_view resource) const {
  return served()->find(group, version, resource) != nullptr;
}

std::string Discovery::version_of(std::string_view group, std::string_view resource) const {
  return std::string(served()->version_of(group, resource));
}

}  // namespace berth::kube
