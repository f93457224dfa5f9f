// A trial: charges that are taken back when it ends, unless they stay.
//
//   Trial trial(state);
//   state.accounts.try_charge(...);
//   if (fits()) trial.stay();  // for the trial around it, or until State::commit()
//
// Trials nest. Cost: O(1), and of a rollback the charges that it takes back.
#pragma once

#include <cstddef>

#include "engine/state/state.h"

namespace berth::engine {

class Trial {
 public:
  explicit Trial(State& state) : state_(state), mark_(state.accounts.mark()) {}
  ~Trial() {
    if (!stays_) rollback();
  }
  Trial(const Trial&) = delete;
  Trial& operator=(const Trial&) = delete;

  // Takes back what was charged since it began. It goes on.
  void rollback() { state_.accounts.rollback(mark_); }
  // Its charges are not taken back when it ends.
  void stay() { stays_ = true; }

 private:
  State& state_;
  std::size_t mark_;
  bool stays_ = false;
};

}  // namespace berth::engine
