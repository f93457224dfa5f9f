// The outbox of one term of leadership: writes go through a Writer with the term's fence, answers come back through the inbox.
//
// The API server makes answers in binary form in a tenth of the time. All that are not read come so, and those of owners. Kinds of
// CRDs have none, and come in JSON.
#pragma once

#include <cstdint>
#include <string>

#include "kube/writer.h"
#include "observe/metrics.h"
#include "scheduler/wire/inbox.h"
#include "scheduler/wire/outbox.h"

namespace berth::scheduler {

class ApiOutbox : public Outbox {
 public:
  ApiOutbox(kube::Transport& transport, kube::WriterOptions options, std::uint64_t term, Inbox& inbox,
            observe::Metrics& metrics);

  void write(kube::Write write, Step step, std::string uid) override;
  void read(std::string path, std::string uid, Step step) override;
  const kube::WriterStats& stats() const { return writer_.stats(); }

 private:
  kube::Transport& transport_;
  const std::uint64_t term_;
  Inbox& inbox_;
  observe::Metrics& metrics_;
  kube::Writer writer_;  // last: its callbacks use the others
};

}  // namespace berth::scheduler
