// Users of the dashboard by their bearer tokens, and what each may see: the API server says it (TokenReview, SubjectAccessReview).
//
//   nodes        list nodes
//   queues       list clusterqueues.kueue.x-k8s.io
//   a workload   list pods, in its namespace or in all
//
// An answer is believed for kBelieved, a refused token for kRefusedFor. Bounds: kMostUsers known tokens (the oldest goes first),
// kMostNamespaces asked for one user (the rest is not seen), kMostReviews new tokens in a second. Tokens are kept as hashes only.
// Rights that Berth needs for it: create tokenreviews.authentication.k8s.io and subjectaccessreviews.authorization.k8s.io.
//
// Thread-safe. A call waits for the API server, at most kPatience for each of its two rounds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "kube/transport.h"
#include "scheduler/board/views.h"

namespace berth::scheduler {

class Visitors {
 public:
  static constexpr DurationMs kBelieved = kMinute;
  static constexpr DurationMs kRefusedFor = 5 * kSecond;
  static constexpr DurationMs kPatience = 3 * kSecond;
  static constexpr std::size_t kMostUsers = 256;
  static constexpr std::size_t kMostNamespaces = 2'000;
  static constexpr std::int64_t kMostReviews = 20;

  // `clock`: milliseconds that never go back.
  Visitors(kube::Transport& transport, std::function<TimeMs()> clock)
      : transport_(transport), clock_(std::move(clock)) {}

  // `authorization`: the header's line. `namespaces`: those that can be shown. Unauthorized: there is no token, or it is no user's;
  // Unavailable: the API server does not answer, or too many new tokens came.
  Result<Sight> sight_of(std::string_view authorization, const std::set<std::string>& namespaces);

 private:
  struct User {
    TimeMs until = 0;
    std::uint64_t order = 0;
    std::string refused;  // why; "": it is a user
    std::string spec;     // user, uid, groups, extra, as fields of a SubjectAccessReview's spec
    bool all = false, nodes = false, queues = false;
    std::map<std::string, bool, std::less<>> namespaces;
  };

  Result<std::shared_ptr<User>> user_of(std::string_view token);
  Result<std::shared_ptr<User>> review(std::string_view token);
  // The answers to these questions, asked together: fields of resourceAttributes.
  Result<std::vector<bool>> may(const User& user, const std::vector<std::string>& attributes);
  Status look_up_namespaces(User& user, const std::set<std::string>& namespaces);

  kube::Transport& transport_;
  const std::function<TimeMs()> clock_;
  std::mutex mutex_;
  std::map<std::string, std::shared_ptr<User>> users_;  // by the hash of the token
  std::uint64_t order_ = 0;
  TimeMs second_ = 0;
  std::int64_t reviews_ = 0;  // in it
};

}  // namespace berth::scheduler
