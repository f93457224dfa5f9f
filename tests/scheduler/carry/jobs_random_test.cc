// Suspended Jobs against a small API server and Job controller in memory, in random order: watches of Jobs and pods run apart,
// writes are answered late, refused, lost or executed without an answer, Jobs are resized, suspended, released and deleted by
// others. At the end, with no more trouble, everything must come to rest: Jobs run whole or wait suspended.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <deque>
#include <map>
#include <nlohmann/json.hpp>

#include "base/random.h"
#include "kube/binding_support.h"
#include "scheduler/world_support.h"

namespace berth::scheduler::testing {
namespace {

using kube::Outcome;
using nlohmann::json;

constexpr int kNodes = 3;
constexpr int kGpusOfANode = 2;

class Server : public Outbox {
 public:
  explicit Server(std::uint64_t seed) : random_(seed) {
    CoreOptions options = World::defaults();
    options.intake.hold_owners = true;
    core_ =
        std::make_unique<Core>(std::move(options), *this, observe::RecordedEngine::Sink(), nullptr, nullptr);
    for (int i = 0; i < kNodes; ++i) {
      const json amounts = {{"cpu", "64"}, {"pods", "110"}, {"nvidia.com/gpu", std::to_string(kGpusOfANode)}};
      tell(dialect::Kind::kNode, fmt::format("n{}", i),
           {{"metadata", {{"name", fmt::format("n{}", i)}}}, {"status", {{"allocatable", amounts}}}});
    }
    tell(dialect::Kind::kResourceFlavor, "any", {{"metadata", {{"name", "any"}}}});
    tell(dialect::Kind::kClusterQueue, "team", json::parse(R"({"metadata":{"name":"team"},"spec":{
      "namespaceSelector":{},"preemption":{"withinClusterQueue":"LowerPriority"},
      "resourceGroups":[{"coveredResources":["cpu","nvidia.com/gpu"],"flavors":[{"name":"any","resources":[
      {"name":"cpu","nominalQuota":"100"},{"name":"nvidia.com/gpu","nominalQuota":"5"}]}]}]}})"));
    tell(dialect::Kind::kLocalQueue, "team", json::parse(R"({"metadata":{"name":"team","namespace":"default"},
      "spec":{"clusterQueue":"team"}})"));
    deliver_all();
    core_->recover(now_);
  }

  void write(kube::Write write, Step step, std::string uid) override {
    if (step == Step::kStatus || step == Step::kEvent) return;
    requests_.push_back({step, std::move(uid), std::move(write.path), std::move(write.body)});
  }
  void read(std::string path, std::string uid, Step step) override {
    requests_.push_back({step, std::move(uid), std::move(path), {}});
  }

  void step(bool trouble) {
    switch (random_.below(trouble ? 12 : 8)) {
      case 0:
      case 1:
        controller();
        break;
      case 2:
      case 3:
        deliver(jobs_told_);
        break;
      case 4:
      case 5:
        deliver(pods_told_);
        break;
      case 6:
        serve(trouble);
        break;
      case 7:
        now_ += static_cast<TimeMs>(random_.below(trouble ? 6000 : 400));
        core_->turn(now_);
        break;
      case 8:
        if (jobs_.size() < 6) add_job();
        break;
      case 9:
        change_job();
        break;
      case 10:
        lose_a_pod();
        break;
      default:
        end_a_job();
        break;
    }
  }
  void settle() {
    for (int i = 0; i < 4000; ++i) {
      step(false);
      if (i % 100 == 99) now_ += 20 * kMinute;  // rests are over
    }
    for (int round = 0; round < 20; ++round) {
      controller();
      deliver_all();
      core_->turn(now_ += kMinute);
      while (!requests_.empty()) serve(false);
    }
  }
  std::string fault() const {
    if (const auto audit = core_->engine().audit(); !audit) return audit.error().message;
    int used = 0;
    for (const auto& [name, job] : jobs_) {
      int bound = 0;
      for (const auto& [pod, p] : pods_) bound += p.job == name && !p.node.empty() ? 1 : 0;
      used += bound;
      if (job.suspend && bound > 0) return fmt::format("{} is suspended and has {} bound pods", name, bound);
      // A Job that another client released may wait for room, whole.
      if (!job.suspend && bound != job.count && bound != 0)
        return fmt::format("{} runs with {} of {}: {}", name, bound, job.count, why(name));
    }
    for (const auto& workload : core_->engine().workloads()) {
      const std::string name(workload.uid.substr(4));
      std::int64_t bound = 0;
      for (const auto& [pod, p] : pods_) bound += p.job == name && !p.node.empty() ? 1 : 0;
      if (workload.slots_running != bound || workload.slots_releasing + workload.slots_held > 0) {
        std::string all;
        for (const auto& other : core_->engine().workloads()) {
          all += fmt::format("\n  {}: priority {}, {} run, {} end, {} held, {} wait: {}", other.uid,
                             other.priority, other.slots_running, other.slots_releasing, other.slots_held,
                             other.slots_waiting, why(std::string(other.uid.substr(4))));
        }
        return fmt::format("{}: {} pods are bound, {} slots run, {} end, {} are held{}", name, bound,
                           workload.slots_running, workload.slots_releasing, workload.slots_held, all);
      }
    }
    if (used > 5) return fmt::format("{} GPUs in use, the quota is 5", used);
    for (const auto& [name, job] : jobs_) {
      int bound = 0;
      for (const auto& [pod, p] : pods_) bound += p.job == name && !p.node.empty() ? 1 : 0;
      if (bound == 0 && used + job.count <= 5) {
        return fmt::format("{} ({}) waits for {} although {} of 5 are in use: {}", name,
                           job.suspend ? "suspended" : "released", job.count, used, why(name));
      }
    }
    if (core_->carrier().owners().size() > 0) return "a Job is still being released or suspended";
    if (core_->carrier().busy() > 0) return "a write is still under way";
    return {};
  }
  std::string why(const std::string& name) const {
    if (const Reason* blocked = core_->intake().blocked(uid_of(name))) return to_text(*blocked);
    const auto verdict = core_->engine().explain(uid_of(name));
    return verdict ? to_text(verdict->reason) : verdict.error().message;
  }
  int released() const { return released_; }
  int suspended() const { return suspended_; }

 private:
  struct ServedJob {
    int count = 1;
    int priority = 0;
    bool suspend = true;
    int generation = 1;
  };
  struct ServedPod {
    std::string job, node;
    bool deleting = false;
  };
  struct Request {
    Step step;
    std::string uid, path, body;
  };
  struct Told {
    dialect::Kind kind;
    kube::ChangeType type;
    std::string name, version, text;
  };

  json job_json(const std::string& name) const {
    const auto known = jobs_.find(name);
    const ServedJob job = known == jobs_.end() ? ServedJob{} : known->second;  // a pod may outlive its Job
    const json amounts = {{"nvidia.com/gpu", "1"}};
    json out;
    out["metadata"] = {{"name", name},
                       {"namespace", "default"},
                       {"uid", uid_of(name)},
                       {"generation", job.generation},
                       {"resourceVersion", std::to_string(version_)},
                       {"creationTimestamp", "2026-01-01T00:00:00Z"},
                       {"labels", {{"kueue.x-k8s.io/queue-name", "team"}}}};
    out["spec"] = {{"parallelism", job.count}, {"suspend", job.suspend}};
    out["spec"]["template"]["spec"] = {
        {"schedulerName", "berth"},
        {"priority", job.priority},
        {"containers", {{{"name", "main"}, {"resources", {{"limits", amounts}}}}}}};
    return out;
  }
  json pod_text(const std::string& name) const {
    const ServedPod& pod = pods_.at(name);
    json out = job_json(pod.job);
    out["spec"] = out["spec"]["template"]["spec"];
    out["metadata"]["name"] = name;
    out["metadata"]["uid"] = uid_of(name);
    out["metadata"].erase("labels");
    out["metadata"]["ownerReferences"] =
        json::array({{{"kind", "Job"}, {"name", pod.job}, {"uid", uid_of(pod.job)}, {"controller", true}}});
    if (!pod.node.empty()) out["spec"]["nodeName"] = pod.node;
    if (pod.deleting) out["metadata"]["deletionTimestamp"] = "2026-01-01T00:01:00Z";
    return out;
  }
  void tell(dialect::Kind kind, const std::string& name, const json& object, bool gone = false) {
    auto& queue = kind == dialect::Kind::kPod ? pods_told_ : jobs_told_;
    queue.push_back({kind, gone ? kube::ChangeType::kDeleted : kube::ChangeType::kModified, name,
                     std::to_string(version_), object.dump()});
  }
  void job_changed(const std::string& name) {
    ++version_;
    tell(dialect::Kind::kJob, name, job_json(name));
  }
  void pod_changed(const std::string& name) {
    ++version_;
    tell(dialect::Kind::kPod, name, pod_text(name));
  }
  void deliver(std::deque<Told>& queue) {
    if (queue.empty()) return;
    const Told told = std::move(queue.front());
    queue.pop_front();
    Inbox inbox;
    const std::string ns = dialect::is_namespaced(told.kind) ? "default" : "";
    const std::string uid = uid_of(told.name);
    inbox.push(told.kind, {told.type, ns, told.name, uid, told.version, told.text});
    take(inbox);
  }
  void deliver_all() {
    while (!jobs_told_.empty()) deliver(jobs_told_);
    while (!pods_told_.empty()) deliver(pods_told_);
  }
  void take(Inbox& inbox) {
    Batch batch;
    inbox.take(batch, 0);
    core_->take(batch, now_);
    if (random_.below(2) == 0) core_->turn(now_);
  }

  // One step of the Job controller, and of a kubelet.
  void controller() {
    for (const auto& [name, job] : jobs_) {
      int have = 0;
      for (auto& [pod, p] : pods_) {
        if (p.job != name || p.deleting) continue;
        ++have;
        if (!job.suspend && have <= job.count) continue;
        p.deleting = true;
        pod_changed(pod);
      }
      if (!job.suspend && have < job.count) {
        const std::string pod = fmt::format("{}-{}", name, ++pods_made_);
        pods_[pod] = {name, "", false};
        pod_changed(pod);
      }
    }
    for (auto it = pods_.begin(); it != pods_.end();) {
      if (!it->second.deleting && jobs_.contains(it->second.job)) {
        ++it;
        continue;
      }
      ++version_;
      tell(dialect::Kind::kPod, it->first, json::object(), true);
      it = pods_.erase(it);
      break;
    }
  }
  void add_job() {
    const std::string name = fmt::format("job{}", ++jobs_made_);
    jobs_[name] = {.count = 1 + static_cast<int>(random_.below(4)),
                   .priority = static_cast<int>(random_.below(3)) * 10};
    job_changed(name);
  }
  template <class Map>
  auto any_of(Map& map) {
    auto it = map.begin();
    if (!map.empty()) std::advance(it, static_cast<long>(random_.below(map.size())));
    return it;
  }
  void change_job() {
    const auto it = any_of(jobs_);
    if (it == jobs_.end()) return;
    switch (random_.below(4)) {
      case 0:
        it->second.suspend = !it->second.suspend;
        break;
      case 1:
        if (!it->second.suspend) return;  // a running gang keeps its size here
        it->second.count = 1 + static_cast<int>(random_.below(4));
        break;
      default:
        return job_changed(it->first);  // its status
    }
    ++it->second.generation;
    job_changed(it->first);
  }
  // A client deletes a waiting pod: it is gone at once, and another one is made.
  void lose_a_pod() {
    const auto it = any_of(pods_);
    if (it == pods_.end() || !it->second.node.empty()) return;
    ++version_;
    tell(dialect::Kind::kPod, it->first, json::object(), true);
    pods_.erase(it);
  }
  void end_a_job() {
    const auto it = any_of(jobs_);
    if (it == jobs_.end()) return;
    ++version_;
    tell(dialect::Kind::kJob, it->first, json::object(), true);
    jobs_.erase(it);
  }
  // Executes one request, in any order, and answers it.
  void serve(bool trouble) {
    if (requests_.empty()) return;
    const auto at = static_cast<long>(random_.below(requests_.size()));
    const Request request = requests_[static_cast<std::size_t>(at)];
    requests_.erase(requests_.begin() + at);
    Answer answer;
    answer.step = request.step;
    answer.uid = request.uid;
    const std::string name = request.uid.substr(4);
    const auto fate = trouble ? random_.below(10) : 9;
    if (fate == 0) {
      answer.result.outcome = Outcome::kUnavailable;
    } else {
      execute(request, name, answer.result);
      if (fate == 1 && answer.result.outcome == Outcome::kOk && request.step != Step::kRead) {
        answer.result = {};
        answer.result.outcome = Outcome::kUnknown;
        // The connection was lost, and the transport sent it once more: a patch with tests is refused then.
        if (request.step == Step::kOwner && !request.body.empty() && random_.chance(1, 2)) {
          answer.result.outcome = Outcome::kInvalid;
          answer.result.maybe_done = true;
        }
      }
    }
    Inbox inbox;
    inbox.push(std::move(answer));
    take(inbox);
  }
  void execute(const Request& request, const std::string& name, kube::WriteResult& result) {
    result.outcome = Outcome::kOk;
    if (request.step == Step::kMissing) {
      if (!jobs_.contains(name)) result.outcome = Outcome::kNotFound;
      result.body = job_json(name).dump();
      return;
    }
    if (request.step == Step::kOwner) {
      const auto it = jobs_.find(name);
      if (it == jobs_.end()) {
        result.outcome = Outcome::kNotFound;
        return;
      }
      if (request.body.empty()) {  // a release whose outcome is not known: it is read back
        result.body = job_json(name).dump();
        return;
      }
      const json patch = json::parse(request.body);
      if (patch.is_array()) {
        if (patch[1]["value"] != it->second.generation || !it->second.suspend) {
          result.outcome = Outcome::kInvalid;
          return;
        }
        ++released_;
      } else {
        ++suspended_;
      }
      const bool suspend = !patch.is_array();
      if (it->second.suspend != suspend) {
        it->second.suspend = suspend;
        ++it->second.generation;
        job_changed(name);
      }
      result.body = job_json(name).dump();
      return;
    }
    const auto it = pods_.find(name);
    if (it == pods_.end()) {
      result.outcome = Outcome::kNotFound;
      return;
    }
    ServedPod& pod = it->second;
    switch (request.step) {
      case Step::kBind:
        if (!pod.node.empty() || pod.deleting) {
          result.outcome = Outcome::kConflict;
          return;
        }
        pod.node = kube::testing::binding_of(request.body)["target"]["name"];
        return pod_changed(name);
      case Step::kRead:
        result.body = pod_text(name).dump();
        return;
      case Step::kDelete:
        pod.deleting = true;
        return pod_changed(name);
      default:
        return;
    }
  }

  Random random_;
  std::unique_ptr<Core> core_;
  TimeMs now_ = 1'700'000'000'000;
  int version_ = 100;
  int jobs_made_ = 0;
  int pods_made_ = 0;
  int released_ = 0;
  int suspended_ = 0;
  std::map<std::string, ServedJob> jobs_;
  std::map<std::string, ServedPod> pods_;
  std::deque<Told> jobs_told_, pods_told_;
  std::vector<Request> requests_;
};

TEST(JobsRandom, EverythingComesToRest) {
  int released = 0;
  int suspended = 0;
  for (std::uint64_t seed = 1; seed <= 2100; ++seed) {
    Server server(seed);
    for (int i = 0; i < 400; ++i) server.step(true);
    server.settle();
    ASSERT_EQ(server.fault(), "") << "seed " << seed;
    released += server.released();
    suspended += server.suspended();
  }
  EXPECT_GT(released, 7000);
  EXPECT_GT(suspended, 700);
}

}  // namespace
}  // namespace berth::scheduler::testing
