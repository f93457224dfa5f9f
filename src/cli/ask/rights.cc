#include "cli/ask/rights.h"

#include <fmt/format.h>

#include <utility>

#include "kube/access_review.h"
#include "kube/api_status.h"
#include "text/json.h"

namespace berth::cli {
namespace {

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
  std::vector<kube::Request> requests;
  for (const Wish& wish : wishes) {
    kube::Request& request = requests.emplace_back();
    request.method = kube::Method::kPost;
    request.path = fmt::format("/apis/authorization.k8s.io/v1/{}subjectaccessreviews",
                               identity.user.empty() ? "self" : "");
    request.body = body_of(identity, wish);
    request.max_response = kube::kMostReviewBytes;
  }
  std::vector<bool> out;
  for (kube::Response& response : kube::call_all(transport, std::move(requests))) {
    if (!response.ok()) return tl::unexpected<Error>(kube::response_error("asking for rights", response));
    BERTH_ASSIGN(const bool allowed, kube::review_allows(std::move(response.body)));
    out.push_back(allowed);
  }
  return out;
}

}  // namespace berth::cli
