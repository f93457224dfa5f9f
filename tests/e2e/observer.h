// Watches all pods and nodes of a cluster with a connection of its own and judges every bind. It shares no
// code with what it judges: requests, quantities, selectors and tolerations are computed here from
// Kubernetes' documentation.
//
//   ObserverOfPods observer(cluster->endpoint());
//   observer.start();
//   ... the test ...
//   observer.wait_until(100 bound) ; observer.catch_up(); auto report = observer.check();
//   ASSERT_TRUE(report.violations.empty()) << report.str();
//
// check() replays all events of both kinds in the order of their resourceVersions and looks after each one:
//   - no node holds more than its allocatable of any resource (bound pods that are neither Succeeded, Failed
//   nor deleted);
//   - a pod is bound to a node that exists, matches its selector and required affinity, is not unschedulable,
//   and whose
//     NoSchedule and NoExecute taints it tolerates; a bound pod never changes its node;
// and at the end: no gang is partly bound.
// A node that shrinks below what it holds is not a fault; a bind to it afterwards is.
//
// A watch that the server closes is resumed where it stopped. Where that is impossible (410) events were
// missed: `gaps` counts it, and a test that needs every event must require 0.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/result.h"
#include "e2e/api_client.h"

namespace berth::e2e {

// Amounts in thousandths of the unit.
using Amounts = std::map<std::string, std::int64_t>;

struct SeenTaint {
  std::string key;
  std::string value;
  std::string effect;
};

struct SeenExpression {
  std::string key;
  std::string op;
  std::vector<std::string> values;
  bool field = false;  // matchFields (metadata.name)
};
using SeenTerm = std::vector<SeenExpression>;  // all must hold

// The data of a pod that the judgement needs, from one event.
struct SeenPod {
  std::string key;  // namespace/name
  std::string uid;
  std::string node;
  std::string phase;
  std::string scheduler;
  bool deleting = false;           // has a deletionTimestamp
  bool disruption_target = false;  // condition DisruptionTarget is True
  std::string gang;                // namespace/gang, empty: none
  std::int64_t gang_size = 0;
  std::string scheduled_reason;  // condition PodScheduled: reason where it is False
  std::string scheduled_message;
  // From the first event of this pod, shared by the later ones.
  struct Spec {
    Amounts requests;
    std::vector<std::pair<std::string, std::string>> selector;
    std::vector<SeenTerm> affinity;  // one of them must hold; none: any node
    bool has_affinity = false;
    std::vector<SeenTaint> tolerations;  // value holds "" where the operator is Exists
    std::vector<bool> toleration_exists;
    std::map<std::string, std::string> labels;
  };
  std::shared_ptr<const Spec> spec;

  bool terminal() const { return phase == "Succeeded" || phase == "Failed"; }
  // Takes room of its node.
  bool occupies() const { return !node.empty() && !terminal(); }
};

struct SeenNode {
  std::string name;
  Amounts allocatable;
  std::map<std::string, std::string> labels;
  std::vector<SeenTaint> taints;
  bool unschedulable = false;
};

struct Deletion {
  std::string pod;
  std::string gang;
  bool bound = false;
  bool terminal = false;
  bool had_disruption_target = false;  // before the deletion began
  std::uint64_t version = 0;
};

struct GangCounts {
  std::size_t whole = 0;    // at least the wanted number of members bound
  std::size_t partial = 0;  // some, but too few
  std::size_t none = 0;
};

struct ObserverReport {
  std::vector<std::string> violations;  // at most 50, each names pod, node and resourceVersion
  std::size_t violation_count = 0;
  std::size_t binds = 0;
  std::size_t events = 0;
  std::size_t gaps = 0;
  GangCounts gangs;
  std::vector<std::string> partial_gangs;
  std::vector<Deletion> deletions;

  bool clean() const { return violation_count == 0 && gaps == 0; }
  std::string str() const;
};

class ObserverOfPods {
 public:
  using Clock = std::chrono::steady_clock;

  explicit ObserverOfPods(Endpoint endpoint);
  ~ObserverOfPods();
  ObserverOfPods(const ObserverOfPods&) = delete;
  ObserverOfPods& operator=(const ObserverOfPods&) = delete;

  // A pod group kind other than berth.dev/gang labels: pods with label `key` form gangs of at least
  // `least(value)` members.
  void add_gang_label(const std::string& key, std::int64_t least);

  // Called with each pod event as it is seen, on the stream's thread; must be cheap. Set before start().
  void on_pod(std::function<void(const SeenPod& pod, bool deleted)> callback) {
    on_pod_ = std::move(callback);
  }

  Status start();
  // Ends the streams; check() works afterwards too.
  void stop();

  // Counters of the present, cheap.
  struct Now {
    std::size_t pods = 0;     // that exist
    std::size_t bound = 0;    // of them, with a node
    std::size_t running = 0;  // phase Running
    std::size_t terminal = 0;
    std::size_t binds = 0;  // ever
    Clock::time_point first_bind{};
    Clock::time_point last_bind{};
  };
  Now now() const;
  // Waits until `done(now)`; false after the time.
  bool wait_until(const std::function<bool(const Now&)>& done, std::chrono::milliseconds at_most);
  // Waits until nothing was bound or deleted for `quiet`.
  bool wait_quiet(std::chrono::milliseconds quiet, std::chrono::milliseconds at_most);
  // Waits until the streams have shown all that a fresh list shows.
  Status catch_up(std::chrono::milliseconds at_most = std::chrono::seconds(30));

  std::map<std::string, SeenPod> pods() const;  // as last seen
  GangCounts gangs() const;

  ObserverReport check() const;

 private:
  struct Event {
    std::uint64_t version = 0;
    bool deleted = false;
    std::shared_ptr<const SeenPod> pod;  // one of the two
    std::shared_ptr<const SeenNode> node;
  };
  struct Stream;

  void run(Stream& stream);
  Status list(ApiClient& api, Stream& stream, bool again);
  void on_line(Stream& stream, std::string_view line);
  void record(Event event);
  std::pair<std::string, std::int64_t> gang_of(const std::string& ns,
                                               const std::map<std::string, std::string>& labels) const;

  Endpoint endpoint_;
  std::vector<std::pair<std::string, std::int64_t>> gang_labels_;
  std::function<void(const SeenPod&, bool)> on_pod_;
  std::unique_ptr<Stream> pod_stream_;
  std::unique_ptr<Stream> node_stream_;
  std::atomic<bool> stop_{false};

  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  std::vector<Event> events_;
  std::map<std::string, std::shared_ptr<const SeenPod>> pods_;
  Now now_;
  Clock::time_point last_change_ = Clock::now();
  std::size_t gaps_ = 0;
  std::string problem_;
};

// "2", "500m", "1Gi", "1e3" in thousandths; an error for anything else.
Result<std::int64_t> amount_in_milli(std::string_view quantity);

}  // namespace berth::e2e
