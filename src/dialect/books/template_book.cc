#include "dialect/books/template_book.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "dialect/base/names.h"
#include "dialect/upstream/declared_features.h"

namespace berth::dialect {
namespace {

// The parts of a text with commas.
std::vector<std::string> split_marks(std::string_view text) {
  std::vector<std::string> out;
  while (!text.empty()) {
    const auto end = std::min(text.find(','), text.size());
    if (end > 0) out.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

// A template without what former updates of it have left, and with this one.
PodTemplate amended(const PodTemplate& taken, std::string_view left, const PodSetUpdate* update) {
  PodTemplate out = taken;
  for (const auto& key : split_marks(left)) out.node_selector.edit().erase(key);
  if (update == nullptr) return out;
  for (const auto& [key, value] : update->node_selector)
    out.node_selector.edit().insert_or_assign(key, value);
  for (const auto& written : update->tolerations) {
    const Toleration toleration = to_model(written);
    if (std::find(out.tolerations.begin(), out.tolerations.end(), toleration) == out.tolerations.end())
      out.tolerations.edit().push_back(toleration);
  }
  return out;
}

// Pods that share a claim for a local volume are near each other, by a selector with this name. None of a pod has such a name.
constexpr std::string_view kPodsOfClaim = "pods with claim ";

// Terms of a claim hold in the whole cluster, or have that name; no term of a pod does.
bool is_of_claim(const CountedTerm& term) {
  return term.level.empty() || term.selector.starts_with(kPodsOfClaim);
}

// A template names only claims among the selectors that count it.
void forget_claims(PodTemplate& pod) {
  if (!pod.volumes.empty()) {
    std::erase_if(pod.volumes.edit(),
                  [](const VolumeNodes& nodes) { return !nodes.words.starts_with(kOfFeature); });
  }
  pod.attaches = {};
  pod.mounts.clear();
  if (pod.selected.empty()) return;
  pod.selected.clear();
  std::erase_if(pod.terms.edit(), is_of_claim);
}

bool same_terms_about_pods(const PodTemplate& a, const PodTemplate& b) {
  if (a.terms == b.terms) return true;
  std::vector<CountedTerm> of_a = a.terms, of_b = b.terms;
  std::erase_if(of_a, is_of_claim);
  std::erase_if(of_b, is_of_claim);
  return of_a == of_b;
}

template <class T>
bool are_among(const std::vector<T>& some, const std::vector<T>& all) {
  return std::all_of(some.begin(), some.end(),
                     [&](const T& one) { return std::find(all.begin(), all.end(), one) != all.end(); });
}

// Each node that the constraints of `promised` allow is one that those of `pod` allow: they are the same conditions, or fewer.
bool allows_nodes_of(const PodTemplate& promised, const PodTemplate& pod) {
  for (const auto& [key, value] : pod.node_selector) {
    const auto there = promised.node_selector->find(key);
    if (there == promised.node_selector->end() || there->second != value) return false;
  }
  if (pod.required_affinity.empty()) return true;
  const auto is_met = [&](const SelectorTerm& met) {
    return std::any_of(
        pod.required_affinity.begin(), pod.required_affinity.end(), [&](const SelectorTerm& term) {
          return are_among(term.labels, met.labels) && are_among(term.node_name, met.node_name) &&
                 !(term.labels.empty() && term.node_name.empty());
        });
  };
  return !promised.required_affinity.empty() &&
         std::all_of(promised.required_affinity.begin(), promised.required_affinity.end(), is_met);
}

}  // namespace

std::size_t hash_of(const PodTemplate& shape) {
  std::size_t hash = shape.node_selector.size() * 31 + shape.tolerations.size();
  const auto mix = [&](std::size_t value) { hash = hash * 1'000'003 + value; };
  for (const auto& [resource, amount] : shape.requests) {
    mix(std::hash<std::string>{}(resource));
    mix(static_cast<std::size_t>(amount));
  }
  for (const auto& request : shape.claim.requests) {
    mix(static_cast<std::size_t>(request.count));
    mix(static_cast<std::size_t>(request.milli));
  }
  for (const HostPort& port : shape.ports) mix(static_cast<std::size_t>(port.port));
  for (const auto& [key, value] : shape.node_selector) mix(std::hash<std::string>{}(value));
  // Pods of one shape often differ in these alone.
  for (const VolumeNodes& volume : shape.volumes) mix(std::hash<std::string>{}(volume.words));
  for (const std::string& selector : shape.selected) mix(std::hash<std::string>{}(selector));
  for (const CountedTerm& term : shape.terms) mix(std::hash<std::string>{}(term.selector));
  return hash;
}

std::size_t hash_of(const PodNeeds& needs) {
  std::size_t hash = std::hash<std::string>{}(needs.runtime_class);
  const auto mix = [&](std::size_t value) { hash = hash * 1'000'003 + value; };
  for (const auto& c : needs.containers) {
    mix(std::hash<std::string>{}(c.name));
    for (const auto& [resource, amount] : c.requests) mix(static_cast<std::size_t>(amount));
  }
  return hash;
}

bool suits(const PodTemplate& pod, const PodTemplate& promised) {
  if (pod == promised) return true;
  if (!(pod.claim == promised.claim) || !(pod.ports == promised.ports) || !allows_nodes_of(promised, pod) ||
      pod.placement != promised.placement || !same_terms_about_pods(pod, promised) ||
      pod.unsupported != promised.unsupported) {
    return false;
  }
  for (const auto& [resource, amount] : pod.requests) {
    if (amount > promised.requests.get(resource)) return false;
  }
  return std::all_of(promised.tolerations.begin(), promised.tolerations.end(), [&](const Toleration& t) {
    return std::find(pod.tolerations.begin(), pod.tolerations.end(), t) != pod.tolerations.end();
  });
}

bool same_volumes(const PodTemplate& a, const PodTemplate& b) {
  return a.volumes == b.volumes && a.selected == b.selected && a.attaches == b.attaches &&
         a.mounts == b.mounts;
}

void clear_constraints(PodTemplate& pod) {
  pod.node_selector.clear();
  pod.required_affinity.clear();
  pod.preferred_affinity.clear();
  pod.volumes.clear();
  pod.tolerations.clear();
}

TakenTemplate TemplateBook::taken(const PodSpec& spec, const PodNeeds* asked, const Meta& meta,
                                  bool of_pods) const {
  if (asked == nullptr) return {*spec.pod, spec.zero_requests, {}};
  const TemplateRules rules = objects_.rules_for(meta.ns, *asked, of_pods);
  if (!rules.concern(*asked)) return {*spec.pod, spec.zero_requests, {}};
  return as_taken(spec, *asked, meta, rules, devices_);
}

void TemplateBook::take(OwnerRecord& record) {
  record.templates.clear();
  const std::string& ns = record.ask.meta->ns;
  for (const AskedSet& set : record.ask.sets) {
    OwnedTemplate& out = record.templates.emplace_back();
    out.taken = set.pod;
    take_rules(ns, set, out);
    if (set.spec->claims.empty()) continue;
    PodTemplate mounts = *out.taken;
    out.claim_wait = mount_in(ns, *set.spec, mounts);
    out.taken = shapes_.share(std::move(mounts));
  }
}

void TemplateBook::take_rules(const std::string& ns, const AskedSet& set, OwnedTemplate& out) {
  if (set.needs == nullptr) return;
  const TemplateRules rules = objects_.rules_for(ns, *set.needs, true);
  if (!rules.concern(*set.needs)) return;
  PodSpec spec = *set.spec;
  spec.pod = *set.pod;
  TakenTemplate as = as_taken(spec, *set.needs, *set.marks, rules, devices_);
  out.taken = shapes_.share(std::move(as.pod));
  out.refused = std::move(as.refused);
}

std::shared_ptr<const Reason> TemplateBook::mount(const PodSpec& spec, const Meta& pod,
                                                  PodTemplate& out) const {
  forget_claims(out);
  if (spec.claims.empty() || by_quota_) return nullptr;
  ClaimsFound found = objects_.volumes().look_up(spec.claims, pod);
  for (VolumeNodes& nodes : found.nodes) out.volumes.edit().push_back(std::move(nodes));
  for (const auto& [volume, attached] : found.attached) {
    if (attached.shared) {
      out.mounts.push_back({attached.driver, volume});
    } else {
      out.attaches.set(attached.driver, out.attaches.get(attached.driver) + 1);
    }
  }
  for (const std::string& count : found.counted) out.attaches.set(count, out.attaches.get(count) + 1);
  for (std::string& claim : found.alone) {
    out.terms.edit().push_back({.kind = TermKind::kApart, .selector = claim, .level = {}});
    out.selected.edit().push_back(std::move(claim));
  }
  for (const std::string& claim : found.together) {
    std::string pods = fmt::format("{}{}", kPodsOfClaim, claim);
    out.terms.edit().push_back({.kind = TermKind::kNear, .selector = pods, .level = std::string(kHostname)});
    out.selected.edit().push_back(std::move(pods));
  }
  if (found.waits.empty()) return nullptr;
  Reason wait;
  wait.code = ReasonCode::kClaim;
  wait.detail = std::move(found.waits);
  return std::make_shared<const Reason>(std::move(wait));
}

std::shared_ptr<const Reason> TemplateBook::mount_in(const std::string& ns, const PodSpec& spec,
                                                     PodTemplate& out) const {
  Meta unnamed;
  unnamed.ns = ns;
  return mount(spec, unnamed, out);
}

OwnerRecord TemplateBook::record_of(Ask&& ask, const OwnerRecord* before, bool fixed,
                                    std::span<const PodSetUpdate> updates) {
  OwnerRecord out;
  out.ask = std::move(ask);
  bool is_same = true;
  for (std::size_t s = 0; s < out.ask.sets.size(); ++s) {
    AskedSet& set = out.ask.sets[s];
    set.pod = shapes_.share(PodTemplate(*set.pod));
    if (set.needs != nullptr) set.needs = needs_.share(PodNeeds(*set.needs));
    is_same = is_same && before != nullptr && s < before->ask.sets.size() &&
              before->ask.sets[s].pod == set.pod && before->ask.sets[s].needs == set.needs;
  }
  if (is_same && fixed) {
    out.templates = before->templates;
  } else {
    take(out);
  }
  for (OwnedTemplate& one : out.templates) one.shape = one.taken;
  // Changes by checks of its last run are not its own wishes.
  const std::string_view left = out.ask.suspended ? amended_keys(*out.ask.meta) : std::string_view();
  if (left.empty() && updates.empty()) return out;
  for (std::size_t s = 0; s < out.templates.size(); ++s)
    out.templates[s].shape =
        shapes_.share(amended(*out.templates[s].taken, left, update_of(out.ask, s, updates)));
  return out;
}

}  // namespace berth::dialect
