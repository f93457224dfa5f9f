// Where the decision thread's writes go. The answer comes back through the inbox, as an Answer of this step and uid.
#pragma once

#include <string>

#include "kube/writes.h"
#include "scheduler/wire/inbox.h"

namespace berth::scheduler {

class Outbox {
 public:
  virtual ~Outbox() = default;
  virtual void write(kube::Write write, Step step, std::string uid) = 0;
  // GET of an object or list; the answer has the body.
  virtual void read(std::string path, std::string uid, Step step) = 0;
};

}  // namespace berth::scheduler
