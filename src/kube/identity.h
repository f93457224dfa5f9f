// The identity of this client to an API server: a bearer token, a client certificate, and the authorities that we trust; kept
// fresh.
//
// Files are read again every minute and exec plugins run again shortly before their credential ends, both on a thread of
// their own (only where something can change), and at once when the server answers 401. Each change has a new
// generation number; requests in flight keep what they started with.
//
// Secrets are never part of an error message.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/result.h"
#include "base/time.h"
#include "kube/config.h"

namespace berth::kube {

struct Identity {
  std::uint64_t generation = 1;
  std::string token;  // bearer; empty: none
  std::string user;   // basic authentication, where the kubeconfig asks for it
  std::string password;
  std::string cert_pem;  // client certificate and key; empty: none
  std::string key_pem;
  std::string ca_pem;  // authorities; empty: the system's
};

struct IdentityOptions {
  DurationMs reread_every = kMinute;  // token, certificate and authority files
  DurationMs exec_timeout = kMinute;  // one run of an exec plugin
  DurationMs exec_expiry_leeway = 10 * kSecond;
  DurationMs least_between_refreshes = kSecond;  // refreshes that 401 answers ask for
};

class IdentitySource {
 public:
  // Reads the files and runs the exec plugin once, so that a wrong configuration is an error here and not later.
  static Result<std::shared_ptr<IdentitySource>> create(const ClusterConfig& config,
                                                        const IdentityOptions& options = {});
  virtual ~IdentitySource() = default;

  virtual std::shared_ptr<const Identity> current() const = 0;
  // The server refused generation `seen`. True: a refresh was asked for, and `on_refresh` will be called when it has
  // ended, well or not. False: nothing can change (a static identity), or a newer one is there already.
  virtual bool refresh(std::uint64_t seen) = 0;
  // Called on the source's thread after each asked-for refresh and each change. Set once, before the first refresh();
  // empty to detach, after which no call is running any more.
  virtual void on_refresh(std::function<void()> callback) = 0;
  // The error of the last background refresh; empty if there was none.
  virtual std::string last_problem() const = 0;
};

}  // namespace berth::kube
