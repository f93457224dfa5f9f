// The changes of the API server to templates of work without pods (template_effects.h).
#include <algorithm>
#include <utility>

#include "dialect/intake/intake_state.h"

namespace berth::dialect {

TakenTemplate Intake::Impl::taken(const PodSpec& spec, const PodNeeds* asked, const Meta& meta,
                                  bool of_pods) const {
  if (asked == nullptr) return {spec.pod, spec.zero_requests, {}};
  const TemplateRules rules = objects.rules_for(meta.ns, *asked, of_pods);
  if (!rules.concern(*asked)) return {spec.pod, spec.zero_requests, {}};
  return as_taken(spec, *asked, meta, rules, config.devices);
}

void Intake::Impl::take(OwnerRecord& record) {
  record.templates.clear();
  for (const AskedSet& set : record.ask.sets) {
    OwnedTemplate& out = record.templates.emplace_back();
    out.taken = set.pod;
    if (set.needs == nullptr) continue;
    const TemplateRules rules = objects.rules_for(record.ask.meta->ns, *set.needs, true);
    if (!rules.concern(*set.needs)) continue;
    PodSpec spec = *set.spec;
    spec.pod = *set.pod;
    TakenTemplate as = as_taken(spec, *set.needs, *set.marks, rules, config.devices);
    out.taken = shapes.share(std::move(as.pod));
    out.refused = std::move(as.refused);
  }
}

void Intake::Impl::take(Draft& draft) {
  draft.object = draft.written;
  draft.inadmissible.clear();
  std::shared_ptr<KueueWorkload> changed;
  for (std::size_t i = 0; i < draft.written->pod_sets.size(); ++i) {
    const auto& set = draft.written->pod_sets[i];
    if (set.needs == nullptr || !objects.rules_for(draft.ns, *set.needs, false).concern(*set.needs)) continue;
    TakenTemplate as = taken(set.spec, set.needs.get(), set.marks, false);
    if (changed == nullptr) changed = std::make_shared<KueueWorkload>(*draft.written);
    changed->pod_sets[i].spec.pod = std::move(as.pod);
    changed->pod_sets[i].spec.zero_requests = std::move(as.zero_requests);
    if (draft.inadmissible.empty()) draft.inadmissible = std::move(as.refused);
  }
  const auto says_least = [](const auto& set) { return set.min_count.has_value(); };
  const bool may_fit = (!config.quota_only || draft.granted > 0) &&
                       (draft.grows != nullptr || std::any_of(draft.written->pod_sets.begin(),
                                                              draft.written->pod_sets.end(), says_least));
  if (may_fit && changed == nullptr) changed = std::make_shared<KueueWorkload>(*draft.written);
  if (may_fit) fit(*changed, draft);
  if (changed != nullptr) draft.object = std::move(changed);
}

void Intake::Impl::settle_effects() {
  if (!objects.rules_changed()) return;
  const auto concerns = [&](const std::string& ns, const PodNeeds* asked) {
    return objects.rules_changed_for(ns, asked);
  };
  std::vector<std::string> others;
  for (const auto& [uid, record] : owners.all()) {
    const auto& sets = record.ask.sets;
    if (std::any_of(sets.begin(), sets.end(),
                    [&](const AskedSet& set) { return concerns(record.ask.meta->ns, set.needs.get()); }))
      others.push_back(uid);
  }
  std::sort(others.begin(), others.end());
  std::erase_if(others, [&](const std::string& uid) { return !take_anew(uid); });
  for (const auto& uid : others) sync_owner(uid);
  // Work with quota keeps its granted request.
  const auto concerned = drafts.where([&](const Draft& draft) {
    if (draft.written == nullptr || !draft.written->admitted_to.empty() || draft.reserved) return false;
    const auto& sets = draft.written->pod_sets;
    return std::any_of(sets.begin(), sets.end(),
                       [&](const auto& set) { return concerns(draft.ns, set.needs.get()); });
  });
  for (const auto ix : concerned) {
    Draft& draft = drafts[ix];
    take(draft);
    if (config.quota_only) {
      draft.emitted = false;
    } else {
      draft.remade = draft.emitted;
    }
    refresh(ix);
  }
  objects.settle_rules();
}

bool Intake::Impl::take_anew(std::string_view uid) {
  OwnerRecord* known = owners.find(uid);
  if (known == nullptr) return false;
  OwnerRecord now = owner_record_of(Ask(known->ask));
  if (now.makes_the_same(*known)) return false;
  *known = std::move(now);
  return true;
}

void Intake::set_all_runtimes_known() {
  impl_->objects.set_all_runtimes_known();
}

void Intake::set_reserved(std::string_view workload, bool reserved) {
  Impl& s = *impl_;
  const auto ix = s.drafts.find(workload);
  if (ix == kNoIx || s.drafts[ix].reserved == reserved) return;
  s.drafts[ix].reserved = reserved;
  if (!reserved && s.drafts[ix].written != nullptr) {  // what it was granted is void
    s.drafts[ix].unsize();
    s.take(s.drafts[ix]);
    s.drafts[ix].remade = s.drafts[ix].emitted && s.drafts[ix].object != s.drafts[ix].written;
    s.refresh(ix);
  }
  if (!reserved && !s.drafts[ix].released && (s.drafts[ix].sized || s.drafts[ix].granted > 0)) {
    s.drafts[ix].unsize();
    s.sync_owner(std::string(workload));
  }
  if (!reserved && s.take_anew(workload)) s.sync_owner(std::string(workload));
}

void Intake::take_in(Pod& pod) const {
  if (pod.needs == nullptr) return;
  TakenTemplate as = impl_->taken(pod.spec, pod.needs.get(), pod.meta, true);
  pod.spec.pod = std::move(as.pod);
  pod.spec.zero_requests = std::move(as.zero_requests);
  if (!as.refused.empty()) pod.problem = std::move(as.refused);
}

}  // namespace berth::dialect
