// The fixture of tests that install Berth as its user does: Helm, kubectl and the commands of pages, against a test cluster.
// Helm is built by `scripts/helm build`; where it is not, the tests skip.
#pragma once

#include <fmt/format.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "e2e/files.h"
#include "e2e/teams.h"

namespace berth::e2e {

inline constexpr const char* kChart = BERTH_SOURCE_DIR "/deploy/chart/berth";
inline constexpr const char* kSystem = "berth-system";

class InstallTest : public TeamsTest {
 protected:
  struct Answer {
    int code = -1;
    std::string text;  // standard output and error
    bool ok() const { return code == 0; }
  };
  Answer run_program(std::vector<std::string> argv) {
    const std::string log = cluster_->log(fmt::format("command-{}", ++asked_));
    auto process = Process::start({.argv = std::move(argv),
                                   .log = log,
                                   .env = {{"KUBECONFIG", cluster_->kubeconfig()},
                                           {"KUBECACHEDIR", (cluster_->folder() / "kubectl-cache").string()},
                                           {"HELM_CACHE_HOME", (cluster_->folder() / "helm").string()},
                                           {"HELM_CONFIG_HOME", (cluster_->folder() / "helm").string()},
                                           {"HELM_DATA_HOME", (cluster_->folder() / "helm").string()}}});
    if (!process || !process->wait(400'000)) {
      ADD_FAILURE() << "it did not end";
      return {};
    }
    std::ostringstream text;
    text << std::ifstream(log).rdbuf();
    return {process->exit_status(), text.str()};
  }
  // Starts the cluster; skips the test where Helm is not built.
  void start_with_helm(ClusterOptions options) {
    if (IsSkipped()) return;
    start(std::move(options));
    const Answer path = run_program({BERTH_SOURCE_DIR "/scripts/helm", "path"});
    helm_ = path.text.substr(0, path.text.find('\n'));
    if (std::filesystem::exists(helm_)) return;
    std::fprintf(stderr, "\n*** SKIPPED, NOT TESTED: there is no Helm at %s; scripts/helm build\n\n",
                 helm_.c_str());
    GTEST_SKIP() << "Helm is not built";
  }
  Answer helm(std::vector<std::string> args) {
    std::vector<std::string> argv = {helm_};
    argv.insert(argv.end(), args.begin(), args.end());
    argv.insert(argv.end(), {"--namespace", kSystem});
    return run_program(std::move(argv));
  }
  static std::string kubectl_program() {
    const auto program = TestCluster::find_program("kubectl");
    return program ? *program : "kubectl";
  }
  Answer kubectl(std::vector<std::string> args) {
    std::vector<std::string> argv = {kubectl_program()};
    argv.insert(argv.end(), args.begin(), args.end());
    return run_program(std::move(argv));
  }
  // The block of docs/tasks/remove.md that begins so, with `name` for NAME and with the kubectl of the tests.
  static std::string command_of_page(const std::string& begin, const std::string& name) {
    const auto page = text_of(BERTH_SOURCE_DIR "/docs/tasks/remove.md");
    const auto from = page ? page->find(begin) : std::string::npos;
    if (from == std::string::npos) {
      ADD_FAILURE() << "docs/tasks/remove.md has no block that begins with " << begin;
      return "false";
    }
    std::string block = page->substr(from, page->find("```", from) - from);
    block.replace(block.find("NAME"), 4, name);
    const std::string folder = std::filesystem::path(kubectl_program()).parent_path();
    return fmt::format("set -o pipefail\nPATH={}:$PATH\n{}", folder, block);
  }
  bool has_policies() const {
    return cluster_->client()
               .get("/apis/admissionregistration.k8s.io/v1")
               .body.find("\"mutatingadmissionpolicies\"") != std::string::npos;
  }
  // An identity with the rights of the chart's service account, which must be there before it is used.
  std::string identity_of_berth() {
    const auto identity =
        cluster_->kubeconfig_for(fmt::format("system:serviceaccount:{}:berth", kSystem),
                                 {"system:serviceaccounts", "system:serviceaccounts:berth-system"});
    EXPECT_TRUE(identity.has_value()) << identity.error().str();
    return identity.value_or("");
  }

  std::string helm_;

 private:
  int asked_ = 0;
};

}  // namespace berth::e2e
