#include "property/campaign.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <iostream>
#include <mutex>
#include <string_view>
#include <thread>

namespace berth::property {
namespace {

using Clock = std::chrono::steady_clock;

void add(CampaignResults& to, const CampaignResults& from) {
  for (const auto& [kind, failed] : from.failures) {
    auto& mine = to.failures[kind];
    if (mine.count == 0 || failed.seed < mine.seed) {
      mine.seed = failed.seed;
      mine.failure = failed.failure;
    }
    mine.count += failed.count;
  }
  for (const auto& [what, count] : from.met) to.met[what] += count;
  for (const auto& [what, count] : from.histories_with) to.histories_with[what] += count;
  to.histories += from.histories;
  to.decide_calls += from.decide_calls;
  to.decisions += from.decisions;
  to.digest += from.digest;
  to.loads.insert(to.loads.end(), from.loads.begin(), from.loads.end());
}

void run_one(std::uint64_t seed, bool progress, CampaignResults& into) {
  const History history = make_history(seed);
  Coverage met;
  const Outcome outcome = run_history(history, met);
  ++into.histories;
  into.decide_calls += outcome.decide_calls;
  into.decisions += outcome.decisions;
  into.digest += std::hash<std::string_view>{}(outcome.log);
  into.loads.push_back(history.load_percent);
  for (const auto& [what, count] : met) {
    into.met[what] += count;
    ++into.histories_with[what];
  }
  if (outcome.failure.empty()) return;
  auto& failed = into.failures[kind_of(outcome.failure)];
  if (progress) std::cerr << fmt::format("seed {} fails: {}\n", seed, outcome.failure);
  if (failed.count++ == 0) {  // a thread's seeds go up
    failed.seed = seed;
    failed.failure = outcome.failure;
  }
}

}  // namespace

CampaignResults run_campaign(const CampaignPlan& plan) {
  std::atomic<std::uint64_t> next{0};
  std::atomic<bool> stop{false};
  std::mutex mutex;
  std::condition_variable ended;
  unsigned working = std::max(1u, plan.jobs);
  CampaignResults all;
  const auto work = [&] {
    CampaignResults mine;
    // Histories are taken in order and each that was taken is finished: the first failure is the first one.
    while (!stop) {
      const std::uint64_t i = next++;
      if (i >= plan.histories) break;
      run_one(plan.seed + i, plan.progress, mine);
      if (!mine.failures.empty() && !plan.all) stop = true;
    }
    const std::lock_guard lock(mutex);
    add(all, mine);
    --working;
    ended.notify_all();
  };
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < std::max(1u, plan.jobs); ++i) threads.emplace_back(work);

  const auto began = Clock::now();
  {
    std::unique_lock lock(mutex);
    while (!ended.wait_for(lock, std::chrono::seconds(10), [&] { return working == 0; })) {
      if (!plan.progress) continue;
      const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(Clock::now() - began).count();
      const std::uint64_t done = std::min<std::uint64_t>(next, plan.histories);
      const std::uint64_t rate =
          std::max<std::uint64_t>(1, done / static_cast<std::uint64_t>(std::max<std::int64_t>(1, seconds)));
      std::cerr << fmt::format("{} of {} histories, {}/s, {} minutes to go\n", done, plan.histories, rate,
                               (plan.histories - done) / rate / 60);
    }
  }
  for (std::thread& thread : threads) thread.join();
  std::sort(all.loads.begin(), all.loads.end());
  return all;
}

std::string to_text(const CampaignResults& results) {
  std::string out;
  for (const auto& [kind, failed] : results.failures) {
    out += fmt::format("{} histories failed, the first of seed {}: {}\n", failed.count, failed.seed,
                       failed.failure);
  }
  out += fmt::format("{} histories, {} decide calls, {} decisions\n", results.histories, results.decide_calls,
                     results.decisions);
  out += fmt::format("digest of all logs: {:016x}\n", results.digest);
  if (results.loads.empty()) return out;
  out += fmt::format("work for {} to {} % of the devices, {} % in the middle\n", results.loads.front(),
                     results.loads.back(), results.loads[results.loads.size() / 2]);
  out += fmt::format("{:<44}{:>12}{:>24}\n", "met", "times", "in % of histories");
  for (const auto& [what, count] : results.met) {
    const auto with = static_cast<double>(results.histories_with.at(what)) * 100;
    out += fmt::format("{:<44}{:>12}{:>24.1f}\n", what, count, with / static_cast<double>(results.histories));
  }
  return out;
}

}  // namespace berth::property
