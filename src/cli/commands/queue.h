// `berth queue stop|resume|set-quota`: changes of queues, written to their objects with the rights of the user. Each change names the
// version of the object that it was made from, so a change of another client in between is never lost (409).
#pragma once

#include <CLI/CLI.hpp>
#include <iosfwd>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "cli/ask/cluster.h"
#include "cli/ask/queues.h"
#include "text/document.h"

namespace berth::cli {

// "nvidia.com/gpu=64"; an empty amount removes (written as "none").
struct AmountChange {
  std::string resource;
  std::string amount;
};
// Invalid: it names the word and the form. `removable`: "none" is allowed.
Result<AmountChange> parse_amount(std::string_view flag, const std::string& text, bool removable);

struct QuotaChange {
  std::vector<AmountChange> guaranteed, limit, lendable;
  std::string flavor;  // "": the only one
  bool add = false;    // also resources that the queue does not name yet
};

// A merge patch, and in words what it changes.
struct QueuePatch {
  std::string body;
  std::vector<std::string> changes;  // "nvidia.com/gpu: guaranteed 32 -> 64"
};
// `kind`: Queue or ClusterQueue. Invalid: the field, and the fix.
Result<QueuePatch> quota_patch(dialect::Kind kind, const text::Document& object, const QuotaChange& change);
QueuePatch stop_patch(const text::Document& object, StopPolicy policy);

// The one that `name` means: NAME, or KIND/NAME where several have it. NotFound, Invalid (several; they are named).
Result<QueueLine> find_queue(const std::vector<QueueLine>& queues, const std::string& name);

struct QueueOptions {
  enum class Verb : std::uint8_t { kStop, kResume, kSetQuota };
  Verb verb = Verb::kStop;
  ClusterFlags cluster;
  std::string name;
  bool drain = false;  // of kStop: what runs ends too
  QuotaChange quota;
  bool dry_run = false;  // the API server checks it, and nothing is changed
};
// 0: done, or there is nothing to do. 1: it was refused, or there is no such queue. 2: wrong options.
int run_queue(const QueueOptions& options, std::ostream& out, std::ostream& err);

void register_queue(CLI::App& app, int& exit_code);

}  // namespace berth::cli
