// Jobs of tests of the scheduler, and the pods that the Job controller makes of them.
#pragma once

#include <string>

namespace berth::scheduler::testing {

struct JobText {
  std::string name = "train";
  int pods = 2;
  bool suspend = true;
  int priority = 0;
  int generation = 1;
  std::string managed_by;
  std::string owner;
  std::string scheduler = "berth";
  std::string queue = "team";
  int gpus = 1;
};

std::string job_json(const JobText& job, int version = 1);
// A pod as the Job controller makes it.
std::string job_pod(const JobText& job, int index, const std::string& node = "", bool deleting = false,
                    int gpus = 0);

}  // namespace berth::scheduler::testing
