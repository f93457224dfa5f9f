#include "scheduler/wire/api_outbox.h"

#include <string_view>
#include <utility>

#include "kube/protobuf_json.h"

namespace berth::scheduler {
namespace {

observe::WriteOutcome outcome_of(const kube::WriteResult& result) {
  if (result.outcome == kube::Outcome::kOk) return observe::WriteOutcome::kOk;
  if (result.outcome == kube::Outcome::kConflict) return observe::WriteOutcome::kConflict;
  if (result.status == 429) return observe::WriteOutcome::kThrottled;
  return observe::WriteOutcome::kError;
}

std::string_view name_of(Step step) {
  switch (step) {
    case Step::kBind:
      return "bind";
    case Step::kRead:
    case Step::kLook:
    case Step::kMissing:
    case Step::kNodePools:
    case Step::kEnded:
      return "read";
    case Step::kMark:
      return "mark";
    case Step::kDelete:
      return "delete";
    case Step::kStatus:
      return "status";
    case Step::kEvent:
      return "event";
    case Step::kOwner:
      return "job";
    case Step::kWorkload:
      return "workload";
    case Step::kQueue:
      return "queue-status";
    case Step::kProvision:
      return "provisioning-request";
    case Step::kAudit:
      return "audit";
    case Step::kGang:
      return "gang-status";
    case Step::kClaim:
      return "claim";
  }
  return "";
}

}  // namespace

ApiOutbox::ApiOutbox(kube::Transport& transport, kube::WriterOptions options, std::uint64_t term,
                     Inbox& inbox, observe::Metrics& metrics)
    : transport_(transport),
      term_(term),
      inbox_(inbox),
      metrics_(metrics),
      writer_(transport, std::move(options)) {}

void ApiOutbox::write(kube::Write write, Step step, std::string uid) {
  write.fence_token = term_;
  if (!reads_body(step) || step == Step::kOwner) write.accept = kube::Accept::kBinary;
  writer_.submit(std::move(write), [this, step, uid = std::move(uid)](kube::WriteResult&& result) mutable {
    metrics_.wrote(name_of(step), outcome_of(result));
    if (reads_body(step) && kube::is_binary(result.body))
      result.body = kube::json_of_envelope(result.body).value_or("");
    if (step == Step::kEvent) return;
    // A status that was taken needs no thought.
    if (step == Step::kStatus && result.outcome == kube::Outcome::kOk) return;
    inbox_.push(Answer{step, std::move(uid), std::move(result)});
  });
}

void ApiOutbox::read(std::string path, std::string uid, Step step) {
  kube::Request request;
  request.path = std::move(path);
  request.timeout = 10 * kSecond;
  // Its captures outlive the transport; this object does not.
  transport_.submit(std::move(request), [&inbox = inbox_, &metrics = metrics_, step,
                                         uid = std::move(uid)](kube::Response&& response) mutable {
    kube::WriteResult result;
    result.outcome = kube::classify(response);
    result.status = response.status;
    result.body = std::move(response.body);
    // That an object is not there is an answer, too.
    metrics.wrote(
        "read", result.outcome == kube::Outcome::kNotFound ? observe::WriteOutcome::kOk : outcome_of(result));
    inbox.push(Answer{step, std::move(uid), std::move(result)});
  });
}

}  // namespace berth::scheduler
