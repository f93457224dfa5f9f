// The lists and watches that feed the inbox: one reflector per kind that Berth reads and the server serves. Kinds of CRDs that
// are installed later are found by look_again().
//
// Pods are watched without those that have ended (status.phase!=Succeeded,status.phase!=Failed): the API server sends a pod that
// leaves the selection as DELETED. So an ended pod frees its room at once, and a cluster's history costs nothing. The intake treats
// both alike. Where it matters which of the two it is, gangs/ended_pods.h reads the pod.
//
// Threads: look_again() and all_synced() from one; the reflectors push from the I/O thread.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "dialect/objects/decode.h"
#include "dialect/objects/object.h"
#include "kube/discovery.h"
#include "kube/reflector.h"
#include "scheduler/wire/inbox.h"

namespace berth::scheduler {

struct SourcesOptions {
  bool workloads = true;         // Kueue's Workloads are read too
  dialect::DeviceNames devices;  // by which pods are decoded
};

class Sources {
 public:
  // Asks the server what it serves and starts. While the server is away or not ready it waits, until `ended` says true. An error when it
  // does not serve pods and nodes.
  static Result<std::unique_ptr<Sources>> start(kube::Transport& transport, Inbox& inbox,
                                                SourcesOptions options, const std::function<bool()>& ended);

  // Asks again and starts what is new; true: something is.
  Result<bool> look_again();
  // Asks whether Kueue itself runs here, by its lease; waits.
  void look_for_kueue();
  // In which version Workloads are to be written; "": they are not served, or are Kueue's. From any thread.
  std::string kueue_version() const;
  // In which version ProvisioningRequests are served; "": they are not. From any thread.
  std::string provisioning_version() const;
  // In which versions the objects of gangs are served; never null. From any thread.
  std::shared_ptr<const std::map<dialect::Kind, std::string>> gang_versions() const;
  // Whether each reflector has delivered its first complete list.
  bool all_synced() const;
  std::vector<dialect::Kind> kinds() const;
  // Seconds since the last byte of each watch that has answered; bookmarks come every minute where nothing changes. From any thread.
  std::vector<std::pair<std::string, double>> silences() const;
  // "Pod: GET /api/v1/pods: 403 ..." of each reflector that has trouble.
  std::vector<std::string> problems() const;

 private:
  Sources(kube::Transport& transport, Inbox& inbox, SourcesOptions options)
      : transport_(transport),
        inbox_(inbox),
        workloads_(options.workloads),
        devices_(std::move(options.devices)),
        decoder_(devices_),
        discovery_(transport) {}
  void push(dialect::Kind kind, const kube::Change& change);
  Status push_pod(const kube::Change& change, const kube::BinaryObject& object);
  void serve_kueue(const std::string& version);

  kube::Transport& transport_;
  Inbox& inbox_;
  const bool workloads_;
  const dialect::DeviceNames devices_;
  // The I/O thread alone uses these two.
  dialect::JsonDecoder decoder_;
  std::string text_;  // of a pod that is odd

  std::string workload_version_;  // served
  mutable std::mutex mutex_;      // those below, and changes of reflectors_
  std::string kueue_version_;
  std::string provisioning_version_;
  std::shared_ptr<const std::map<dialect::Kind, std::string>> gang_versions_ =
      std::make_shared<std::map<dialect::Kind, std::string>>();
  bool kueue_known_ = false;
  kube::Discovery discovery_;
  std::map<dialect::Kind, std::unique_ptr<kube::Reflector>> reflectors_;
};

}  // namespace berth::scheduler
