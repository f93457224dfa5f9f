#include "scheduler/kueue/admission_line.h"

namespace berth::scheduler {

std::uint64_t AdmissionLine::join(const std::string& workload) {
  line_.emplace(++turns_, workload);
  return turns_;
}

bool AdmissionLine::set_unready(const std::string& workload, bool unready) {
  if (!unready) return unready_.erase(workload) > 0;
  unready_.insert(workload);
  return false;
}

}  // namespace berth::scheduler
