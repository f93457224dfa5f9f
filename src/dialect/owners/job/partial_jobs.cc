#include "dialect/owners/job/partial_jobs.h"

#include <fmt/format.h>

#include <string_view>

#include "base/integers.h"
#include "dialect/base/names.h"

namespace berth::dialect {
namespace {

constexpr std::int64_t kMostPods = 1'000'000;
constexpr std::string_view kToo = ",completions";

std::optional<std::int64_t> to_count(std::string_view text) {
  return to_integer(text, 1, kMostPods);
}

// As Kueue reads it.
std::optional<bool> to_boolean(std::string_view text) {
  for (const std::string_view yes : {"true", "1", "t", "T", "TRUE", "True"}) {
    if (text == yes) return true;
  }
  for (const std::string_view no : {"false", "0", "f", "F", "FALSE", "False"}) {
    if (text == no) return false;
  }
  return std::nullopt;
}

std::optional<Job::Reduced> to_reduced(std::string_view text) {
  Job::Reduced out;
  out.completions_too = text.ends_with(kToo);
  if (out.completions_too) text.remove_suffix(kToo.size());
  const auto slash = text.find('/');
  if (slash == std::string_view::npos) return std::nullopt;
  const auto written = to_count(text.substr(0, slash));
  const auto full = to_count(text.substr(slash + 1));
  if (!written || !full || *written >= *full) return std::nullopt;
  out.parallelism = *written;
  out.full = *full;
  return out;
}

void read_marks(Job& job) {
  const auto& annotations = job.meta.annotations;
  if (const auto it = annotations.find(kKueueMinParallelism); it != annotations.end()) {
    job.least_pods = to_count(it->second);
    if (!job.least_pods) {
      job.partial_problem =
          fmt::format("{}: \"{}\" is not an integer from 1 to 1000000", kKueueMinParallelism, it->second);
    }
  }
  if (job.elastic && job.least_pods) {
    job.partial_problem =
        fmt::format("{} and {}: a Job has one of them, not both", kKueueElastic, kKueueMinParallelism);
  }
  const auto it = annotations.find(kKueueCompletionsFollow);
  if (it == annotations.end() || !job.least_pods) return;
  const auto follow = to_boolean(it->second);
  job.completions_follow = follow.value_or(false);
  if (!follow) {
    job.partial_problem =
        fmt::format("{}: \"{}\" is neither true nor false", kKueueCompletionsFollow, it->second);
  } else if (*follow && !job.indexed) {
    job.partial_problem =
        fmt::format("{}: only with completionMode: Indexed can completions change", kKueueCompletionsFollow);
  } else if (*follow && job.completions != job.parallelism) {
    job.partial_problem = fmt::format("{}: completions must be the same as parallelism ({})",
                                      kKueueCompletionsFollow, job.parallelism);
  }
}

}  // namespace

void read_partial(Job& job) {
  const auto reduced = to_reduced(job.meta.annotation(kPartialAdmission));
  if (reduced && reduced->parallelism == job.parallelism) {
    job.reduced = reduced;
    if (job.suspend) {
      job.parallelism = reduced->full;
      if (reduced->completions_too) job.completions = reduced->full;
    }
  }
  read_marks(job);
}

JobSize full_size(const Job& job) {
  JobSize out;
  out.parallelism = job.reduced ? job.reduced->full : job.parallelism;
  if (job.reduced ? job.reduced->completions_too : job.completions_follow) out.completions = out.parallelism;
  out.is_marked = job.meta.annotations.contains(kPartialAdmission);
  return out;
}

std::optional<JobSize> size_for(const Job& job, std::int64_t pods) {
  JobSize out = full_size(job);
  const std::int64_t full = out.parallelism;
  if (pods > 0 && pods < full) {
    const bool follow = job.completions_follow || out.completions.has_value();
    out.parallelism = pods;
    if (follow) out.completions = pods;
    out.mark = fmt::format("{}/{}{}", pods, full, follow ? kToo : std::string_view());
  }
  const std::int64_t written = job.reduced ? job.reduced->parallelism : job.parallelism;
  if (out.parallelism == written && out.mark == job.meta.annotation(kPartialAdmission)) return std::nullopt;
  return out;
}

}  // namespace berth::dialect
