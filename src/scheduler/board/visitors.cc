#include "scheduler/board/visitors.h"

#include <fmt/format.h>
#include <openssl/sha.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "kube/access_review.h"
#include "text/document.h"
#include "text/json.h"

namespace berth::scheduler {
namespace {

constexpr std::string_view kTokenReviews = "/apis/authentication.k8s.io/v1/tokenreviews";
constexpr std::string_view kAccessReviews = "/apis/authorization.k8s.io/v1/subjectaccessreviews";
constexpr std::size_t kMostTokenBytes = 16'384;
constexpr text::Limits kReviewLimits{.max_depth = 16, .max_nodes = 10'000, .max_document_bytes = 1 << 20};

std::string hash_of(std::string_view token) {
  std::string out(SHA256_DIGEST_LENGTH, '\0');
  SHA256(reinterpret_cast<const unsigned char*>(token.data()), token.size(),
         reinterpret_cast<unsigned char*>(out.data()));
  return out;
}

std::string attributes_of(std::string_view group, std::string_view resource, std::string_view ns) {
  text::JsonWriter json;
  json.begin_object().field("verb", "list").field("group", group).field("resource", resource);
  if (!ns.empty()) json.field("namespace", ns);
  json.end_object();
  return json.take();
}

kube::Request post_of(std::string_view path, std::string body) {
  kube::Request request;
  request.method = kube::Method::kPost;
  request.path = path;
  request.body = std::move(body);
  request.timeout = Visitors::kPatience;
  request.max_response = kReviewLimits.max_document_bytes;
  return request;
}

// The parts of status.user that a SubjectAccessReview takes, as the fields of its spec.
std::string spec_of(const text::Node& user) {
  text::JsonWriter json;
  json.begin_object();
  for (const std::string_view key : {"uid", "groups", "extra"}) {
    if (const text::Node* value = user.find(key)) json.key(key).raw(text::to_json(*value));
  }
  const text::Node* name = user.find("username");
  json.field("user", name == nullptr ? std::string_view() : name->text()).end_object();
  const std::string out = json.take();
  return out.substr(1, out.size() - 2);
}

}  // namespace

Result<Sight> Visitors::sight_of(std::string_view authorization, const std::set<std::string>& namespaces) {
  constexpr std::string_view kScheme = "Bearer ";
  if (!authorization.starts_with(kScheme) || authorization.size() == kScheme.size() ||
      authorization.size() > kMostTokenBytes) {
    return fail(ErrorCode::kUnauthorized, "send a token of the cluster: Authorization: Bearer TOKEN");
  }
  const std::lock_guard lock(mutex_);
  BERTH_ASSIGN(const auto user, user_of(authorization.substr(kScheme.size())));
  if (!user->all) BERTH_TRY(look_up_namespaces(*user, namespaces));
  Sight out;
  out.all = user->all;
  out.nodes = user->nodes;
  out.queues = user->queues;
  out.sees = [known = user->namespaces](std::string_view ns) {
    const auto it = known.find(ns);
    return it != known.end() && it->second;
  };
  return out;
}

Result<std::shared_ptr<Visitors::User>> Visitors::user_of(std::string_view token) {
  const std::string key = hash_of(token);
  const TimeMs now = clock_();
  auto it = users_.find(key);
  if (it == users_.end() || it->second->until <= now) {
    if (now - second_ >= kSecond) {
      second_ = now;
      reviews_ = 0;
    }
    if (++reviews_ > kMostReviews)
      return fail(ErrorCode::kUnavailable, "too many new tokens at once; try again in a second");
    BERTH_ASSIGN(auto user, review(token));
    user->order = ++order_;
    user->until = now + (user->refused.empty() ? kBelieved : kRefusedFor);
    if (it == users_.end() && users_.size() >= kMostUsers) {
      users_.erase(std::min_element(users_.begin(), users_.end(), [](const auto& a, const auto& b) {
        return a.second->order < b.second->order;
      }));
    }
    it = users_.insert_or_assign(key, std::move(user)).first;
  }
  if (!it->second->refused.empty()) return fail(ErrorCode::kUnauthorized, "{}", it->second->refused);
  return it->second;
}

Result<std::shared_ptr<Visitors::User>> Visitors::review(std::string_view token) {
  text::JsonWriter json;
  json.begin_object().field("apiVersion", "authentication.k8s.io/v1").field("kind", "TokenReview");
  json.key("spec").begin_object().field("token", token).end_object().end_object();
  auto response = transport_.call(post_of(kTokenReviews, json.take()));
  if (!response.ok()) {
    return fail(ErrorCode::kUnavailable,
                "the API server does not say whose token this is: {} {} (Berth needs the right to create "
                "tokenreviews.authentication.k8s.io)",
                response.status, response.error);
  }
  BERTH_ASSIGN(const auto document, text::parse_json(std::move(response.body), "TokenReview", kReviewLimits));
  auto out = std::make_shared<User>();
  const text::Node* known = document.root().at({"status", "authenticated"});
  const text::Node* who = document.root().at({"status", "user"});
  if (known == nullptr || !known->as_bool().value_or(false) || who == nullptr) {
    out->refused = "the API server does not know this token, or it has expired";
    return out;
  }
  out->spec = spec_of(*who);
  BERTH_ASSIGN(const auto answers, may(*out, {attributes_of("", "pods", ""), attributes_of("", "nodes", ""),
                                              attributes_of("kueue.x-k8s.io", "clusterqueues", "")}));
  out->all = answers[0];
  out->nodes = answers[1];
  out->queues = answers[2];
  return out;
}

Status Visitors::look_up_namespaces(User& user, const std::set<std::string>& namespaces) {
  std::vector<std::string> attributes;
  std::vector<std::string> asked;
  for (const std::string& ns : namespaces) {
    if (user.namespaces.contains(ns)) continue;
    if (user.namespaces.size() + asked.size() >= kMostNamespaces) break;
    attributes.push_back(attributes_of("", "pods", ns));
    asked.push_back(ns);
  }
  if (asked.empty()) return {};
  BERTH_ASSIGN(const auto answers, may(user, attributes));
  for (std::size_t i = 0; i < asked.size(); ++i) user.namespaces[asked[i]] = answers[i];
  return {};
}

Result<std::vector<bool>> Visitors::may(const User& user, const std::vector<std::string>& attributes) {
  std::vector<kube::Request> requests;
  for (const std::string& asked : attributes) {
    requests.push_back(post_of(
        kAccessReviews,
        fmt::format(
            R"({{"apiVersion":"authorization.k8s.io/v1","kind":"SubjectAccessReview","spec":{{{},"resourceAttributes":{}}}}})",
            user.spec, asked)));
  }
  std::vector<bool> out;
  for (kube::Response& response : kube::call_all(transport_, std::move(requests))) {
    if (!response.ok()) {
      return fail(ErrorCode::kUnavailable, "the API server does not say what the user may see: {} {}",
                  response.status, response.error);
    }
    BERTH_ASSIGN(const bool allowed, kube::review_allows(std::move(response.body)));
    out.push_back(allowed);
  }
  return out;
}

}  // namespace berth::scheduler
