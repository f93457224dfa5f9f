// The rights that the shipped objects grant, on a real API server. Each identity is asked about every verb on every resource that is
// served, and exactly what the rules say is allowed. Real requests try the rest. That each right is used: rights_used.py.
#include <gmock/gmock.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <set>
#include <tuple>

#include "e2e/teams.h"

namespace berth::e2e {
namespace {

using nlohmann::json;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAreArray;

constexpr const char* kRbacApi = "/apis/rbac.authorization.k8s.io/v1";
constexpr const char* kRbacGroup = "rbac.authorization.k8s.io";
constexpr const char* kOurs = "berth-system";
constexpr const char* kServed[] = {"get",    "list",  "watch",  "create",
                                   "update", "patch", "delete", "deletecollection"};

// A resource with its subresource, as rules name it: "pods/binding".
struct Thing {
  std::string group, resource;
  bool namespaced = true;
  auto operator<=>(const Thing&) const = default;
};

// About a resource, or about a path that is none's.
struct Question {
  std::string verb, group, resource, ns, name, path;
  std::string str() const {
    if (!path.empty()) return fmt::format("{} {}", verb, path);
    return fmt::format("{} {}{}{}{}", verb, resource, group.empty() ? "" : "." + group,
                       ns.empty() ? "" : " in " + ns, name.empty() ? "" : " named " + name);
  }
};

struct Identity {
  std::string user;
  std::vector<std::string> groups;
};

// A binding: its role's rules, in one namespace or ("") everywhere.
struct Grant {
  std::string role, ns;
  json rules;
};

// A rule, to be asked often.
struct Rule {
  using Words = std::set<std::string>;
  Words verbs, groups, resources, names, urls;

  explicit Rule(const json& rule)
      : verbs(rule.value("verbs", Words{})),
        groups(rule.value("apiGroups", Words{})),
        resources(rule.value("resources", Words{})),
        names(rule.value("resourceNames", Words{})),
        urls(rule.value("nonResourceURLs", Words{})) {}

  bool covers(const Question& q) const {
    const auto has = [](const Words& words, const std::string& one) {
      return words.contains(one) || words.contains("*");
    };
    if (!has(verbs, q.verb)) return false;
    if (q.path.empty())
      return has(groups, q.group) && has(resources, q.resource) && (names.empty() || has(names, q.name));
    return std::any_of(urls.begin(), urls.end(), [&](const std::string& url) {
      return url == q.path || (url.ends_with('*') && q.path.starts_with(url.substr(0, url.size() - 1)));
    });
  }
};

// "verb resource.group", with the names that it is for: each right of the rules, once.
std::set<std::string> each_of(const json& rules) {
  std::set<std::string> out;
  for (const json& rule : rules) {
    for (const json& verb : rule.value("verbs", json::array())) {
      for (const json& url : rule.value("nonResourceURLs", json::array()))
        out.insert(fmt::format("{} {}", verb.get<std::string>(), url.get<std::string>()));
      for (const json& group : rule.value("apiGroups", json::array())) {
        for (const json& resource : rule.value("resources", json::array()))
          out.insert(fmt::format("{} {}.{} {}", verb.get<std::string>(), resource.get<std::string>(),
                                 group.get<std::string>(),
                                 rule.value("resourceNames", json::array()).dump()));
      }
    }
  }
  return out;
}

std::set<std::string> without(const std::set<std::string>& all, const std::set<std::string>& some) {
  std::set<std::string> out;
  std::set_difference(all.begin(), all.end(), some.begin(), some.end(), std::inserter(out, out.end()));
  return out;
}

class BerthGranted : public TeamsTest {
 protected:
  const Identity berth_ = {
      "system:serviceaccount:berth-system:berth",
      {"system:serviceaccounts", "system:serviceaccounts:berth-system", "system:authenticated"}};

  // All that the chart makes of rights, and more kinds than it brings.
  void apply_all() {
    for (const char* file : {"deploy/crds", "tests/e2e/provisioning_request_crd.yaml",
                             "tests/e2e/declared_kinds_crd.yaml", "deploy/berth.yaml", "deploy/roles.yaml",
                             "deploy/plan.yaml", "deploy/visibility.yaml", "deploy/webhook.yaml"})
      ASSERT_OK(cluster_->apply(fmt::format("{}/{}", BERTH_SOURCE_DIR, file)));
  }
  static Identity person(const std::string& name) { return {name, {"system:authenticated"}}; }
  void bind(const std::string& user, const std::string& role) {
    create(std::string(kRbacApi) + "/clusterrolebindings",
           {{"metadata", {{"name", "of-" + user}}},
            {"roleRef", {{"apiGroup", kRbacGroup}, {"kind", "ClusterRole"}, {"name", role}}},
            {"subjects", json::array({{{"apiGroup", kRbacGroup}, {"kind", "User"}, {"name", user}}})}});
  }
  ApiClient client_of(const Identity& who) {
    const auto kubeconfig = cluster_->kubeconfig_for(who.user, who.groups);
    EXPECT_TRUE(kubeconfig);
    Endpoint endpoint = cluster_->endpoint();
    const std::string base = kubeconfig->substr(0, kubeconfig->size() - std::string("kubeconfig").size());
    endpoint.cert_file = base + "crt";
    endpoint.key_file = base + "key";
    return ApiClient(endpoint);
  }
  json items(const std::string& path) const { return get(path).value("items", json::array()); }

  // All bindings of the cluster that name the identity, the chart's and others.
  std::vector<Grant> grants_of(const Identity& who) const {
    std::vector<Grant> out;
    for (const char* kind : {"clusterrolebindings", "rolebindings"}) {
      for (const json& binding : items(fmt::format("{}/{}", kRbacApi, kind))) {
        const std::string ns = binding["metadata"].value("namespace", "");
        for (const json& subject : binding.value("subjects", json::array())) {
          const std::string name = subject["name"];
          const bool named = subject["kind"] == "Group"
                                 ? std::count(who.groups.begin(), who.groups.end(), name) > 0
                             : subject["kind"] == "User"
                                 ? name == who.user
                                 : fmt::format("system:serviceaccount:{}:{}",
                                               subject["namespace"].get<std::string>(), name) == who.user;
          if (!named) continue;
          const std::string role = binding["roleRef"]["name"];
          const bool everywhere = binding["roleRef"]["kind"] == "ClusterRole";
          const json found = get(everywhere ? fmt::format("{}/clusterroles/{}", kRbacApi, role)
                                            : fmt::format("{}/namespaces/{}/roles/{}", kRbacApi, ns, role));
          out.push_back({role, ns, found.value("rules", json::array())});
          break;
        }
      }
    }
    return out;
  }
  static std::vector<bool> granted(const std::vector<Grant>& grants, const std::vector<Question>& asked) {
    std::vector<bool> out(asked.size());
    for (const Grant& grant : grants) {
      for (const json& one : grant.rules) {
        const Rule rule(one);
        for (std::size_t i = 0; i < asked.size(); ++i) {
          const bool here = grant.ns.empty() || (grant.ns == asked[i].ns && asked[i].path.empty());
          out[i] = out[i] || (here && rule.covers(asked[i]));
        }
      }
    }
    return out;
  }

  // Resources that the API server serves, those that the chart's rules name besides, and some of nodes.
  std::set<Thing> things() const {
    std::set<Thing> out;
    std::vector<std::string> versions = {"/api/v1"};
    const json groups = get("/apis");
    for (const json& group : groups["groups"]) {
      for (const json& version : group["versions"])
        versions.push_back("/apis/" + version["groupVersion"].get<std::string>());
    }
    for (const std::string& version : versions) {
      const std::string group = version == "/api/v1" ? "" : version.substr(6, version.rfind('/') - 6);
      const json list = get(version);
      EXPECT_TRUE(list.is_object() || group == "visibility.kueue.x-k8s.io") << version;  // not there
      if (!list.is_object()) continue;
      for (const json& one : list["resources"]) out.insert({group, one["name"], one["namespaced"]});
    }
    const std::size_t served = out.size();
    for (const char* kind : {"clusterroles", "roles"}) {
      for (const json& role :
           items(fmt::format("{}/{}?labelSelector=app.kubernetes.io%2Fpart-of%3Dberth", kRbacApi, kind))) {
        for (const json& rule : role["rules"]) {
          for (const json& group : rule["apiGroups"]) {
            for (const json& resource : rule["resources"]) {
              const bool other =
                  out.contains({group, resource, true}) || out.contains({group, resource, false});
              if (!other) out.insert({group, resource, true});
            }
          }
        }
      }
    }
    for (const char* what :
         {"proxy", "metrics", "stats", "log", "spec", "checkpoint", "configz", "healthz", "pods"})
      out.insert({"", fmt::format("nodes/{}", what), false});
    std::printf("%zu resources served, %zu more asked for\n", served, out.size() - served);
    return out;
  }

  static std::vector<Question> questions(const std::set<Thing>& things,
                                         const std::vector<std::string>& namespaces,
                                         const std::vector<Grant>& grants) {
    std::vector<Question> out;
    for (const Thing& thing : things) {
      for (const std::string& ns : namespaces) {
        if (!ns.empty() && !thing.namespaced) continue;
        for (const char* verb : kServed) out.push_back({verb, thing.group, thing.resource, ns, {}, {}});
      }
    }
    const std::vector<std::tuple<std::string, std::string, std::vector<const char*>>> special = {
        {"", "users", {"impersonate", "impersonate:user-info"}},
        {"", "groups", {"impersonate"}},
        {"", "serviceaccounts", {"impersonate", "impersonate:serviceaccount"}},
        {"authentication.k8s.io", "uids", {"impersonate"}},
        {"authentication.k8s.io", "userextras/scopes", {"impersonate"}},
        {kRbacGroup, "roles", {"bind", "escalate"}},
        {kRbacGroup, "clusterroles", {"bind", "escalate"}},
        {"certificates.k8s.io", "signers", {"approve", "sign", "attest"}},
        {"policy", "podsecuritypolicies", {"use"}},
        {"", "*", {"get", "*"}},
        {"*", "*", {"get", "*"}}};
    for (const auto& [group, resource, verbs] : special) {
      for (const char* verb : verbs) {
        for (const std::string& ns : namespaces) out.push_back({verb, group, resource, ns, {}, {}});
      }
    }
    // Rules for objects of one name: that name, in every place.
    for (const Grant& grant : grants) {
      for (const json& rule : grant.rules) {
        for (const json& name : rule.value("resourceNames", json::array())) {
          for (const json& resource : rule["resources"]) {
            for (const std::string& ns : namespaces) {
              for (const char* verb : kServed)
                out.push_back({verb, rule["apiGroups"][0], resource, ns, name, {}});
            }
          }
        }
      }
    }
    for (const char* path :
         {"/", "/api", "/apis", "/apis/apps", "/configz", "/debug/pprof/", "/healthz", "/livez", "/logs",
          "/metrics", "/openapi/v2", "/readyz", "/version", "/version/", "/*"}) {
      for (const char* verb : {"get", "post", "put", "patch", "delete"})
        out.push_back({verb, {}, {}, {}, {}, path});
    }
    return out;
  }

  // Asks the API server about the identity, and compares.
  void expect_exactly(const Identity& who, const std::set<Thing>& things,
                      const std::vector<std::string>& namespaces) {
    const auto grants = grants_of(who);
    const auto asked = questions(things, namespaces, grants);
    std::vector<char> allowed(asked.size());
    ASSERT_OK(for_each_parallel(
        cluster_->endpoint(), asked.size(), 8, [&](ApiClient& api, std::size_t i) -> Status {
          const Question& q = asked[i];
          const auto slash = std::min(q.resource.find('/'), q.resource.size());
          json spec = {{"user", who.user}, {"groups", who.groups}};
          if (q.path.empty()) {
            spec["resourceAttributes"] = {
                {"verb", q.verb},
                {"group", q.group},
                {"namespace", q.ns},
                {"name", q.name},
                {"resource", q.resource.substr(0, slash)},
                {"subresource", slash < q.resource.size() ? q.resource.substr(slash + 1) : ""}};
          } else {
            spec["nonResourceAttributes"] = {{"verb", q.verb}, {"path", q.path}};
          }
          const Reply reply =
              api.post("/apis/authorization.k8s.io/v1/subjectaccessreviews", json{{"spec", spec}}.dump());
          BERTH_TRY(expect_ok(reply, q.str()));
          allowed[i] = reply.body.find("\"allowed\":true") == std::string::npos ? 0 : 1;
          return {};
        }));
    const auto rights = granted(grants, asked);
    std::vector<std::string> more, fewer;
    for (std::size_t i = 0; i < asked.size(); ++i) {
      const bool expected = rights[i];
      if (expected != (allowed[i] != 0)) (expected ? fewer : more).push_back(asked[i].str());
    }
    EXPECT_THAT(more, IsEmpty()) << who.user << " may more than the rules say";
    EXPECT_THAT(fewer, IsEmpty()) << who.user << " may less than the rules say";
    std::printf("%-60s asked %5zu, allowed %4td\n", who.user.c_str(), asked.size(),
                std::count(allowed.begin(), allowed.end(), 1));
  }

  // The API server's own list of an identity's rights in a namespace: no resource is missing from it.
  void expect_listed(const Identity& who, const std::vector<std::string>& namespaces) {
    ApiClient api = client_of(who);
    const auto grants = grants_of(who);
    for (const std::string& ns : namespaces) {
      const json review = {{"spec", {{"namespace", ns}}}};
      const Reply reply = api.post("/apis/authorization.k8s.io/v1/selfsubjectrulesreviews", review.dump());
      ASSERT_TRUE(reply.ok()) << reply.describe();
      const json status = json::parse(reply.body)["status"];
      EXPECT_FALSE(status["incomplete"].get<bool>()) << status.dump();
      std::set<std::string> said = each_of(status["resourceRules"]), expected;
      for (const Grant& grant : grants) {
        if (grant.ns.empty() || grant.ns == ns) expected.merge(each_of(grant.rules));
      }
      std::erase_if(expected, [](const std::string& one) { return one.find(" /") != std::string::npos; });
      EXPECT_THAT(said, UnorderedElementsAreArray(expected)) << who.user << " in " << ns;
    }
  }

  // Names of ClusterRoles with the chart's label.
  std::vector<std::string> shipped_roles() const {
    std::vector<std::string> out;
    for (const json& role :
         items(std::string(kRbacApi) + "/clusterroles?labelSelector=app.kubernetes.io%2Fpart-of%3Dberth"))
      out.push_back(role["metadata"]["name"]);
    return out;
  }
};

TEST_F(BerthGranted, ExactlyWhatTheRulesSayIsAllowed) {
  start({.front_proxy = true});
  apply_all();
  ASSERT_OK(cluster_->create_namespace("team-a"));
  std::vector<std::string> everybodys = {"create selfsubjectaccessreviews.authorization.k8s.io []",
                                         "create selfsubjectreviews.authentication.k8s.io []",
                                         "create selfsubjectrulesreviews.authorization.k8s.io []"};
  // From 1.37 Kubernetes lets every service account read the authorities that the cluster trusts.
  if (cluster_->client()
          .get(std::string(kRbacApi) + "/clusterroles/system:cluster-trust-bundle-discovery")
          .ok()) {
    for (const char* verb : {"get", "list", "watch"})
      everybodys.push_back(fmt::format("{} clustertrustbundles.certificates.k8s.io []", verb));
  }
  const auto roles = shipped_roles();
  ASSERT_GE(roles.size(), 33U);
  for (const std::string& role : roles) {
    if (role != "berth") bind("has-" + role, role);
    const json rules = get(fmt::format("{}/clusterroles/{}", kRbacApi, role))["rules"];
    EXPECT_EQ(rules.dump().find("\"*\""), std::string::npos) << role << " has a rule for everything";
  }
  std::this_thread::sleep_for(seconds(1));  // the authorizer sees new roles a moment later

  // Without a binding of ours: what everybody has. The webhook's account has no more.
  for (const char* account : {"berth-webhook", "default"}) {
    Identity who = berth_;
    who.user = fmt::format("system:serviceaccount:{}:{}", kOurs, account);
    std::set<std::string> rights;
    for (const Grant& grant : grants_of(who)) rights.merge(each_of(grant.rules));
    std::erase_if(rights, [](const std::string& one) { return one.find(" /") != std::string::npos; });
    EXPECT_THAT(rights, UnorderedElementsAreArray(everybodys)) << account;
    expect_listed(who, {"default", kOurs});
  }

  const auto all = things();
  EXPECT_GT(all.size(), 150U);
  expect_exactly(berth_, all, {"", "team-a", kOurs, "kube-system"});
  expect_listed(berth_, {"team-a", kOurs, "kube-system"});
  for (const char* role : {"berth-view", "berth-edit", "berth-plan"})
    expect_exactly(person(fmt::format("has-{}", role)), all, {""});
  for (const std::string& role : roles) {
    if (role != "berth") expect_listed(person("has-" + role), {"team-a", kOurs});
  }
}

TEST_F(BerthGranted, RequestsBeyondThemAreRefused) {
  start();
  apply_all();
  ASSERT_OK(cluster_->create_nodes(1));
  ASSERT_OK(cluster_->create_pods(3, {.name = "pod"}));
  create_queue({.name = "research", .gpus = 8});
  create_local_queue("default", "main", "research");
  create(jobs_in("default"), job_json({.name = "job", .queue = "main", .pods = 1}));
  for (const char* ns : {"default", kOurs, "kube-system"})
    create(fmt::format("/api/v1/namespaces/{}/secrets", ns), {{"metadata", {{"name", "key"}}}});
  bind("viewer", "berth-view");
  bind("editor", "berth-edit");
  std::this_thread::sleep_for(seconds(1));

  const std::string pods = pods_in("default"), core = "/api/v1/namespaces/default";
  const std::string queue = std::string(kKueue) + "/clusterqueues/research";
  const std::string leases = "/apis/coordination.k8s.io/v1/namespaces/{}/leases";
  const json label = {{"metadata", {{"labels", {{"taken", "yes"}}}}}};
  const json cluster_admin = {
      {"metadata", {{"name", "taken"}}},
      {"roleRef", {{"apiGroup", kRbacGroup}, {"kind", "ClusterRole"}, {"name", "cluster-admin"}}},
      {"subjects", json::array({{{"kind", "ServiceAccount"}, {"name", "berth"}, {"namespace", kOurs}}})}};
  const json everything = {
      {"rules", json::array({{{"apiGroups", {"*"}}, {"resources", {"*"}}, {"verbs", {"*"}}}})}};
  const auto named = [](const std::string& name, json rest = json::object()) {
    rest["metadata"]["name"] = name;
    return rest;
  };
  const json pod = json::parse(pod_json({.name = "made"}, 0));
  struct Try {
    const char* method;
    std::string path;
    json body = {};
    bool allowed = false;
  };
  const auto expect_all = [&](const Identity& who, const std::vector<Try>& tries) {
    ApiClient api = client_of(who);
    for (const Try& one : tries) {
      const std::string_view type = one.method == std::string_view("PATCH") ? kMergePatch : kJson;
      Reply reply;
      (void)eventually([&] {  // 429: a kind's storage is not ready yet
        reply = api.send(one.method, one.path, one.body.is_null() ? "" : one.body.dump(), type);
        return reply.status != 429;
      });
      EXPECT_EQ(reply.ok(), one.allowed)
          << who.user << ": " << one.method << " " << one.path << ": " << reply.describe();
      EXPECT_EQ(reply.status == 403, !one.allowed)
          << who.user << ": " << one.method << " " << one.path << ": " << reply.describe();
    }
  };

  // Its work, so that the refusals below are none of a broken identity.
  expect_all(berth_,
             {
                 {"POST", pods + "/pod-0/binding",
                  named("pod-0", {{"target", {{"kind", "Node"}, {"name", "node-0"}}}}), true},
                 {"PATCH", pods + "/pod-1/status", {{"status", {{"nominatedNodeName", "node-0"}}}}, true},
                 {"DELETE", pods + "/pod-2", {}, true},
                 {"GET", "/api/v1/pods", {}, true},
                 {"PATCH", jobs_in("default") + "/job", {{"spec", {{"suspend", false}}}}, true},
                 {"PATCH", queue + "/status", {{"status", {{"pendingWorkloads", 0}}}}, true},
                 {"POST", fmt::format(fmt::runtime(leases), kOurs), named("berth"), true},
                 {"GET", fmt::format(fmt::runtime(leases), kOurs) + "/berth", {}, true},
             });
  expect_all(
      berth_,
      {
          // Secrets and identities.
          {"GET", core + "/secrets"},
          {"GET", core + "/secrets/key"},
          {"GET", fmt::format("/api/v1/namespaces/{}/secrets/key", kOurs)},
          {"GET", "/api/v1/namespaces/kube-system/secrets/key"},
          {"GET", "/api/v1/secrets?watch=1&timeoutSeconds=1"},
          {"GET", core + "/configmaps"},
          {"POST", core + "/serviceaccounts/default/token", json::object()},
          {"POST", fmt::format("/api/v1/namespaces/{}/serviceaccounts/berth/token", kOurs), json::object()},
          {"POST", "/apis/certificates.k8s.io/v1/certificatesigningrequests", named("taken")},
          {"POST", "/apis/authentication.k8s.io/v1/tokenreviews", json::object()},
          {"POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews", json::object()},
          // More rights.
          {"PATCH", std::string(kRbacApi) + "/clusterroles/berth", everything},
          {"PUT", fmt::format("{}/namespaces/{}/roles/berth-leader", kRbacApi, kOurs),
           named("berth-leader", everything)},
          {"POST", std::string(kRbacApi) + "/clusterroles", named("taken", everything)},
          {"POST", std::string(kRbacApi) + "/clusterrolebindings", cluster_admin},
          {"POST", fmt::format("{}/namespaces/{}/rolebindings", kRbacApi, kOurs), cluster_admin},
          {"GET", std::string(kRbacApi) + "/clusterroles"},
          // Pods: no code of its own runs anywhere, and none is changed beyond status.
          {"POST", pods, pod},
          {"PATCH", pods + "/pod-0", label},
          {"PUT", pods + "/pod-0", pod},
          {"DELETE", pods},
          {"POST", pods + "/pod-0/exec?command=id&container=main"},
          {"GET", pods + "/pod-0/exec?command=id&container=main"},
          {"GET", pods + "/pod-0/log"},
          {"GET", pods + "/pod-0/proxy/"},
          {"POST", pods + "/pod-0/attach"},
          {"POST", pods + "/pod-0/portforward"},
          {"POST", pods + "/pod-0/eviction", named("pod-0")},
          {"PATCH", pods + "/pod-0/ephemeralcontainers", label},
          {"PATCH", pods + "/pod-0/resize", label},
          {"POST", jobs_in("default"), named("made")},
          {"DELETE", jobs_in("default") + "/job"},
          {"POST", "/apis/apps/v1/namespaces/default/deployments", named("made")},
          {"PATCH", fmt::format("/apis/apps/v1/namespaces/{}/deployments/berth", kOurs), label},
          {"GET", core + "/podtemplates"},
          {"PATCH", "/apis/events.k8s.io/v1/namespaces/default/events/made", label},
          // The cluster.
          {"PATCH", "/api/v1/nodes/node-0", label},
          {"PATCH", "/api/v1/nodes/node-0/status", label},
          {"DELETE", "/api/v1/nodes/node-0"},
          {"GET", "/api/v1/nodes/node-0"},
          {"GET", "/api/v1/nodes/node-0/proxy/pods"},
          {"POST", "/api/v1/namespaces", named("taken")},
          {"PATCH", "/api/v1/namespaces/default", label},
          {"PATCH", "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/berth", label},
          {"POST", "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies", named("taken")},
          {"DELETE", "/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas/berth"},
          {"POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", named("taken.example.com")},
          {"PATCH", "/apis/apiregistration.k8s.io/v1/apiservices/v1beta2.visibility.kueue.x-k8s.io", label},
          // Quota: it tells, and changes none.
          {"PATCH", queue, {{"spec", {{"cohortName", "other"}}}}},
          {"POST", std::string(kKueue) + "/clusterqueues", named("made")},
          {"DELETE", queue},
          {"PATCH", fmt::format("{}/namespaces/default/localqueues/main", kKueue), label},
          {"POST", "/apis/berth.dev/v1alpha1/queues", named("made")},
          {"GET", queue},
          // Leases of others, and the own one beyond holding it.
          {"POST", fmt::format(fmt::runtime(leases), "kube-system"), named("taken")},
          {"PUT", fmt::format(fmt::runtime(leases), kOurs) + "/other", named("other")},
          {"GET", fmt::format(fmt::runtime(leases), kOurs) + "/other"},
          {"DELETE", fmt::format(fmt::runtime(leases), kOurs) + "/berth"},
          // Paths that are no resource.
          {"GET", "/metrics"},
          {"GET", "/logs"},
          {"GET", "/configz"},
      });
  expect_all(person("viewer"), {
                                   {"GET", queue, {}, true},
                                   {"GET", std::string(kKueue) + "/workloads", {}, true},
                                   {"PATCH", queue, label},
                                   {"POST", "/apis/berth.dev/v1alpha1/queues", named("made")},
                                   {"DELETE", queue},
                                   {"GET", pods},
                                   {"GET", core + "/secrets"},
                               });
  expect_all(person("editor"), {
                                   {"PATCH", queue, label, true},
                                   {"PATCH", queue + "/status", {{"status", {{"pendingWorkloads", 5}}}}},
                                   {"POST", pods, pod},
                                   {"PATCH", "/api/v1/nodes/node-0", label},
                                   {"GET", core + "/secrets"},
                                   {"PATCH", std::string(kRbacApi) + "/clusterroles/berth-edit", everything},
                                   {"DELETE", queue, {}, true},
                               });
}

// Kubernetes' roles view, edit and admin are sums, to which the chart adds.
TEST_F(BerthGranted, KubernetesOwnRolesGainWhatTheGuideSays) {
  start({.controller_manager = true});
  const auto rights = [&] {
    std::map<std::string, std::set<std::string>> out;
    for (const json& role : items(std::string(kRbacApi) + "/clusterroles")) {
      const json& about = role["metadata"];
      if (about.value("labels", json::object()).value("app.kubernetes.io/part-of", "") == "berth") continue;
      out[about["name"]] = each_of(role["rules"].is_array() ? role["rules"] : json::array());
    }
    return out;
  };
  // The sums are there when the controller has made them.
  ASSERT_TRUE(eventually([&] {
    auto now = rights();
    return now["admin"].contains("list pods. []") && now["edit"].contains("list pods. []") &&
           now["view"].contains("list pods. []");
  }));
  const auto before = rights();
  apply_all();
  std::set<std::string> view, edit;
  for (const char* what :
       {"localqueues.kueue.x-k8s.io", "workloads.kueue.x-k8s.io", "podgroups.scheduling.x-k8s.io",
        "podgroups.scheduling.volcano.sh", "podgroups.scheduling.run.ai"}) {
    const std::string name = what;
    const auto dot = name.find('.');
    for (const char* verb : {"get", "list", "watch"}) view.insert(fmt::format("{} {} []", verb, name));
    view.insert(fmt::format("get {}/status{} []", name.substr(0, dot), name.substr(dot)));
    if (!name.starts_with("podgroups")) continue;
    for (const char* verb : {"create", "update", "patch", "delete", "deletecollection"})
      edit.insert(fmt::format("{} {} []", verb, name));
  }
  view.insert("get localqueues/pendingworkloads.visibility.kueue.x-k8s.io []");
  edit.insert(view.begin(), view.end());
  EXPECT_TRUE(eventually([&] {
    const auto now = rights();
    return without(now.at("view"), before.at("view")) == view &&
           without(now.at("edit"), before.at("edit")) == edit &&
           without(now.at("admin"), before.at("admin")) == edit;
  }));
  for (const auto& [role, now] : rights()) {
    const auto known = before.find(role);
    ASSERT_NE(known, before.end()) << role << " is new and not labelled as ours";
    EXPECT_THAT(without(known->second, now), IsEmpty()) << role << " has lost";
    const auto gained = without(now, known->second);
    EXPECT_EQ(gained, role == "view"                      ? view
                      : role == "edit" || role == "admin" ? edit
                                                          : std::set<std::string>{})
        << role << " has gained " << testing::PrintToString(gained);
  }
}

}  // namespace
}  // namespace berth::e2e
