// The answers of /api/v1 (docs/dashboard.md) as JSON: filtered, sorted and paged here, and without the names that the asker may not see.
//
// Thread-safe where the snapshot and the chronicle are. O(workloads) for a filter, O(items shown) for the rest.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "scheduler/board/snapshot.h"

namespace berth::scheduler {

// The part that an asker may see. A workload is seen by its namespace. Without `queues`, the queues of the workloads that are seen, and those
// above them.
struct Sight {
  bool all = false;  // every namespace
  bool nodes = false;
  bool queues = false;
  std::function<bool(std::string_view)> sees;  // a namespace, where not all

  bool sees_name(std::string_view name) const {
    return all || (sees && !namespace_of(name).empty() && sees(namespace_of(name)));
  }
};

using Query = std::map<std::string, std::string>;

// A number of the query. Invalid: it is none, or above `most`.
Result<std::int64_t> number_of(const Query& query, const std::string& key, std::int64_t otherwise,
                               std::int64_t most);

// A reason without the workloads that the asker may not see: "another workload" stands for them.
Reason reason_for(const Sight& sight, const Chronicle& chronicle, Reason reason);

// The missing amount, from the numbers of a blocked workload's own reason; "": they do not say.
std::string short_of(const Reason& reason);

class Views {
 public:
  Views(std::shared_ptr<const Snapshot> snapshot, const Chronicle& chronicle, const Sight& sight)
      : snapshot_(std::move(snapshot)), chronicle_(chronicle), sight_(sight) {}

  static constexpr std::int64_t kMostItems = 2'500;

  std::string summary() const;
  Result<std::string> queues(const Query& query) const;
  Result<std::string> workloads(const Query& query) const;
  Result<std::string> nodes(const Query& query) const;
  Result<std::string> decisions(const Query& query) const;
  Result<std::string> timeline(const Query& query) const;
  // `verdict`: of the moment; `slots`: state and node of each slot that is shown. NotFound: it is unknown, or not to be seen.
  struct StorySlot {
    std::int64_t pod_set = 0;
    std::int64_t index = 0;
    SlotState state = SlotState::kAbsent;
    std::string node;
  };
  Result<std::string> story(std::string_view uid, Verdict verdict, const std::vector<StorySlot>& slots) const;

 private:
  std::string text_for(const Reason& reason) const;
  std::string row_json(const BoardWorkload& row) const;
  bool sees(const Facts& facts) const { return sight_.sees_name(facts.name); }

  std::shared_ptr<const Snapshot> snapshot_;
  const Chronicle& chronicle_;
  const Sight& sight_;
};

}  // namespace berth::scheduler
