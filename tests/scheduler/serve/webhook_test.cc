// The admission webhook over TLS: accepted connections, and certificates that change.
#include "scheduler/serve/webhook.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "kube/fake_http_support.h"
#include "scheduler/tls_client_support.h"

namespace berth::scheduler::testing {
namespace {

using kube::testing::CertificatePair;
using kube::testing::TestAuthority;
using nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class Client : public TlsClient {
 public:
  using TlsClient::TlsClient;
  std::string review(const std::string& body) {
    return ask(
        fmt::format("POST /mutate HTTP/1.1\r\nHost: berth\r\nContent-Type: "
                    "application/json\r\nContent-Length: {}\r\n\r\n{}",
                    body.size(), body));
  }
};

std::string pod_review(const std::string& filler = "") {
  json review = json::parse(R"({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {
    "uid": "u", "operation": "CREATE", "resource": {"group": "", "version": "v1", "resource": "pods"},
    "object": {"metadata": {"labels": {"berth.dev/queue": "q"}}, "spec": {}}}})");
  review["request"]["object"]["metadata"]["annotations"]["filler"] = filler;
  return review.dump();
}

class WebhookTest : public ::testing::Test {
 protected:
  WebhookTest()
      : folder_(std::filesystem::temp_directory_path() / fmt::format("berth-webhook-{}", ::getpid())) {
    std::signal(SIGPIPE, SIG_IGN);  // OpenSSL writes to sockets whose other end is gone
    std::filesystem::create_directories(folder_);
    use(authority_.issue("berth", "IP:127.0.0.1"));
  }
  ~WebhookTest() override { std::filesystem::remove_all(folder_); }

  std::string certificate() const { return (folder_ / "tls.crt").string(); }
  std::string key() const { return (folder_ / "tls.key").string(); }
  void use(const CertificatePair& pair) {
    write_file(certificate(), pair.cert_pem);
    write_file(key(), pair.key_pem);
  }
  std::unique_ptr<AdmissionWebhook> start() {
    WebhookOptions options;
    options.tls = {.certificate = certificate(), .key = key()};
    options.http = observe::HttpOptions{};
    auto webhook = AdmissionWebhook::start(std::move(options));
    EXPECT_TRUE(webhook) << webhook.error().str();
    return std::move(*webhook);
  }
  std::string start_error() {
    WebhookOptions options;
    options.tls = {.certificate = certificate(), .key = key()};
    auto webhook = AdmissionWebhook::start(std::move(options));
    EXPECT_FALSE(webhook);
    return webhook ? "" : webhook.error().str();
  }
  static std::string plain(std::uint16_t port, const std::string& path) {
    const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
    const std::string request = "GET " + path + " HTTP/1.1\r\nHost: x\r\n\r\n";
    EXPECT_EQ(::send(fd, request.data(), request.size(), MSG_NOSIGNAL), static_cast<ssize_t>(request.size()));
    std::string out;
    char block[4096];
    for (ssize_t got = 0; (got = ::recv(fd, block, sizeof(block), 0)) > 0;)
      out.append(block, static_cast<std::size_t>(got));
    ::close(fd);
    return out;
  }

  TestAuthority authority_;
  std::filesystem::path folder_;
};

TEST_F(WebhookTest, AnswersReviewsOnAConnectionThatIsKept) {
  const auto webhook = start();
  Client client(webhook->port(), authority_.ca_pem());
  ASSERT_TRUE(client.connected());
  EXPECT_EQ(client.version(), "TLSv1.3");
  // All sizes: records of TLS, reads of the server and requests do not end together.
  for (const std::size_t size : {0, 1000, 16'000, 16'384, 100'000, 3'000'000}) {
    const auto answer = client.review(pod_review(std::string(size, 'x')));
    EXPECT_THAT(answer, AllOf(StartsWith("HTTP/1.1 200"), HasSubstr("\"patchType\":\"JSONPatch\""))) << size;
  }
  EXPECT_THAT(client.review("{"), AllOf(StartsWith("HTTP/1.1 400"), HasSubstr("\"kind\":\"Status\"")));
  EXPECT_THAT(client.ask("GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"), HasSubstr("ok"));
  const auto metrics = plain(webhook->http_port(), "/metrics");
  EXPECT_THAT(metrics, HasSubstr("berth_webhook_reviews_total{outcome=\"changed\"} 6"));
  EXPECT_THAT(metrics, HasSubstr("berth_webhook_reviews_total{outcome=\"unreadable\"} 1"));
  EXPECT_THAT(metrics, HasSubstr("berth_webhook_review_seconds_count 7"));
  webhook->end_connections();
  EXPECT_THAT(client.review(pod_review()), HasSubstr("Connection: close"));
}

TEST_F(WebhookTest, SpeaksNoOldAndNoPlainHttp) {
  const auto webhook = start();
  EXPECT_FALSE(Client(webhook->port(), authority_.ca_pem(), TLS1_1_VERSION).connected());
  Client older(webhook->port(), authority_.ca_pem(), TLS1_2_VERSION);
  ASSERT_TRUE(older.connected());
  EXPECT_EQ(older.version(), "TLSv1.2");
  EXPECT_THAT(older.review(pod_review()), StartsWith("HTTP/1.1 200"));
  EXPECT_FALSE(Client(webhook->port(), TestAuthority("another").ca_pem()).connected());
  EXPECT_THAT(plain(webhook->port(), "/healthz"), ::testing::Not(HasSubstr("HTTP/1.1")));
  Client still(webhook->port(), authority_.ca_pem());
  EXPECT_TRUE(still.connected()) << "none of them stopped it";
}

TEST_F(WebhookTest, NoiseInAConnectionEndsOnlyThatConnection) {
  const auto webhook = start();
  Client broken(webhook->port(), authority_.ca_pem());
  ASSERT_TRUE(broken.connected());
  EXPECT_EQ(::send(broken.fd(), "noise beneath TLS, which is no record", 37, MSG_NOSIGNAL), 37);
  EXPECT_EQ(broken.review(pod_review()), "");
  {
    // Gone in the middle of a large request.
    Client gone(webhook->port(), authority_.ca_pem());
    ASSERT_TRUE(gone.connected());
    EXPECT_EQ(::shutdown(gone.fd(), SHUT_RDWR), 0);
  }
  Client other(webhook->port(), authority_.ca_pem());
  ASSERT_TRUE(other.connected());
  EXPECT_THAT(other.review(pod_review()), StartsWith("HTTP/1.1 200"));
}

TEST_F(WebhookTest, ACertificateThatChangesIsTakenAndAnUnusableOneIsNot) {
  const auto webhook = start();
  Client kept(webhook->port(), authority_.ca_pem());
  ASSERT_TRUE(kept.connected());
  const auto loads = [&] { return plain(webhook->http_port(), "/metrics"); };
  webhook->refresh_certificate();
  EXPECT_THAT(loads(), HasSubstr("berth_webhook_certificate_loads_total{outcome=\"ok\"} 0"));

  // Half of a pair that is just being replaced: the former one is served on, and the log says so once.
  const TestAuthority next("next");
  const auto pair = next.issue("berth", "IP:127.0.0.1");
  write_file(certificate(), pair.cert_pem);
  webhook->refresh_certificate();
  webhook->refresh_certificate();
  EXPECT_THAT(loads(), HasSubstr("berth_webhook_certificate_loads_total{outcome=\"error\"} 1"));
  EXPECT_TRUE(Client(webhook->port(), authority_.ca_pem()).connected());
  write_file(key(), pair.key_pem);
  webhook->refresh_certificate();
  EXPECT_THAT(loads(), HasSubstr("berth_webhook_certificate_loads_total{outcome=\"ok\"} 1"));
  EXPECT_FALSE(Client(webhook->port(), authority_.ca_pem()).connected());
  EXPECT_TRUE(Client(webhook->port(), next.ca_pem()).connected());
  EXPECT_THAT(kept.review(pod_review()), StartsWith("HTTP/1.1 200")) << "connections that are there go on";

  std::filesystem::remove(key());
  webhook->refresh_certificate();
  EXPECT_TRUE(Client(webhook->port(), next.ca_pem()).connected());
  EXPECT_THAT(loads(), HasSubstr("berth_webhook_certificate_loads_total{outcome=\"error\"} 2"));
  EXPECT_THAT(plain(webhook->http_port(), "/readyz"), StartsWith("HTTP/1.1 200"));
}

TEST_F(WebhookTest, FilesThatCannotBeUsedAreErrorsThatNameThem) {
  write_file(key(), "nonsense");
  EXPECT_THAT(start_error(), HasSubstr(key() + " has no private key in PEM"));
  write_file(key(), TestAuthority().issue("other", "").key_pem);
  EXPECT_THAT(start_error(), AllOf(HasSubstr(key()), HasSubstr("is not that of the certificate of")));
  write_file(certificate(), "");
  EXPECT_THAT(start_error(), HasSubstr(certificate() + " has no certificate in PEM"));
  write_file(certificate(), std::string((1 << 20) + 1, 'x'));
  EXPECT_THAT(start_error(), HasSubstr("larger than"));
  std::filesystem::remove(certificate());
  EXPECT_THAT(start_error(), HasSubstr("cannot open " + certificate()));
  std::filesystem::remove(key());
  EXPECT_THAT(start_error(), HasSubstr("cannot open " + certificate()));
}

}  // namespace
}  // namespace berth::scheduler::testing
