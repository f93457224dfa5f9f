#include "cli/base/reasons.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "dialect/write/writes.h"

namespace berth::cli {
namespace {

constexpr std::string_view kEnough = " would be enough";

struct Remedy {
  std::string_view reason;
  std::string_view text;
};

constexpr Remedy kRemedies[] = {
    {"IncompleteGang",
     "does the owner create all pods? Do gang-size or minMember say more than it creates? Are some gated?"},
    {"Quota",
     "wait for work of the queue to end, ask for less, or raise its quota: berth queue set-quota. "
     "berth get queues shows which queue borrows"},
    {"QuotaMax", "it never fits: ask for less, or raise the queue's quota or borrowing limit"},
    {"QuotaUncovered", "add the resource to the queue, or remove the request"},
    {"QuotaKept", "a strict queue keeps it for its head: let the queue reclaim, or borrow less"},
    {"NodesNotAsked",
     "raise the limit of the NodePool that the text names; or see why the autoscaler made no nodes"},
    {"Reserved", "older work has the room next; it starts when what runs there has ended"},
    {"LaneLimit", "it waits for work of the same user to end, or raise perUser.limit of the queue"},
    {"FirmLimit", "make it preemptible, or raise the quota of the queue that the reason names"},
    {"BehindHead", "the queue is strict: look at the workload at its head"},
    {"QueueMissing",
     "correct the label that names the queue, create the queue, or let the namespace in (namespaceSelector)"},
    {"QueueStopped", "berth queue resume QUEUE"},
    {"QueueDisabled", "correct the queue: its text names the flavor, cohort or parent that is wrong"},
    {"Unschedulable",
     "free nodes, add some, or ask for what nodes have: the text counts the nodes by what they lack"},
    {"NoVictims", "priorities, and the queue's preemption policy, say what it may preempt"},
    {"WaitingForRoom",
     "nothing: its victims end within their grace period. Look for finalizers if they do not"},
    {"Inactive", "the owner resumes it: gates, admission-gated-by, or spec.active of its Workload"},
    {"Claim", "create or bind the volume claim, as the text says"},
    {"Invalid", "correct the field that the text names"},
    {"Unsupported", "leave the constraint out, or give the pod to another scheduler"},
    {"Withdrawn",
     "its pods did not come, or could not all be bound: look at its events and namespace quotas"},
    {"Pending", "Berth looks at it within seconds. If not: berth check"},
    {"Waiting", "the text says what is short; berth get queues and berth get nodes show where"},
};

void add_enough(std::vector<std::string>& out, const ReasonTree& tree) {
  if (tree.code == enum_name(ReasonCode::kEnough) &&
      std::find(out.begin(), out.end(), tree.text) == out.end()) {
    out.push_back(tree.text);
  }
  for (const ReasonTree& child : tree.children) add_enough(out, child);
}

}  // namespace

ReasonTree tree_of(const Reason& reason) {
  ReasonTree out;
  out.code = enum_name(reason.code);
  Reason own = reason;
  own.children.clear();
  if (reason.code != ReasonCode::kNone) out.text = dialect::text_of(own);
  for (const Reason& child : reason.children) out.children.push_back(tree_of(child));
  return out;
}

void add_tree(std::string& out, const ReasonTree& tree, std::size_t depth) {
  const bool says = tree.code != enum_name(ReasonCode::kNone);
  if (says) out += fmt::format("{:{}}{}\n", "", depth * 2, tree.text);
  for (const ReasonTree& child : tree.children) add_tree(out, child, depth + (says ? 1 : 0));
}

void write_tree(text::JsonWriter& json, const ReasonTree& tree) {
  json.begin_object().field("code", tree.code).field("text", tree.text).key("children").begin_array();
  for (const ReasonTree& child : tree.children) write_tree(json, child);
  json.end_array().end_object();
}

std::vector<std::string> enough_in(const ReasonTree& tree) {
  std::vector<std::string> out;
  add_enough(out, tree);
  return out;
}

std::vector<std::string> enough_in(std::string_view text) {
  std::vector<std::string> out;
  for (auto end = text.find(kEnough); end != std::string_view::npos; end = text.find(kEnough, end + 1)) {
    const std::string_view before = text.substr(0, end);
    const auto comma = before.rfind(", ");
    const auto colon = before.rfind(": ");
    std::size_t begin = 0;
    if (comma != std::string_view::npos) begin = comma + 2;
    if (colon != std::string_view::npos) begin = std::max(begin, colon + 2);
    out.push_back(fmt::format("{}{}", before.substr(begin), kEnough));
  }
  return out;
}

std::string_view remedy_for(std::string_view reason) {
  for (const Remedy& remedy : kRemedies) {
    if (remedy.reason == reason) return remedy.text;
  }
  return {};
}

}  // namespace berth::cli
