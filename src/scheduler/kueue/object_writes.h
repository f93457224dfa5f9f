// Writes of Workload objects: on change only, one at a time per object, within a budget that queue_statuses.h shares. Work that
// starts, ends or has finished goes before waiting work. The backlog holds names of records instead of bodies: an object gets its
// state at the time of the write. After a restart unchanged state is not written again: Berth compares with the object of the watch.
// It corrects a status of its own that another client changed. The pause before that doubles each time, so that two writers do not
// fight for ever. Lives on the decision thread.
//
// Cost: O(pod sets) per comparison and write.
#pragma once

#include <cstddef>
#include <deque>
#include <string>
#include <string_view>

#include "base/time.h"
#include "scheduler/kueue/workload_book.h"
#include "scheduler/wire/allowance.h"
#include "scheduler/wire/inbox.h"
#include "scheduler/wire/outbox.h"

namespace berth::scheduler {

struct ObjectWriteOptions {
  std::size_t most_flying = 200;
  DurationMs first_rest = kSecond;  // after a failed write, or a correction; doubled up to most_rest
  DurationMs most_rest = 10 * kMinute;
};

class ObjectWrites {
 public:
  ObjectWrites(WorkloadBook& book, Outbox& outbox, ObjectWriteOptions options)
      : book_(book), records_(book.records()), outbox_(outbox), options_(options) {}

  // The API version in which Workloads are written ("v1beta2"); empty: they are not. True: it is another one now.
  bool set_version(std::string_view version);
  const std::string& version() const { return version_; }

  // Puts the record into the line of those that are written, where its object is not as it should be.
  void compare(const std::string& workload, WorkloadRecord& record, TimeMs now);
  // Sends up to `most`. False: the budget is spent.
  bool send(int most, Allowance& allowance);
  std::size_t backlog() const { return backlog_[0].size() + backlog_[1].size(); }
  // The write of the record failed: it is compared again after a pause.
  void failed(const std::string& workload, WorkloadRecord& record, const Answer& answer, TimeMs now);
  // Reads its object, which is known and belonged to other work.
  void adopt(const std::string& workload, WorkloadRecord& record, const dialect::WorkloadSketch& sketch);

 private:
  // False: there is nothing to write, or not now.
  bool write(const std::string& workload);
  // Whether the object asks for something else than the workload does, or lacks owners, and may still be changed.
  bool asks_otherwise(const WorkloadRecord& record, const dialect::WorkloadSketch& sketch) const;
  bool asks_for_else(const WorkloadRecord& record, const dialect::WorkloadSketch& sketch) const;
  bool asks_for_more_owners(const WorkloadRecord& record, const dialect::WorkloadSketch& sketch) const;
  DurationMs rest(int times) const;

  WorkloadBook& book_;
  Records& records_;
  Outbox& outbox_;
  const ObjectWriteOptions options_;
  std::string version_;
  std::deque<std::string> backlog_[2];  // urgent first
};

}  // namespace berth::scheduler
