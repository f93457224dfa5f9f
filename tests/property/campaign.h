// Many random histories, on several cores: which failed, and what they met. The same histories give the same results
// whatever the number of cores.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "property/coverage.h"
#include "property/history.h"
#include "property/runner.h"

namespace berth::property {

struct CampaignPlan {
  std::uint64_t histories = 0;
  std::uint64_t seed = 1;  // of the first; the others count on
  bool all = false;        // goes on after a failure
  unsigned jobs = 1;       // threads
  bool progress = false;   // a line on standard error every ten seconds, and for each failure
};

struct CampaignResults {
  struct Failed {
    std::int64_t count = 0;
    std::uint64_t seed = 0;  // the lowest
    std::string failure;     // of that one
  };
  std::map<std::string, Failed> failures;  // by kind (kind_of)
  Coverage met;
  Coverage histories_with;
  std::uint64_t histories = 0;  // that ran
  std::int64_t decide_calls = 0;
  std::int64_t decisions = 0;
  std::uint64_t digest = 0;         // of the decision logs of all histories, whatever their order
  std::vector<std::int64_t> loads;  // of each history, in percent, sorted
};

CampaignResults run_campaign(const CampaignPlan& plan);

// Tables for people: how often each thing was met, and in how many histories.
std::string to_text(const CampaignResults& results);

}  // namespace berth::property
