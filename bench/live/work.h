// The objects that scenarios make for a contender: pods, members of gangs, Jobs, and Kueue's queues.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "contender.h"
#include "e2e/cluster.h"

namespace berth::bench {

inline constexpr std::size_t kGang = 8;

class Work {
 public:
  // `queued`: its pods name the LocalQueue team-0, its Jobs wait suspended in one of several.
  Work(const Contender& contender, bool queued) : contender_(contender), queued_(queued) {}

  bool queued() const { return queued_; }
  e2e::PodShape shape(std::string name) const;
  std::vector<std::string> plain_pods(std::size_t count) const;
  std::string member(const std::string& gang, std::size_t i, const e2e::PodShape& base) const;
  // Gang by gang, or with `interleave` the first members of all gangs, then all second ones, and so on.
  std::vector<std::string> gang_pods(const std::string& name, std::size_t gangs, const std::string& priority,
                                     bool interleave = false) const;
  std::string job(std::size_t i, std::size_t pods, std::size_t queues) const;
  // `count` of them, 32 at once; released where the contender has it so.
  Status create_jobs(e2e::TestCluster& cluster, std::size_t count, std::size_t pods,
                     std::size_t queues) const;
  // Suspended, of one Job of kGang pods; `queued`: in the queue team-0.
  std::string jobset(std::size_t i, bool queued, bool suspended) const;

 private:
  const Contender& contender_;
  bool queued_;
};

// The kinds of queues as Berth's users have them, and create_queues().
Status make_queues(e2e::TestCluster& cluster, std::size_t count, std::size_t gpus, bool stopped = false);
Status install_queues(e2e::TestCluster& cluster);  // the kinds
// `count` ClusterQueues team-0, team-1, ... of `gpus` GPUs each, with LocalQueues of their names. Their kinds must be served soon.
Status create_queues(e2e::TestCluster& cluster, std::size_t count, std::size_t gpus, bool stopped = false);

}  // namespace berth::bench
