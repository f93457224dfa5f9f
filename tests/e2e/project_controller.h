// The controller of another project beside a test cluster, unchanged, with the manifests, rights and webhooks of its project.
// `scripts/controllers build NAME` builds it once.
//
//   ProjectController jobset(*cluster, "jobset");
//   ASSERT_OK(jobset.start());          // its CRDs, its rights and its webhooks are there, and it answers
//
// How each is started stands in one table (project_controller.cc). In a cluster its webhooks are found by their Service; here by a URL
// with a certificate of the test's own. Left out: its Deployment.
#pragma once

#include <cstdio>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "e2e/cluster.h"
#include "e2e/process.h"

namespace berth::e2e {

struct ControllerRow;

class ProjectController {
 public:
  // The folder of the built program; empty: it is not built.
  static std::string folder(std::string_view controller);
  // Why a test with these controllers cannot run; "": it can.
  static std::string what_is_missing(const std::vector<std::string>& names);

  ProjectController(TestCluster& cluster, std::string_view name);

  // `env`: added to its environment.
  Status start(const std::vector<std::pair<std::string, std::string>>& env = {});
  std::string log() const { return cluster_.log(name()); }

 private:
  std::string name() const;
  Status install();
  Status run(std::vector<std::pair<std::string, std::string>> env);
  Status wait_ready();
  Status take_turn();
  std::string config_map() const;
  std::string place(const std::string& file) const { return (cluster_.folder() / name() / file).string(); }
  std::string filled_in(std::string_view text) const;

  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };

  TestCluster& cluster_;
  const ControllerRow* row_;
  std::unique_ptr<std::FILE, Close> turn_;  // while its process runs
  Process process_;
  int webhook_port_ = 0;
  int health_port_ = 0;
};

}  // namespace berth::e2e
