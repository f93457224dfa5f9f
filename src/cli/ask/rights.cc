#include "cli/ask/rights.h"

#include <fmt/format.h>

#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "kube/api_status.h"
#include "text/document.h"
#include "text/json.h"

namespace berth::cli {
namespace {

constexpr std::size_t kMostAnswerBytes = 1 << 20;
constexpr text::Limits kReviewLimits{
    .max_depth = 32, .max_nodes = 10'000, .max_document_bytes = kMostAnswerBytes};

std::string body_of(const Identity& identity, const Wish& wish) {
  text::JsonWriter json;
  json.begin_object().field("apiVersion", "authorization.k8s.io/v1");
  json.field("kind", identity.user.empty() ? "SelfSubjectAccessReview" : "SubjectAccessReview");
  json.key("spec").begin_object();
  if (!identity.user.empty()) {
    json.field("user", identity.user).key("groups").begin_array();
    for (const auto& group : identity.groups) json.value(group);
    json.end_array();
  }
  const std::string& resource = wish.right.resource;
  const auto slash = resource.find('/');
  json.key("resourceAttributes").begin_object().field("verb", wish.right.verb);
  json.field("group", wish.right.group).field("resource", resource.substr(0, slash));
  if (slash != std::string::npos) json.field("subresource", resource.substr(slash + 1));
  if (!wish.ns.empty()) json.field("namespace", wish.ns);
  if (!wish.name.empty()) json.field("name", wish.name);
  json.end_object().end_object().end_object();
  return json.take();
}

Result<bool> allowed_in(kube::Response response) {
  if (!response.ok()) return tl::unexpected<Error>(kube::response_error("asking for rights", response));
  BERTH_ASSIGN(const auto document,
               text::parse_json(std::move(response.body), "SubjectAccessReview", kReviewLimits));
  const text::Node* allowed = document.root().at({"status", "allowed"});
  return allowed != nullptr && allowed->as_bool().value_or(false);
}

}  // namespace

Result<Identity> service_account(const std::string& name) {
  const auto slash = name.find('/');
  if (slash == std::string::npos || slash == 0 || slash + 1 == name.size() ||
      name.find('/', slash + 1) != std::string::npos) {
    return fail(ErrorCode::kInvalid,
                "--service-account \"{}\": write NAMESPACE/NAME, such as berth-system/berth", name);
  }
  Identity out;
  out.user = fmt::format("system:serviceaccount:{}:{}", name.substr(0, slash), name.substr(slash + 1));
  out.groups = {"system:serviceaccounts", "system:serviceaccounts:" + name.substr(0, slash),
                "system:authenticated"};
  return out;
}

Result<std::vector<bool>> ask_rights(kube::Transport& transport, const Identity& identity,
                                     const std::vector<Wish>& wishes) {
  struct Answers {
    std::mutex mutex;
    std::condition_variable changed;
    std::vector<std::optional<Result<bool>>> all;
    std::size_t left = 0;
  };
  const auto answers = std::make_shared<Answers>();
  answers->all.resize(wishes.size());
  answers->left = wishes.size();
  for (std::size_t i = 0; i < wishes.size(); ++i) {
    kube::Request request;
    request.method = kube::Method::kPost;
    request.path = fmt::format("/apis/authorization.k8s.io/v1/{}subjectaccessreviews",
                               identity.user.empty() ? "self" : "");
    request.body = body_of(identity, wishes[i]);
    request.max_response = kMostAnswerBytes;
    transport.submit(std::move(request), [answers, i](kube::Response&& response) {
      Result<bool> allowed = allowed_in(std::move(response));
      const std::lock_guard lock(answers->mutex);
      answers->all[i] = std::move(allowed);
      --answers->left;
      answers->changed.notify_all();
    });
  }
  std::unique_lock lock(answers->mutex);
  answers->changed.wait(lock, [&] { return answers->left == 0; });
  std::vector<bool> out;
  for (auto& one : answers->all) {
    if (!*one) return tl::unexpected<Error>(one->error());
    out.push_back(**one);
  }
  return out;
}

}  // namespace berth::cli
