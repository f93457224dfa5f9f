#include "cli/commands/check.h"

#include <fmt/format.h>

#include <algorithm>
#include <iostream>
#include <memory>
#include <utility>

#include "cli/ask/rights.h"
#include "cli/base/show.h"
#include "dialect/base/kind.h"
#include "dialect/known/known.h"
#include "kube/api_status.h"
#include "kube/clock.h"
#include "kube/discovery.h"
#include "text/document.h"
#include "text/json.h"

namespace berth::cli {
namespace {

using dialect::Kind;

constexpr int kOldestMinor = 34;  // docs/install.md, supported versions
constexpr int kNewestMinor = 37;
constexpr int kFirstPolicies = 36;  // serves mutatingadmissionpolicies in v1
constexpr text::Limits kAnswerLimits{.max_depth = 64, .max_nodes = 1'000'000, .max_document_bytes = 16 << 20};

// "v1beta2 v1beta1"; "": of this kind nothing is known.
std::string_view versions_of(const dialect::KindInfo& info) {
  for (const auto& system : {dialect::known_upstream(), dialect::known_kueue(), dialect::known_volcano(),
                             dialect::known_kai(), dialect::known_coscheduling(), dialect::known_autoscaler(),
                             dialect::known_jobset(), dialect::known_berth()}) {
    for (const auto& kind : system.kinds) {
      if (kind.group == info.group && kind.kind == info.word) return kind.versions;
    }
  }
  return {};
}

bool has_word(std::string_view words, std::string_view word) {
  while (!words.empty()) {
    const auto end = std::min(words.find(' '), words.size());
    if (words.substr(0, end) == word) return true;
    words.remove_prefix(std::min(end + 1, words.size()));
  }
  return false;
}

std::string crd_file(const dialect::KindInfo& info) {
  return fmt::format("kubectl apply -f deploy/crds/{}_{}.yaml", info.group, info.resource);
}

void check_kinds(const kube::ServedKinds& served, std::vector<Finding>& out) {
  std::vector<std::string> absent;
  bool any_queue = false;
  for (const dialect::KindInfo& info : dialect::kinds()) {
    const std::string_view version = served.version_of(info.group, info.resource);
    const std::string name = fmt::format("{}{}{}", info.resource, info.group.empty() ? "" : ".", info.group);
    if (version.empty()) {
      if (info.vital) {
        out.push_back({Level::kError, "kinds",
                       fmt::format("{} are not served: nothing can be scheduled", name),
                       "ask an API server of Kubernetes"});
      } else {
        absent.push_back(name);
      }
      continue;
    }
    const bool queue = info.kind == Kind::kQueue || info.kind == Kind::kClusterQueue ||
                       info.kind == Kind::kVolcanoQueue || info.kind == Kind::kKaiQueue;
    any_queue = any_queue || queue;
    const std::string_view known = versions_of(info);
    if (!known.empty() && !has_word(known, version)) {
      out.push_back({Level::kWarning, "kinds",
                     fmt::format("{} is served in {}, of which this version of Berth knows nothing: it reads "
                                 "{}",
                                 name, version, known),
                     "serve one of these versions, or upgrade Berth"});
    }
  }
  if (!any_queue) {
    out.push_back({Level::kWarning, "kinds",
                   "no kind of queue is served: all work has one share, without quota",
                   crd_file(dialect::info_of(Kind::kQueue))});
  }
  if (!absent.empty()) {
    out.push_back({Level::kNote,
                   "kinds",
                   fmt::format("not served, and not needed unless you use them: {}", fmt::join(absent, ", ")),
                   {}});
  }
}

void check_rights(kube::Transport& transport, const CheckOptions& options, const kube::ServedKinds& served,
                  std::vector<Finding>& out) {
  scheduler::RightsOf of = options.rights;
  of.serves = [&](std::string_view group, std::string_view resource) {
    for (const dialect::KindInfo& info : dialect::kinds()) {
      if (info.group == group && info.resource == resource)
        return !served.version_of(group, resource).empty();
    }
    return true;
  };
  const auto needed = scheduler::needed_rights(of);
  Identity identity;
  if (!options.service_account.empty()) {
    auto account = service_account(options.service_account);
    if (!account) {
      out.push_back({Level::kError, "rights", account.error().message, "such as berth-system/berth"});
      return;
    }
    identity = std::move(*account);
  }
  std::vector<Wish> wishes;
  for (const auto& one : needed) wishes.push_back({one.right, one.ns, one.name});
  const auto answers = ask_rights(transport, identity, wishes);
  if (!answers) {
    out.push_back({Level::kError, "rights", answers.error().str(),
                   identity.user.empty()
                       ? "the API server answers every user that it knows: look at the kubeconfig"
                       : "use an identity that may create subjectaccessreviews, such as an admin's"});
    return;
  }
  std::size_t missing = 0;
  for (std::size_t i = 0; i < needed.size(); ++i) {
    if ((*answers)[i]) continue;
    ++missing;
    const auto& one = needed[i];
    const auto lost = scheduler::lost_without(one.right);
    out.push_back(
        {Level::kError, "rights",
         fmt::format("may not {} {}{}: {}", one.right.verb, one.right.full_resource(),
                     one.ns.empty() ? std::string() : fmt::format(" in namespace {}", one.ns), lost),
         fmt::format("verbs [{}] on resources [{}] of apiGroups [\"{}\"]{}, as deploy/berth.yaml has them",
                     one.right.verb, one.right.resource, one.right.group,
                     one.ns.empty() ? std::string() : fmt::format(" in namespace {}", one.ns))});
  }
  const std::string whose =
      identity.user.empty() ? std::string("the identity of the kubeconfig") : identity.user;
  if (missing == 0)
    out.push_back(
        {Level::kOk, "rights", fmt::format("{} has all {} that Berth uses", whose, needed.size()), {}});
}

Result<text::Document> get_json(kube::Transport& transport, std::string path) {
  kube::Request request;
  request.path = path;
  request.timeout = 10 * kSecond;
  request.max_response = kAnswerLimits.max_document_bytes;
  kube::Response response = transport.call(std::move(request));
  if (!response.ok()) return tl::unexpected<Error>(kube::response_error("GET " + path, response));
  return text::parse_json(std::move(response.body), path, kAnswerLimits);
}

int number_in(const text::Node* node) {
  int out = 0;
  for (const char c : node == nullptr ? std::string_view() : node->text()) {
    if (c < '0' || c > '9') break;  // "36+"
    out = std::min(out * 10 + (c - '0'), 10'000);
  }
  return out;
}

}  // namespace

Finding check_version(int major, int minor, const std::string& words) {
  const std::string text = fmt::format("Kubernetes {}", words);
  if (major == 1 && minor < kOldestMinor) {
    return {Level::kWarning, "version", fmt::format("{}: Berth is not tested with it", text),
            fmt::format("upgrade to 1.{} or later", kOldestMinor)};
  }
  if (major != 1 || minor > kNewestMinor) {
    return {Level::kWarning, "version",
            fmt::format("{}: newer than Berth is tested with (1.{})", text, kNewestMinor),
            "look for a newer version of Berth"};
  }
  if (minor < kFirstPolicies) {
    return {Level::kOk,
            "version",
            fmt::format("{}; it serves no admission policy in v1: use the webhook (docs/install.md)", text),
            {}};
  }
  return {Level::kOk, "version", text, {}};
}

std::vector<Finding> check_start(kube::Transport& transport, const CheckOptions& options) {
  std::vector<Finding> out;
  const auto version = get_json(transport, "/version");
  if (!version) {
    out.push_back({Level::kError, "server", version.error().str(),
                   "check the address and the credentials of the kubeconfig: kubectl version"});
    return out;
  }
  const text::Node& root = version->root();
  const text::Node* words = root.find("gitVersion");
  out.push_back(check_version(number_in(root.find("major")), number_in(root.find("minor")),
                              words == nullptr ? std::string() : printable(words->text())));
  kube::Discovery discovery(transport);
  if (const auto status = discovery.refresh(); !status) {
    out.push_back(
        {Level::kError, "kinds", status.error().str(), "the identity must be a user of the cluster"});
    return out;
  }
  const auto served = discovery.served();
  check_kinds(*served, out);
  check_rights(transport, options, *served, out);
  return out;
}

std::string to_text(const std::vector<Finding>& findings) {
  std::string out;
  for (const Finding& finding : findings) {
    out +=
        fmt::format("{:<8} {:<9} {}\n", enum_name(finding.level), finding.subject, printable(finding.text));
    if (!finding.fix.empty()) out += fmt::format("{:<18} fix: {}\n", "", printable(finding.fix));
  }
  const auto count = [&](Level level) {
    return std::count_if(findings.begin(), findings.end(),
                         [&](const auto& one) { return one.level == level; });
  };
  out += fmt::format("{} errors, {} warnings\n", count(Level::kError), count(Level::kWarning));
  return out;
}

std::string to_json(const std::vector<Finding>& findings) {
  text::JsonWriter json(text::JsonStyle::kIndented);
  json.begin_object().field("format", "berth-check").field("version", 1).key("findings").begin_array();
  for (const Finding& finding : findings) {
    json.begin_object().field("level", enum_name(finding.level)).field("subject", finding.subject);
    json.field("text", finding.text).field("fix", finding.fix).end_object();
  }
  json.end_array().end_object();
  return json.take() + "\n";
}

int code_of(const std::vector<Finding>& findings, bool strict) {
  const bool wrong = std::any_of(findings.begin(), findings.end(), [&](const Finding& finding) {
    return finding.level == Level::kError || (strict && finding.level == Level::kWarning);
  });
  return wrong ? 1 : 0;
}

int run_check(const CheckOptions& options, std::ostream& out, std::ostream& err) {
  const auto cluster = connect(options.cluster);
  if (!cluster) {
    err << "berth check: " << cluster.error().str() << "\n";
    return 1;
  }
  const auto findings = check_all(*cluster->transport, options, kube::wall_us() / 1000);
  out << (options.json ? to_json(findings) : to_text(findings));
  return code_of(findings, options.strict);
}

void register_check(CLI::App& app, int& exit_code) {
  const auto o = std::make_shared<CheckOptions>();
  const auto format = std::make_shared<std::string>("text");
  CLI::App* command = app.add_subcommand(
      "check", "Whether Berth can work on a cluster: versions, rights, kinds, other schedulers; with fixes");
  add_cluster_flags(*command, o->cluster, Scope::kCluster);
  command->add_option(
      "--service-account", o->service_account,
      "NAMESPACE/NAME whose rights are asked for: berth-system/berth. Default: those of the kubeconfig");
  command->add_option("--scheduler-name", o->scheduler_names, "The schedulerName of Berth's pods")
      ->type_size(1)
      ->allow_extra_args(false)
      ->capture_default_str();
  command->add_option("--lease-namespace", o->rights.lease_namespace, "Namespace of Berth's lease")
      ->capture_default_str();
  command->add_option("--lease-name", o->rights.lease_name, "Name of Berth's lease")->capture_default_str();
  command->add_option("--hold-jobs", o->rights.hold_jobs, "As of berth scheduler: false needs fewer rights")
      ->capture_default_str();
  command
      ->add_option("--kueue-objects", o->rights.kueue_objects,
                   "As of berth scheduler: false needs fewer rights")
      ->capture_default_str();
  command->add_flag("--strict", o->strict, "Warnings make the exit code 1, too");
  command->add_option("-o,--output", *format, "text, or json: docs/commands.md")
      ->check(CLI::IsMember({"text", "json"}))
      ->capture_default_str();
  command->footer(
      "Examples:\n  berth check --service-account berth-system/berth --lease-namespace berth-system\n"
      "  berth check --kubeconfig /etc/berth/kubeconfig\n\n"
      "It writes nothing. Exit codes: 0 nothing is wrong; 1 something is, and each line says how to mend "
      "it.");
  command->callback([o, format, &exit_code] {
    o->json = *format == "json";
    exit_code = run_check(*o, std::cout, std::cerr);
  });
}

}  // namespace berth::cli
