// Which kinds the API server serves. Read once (three requests where the server aggregates discovery, else one per group
// and version), then asked without any request; refresh() when a CRD may have come.
//
// Threads: any. serves() copies nothing and takes one short lock.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "kube/transport.h"

namespace berth::kube {

struct ServedResource {
  std::string name;  // plural
  std::string kind;
  bool namespaced = false;
  std::vector<std::string> verbs;
  std::vector<std::string> subresources;  // "status", "binding"
};

struct ServedVersion {
  std::string group;  // empty: core
  std::string version;
  std::vector<ServedResource> resources;
};

// Versions of each group in the server's order of preference.
struct ServedKinds {
  std::vector<ServedVersion> versions;
  const ServedResource* find(std::string_view group, std::string_view version,
                             std::string_view resource) const;
  // The preferred version of the group that has the resource; empty where none has.
  std::string_view version_of(std::string_view group, std::string_view resource) const;
};

class Discovery {
 public:
  explicit Discovery(Transport& transport) : transport_(&transport) {}

  // Asks the server and replaces what is known; waits. Not on the I/O thread. On an error what is known stays. Unavailable too where the
  // server is not ready (/readyz). After its start it does not know all CRDs, and those would look as if they were never served.
  Status refresh();

  bool serves(std::string_view group, std::string_view version, std::string_view resource) const;
  std::string version_of(std::string_view group, std::string_view resource) const;
  // The last result; never null.
  std::shared_ptr<const ServedKinds> served() const;

 private:
  Transport* transport_;
  mutable std::mutex mutex_;
  std::shared_ptr<const ServedKinds> served_ = std::make_shared<ServedKinds>();
};

}  // namespace berth::kube
