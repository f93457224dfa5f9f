// Kueue's API of pending workloads (dialect/kueue/visibility.h), served over TLS to the API servers, which pass it on to people
// (deploy/visibility.yaml).
//
// Clients: API servers only. They show a certificate that the cluster's authority for its front proxy has signed, of a name that it
// allows (ConfigMap kube-system/extension-apiserver-authentication, watched), and pass on only requests that they have
// authenticated and authorized. RBAC decides, for get of clusterqueues/pendingworkloads and localqueues/pendingworkloads in
// visibility.kueue.x-k8s.io. Everybody else's connection ends in its handshake; so does everybody's, as long as the ConfigMap has
// not been read. No header of a request is believed, since none is needed.
//
// The certificate may come after the start, and change. Only the deciding replica knows the line: while a replica does, it writes
// the EndpointSlice that makes it the Service's only address, where it knows its own (`advertise`).
//
// One thread of its own looks at the files every second, and at the EndpointSlice every half minute.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "dialect/kueue/visibility.h"
#include "kube/transport.h"
#include "observe/http_server.h"
#include "observe/tls.h"

namespace berth::scheduler {

inline constexpr std::string_view kVisibilityService = "berth-visibility";

struct VisibilityOptions {
  observe::HttpOptions listen;  // of HTTPS
  observe::TlsFiles tls;
  std::string
      advertise;   // the IP address at which API servers reach this replica; "": no EndpointSlice is written
  std::string ns;  // of the Service
};

// The front proxy in a ConfigMap's data. NotFound: it has none.
Result<observe::TlsClients> read_front_proxy(std::string_view config_map);

class Visibility {
 public:
  using Ask = std::function<Result<std::vector<dialect::PendingPlace>>(const dialect::PendingQuestion&)>;

  // Serves until it is destroyed; `decides`: whether this replica does. Both from other threads; `transport` must outlive it.
  static Result<std::unique_ptr<Visibility>> start(kube::Transport& transport, VisibilityOptions options,
                                                   Ask ask, std::function<bool()> decides);
  ~Visibility();
  Visibility(const Visibility&) = delete;
  Visibility& operator=(const Visibility&) = delete;

  std::uint16_t port() const;

 private:
  struct Impl;
  explicit Visibility(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace berth::scheduler
