#include "kube/config.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>

#include "kube/fake_api_server_support.h"
#include "kube/identity.h"
#include "kube/secrets.h"
#include "kube/transport.h"
#include "kube/wait_support.h"

namespace berth::kube {
namespace {

using testing::FakeApiServer;
using testing::wait_for;
namespace fs = std::filesystem;

class ConfigTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "berth_kube_XXXXXX").string();
    folder = mkdtemp(pattern.data());
  }
  void TearDown() override { fs::remove_all(folder); }
  std::string write(const std::string& name, const std::string& text) {
    // As Kubernetes does it: the new file takes the old one's place at once.
    const std::string path = (folder / name).string();
    std::ofstream(path + ".new") << text;
    fs::rename(path + ".new", path);
    return path;
  }
  // The message of reading `text`, without the folder.
  std::string error_of(const std::string& text, const std::string& context = {}) {
    const auto config = read_kubeconfig(write("config", text), context);
    if (config) return "no error";
    std::string message = config.error().str();
    const std::string prefix = folder.string() + "/";
    for (std::size_t at = 0; (at = message.find(prefix)) != std::string::npos;)
      message.erase(at, prefix.size());
    return message;
  }
  static std::string kubeconfig(const std::string& cluster, const std::string& user) {
    return "apiVersion: v1\nkind: Config\ncurrent-context: c\ncontexts:\n- name: c\n  context: {cluster: k, "
           "user: u, "
           "namespace: team}\nclusters:\n- name: k\n  cluster:\n" +
           cluster + "users:\n- name: u\n  user:\n" + user;
  }
  fs::path folder;
};

TEST_F(ConfigTest, ReadsTheCurrentContext) {
  const std::string path =
      write("config", kubeconfig("    server: https://10.0.0.1:6443/\n    certificate-authority: ca.pem\n"
                                 "    tls-server-name: api\n    proxy-url: http://proxy:3128\n",
                                 "    tokenFile: token\n"));
  const auto config = read_kubeconfig(path);
  ASSERT_TRUE(config) << config.error().str();
  EXPECT_EQ(config->server, "https://10.0.0.1:6443");
  EXPECT_EQ(config->ns, "team");
  EXPECT_EQ(config->ca.file, (folder / "ca.pem").string());
  EXPECT_EQ(config->token.file, (folder / "token").string());
  EXPECT_EQ(config->tls_server_name, "api");
  EXPECT_EQ(config->proxy_url, "http://proxy:3128");
  EXPECT_FALSE(config->insecure);
}

TEST_F(ConfigTest, MessagesNameFileAndField) {
  const std::string good = "    server: https://a:1\n";
  const std::string user = "    token: s3cr3t\n";
  EXPECT_EQ(error_of("contexts: []\n"),
            "config:1:1: current-context: is not set; set it or name one of the contexts: none");
  const auto contains = [&](const std::string& text, const std::string& part,
                            const std::string& context = {}) {
    const std::string message = error_of(text, context);
    EXPECT_NE(message.find(part), std::string::npos) << message;
    EXPECT_NE(message.find("config:"), std::string::npos) << message;
    EXPECT_EQ(message.find("s3cr3t"), std::string::npos) << message;
  };
  contains(kubeconfig(good, user), "there is no context \"other\"; there are: c", "other");
  contains(kubeconfig("    server: 10.0.0.1\n", user),
           "clusters[0].cluster.server: '10.0.0.1' must start with https://");
  contains(kubeconfig("    proxy-url: http://p:1\n", user), "server");
  contains(kubeconfig(good + "    certificate-authority-data: '!!'\n", user),
           "clusters[0].cluster.certificate-authority-data: is not valid base64");
  contains(kubeconfig(good + "    certificate-authority-data: czNjcjN0\n", user), "does not hold PEM");
  contains(kubeconfig(good + "    certificate-authority: x\n    insecure-skip-tls-verify: true\n", user),
           "insecure-skip-tls-verify");
  contains(kubeconfig(good, "    token: [s3cr3t]\n"), "users[0].user.token: must be a string");
  contains(kubeconfig(good, "    client-certificate: a.pem\n"),
           "client-certificate and client-key belong together");
  contains(kubeconfig(good, "    auth-provider: {name: gcp}\n"), "use an exec plugin instead");
  contains(kubeconfig(good, "    exec: {command: x, apiVersion: v0}\n"), "client.authentication.k8s.io/v1");
  contains(
      kubeconfig(
          good,
          "    exec: {command: x, apiVersion: client.authentication.k8s.io/v1, interactiveMode: Always}\n"),
      "needs a terminal");
  contains("current-context: c\ncontexts: [{name: c, context: {cluster: k}}]\nclusters: []\n",
           "there is no cluster \"k\"");
  EXPECT_NE(read_kubeconfig((folder / "missing").string()).error().message.find("missing: cannot be read"),
            std::string::npos);
}

TEST_F(ConfigTest, IdentityErrorsNameTheFileAndNoSecret) {
  ClusterConfig config;
  config.source = "kubeconfig";
  config.context = "c";
  config.server = "http://127.0.0.1:1";
  config.token.file = (folder / "token").string();
  const auto missing = IdentitySource::create(config);
  ASSERT_FALSE(missing);
  EXPECT_NE(missing.error().message.find("kubeconfig, context \"c\": tokenFile: "), std::string::npos);
  write("token", "one\ntwo\n");
  const auto several = IdentitySource::create(config);
  ASSERT_FALSE(several);
  EXPECT_NE(several.error().message.find("several lines"), std::string::npos);
  EXPECT_EQ(several.error().message.find("two"), std::string::npos);
  config.token = {};
  config.ca.file = write("ca.pem", "not a certificate");
  EXPECT_NE(IdentitySource::create(config).error().message.find("certificate-authority: "),
            std::string::npos);
}

TEST_F(ConfigTest, InCluster) {
  unsetenv("KUBERNETES_SERVICE_HOST");
  EXPECT_EQ(in_cluster_config(folder.string()).error().code, ErrorCode::kNotFound);
  FakeApiServer api({.tls = true, .token = "first"});
  write("token", "first\n");
  write("ca.crt", api.authority().ca_pem());
  write("namespace", "berth-system");
  setenv("KUBERNETES_SERVICE_HOST", "127.0.0.1", 1);
  const std::string url = api.url();
  setenv("KUBERNETES_SERVICE_PORT", url.substr(url.rfind(':') + 1).c_str(), 1);
  const auto config = in_cluster_config(folder.string());
  unsetenv("KUBERNETES_SERVICE_HOST");
  ASSERT_TRUE(config) << config.error().str();
  EXPECT_EQ(config->ns, "berth-system");
  auto transport = Transport::create(*config);
  ASSERT_TRUE(transport) << transport.error().str();
  EXPECT_EQ((*transport)->call({.path = "/version"}).status, 200);
}

TEST_F(ConfigTest, RotatedTokenIsReadOn401) {
  FakeApiServer api({.token = "first"});
  ClusterConfig config = api.config();
  config.token.file = write("token", "first");
  auto transport = *Transport::create(config, {.identity = {.least_between_refreshes = 10}});
  EXPECT_EQ(transport->call({.path = "/version"}).status, 200);
  api.set_token("second");
  write("token", "second");
  EXPECT_EQ(transport->call({.path = "/version"}).status, 200);  // by itself
  EXPECT_EQ(transport->stats().unauthorized.load(), 1u);
  // A token that is wrong for good is an answer, not a loop.
  api.set_token("third");
  EXPECT_EQ(transport->call({.path = "/version"}).status, 401);
}

TEST_F(ConfigTest, TokenFileIsReadAgainInTime) {
  FakeApiServer api({.token = "first"});
  ClusterConfig config = api.config();
  config.token.file = write("token", "first");
  auto source = *IdentitySource::create(config, {.reread_every = 20});
  EXPECT_EQ(source->current()->token, "first");
  write("token", "second");
  EXPECT_TRUE(wait_for([&] { return source->current()->token == "second"; }));
  EXPECT_EQ(source->current()->generation, 2u);
  fs::remove(folder / "token");
  EXPECT_TRUE(wait_for([&] { return !source->last_problem().empty(); }));
  EXPECT_EQ(source->current()->token, "second");  // the last good one goes on being used
}

// A connection of the former certificate would go on speaking for it.
TEST_F(ConfigTest, AnotherClientCertificateIsUsedFromTheNextRequestOn) {
  FakeApiServer api({.tls = true});
  ClusterConfig config = api.config();
  const auto issue = [&](const std::string& name) {
    const auto pair = api.authority().issue(name, "");
    config.key.file = write("key.pem", pair.key_pem);
    config.cert.file = write("cert.pem", pair.cert_pem + api.authority().ca_pem());
  };
  issue("first");
  auto transport = *Transport::create(config, {.identity = {.reread_every = 20}});
  const auto client = [&] {
    EXPECT_EQ(transport->call({.path = "/version"}).status, 200);
    return api.seen().back().client_name;
  };
  EXPECT_EQ(client(), "first");
  EXPECT_EQ(client(), "first");
  EXPECT_EQ(api.connections(), 1u) << "one identity, one connection";
  issue("second");
  EXPECT_TRUE(wait_for([&] { return client() == "second"; }));
}

TEST_F(ConfigTest, AKeyThatCannotBeReadIsAnErrorOfTheConnection) {
  FakeApiServer api({.tls = true});
  ClusterConfig config = api.config();
  config.cert.data = api.authority().issue("berth-admin", "").cert_pem;
  config.key.data = "-----BEGIN PRIVATE KEY-----\nbm8=\n-----END PRIVATE KEY-----\n";
  auto transport = *Transport::create(config);
  const Response response = transport->call({.path = "/version"});
  EXPECT_EQ(response.status, 0);
  EXPECT_FALSE(response.error.empty());
}

TEST_F(ConfigTest, ExecPlugin) {
  FakeApiServer api({.token = "t1"});
  const std::string script = write("plugin", R"(#!/bin/sh
n=$(cat "$COUNT" 2>/dev/null || echo 0); n=$((n+1)); echo $n > "$COUNT"
case "$KUBERNETES_EXEC_INFO" in *'"interactive":false'*) ;; *) exit 3;; esac
echo '{"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1","status":{"token":"t'$n'"}}'
)");
  chmod(script.c_str(), 0755);
  const std::string path = write(
      "config",
      kubeconfig("    server: " + api.url() + "\n",
                 "    exec:\n      apiVersion: client.authentication.k8s.io/v1\n      command: ./plugin\n"
                 "      env: [{name: COUNT, value: " +
                     (folder / "count").string() + "}]\n"));
  const auto config = read_kubeconfig(path);
  ASSERT_TRUE(config) << config.error().str();
  auto transport = Transport::create(*config, {.identity = {.least_between_refreshes = 10}});
  ASSERT_TRUE(transport) << transport.error().str();
  EXPECT_EQ((*transport)->call({.path = "/version"}).status, 200);
  api.set_token("t2");
  EXPECT_EQ((*transport)->call({.path = "/version"}).status, 200);  // run again on 401
}

TEST_F(ConfigTest, ExecPluginRunsAgainWhenItsCredentialEnds) {
  const std::string script = write("plugin", R"(#!/bin/sh
n=$(cat "$COUNT" 2>/dev/null || echo 0); n=$((n+1)); echo $n > "$COUNT"
echo '{"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1","status":{"token":"t'$n'","expirationTimestamp":"2000-01-01T00:00:00Z"}}'
)");
  chmod(script.c_str(), 0755);
  ClusterConfig config;
  config.exec = ExecPlugin{.command = script,
                           .env = {{"COUNT", (folder / "count").string()}},
                           .api_version = "client.authentication.k8s.io/v1"};
  auto source = *IdentitySource::create(config, {.least_between_refreshes = 20});
  EXPECT_TRUE(wait_for([&] { return source->current()->generation >= 3; }));
}

TEST_F(ConfigTest, ExecPluginFailures) {
  ClusterConfig config;
  config.exec = ExecPlugin{.command = "/nonexistent/plugin",
                           .api_version = "client.authentication.k8s.io/v1",
                           .install_hint = "install it with make"};
  const auto message = [&] { return IdentitySource::create(config, {.exec_timeout = 200}).error().message; };
  EXPECT_NE(message().find("cannot be started: No such file or directory; install it with make"),
            std::string::npos);
  const auto script = [&](const std::string& body) {
    config.exec->command = write("plugin", "#!/bin/sh\n" + body + "\n");
    chmod(config.exec->command.c_str(), 0755);
  };
  script("exit 7");
  EXPECT_NE(message().find("failed with exit code 7"), std::string::npos) << message();
  script("sleep 60");
  EXPECT_NE(message().find("did not end within 200 ms and was killed"), std::string::npos) << message();
  script("echo '{broken s3cr3t'");
  EXPECT_NE(message().find("did not print one ExecCredential"), std::string::npos) << message();
  EXPECT_EQ(message().find("s3cr3t"), std::string::npos);
  script(R"(echo '{"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1","status":{}}')");
  EXPECT_NE(message().find("neither token nor clientCertificateData"), std::string::npos) << message();
}

TEST(Secrets, Base64) {
  EXPECT_EQ(*decode_base64("aGVs\nbG8="), "hello");
  EXPECT_EQ(*decode_base64(""), "");
  EXPECT_FALSE(decode_base64("aGVsbG8"));
  EXPECT_FALSE(decode_base64("aG=Vs"));
  EXPECT_FALSE(decode_base64("a*"));
}

}  // namespace
}  // namespace berth::kube
