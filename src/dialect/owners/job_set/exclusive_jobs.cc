#include "dialect/owners/job_set/exclusive_jobs.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "base/sha1.h"

namespace berth::dialect {
namespace {

// In all namespaces.
PodSelector selector_of(std::vector<Requirement> requirements) {
  PodSelector out;
  out.pods = {.nothing = false, .requirements = std::move(requirements)};
  out.within.emplace_back().selected = LabelSelector{.nothing = false, .requirements = {}};
  out.set_name();
  return out;
}

// The terms for the sake of exclusive topology, and the others.
struct Terms {
  Terms(const std::vector<CountedTerm>& all, const std::vector<PodSelector>& selectors,
        const std::string& level) {
    const auto names_job_key = [&](const CountedTerm& term) {
      const auto selector = std::find_if(selectors.begin(), selectors.end(),
                                         [&](const PodSelector& s) { return s.name == term.selector; });
      return selector != selectors.end() &&
             std::any_of(selector->pods.requirements.begin(), selector->pods.requirements.end(),
                         [](const Requirement& r) { return r.key == kJobKey; });
    };
    for (const CountedTerm& term : all)
      (term.level == level && names_job_key(term) ? exclusive : others).push_back(term);
  }
  std::vector<CountedTerm> exclusive;
  std::vector<CountedTerm> others;
};

}  // namespace

std::int64_t exclusive_jobs(const JobSet& own) {
  std::int64_t out = 0;
  for (const ReplicatedJob& job : own.jobs) {
    if (job.exclusive && job.unsupported.empty()) out += job.replicas;
  }
  return out;
}

bool is_split(const JobSet& own, const ReplicatedJob& job) {
  return job.exclusive && job.unsupported.empty() && job.replicas > 0 &&
         exclusive_jobs(own) <= kMostExclusiveJobs;
}

void add_job_key(Meta& marks, std::string_view job) {
  marks.labels.insert_or_assign(std::string(kJobKey), sha1(fmt::format("{}/{}", marks.ns, job)));
}

void add_exclusive_terms(const Meta& marks, const std::string& level, PodSpec& spec, PodTemplate& pod) {
  const std::string& key = marks.labels.find(kJobKey)->second;
  const auto add = [&](TermKind kind, PodSelector selector) {
    pod.terms.edit().push_back({.kind = kind, .selector = selector.name, .level = level});
    spec.selectors.push_back(std::move(selector));
  };
  const std::string label(kJobKey);
  add(TermKind::kApart, selector_of({{label, SelectorOp::kExists, {}}, {label, SelectorOp::kNotIn, {key}}}));
  add(TermKind::kNear, selector_of({{label, SelectorOp::kIn, {key}}}));
}

std::optional<AskedPod> as_exclusive(const AskedSet& set, const std::string& level, const Pod& pod,
                                     const PodTemplate& shape) {
  AskedPod out{shape, level, {}};
  std::vector<CountedTerm> terms = Terms(shape.terms, pod.spec.selectors, level).others;
  const Terms own(set.pod->terms, set.spec->selectors, level);
  terms.insert(terms.end(), own.exclusive.begin(), own.exclusive.end());
  out.shape.terms = std::move(terms);
  const auto named = shape.node_selector->find(level);
  if (named == shape.node_selector->end() || set.pod->node_selector->contains(level)) return out;
  out.domain = named->second;
  out.shape.node_selector.edit().erase(level);
  return out;
}

}  // namespace berth::dialect
