// Access to pending workloads over TLS, and the way in which API servers find the replica that answers.
#include "scheduler/serve/visibility.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <csignal>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "kube/fake_api_server_support.h"
#include "kube/wait_support.h"
#include "scheduler/tls_client_support.h"

namespace berth::scheduler::testing {
namespace {

using kube::testing::CertificatePair;
using kube::testing::FakeApiServer;
using kube::testing::TestAuthority;
using kube::testing::wait_for;
using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr const char* kConfigMaps = "/api/v1/namespaces/kube-system/configmaps";
constexpr const char* kGroupPage = "/apis/visibility.kueue.x-k8s.io";

class VisibilityTest : public ::testing::Test {
 protected:
  VisibilityTest()
      : folder_(std::filesystem::temp_directory_path() / fmt::format("berth-visibility-{}", ::getpid())) {
    std::signal(SIGPIPE, SIG_IGN);  // OpenSSL writes to sockets whose other end is gone
    std::filesystem::create_directories(folder_);
    transport_ = *kube::Transport::create(api_.config());
  }
  ~VisibilityTest() override {
    visibility_.reset();
    std::filesystem::remove_all(folder_);
  }

  void give_certificate() {
    const auto pair = authority_.issue("berth-visibility", "IP:127.0.0.1");
    write_file((folder_ / "tls.crt").string(), pair.cert_pem);
    write_file((folder_ / "tls.key").string(), pair.key_pem);
  }
  void give_front_proxy(const std::string& ca_pem, const std::string& names = R"(["front-proxy-client"])") {
    const json data = {{"client-ca-file", "not for this"},
                       {"requestheader-client-ca-file", ca_pem},
                       {"requestheader-allowed-names", names}};
    const std::string path = std::string(kConfigMaps) + "/extension-apiserver-authentication";
    if (api_.get(path)) {
      api_.change(path, [&](json& object) { object["data"] = data; });
    } else {
      api_.create(kConfigMaps,
                  json{{"metadata", {{"name", "extension-apiserver-authentication"}}}, {"data", data}});
    }
  }
  void start(const std::string& advertise = "") {
    VisibilityOptions options;
    options.tls = {.certificate = (folder_ / "tls.crt").string(), .key = (folder_ / "tls.key").string()};
    options.advertise = advertise;
    options.ns = "berth-system";
    auto visibility = Visibility::start(
        *transport_, options,
        [](const dialect::PendingQuestion& question) -> Result<std::vector<dialect::PendingPlace>> {
          if (question.queue == "nowhere") return fail(ErrorCode::kNotFound, "no such queue");
          dialect::PendingPlace place;
          place.ns = "team";
          place.name = fmt::format("{}-{}", question.queue, question.offset);
          return std::vector<dialect::PendingPlace>{place};
        },
        [this] { return decides_.load(); });
    ASSERT_TRUE(visibility) << visibility.error().str();
    visibility_ = std::move(*visibility);
  }
  // The answer to this one, shown by `who`; "": the connection ended.
  std::string ask(const CertificatePair* who, const std::string& target = kGroupPage) {
    TlsClient client(visibility_->port(), authority_.ca_pem(), 0, who);
    return client.connected() ? client.get(target) : "";
  }
  bool opens_to(const CertificatePair& who) {
    return wait_for([&] { return ask(&who).starts_with("HTTP/1.1 200"); });
  }

  FakeApiServer api_;
  std::unique_ptr<kube::Transport> transport_;
  TestAuthority authority_;  // of the server
  TestAuthority proxies_{"front-proxy-ca"};
  const CertificatePair proxy_ = proxies_.issue("front-proxy-client", "");
  std::filesystem::path folder_;
  std::atomic<bool> decides_{false};
  std::unique_ptr<Visibility> visibility_;
};

TEST_F(VisibilityTest, OnlyTheFrontProxyMayAsk) {
  give_certificate();
  give_front_proxy(proxies_.ca_pem());
  start();
  ASSERT_TRUE(opens_to(proxy_));
  EXPECT_EQ(ask(nullptr), "") << "nobody in particular";
  const auto other_name = proxies_.issue("somebody", "");
  EXPECT_EQ(ask(&other_name), "");
  const auto other_authority = TestAuthority("front-proxy-ca").issue("front-proxy-client", "");
  EXPECT_EQ(ask(&other_authority), "");
}

TEST_F(VisibilityTest, NoClientMayBeforeTheAllowedOnesAreKnown) {
  start();
  EXPECT_EQ(ask(&proxy_), "") << "no certificate, no front proxy";
  give_front_proxy(proxies_.ca_pem());
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  EXPECT_EQ(ask(&proxy_), "") << "no certificate";
  give_certificate();
  EXPECT_TRUE(opens_to(proxy_)) << "it comes later";

  // Another authority, and any name of it.
  const TestAuthority next("front-proxy-ca-2");
  const auto any = next.issue("whoever", "");
  EXPECT_EQ(ask(&any), "");
  give_front_proxy(next.ca_pem(), "[]");
  EXPECT_TRUE(opens_to(any));
  EXPECT_EQ(ask(&proxy_), "");
  // Gone, or broken: no client.
  give_front_proxy("");
  EXPECT_TRUE(wait_for([&] { return ask(&any).empty(); }));
  give_front_proxy(next.ca_pem(), "[]");
  EXPECT_TRUE(opens_to(any));
  give_front_proxy(next.ca_pem(), "[\"");
  EXPECT_TRUE(wait_for([&] { return ask(&any).empty(); }));
}

TEST_F(VisibilityTest, PagesAndErrors) {
  give_certificate();
  give_front_proxy(proxies_.ca_pem());
  start();
  ASSERT_TRUE(opens_to(proxy_));
  EXPECT_THAT(ask(&proxy_, "/apis/visibility.kueue.x-k8s.io/v1beta2"), HasSubstr("APIResourceList"));
  const std::string page = ask(
      &proxy_,
      "/apis/visibility.kueue.x-k8s.io/v1beta2/namespaces/team/localqueues/main/pendingworkloads?offset=4");
  EXPECT_THAT(page, StartsWith("HTTP/1.1 200 OK\r\nContent-Type: application/json"));
  EXPECT_THAT(page, HasSubstr(R"("name":"main-4")"));
  EXPECT_THAT(ask(&proxy_, "/apis/visibility.kueue.x-k8s.io/v1beta2/clusterqueues/nowhere/pendingworkloads"),
              StartsWith("HTTP/1.1 404"));
  EXPECT_THAT(
      ask(&proxy_, "/apis/visibility.kueue.x-k8s.io/v1beta2/clusterqueues/q/pendingworkloads?limit=x"),
      StartsWith("HTTP/1.1 400"));
  EXPECT_THAT(ask(&proxy_, "/openapi/v2"), StartsWith("HTTP/1.1 404"));
}

TEST_F(VisibilityTest, TheDecidingReplicaIsTheServicesAddress) {
  constexpr const char* kSlice =
      "/apis/discovery.k8s.io/v1/namespaces/berth-system/endpointslices/berth-visibility";
  start("10.0.0.7");
  decides_ = true;
  std::this_thread::sleep_for(std::chrono::milliseconds(1500));
  EXPECT_EQ(api_.count("PATCH"), 0) << "it cannot answer yet";
  give_certificate();
  ASSERT_TRUE(wait_for([&] { return api_.count("PATCH", kSlice) > 0; }));
  const auto seen = api_.seen();
  const auto write =
      std::find_if(seen.begin(), seen.end(), [](const auto& s) { return s.method == "PATCH"; });
  EXPECT_EQ(write->content_type, "application/apply-patch+yaml");
  EXPECT_THAT(write->target, HasSubstr("fieldManager=berth"));
  const json slice = json::parse(write->body);
  EXPECT_EQ(slice["addressType"], "IPv4");
  EXPECT_EQ(slice["metadata"]["labels"]["kubernetes.io/service-name"], "berth-visibility");
  EXPECT_EQ(slice["endpoints"][0]["addresses"], json::array({"10.0.0.7"}));
  EXPECT_EQ(slice["ports"][0]["port"], visibility_->port());
  EXPECT_EQ(slice["ports"][0]["name"], "https");
}

TEST_F(VisibilityTest, AStandbyIsNoAddress) {
  give_certificate();
  start("fd00::7");
  std::this_thread::sleep_for(std::chrono::milliseconds(1500));
  EXPECT_EQ(api_.count("PATCH"), 0);
  decides_ = true;
  ASSERT_TRUE(wait_for([&] { return api_.count("PATCH") > 0; }));
  const auto seen = api_.seen();
  const auto write =
      std::find_if(seen.begin(), seen.end(), [](const auto& s) { return s.method == "PATCH"; });
  EXPECT_EQ(json::parse(write->body)["addressType"], "IPv6");
}

}  // namespace
}  // namespace berth::scheduler::testing
