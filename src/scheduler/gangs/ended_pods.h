// Members of gangs that have ended. The watch of pods does not show them: one that ends leaves it as one that is deleted does
// (read/sources.h). So each member that had a node and has left is read once, as long as its gang is there. The intake is told of those
// that have ended.
//
// After a start it is not known which pods ended before. A gang must not wait for these, nor be withdrawn for the lack of them, so they
// are known before recovery. They are listed by the opposite selector, in the namespaces whose gangs may have some. To read each by its
// name is impossible, since nothing tells the names. No selector selects gangs: most of their marks are annotations. A watch would hold
// the ended pods of all Jobs.
//
// Lives on the decision thread. Cost: one read per member that left, kMostAsked at once. At the start one list per namespace; where the
// namespaces are more than kMostLists, one of all pods that have ended.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <unordered_map>

#include "base/time.h"
#include "dialect/intake/intake.h"
#include "dialect/objects/decode.h"
#include "kube/object_reader.h"
#include "scheduler/wire/inbox.h"
#include "scheduler/wire/outbox.h"

namespace berth::scheduler {

class EndedPods {
 public:
  static constexpr std::size_t kMostAsked = 100;
  static constexpr std::size_t kMostLists = 20;

  EndedPods(dialect::Intake& intake, dialect::JsonDecoder& decoder, Outbox& outbox)
      : intake_(intake), decoder_(decoder), outbox_(outbox) {}

  // All other objects are there: asks for those that ended before, and again what failed. True: they are known.
  bool are_known(TimeMs now);
  // Asks for members that have left.
  void work(TimeMs now);
  void answered(Answer&& answer, TimeMs now);
  // With kMostAsked under way, an answer is what it waits for.
  TimeMs next_due() const {
    return waiting_.empty() || asked_.size() >= kMostAsked ? kEndOfTime : rest_until_;
  }

 private:
  void ask_page();
  void take_page(Answer&& answer, TimeMs now);
  void take_pod(std::string_view json, std::string_view uid);

  dialect::Intake& intake_;
  dialect::JsonDecoder& decoder_;
  Outbox& outbox_;
  kube::ObjectReader reader_{0};  // of lists only
  std::deque<dialect::PodName> waiting_;
  std::unordered_map<std::string, dialect::PodName> asked_;  // by uid
  TimeMs rest_until_ = 0;                                    // after a read that failed
  // The lists of the start.
  bool began_ = false;
  bool listing_ = false;                // a page is on its way
  std::deque<std::string> namespaces_;  // to be listed; "" = all
  std::string next_page_;
  std::uint32_t page_ = 500;
};

}  // namespace berth::scheduler
