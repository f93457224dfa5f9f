// Berth's answers to Kueue's admission checks of kProvisioningController: nodes are asked for with a ProvisioningRequest
// (dialect/kueue/provisioning.h), and the check says what became of it. Lives on the decision thread; workload_objects.h asks.
//
//   has quota          a request is made, named after the Workload, the check and the attempt; its PodTemplates when it is there
//   Provisioned        Ready: the workload gets its places on the nodes (PodTemplate::awaited_flavors), then it starts
//   Failed, or BookingExpired before it starts
//                      Retry: quota goes back, and the next attempt comes after the config's rest; Rejected after its last one
//   CapacityRevoked    Rejected, also when it runs
// A workload that loses its quota loses its requests: they are deleted.
//
// Berth always asks, even if there is free room, as Kueue does. That room may be booked for another request, which only the
// autoscaler knows; and it does not scale booked nodes down. Pods that ask for none of the managed resources need no request.
//
// A restart loses nothing: the requests are read from the API by their names, and quota is decided anew. A write that fails is
// tried again after a rest, which doubles. Cost: O(pod sets) per question.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "base/time.h"
#include "dialect/kueue/provisioning.h"
#include "scheduler/wire/inbox.h"
#include "scheduler/wire/outbox.h"

namespace berth::scheduler {

class Provisioner {
 public:
  explicit Provisioner(Outbox& outbox) : outbox_(outbox) {}

  // The versions of kueue.x-k8s.io and of autoscaling.x-k8s.io; empty: nothing is written.
  void set_versions(std::string_view kueue, std::string_view autoscaling);
  void seen(const dialect::ProvisioningRequest& request);
  // The Workload object (namespace/name) whose request is gone; "": it was none of these.
  std::string gone(std::string_view ns, std::string_view name);
  // The Workload object to look at again, and when.
  struct Again {
    std::string workload;
    TimeMs at = 0;
  };
  std::optional<Again> answered(const Answer& answer, TimeMs now);

  // The new state of the check, from the former one. `admitted`: the workload may start, or has started.
  dialect::AdmissionCheckState state(const dialect::NodeAsk& ask,
                                     const dialect::ProvisioningRequestConfig& config,
                                     dialect::AdmissionCheckState before, bool admitted, TimeMs now);
  // The requests of a Workload object are of no use any more.
  void drop(std::string_view workload_uid);

 private:
  // Writes in flight, by namespace/name of the request.
  struct Making {
    std::string workload;  // namespace/name
    int open = 0;
    int failures = 0;
    bool failed = false;     // one of those that are open
    bool templates = false;  // they have been sent
    TimeMs rests_until = 0;
  };
  void make(const std::string& key, std::string_view name, const dialect::NodeAsk& ask,
            const dialect::ProvisioningRequestConfig& config, TimeMs now);

  Outbox& outbox_;
  std::string kueue_version_;
  std::string version_;
  std::map<std::string, dialect::ProvisioningRequest> requests_;  // by namespace/name
  std::map<std::string, std::set<std::string>> by_owner_;         // uid of the Workload object -> these
  std::set<std::string> leaving_;                                 // uids of requests that are being deleted
  std::map<std::string, Making> making_;
};

}  // namespace berth::scheduler
