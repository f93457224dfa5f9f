#include "cli/commands/queue.h"

#include <fmt/format.h>

#include <algorithm>
#include <iostream>
#include <map>
#include <memory>
#include <utility>

#include "cli/base/show.h"
#include "kube/api_status.h"
#include "kube/discovery.h"
#include "kube/paths.h"
#include "text/fields.h"
#include "text/json.h"

namespace berth::cli {
namespace {

using dialect::Kind;

constexpr text::Limits kObjectLimits{.max_depth = 64, .max_nodes = 100'000, .max_document_bytes = 4 << 20};

std::string_view policy_word(StopPolicy policy) {
  switch (policy) {
    case StopPolicy::kHold:
      return "Hold";
    case StopPolicy::kHoldAndDrain:
      return "HoldAndDrain";
    default:
      return "None";
  }
}

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return out;
}

std::string kind_word(const QueueLine& queue) {
  return lower(enum_name(queue.kind));
}

}  // namespace

Result<QueueLine> find_queue(const std::vector<QueueLine>& queues, const std::string& name) {
  std::vector<const QueueLine*> found;
  std::vector<std::string_view> names;
  for (const QueueLine& queue : queues) {
    if (queue.name == name || fmt::format("{}/{}", kind_word(queue), queue.name) == lower(name))
      found.push_back(&queue);
    names.push_back(queue.name);
  }
  if (found.size() == 1) return *found.front();
  if (found.empty()) {
    const auto near = text::nearest(name, names);
    return fail(ErrorCode::kNotFound, "there is no queue {}{}; berth get queues lists them", name,
                near.empty() ? std::string() : fmt::format(" (did you mean {}?)", near));
  }
  std::vector<std::string> each;
  for (const QueueLine* queue : found) each.push_back(fmt::format("{}/{}", kind_word(*queue), queue->name));
  return fail(ErrorCode::kInvalid, "{} queues have the name {}: say which one, as {}", found.size(), name,
              fmt::join(each, " or "));
}

namespace {

Result<std::string> get_object(kube::Transport& transport, const std::string& path) {
  kube::Request request;
  request.path = path;
  request.max_response = kObjectLimits.max_document_bytes;
  kube::Response response = transport.call(std::move(request));
  if (!response.ok()) return tl::unexpected<Error>(kube::response_error("GET " + path, response));
  return std::move(response.body);
}

Status patch_object(kube::Transport& transport, const std::string& path, const std::string& body,
                    const QueueLine& queue, bool dry_run) {
  kube::Request request;
  request.method = kube::Method::kPatch;
  request.path = path + "?fieldManager=berth-cli" + (dry_run ? "&dryRun=All" : "");
  request.body = body;
  request.body_type = kube::BodyType::kMergePatch;
  request.max_response = kObjectLimits.max_document_bytes;
  const kube::Response response = transport.call(std::move(request));
  if (response.ok()) return {};
  Error error = kube::response_error("PATCH " + path, response);
  const auto& info = dialect::info_of(queue.kind);
  if (response.status == 403) {
    error.message += fmt::format(" (what is needed: {}; the ClusterRole berth-edit has it)",
                                 lacks_right("patch", info.resource, info.group, queue.ns));
  } else if (response.status == 409) {
    error.message += " (another client changed the queue meanwhile: try again)";
  }
  return tl::unexpected<Error>(std::move(error));
}

Result<QueuePatch> patch_of(const QueueOptions& options, const QueueLine& queue,
                            const text::Document& object) {
  if (options.verb == QueueOptions::Verb::kSetQuota) return quota_patch(queue.kind, object, options.quota);
  if (queue.kind == Kind::kVolcanoQueue || queue.kind == Kind::kKaiQueue || queue.kind == Kind::kCohort) {
    return fail(ErrorCode::kUnsupported, "{} {} has no field that stops it: {}", enum_name(queue.kind),
                queue.name,
                queue.kind == Kind::kCohort ? "stop its ClusterQueues"
                                            : "close it as its own system does, or use a Queue of berth.dev");
  }
  StopPolicy policy = StopPolicy::kNone;
  if (options.verb == QueueOptions::Verb::kStop)
    policy = options.drain ? StopPolicy::kHoldAndDrain : StopPolicy::kHold;
  return stop_patch(object, policy);
}

Status change(const QueueOptions& options, std::ostream& out) {
  BERTH_ASSIGN(const Cluster cluster, connect(options.cluster));
  BERTH_ASSIGN(auto list, read_queues(*cluster.transport, cluster.ns));
  // A LocalQueue is meant only where a namespace was named.
  if (options.cluster.ns.empty())
    std::erase_if(list.queues, [](const auto& q) { return q.kind == Kind::kLocalQueue; });
  const auto found = find_queue(list.queues, options.name);
  if (!found) {
    Error error = found.error();
    for (const auto& note : list.notes) error.message += "; " + note;
    return tl::unexpected<Error>(std::move(error));
  }
  kube::Discovery discovery(*cluster.transport);
  BERTH_TRY(discovery.refresh());
  const auto& info = dialect::info_of(found->kind);
  const std::string version = discovery.version_of(info.group, info.resource);
  const std::string path =
      kube::ResourcePath{info.group, version, info.resource}.object(found->ns, found->name);
  BERTH_ASSIGN(std::string body, get_object(*cluster.transport, path));
  BERTH_ASSIGN(const auto object, text::parse_json(std::move(body), path, kObjectLimits));
  BERTH_ASSIGN(const QueuePatch patch, patch_of(options, *found, object));
  const std::string name = fmt::format("{} {}", enum_name(found->kind), found->full_name());
  if (patch.changes.empty()) {
    out << name << ": nothing to change\n";
    return {};
  }
  BERTH_TRY(patch_object(*cluster.transport, path, patch.body, *found, options.dry_run));
  for (const auto& one : patch.changes)
    out << fmt::format("{}: {}{}\n", name, one, options.dry_run ? " (dry run)" : "");
  return {};
}

}  // namespace

QueuePatch stop_patch(const text::Document& object, StopPolicy policy) {
  const text::Node* now = object.root().at({"spec", "stopPolicy"});
  const text::Node* version = object.root().at({"metadata", "resourceVersion"});
  const std::string_view before = now == nullptr || now->is_null() ? "None" : now->text();
  QueuePatch out;
  if (before == policy_word(policy)) return out;
  text::JsonWriter json;
  json.begin_object().key("metadata").begin_object();
  json.field("resourceVersion", version == nullptr ? std::string_view() : version->text()).end_object();
  json.key("spec").begin_object().field("stopPolicy", policy_word(policy)).end_object().end_object();
  out.body = json.take();
  std::string_view effect = "work starts again";
  if (policy == StopPolicy::kHold) effect = "nothing new starts; what runs goes on";
  if (policy == StopPolicy::kHoldAndDrain) effect = "nothing new starts, and what runs is ended";
  out.changes.push_back(fmt::format("stopPolicy {} -> {}: {}", before, policy_word(policy), effect));
  return out;
}

int run_queue(const QueueOptions& options, std::ostream& out, std::ostream& err) {
  const auto status = change(options, out);
  if (status) return 0;
  err << "berth queue: " << printable(status.error().str()) << "\n";
  return status.error().code == ErrorCode::kInvalid ? 2 : 1;
}

namespace {

struct QuotaFlags {
  std::vector<std::string> amounts, limit, lendable;
};

Status read_flags(const QuotaFlags& flags, QuotaChange& out) {
  const auto read = [](std::string_view flag, const std::vector<std::string>& texts, bool removable,
                       std::vector<AmountChange>& into) -> Status {
    for (const auto& text : texts) {
      BERTH_ASSIGN(auto one, parse_amount(flag, text, removable));
      into.push_back(std::move(one));
    }
    return {};
  };
  BERTH_TRY(read("AMOUNT", flags.amounts, false, out.guaranteed));
  BERTH_TRY(read("--limit", flags.limit, true, out.limit));
  BERTH_TRY(read("--lendable", flags.lendable, true, out.lendable));
  if (out.guaranteed.empty() && out.limit.empty() && out.lendable.empty()) {
    return fail(ErrorCode::kInvalid,
                "nothing to set: give RESOURCE=AMOUNT, such as nvidia.com/gpu=64, --limit or --lendable");
  }
  return {};
}

void add_change_flags(CLI::App& command, QueueOptions& o) {
  command
      .add_option("QUEUE", o.name, "NAME, or KIND/NAME where several queues have it: clusterqueue/research")
      ->required();
  add_cluster_flags(command, o.cluster, Scope::kNamespace);
  command.add_flag("--dry-run", o.dry_run, "Let the API server check the change, and change nothing");
}

}  // namespace

void register_queue(CLI::App& app, int& exit_code) {
  CLI::App* queue = app.add_subcommand("queue", "Stops and resumes a queue, and sets its quota");
  queue->require_subcommand(1);
  queue->footer(
      "Examples:\n  berth queue stop research --drain\n  berth queue resume research\n"
      "  berth queue set-quota research nvidia.com/gpu=64 --limit nvidia.com/gpu=128\n\n"
      "It needs the right to patch the queue (the ClusterRole berth-edit).");
  const auto add = [&](const char* name, const char* help, QueueOptions::Verb verb, const char* footer) {
    const auto o = std::make_shared<QueueOptions>();
    o->verb = verb;
    CLI::App* command = queue->add_subcommand(name, help);
    add_change_flags(*command, *o);
    command->footer(footer);
    command->callback([o, &exit_code] { exit_code = run_queue(*o, std::cout, std::cerr); });
    return std::pair(command, o);
  };
  const auto [stop, stop_options] =
      add("stop", "Nothing new of the queue starts", QueueOptions::Verb::kStop,
          "Examples:\n  berth queue stop research             # what runs goes on\n"
          "  berth queue stop research --drain     # what runs ends\n"
          "  berth queue stop main -n team-a       # a LocalQueue");
  stop->add_flag("--drain", stop_options->drain, "End what runs, too");
  add("resume", "Work of the queue starts again", QueueOptions::Verb::kResume,
      "Example:\n  berth queue resume research");
  const auto flags = std::make_shared<QuotaFlags>();
  const auto [set, o] =
      add("set-quota", "Sets guarantees, limits and what is lent", QueueOptions::Verb::kSetQuota,
          "Examples:\n  berth queue set-quota research nvidia.com/gpu=64\n"
          "  berth queue set-quota research nvidia.com/gpu=64 --limit nvidia.com/gpu=128 --dry-run\n"
          "  berth queue set-quota research nvidia.com/gpu=16 --flavor h100\n"
          "  berth queue set-quota research --limit nvidia.com/gpu=none\n\n"
          "A ClusterQueue says a limit as a borrowingLimit: it is what the limit is above the guarantee.");
  set->add_option("AMOUNT", flags->amounts, "RESOURCE=AMOUNT: what the queue can always have");
  set->add_option("--limit", flags->limit, "RESOURCE=AMOUNT: the most that it may use in all; none: no limit")
      ->type_size(1)
      ->allow_extra_args(false);
  set->add_option("--lendable", flags->lendable,
                  "RESOURCE=AMOUNT: how much of the guarantee others may use; none: all of it")
      ->type_size(1)
      ->allow_extra_args(false);
  set->add_option("--flavor", o->quota.flavor, "The flavor whose quota it is, where the queue has several");
  set->add_flag("--add", o->quota.add, "Let the queue count a resource that it does not name yet");
  set->callback([o = o, flags, &exit_code] {
    if (const auto status = read_flags(*flags, o->quota); !status) {
      std::cerr << "berth queue set-quota: " << status.error().str() << "\n";
      exit_code = 2;
      return;
    }
    exit_code = run_queue(*o, std::cout, std::cerr);
  });
}

}  // namespace berth::cli
