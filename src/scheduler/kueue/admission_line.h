// blockAdmission: held starts in the order of their decisions, and admitted work whose pods are not ready. The first of the line may
// start when no admitted work is unready. Lives on the decision thread.
//
// Cost: O(log n) per call.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>

namespace berth::scheduler {

class AdmissionLine {
 public:
  // Its turn, from 1.
  std::uint64_t join(const std::string& workload);
  void leave(std::uint64_t turn) { line_.erase(turn); }
  // The turn becomes that of other work.
  void hand_over(std::uint64_t turn, const std::string& to) { line_.insert_or_assign(turn, to); }
  // In order: turn -> workload.
  const std::map<std::uint64_t, std::string>& all() const { return line_; }

  // True: it was unready, and is not any longer.
  bool set_unready(const std::string& workload, bool unready);
  bool all_ready() const { return unready_.empty(); }

 private:
  std::map<std::uint64_t, std::string> line_;
  std::uint64_t turns_ = 0;
  std::set<std::string> unready_;  // workloads
};

}  // namespace berth::scheduler
