#include "e2e/tenant_attempts.h"

#include <cctype>

namespace berth::e2e {

using nlohmann::json;

std::string name_from(std::string text) {
  for (char& c : text) {
    const auto code = static_cast<unsigned char>(c);
    c = std::isalnum(code) != 0 ? static_cast<char>(std::tolower(code)) : '-';
  }
  return text;
}

json TenantHands::template_of_pods(const std::string& name) {
  return {{"metadata", {{"labels", {{"app", name}, {"kueue.x-k8s.io/queue-name", "main"}}}}},
          {"spec", json::parse(R"({"schedulerName":"berth","terminationGracePeriodSeconds":0,"containers":[
            {"name":"main","image":"image","resources":{"requests":{"cpu":"1"},"limits":{"nvidia.com/gpu":"1"}}}]})")}};
}

json TenantHands::get(const std::string& path) const {
  const Reply reply = api_.get(path);
  return reply.ok() ? json::parse(reply.body) : json();
}

std::string TenantHands::uid(const std::string& path) const {
  const json object = get(path);
  return object.is_object() ? object["metadata"].value("uid", "") : "";
}

std::string TenantHands::sets(const std::string& kind) {
  std::string out = "/apis/apps/v1/namespaces/team-a/" + kind;
  for (char& c : out) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out + "s";
}

void TenantHands::pod(const std::string& name, const Change& change) {
  json body = template_of_pods(name);
  body["apiVersion"] = "v1";
  body["kind"] = "Pod";
  body["metadata"]["name"] = name;
  if (change) change(body);
  post(pods(), body);
}

void TenantHands::job(const std::string& name, const Change& change) {
  json body = {{"apiVersion", "batch/v1"},
               {"kind", "Job"},
               {"metadata", {{"name", name}, {"labels", {{"kueue.x-k8s.io/queue-name", "main"}}}}},
               {"spec", {{"parallelism", 2}, {"completions", 2}, {"backoffLimit", 0}, {"suspend", true}}}};
  body["spec"]["template"] = template_of_pods(name);
  body["spec"]["template"]["metadata"]["labels"].erase("kueue.x-k8s.io/queue-name");
  body["spec"]["template"]["spec"]["restartPolicy"] = "Never";
  if (change) change(body);
  post(jobs(), body);
}

void TenantHands::set(const std::string& kind, const std::string& name, const Change& change) {
  json body = {{"apiVersion", "apps/v1"}, {"kind", kind}, {"metadata", {{"name", name}}}};
  body["spec"] = {{"selector", {{"matchLabels", {{"app", name}}}}}, {"template", template_of_pods(name)}};
  if (kind != "DaemonSet") body["spec"]["replicas"] = 2;
  if (kind == "StatefulSet") body["spec"]["podManagementPolicy"] = "Parallel";
  if (change) change(body);
  post(sets(kind), body);
}

}  // namespace berth::e2e
