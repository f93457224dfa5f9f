// What a tenant tries in order to hold more than its queue grants, as tables: one row per attempt. The tenant is a user with the
// rights of the role `edit` in namespace team-a, whose queue `main` grants eight GPUs. All of them are taken when the rows are tried:
// three bare pods held-0 to held-2, a Job `work` with three pods, a ReplicaSet `set` with two. Pods greedy-N wait for what comes free.
// berth_attempts_test.cc tries them; whatever a row does, team-a must not hold more at any resourceVersion.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "e2e/api_client.h"

namespace berth::e2e {

inline constexpr const char* kQueueLabel = "kueue.x-k8s.io/queue-name";

// `text` as the name of an object.
std::string name_from(std::string text);

// The tenant's connection, and short forms of what it does. Every answer is kept until take().
class TenantHands {
 public:
  using json = nlohmann::json;
  using Change = std::function<void(json&)>;

  explicit TenantHands(ApiClient& api) : api_(api) {}

  // A pod of one GPU in queue main, changed by `change`.
  void pod(const std::string& name, const Change& change = {});
  // A suspended Job of two such pods.
  void job(const std::string& name, const Change& change = {});
  // A ReplicaSet, StatefulSet, Deployment (of two pods) or DaemonSet of such pods.
  void set(const std::string& kind, const std::string& name, const Change& change = {});
  void post(const std::string& path, const json& body) { note(api_.post(path, body.dump())); }
  void patch(const std::string& path, const json& body, std::string_view type = kMergePatch) {
    note(api_.patch(path, body.dump(), type));
  }
  void put(const std::string& path, const json& body) { note(api_.put(path, body.dump())); }
  void del(const std::string& path) { note(api_.del(path)); }
  // Not kept: what is read is no attempt.
  json get(const std::string& path) const;
  std::string uid(const std::string& path) const;

  static json template_of_pods(const std::string& name);
  static std::string pods() { return "/api/v1/namespaces/team-a/pods"; }
  static std::string jobs() { return "/apis/batch/v1/namespaces/team-a/jobs"; }
  static std::string sets(const std::string& kind);
  static std::string workloads() { return "/apis/kueue.x-k8s.io/v1beta2/namespaces/team-a/workloads"; }
  static std::string pod_groups() { return "/apis/scheduling.x-k8s.io/v1alpha1/namespaces/team-a/podgroups"; }

  std::vector<Reply> take() { return std::exchange(replies_, {}); }

 private:
  void note(Reply reply) { replies_.push_back(std::move(reply)); }

  ApiClient& api_;
  std::vector<Reply> replies_;
};

enum class Answer {
  kRefused,  // every answer is 4xx
  kTaken,    // every answer is 2xx
  kEither,   // versions of Kubernetes differ, or it is a matter of time
};

struct Attempt {
  std::string name;
  Answer answer = Answer::kEither;
  std::function<void(TenantHands&)> act;
};

// In this order, with a restart of Berth after each table.
std::vector<Attempt> attempts_of_new_pods();
std::vector<Attempt> attempts_of_new_owners();
std::vector<Attempt> attempts_on_what_is_bound();
std::vector<Attempt> attempts_at_the_end();

}  // namespace berth::e2e
