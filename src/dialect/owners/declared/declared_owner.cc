#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "base/integers.h"
#include "base/sha1.h"
#include "dialect/base/names.h"
#include "dialect/owners/asked_set.h"
#include "dialect/owners/declared/declared.h"
#include "dialect/owners/exclusive.h"
#include "dialect/owners/pod_number.h"
#include "dialect/owners/switch.h"

namespace berth::dialect {

void Declared::keep_status(const Declared& there) {
  finished = there.finished;
  failed = there.failed;
  ready = there.ready;
  ending = there.ending;
  generation = there.generation;
}

std::string group_key(const Meta& owner, std::string_view number) {
  return sha1(fmt::format("{}/{}-{}", owner.ns, owner.name, number));
}

namespace {

constexpr std::string_view kNameWord = "$name";

const Declared& declared_of(const Ask& ask) {
  return *static_cast<const Declared*>(ask.own.get());
}

std::string_view why_over(const Declared& own) {
  if (own.finished) return own.failed ? "it has failed" : "it is complete";
  return own.meta.deleting ? "it is being deleted" : "";
}

// Its own owner has it, or another controller.
bool is_of_another(const Declared& own) {
  const auto& controllers = own.declared->own_controllers;
  return !own.meta.controller->kind.empty() ||
         (!own.managed_by.empty() &&
          std::find(controllers.begin(), controllers.end(), own.managed_by) == controllers.end());
}

bool asks_for(const PodTemplate& pod, const std::string& resource) {
  const Result<ResourceList> total = pod.total();
  return total && total->get(resource) > 0;
}

// The pod as the controller makes it of its template: an expression more in each term, and a preference more.
std::shared_ptr<const PodTemplate> with_avoidances(std::shared_ptr<const PodTemplate> pod,
                                                   const std::vector<DeclaredAvoidance>& all) {
  for (const DeclaredAvoidance& one : all) {
    if (!asks_for(*pod, one.resource)) continue;
    PodTemplate next = *pod;
    if (one.weight > 0) {
      next.preferred_affinity.edit().push_back({one.weight, {{one.nodes}, {}}});
    } else {
      auto& terms = next.required_affinity.edit();
      if (terms.empty()) terms.emplace_back();
      for (SelectorTerm& term : terms) term.labels.push_back(one.nodes);
    }
    pod = std::make_shared<const PodTemplate>(std::move(next));
  }
  return pod;
}

// Whether its marks, or one of its pod sets, make it a gang.
bool is_gang(const Declared& own, const AskedSet& set) {
  return !own.meta.mark(kGang).empty() ||
         (own.declared->gang &&
          (names_a_gang(own.meta, *set.marks) || is_for_kai(own.meta, *set.marks, set.spec->scheduler_name)));
}

AskedSet set_of_pods(const Declared& own, DeclaredPods& pods, bool over) {
  const auto& avoids = own.declared->objects.avoids;
  if (pods.within) {
    AskedSet out = own.objects[pods.within->first].sets[pods.within->second];
    out.name = pods.name;
    out.pod = with_avoidances(std::move(out.pod), avoids);
    if (over) out.size = 0;
    return out;
  }
  AskedSet out = asked_by_template(pods.marks, pods.spec, pods.needs);
  out.pod = with_avoidances(std::move(out.pod), avoids);
  out.name = pods.name;
  out.annotated = pods.annotated;
  out.most = out.asked = pods.size;
  out.size = over ? 0 : pods.size;
  out.enough = pods.minimum;
  out.later = pods.later;
  return out;
}

Ask ask_declared(std::shared_ptr<void> object) {
  const auto shared = std::static_pointer_cast<Declared>(std::move(object));
  Declared& own = *shared;
  const Declaration& declared = *own.declared;
  Ask out;
  out.kind = &declared.row;
  out.own = shared;
  out.meta = &own.meta;
  out.generation = own.generation;
  out.over = why_over(own);
  out.ending = own.ending;
  out.problem = own.problem;
  out.unsupported = own.unsupported;
  out.priority_class = own.priority_class;
  out.enough = own.minimum;
  out.suspended = own.suspend;
  out.makes_pods = out.over.empty();
  out.finished = own.finished;
  out.failed = own.failed;
  out.is_ready = own.ready || declared.ready.empty();
  out.is_led = is_of_another(own) ||
               (!declared.suspend.empty() && !own.switchable);  // nothing but its user switches it
  // Nothing of it is known yet: the sets are those of the owner below it (adopt_sets), or none can be read.
  if (own.sets.empty()) own.sets.emplace_back();
  for (DeclaredPods& pods : own.sets) {
    out.sets.push_back(set_of_pods(own, pods, !out.over.empty()));
    out.gang = out.gang || is_gang(own, out.sets.back());
  }
  for (const Ask& within : own.objects) {
    if (out.priority_class.empty()) out.priority_class = within.priority_class;
  }
  if (declared.groups.any()) out.gang = false;  // each group is one (OwnerBook::group_of)
  return out;
}

// The same object, suspended or not.
Ask switched(const Ask& ask, bool suspend) {
  const auto next = std::make_shared<Declared>(declared_of(ask));
  next->suspend = suspend;
  Ask out = ask_declared(next);
  for (std::size_t s = 0; s < out.sets.size() && s < ask.sets.size(); ++s) {
    out.sets[s].pod = ask.sets[s].pod;
    out.sets[s].needs = ask.sets[s].needs;
  }
  if (ask.of_below != nullptr) {
    out.sets = ask.sets;
    out.of_below = ask.of_below;
    out.gang = ask.gang;
  }
  return out;
}

// "$name" stands for the name of the pod set.
std::string label_value(const DeclaredPods& pods, std::string_view value) {
  const auto at = value.find(kNameWord);
  if (at == std::string_view::npos) return std::string(value);
  return fmt::format("{}{}{}", value.substr(0, at), pods.name, value.substr(at + kNameWord.size()));
}

bool is_of(const DeclaredPods& pods, const Pod& pod) {
  if (pods.from == nullptr) return false;
  const auto& labels = pods.from->labels;
  return std::all_of(labels.begin(), labels.end(), [&](const auto& wanted) {
    const auto it = pod.meta.labels.find(wanted.first);
    return it != pod.meta.labels.end() && it->second == label_value(pods, wanted.second);
  });
}

std::optional<std::int64_t> number_of(std::string_view text) {
  return to_integer(text, 0);
}

std::optional<std::int64_t> index_in(const DeclaredPods& pods, const Pod& pod) {
  const std::string& index = pods.from->index;
  if (index.empty()) return index_of(pod);
  if (index == kNameWord) {
    const std::string_view name = pod.meta.name;
    const auto dash = name.rfind('-');
    return dash == std::string_view::npos ? std::nullopt : number_behind(name, name.substr(0, dash));
  }
  const auto it = pod.meta.labels.find(index);
  return it == pod.meta.labels.end() ? std::nullopt : number_of(it->second);
}

// Which of the objects within has made the pod, or its owner, by their names: "<object>" and "<object>-...". The longest counts.
std::optional<std::size_t> object_named(const Declared& own, std::string_view name) {
  std::optional<std::size_t> out;
  for (std::size_t o = 0; o < own.objects.size(); ++o) {
    const std::string_view object = own.objects[o].meta->name;
    if (!name.starts_with(object) || (name != object && name[object.size()] != '-')) continue;
    if (!out || own.objects[*out].meta->name.size() < object.size()) out = o;
  }
  return out;
}

// A pod that `berth plan` makes belongs to the owner itself, and ends its name with its set and index.
OwnedPlace place_within(const Declared& own, const Pod& pod) {
  const std::string_view name = pod.meta.name;
  for (std::size_t s = 0; s < own.sets.size(); ++s) {
    const DeclaredPods& pods = own.sets[s];
    if (!pods.within && name == pods.name) return {s, 0};
    if (pod.meta.controller->uid != own.meta.uid) continue;
    if (const auto index = number_behind(name, fmt::format("{}-{}", own.meta.name, pods.name)))
      return {s, *index};
  }
  const auto object = object_named(own, pod.meta.controller->name);
  if (!object) return {};
  const Ask& within = own.objects[*object];
  const OwnedPlace place = within.kind->place_of(within, pod);
  for (std::size_t s = 0; s < own.sets.size(); ++s) {
    if (own.sets[s].within == std::pair(*object, place.set)) return {s, place.index};
  }
  return {};
}

OwnedPlace place_declared(const Ask& ask, const Pod& pod) {
  if (ask.of_below != nullptr) return ask.of_below->kind->place_of(*ask.of_below, pod);
  const Declared& own = declared_of(ask);
  if (own.declared->objects.any()) return place_within(own, pod);
  for (std::size_t s = 0; s < own.sets.size(); ++s) {
    if (is_of(own.sets[s], pod)) return {s, index_in(own.sets[s], pod)};
  }
  return {};
}

ExclusiveBy exclusive_by(const Declared& own) {
  return {own.declared->groups.exclusive.key, *own.exclusive, own.meta.ns};
}

bool lies_apart(const Declared& own) {
  return own.exclusive && own.unsupported.empty();
}

// Its pods have a label, and terms, of their own. They matter where its groups lie apart, and for pods that are still to come: others lie
// apart from them.
std::optional<Ask> ask_of_group(const Ask& ask, std::string_view number) {
  if (!lies_apart(declared_of(ask)) && !ask.has_later_pods()) return std::nullopt;
  const auto shared = std::make_shared<Declared>(declared_of(ask));
  Declared& own = *shared;
  own.group = number;
  const std::string key = group_key(own.meta, number);
  Ask out = ask;
  out.own = shared;
  out.meta = &own.meta;
  out.ending = own.ending;
  out.priority_class = own.priority_class;
  for (std::size_t s = 0; s < out.sets.size(); ++s) {
    DeclaredPods& pods = own.sets[s];
    AskedSet& set = out.sets[s];
    set.name = pods.name;
    set.marks = &pods.marks;
    set.spec = &pods.spec;
    pods.marks.labels.insert_or_assign(own.declared->groups.exclusive.key, key);
    if (!lies_apart(own)) continue;
    PodTemplate pod = *set.pod;
    add_exclusive_terms(exclusive_by(own), key, pods.spec, pod);
    set.pod = std::make_shared<const PodTemplate>(std::move(pod));
  }
  return out;
}

std::optional<AskedPod> as_asked_of_group(const Ask& ask, std::size_t set, const Pod& pod,
                                          const PodTemplate& shape) {
  const Declared& own = declared_of(ask);
  if (!lies_apart(own)) return std::nullopt;
  auto out = as_exclusive(exclusive_by(own), ask.sets[set], pod, shape);
  out->whole = true;
  return out;
}

// The controllers of the objects below it, and within it, make its pods.
std::optional<AskedPod> as_asked_declared(const Ask& ask, std::size_t set, const Pod& pod,
                                          const PodTemplate& shape) {
  const auto by = [&](const Ask& below, std::size_t its) {
    return below.kind->as_asked == nullptr ? std::nullopt : below.kind->as_asked(below, its, pod, shape);
  };
  if (ask.of_below != nullptr) return by(*ask.of_below, set);
  const Declared& own = declared_of(ask);
  if (!own.group.empty()) return as_asked_of_group(ask, set, pod, shape);
  const auto within = set < own.sets.size() ? own.sets[set].within : std::nullopt;
  return within ? by(own.objects[within->first], within->second) : std::nullopt;
}

Switch switch_at(const Ask& ask, const std::string& pointer_text) {
  const Declared& own = declared_of(ask);
  Switch out{pointer_text, {}, own.annotated};
  for (std::size_t s = 0; s < ask.sets.size(); ++s)
    out.templates.push_back(s < own.sets.size() ? own.sets[s].path : std::string());
  return out;
}

ReleaseWrite release_declared(const Ask& ask, const Release& how) {
  const std::string at = declared_of(ask).declared->suspend.pointer_text();
  return release_by(switch_at(ask, at), ask, how);
}

kube::Write suspend_declared(const Ask& ask, bool) {
  const std::string at = declared_of(ask).declared->suspend.pointer_text();
  return suspend_by(switch_at(ask, at), ask);
}

kube::Write set_switch_declared(const Ask& ask, bool suspended) {
  return set_by(declared_of(ask).declared->suspend.pointer_text(), ask, suspended);
}

// The pod sets of the one owner below it.
bool adopt_sets(Ask& ask, const std::vector<const Ask*>& below) {
  if (below.empty()) return false;
  const Ask& from = *below.front();
  const auto same = [](const AskedSet& a, const AskedSet& b) {
    return a.spec == b.spec && a.size == b.size && a.reclaimable == b.reclaimable;
  };
  if (std::equal(ask.sets.begin(), ask.sets.end(), from.sets.begin(), from.sets.end(), same)) return false;
  ask.sets = from.sets;
  ask.of_below = std::make_shared<const Ask>(from);
  const Declared& own = declared_of(ask);
  ask.gang =
      std::any_of(from.sets.begin(), from.sets.end(), [&](const AskedSet& set) { return is_gang(own, set); });
  return true;
}

// On paper.
class PodMaker {
 public:
  PodMaker(const Ask& ask, const std::vector<const Pod*>& has) : ask_(ask), own_(declared_of(ask)) {
    for (const Pod* pod : has) {
      if (pod->phase == PodPhase::kFailed) continue;
      const OwnedPlace place = place_declared(ask, *pod);
      Known& known = known_[{group_of(*pod), place.set}];
      if (place.index) known.taken.insert(*place.index);
      ++known.pods;
    }
  }

  std::int64_t missing() const {
    std::int64_t out = 0;
    each([&](std::int64_t group, std::size_t set) { out += lacks(group, set); });
    return out;
  }
  std::vector<Pod> make() const {
    std::vector<Pod> out;
    each([&](std::int64_t group, std::size_t set) {
      std::int64_t lacking = lacks(group, set);
      for (std::int64_t index = 0; lacking > 0; ++index) {
        if (known(group, set).taken.contains(index)) continue;
        --lacking;
        out.push_back(make(group, set, index));
      }
    });
    return out;
  }

 private:
  struct Known {
    std::set<std::int64_t> taken;
    std::int64_t pods = 0;
  };
  const DeclaredGroups& groups() const { return own_.declared->groups; }
  std::int64_t group_of(const Pod& pod) const {
    const auto it = pod.meta.labels.find(groups().group);
    return it == pod.meta.labels.end() ? 0 : number_of(it->second).value_or(0);
  }
  const Known& known(std::int64_t group, std::size_t set) const {
    static const Known kNone;
    const auto it = known_.find({group, set});
    return it == known_.end() ? kNone : it->second;
  }
  std::int64_t lacks(std::int64_t group, std::size_t set) const {
    return std::max<std::int64_t>(0, ask_.sets[set].size - known(group, set).pods);
  }
  template <class F>
  void each(F&& f) const {
    const std::int64_t many = groups().any() ? own_.groups : 1;
    for (std::int64_t group = 0; group < many; ++group) {
      for (std::size_t set = 0; set < ask_.sets.size(); ++set) f(group, set);
    }
  }
  Pod make(std::int64_t group, std::size_t set, std::int64_t index) const {
    const DeclaredPods& pods = own_.sets[set];
    Pod pod = pod_of(ask_, ask_.sets[set]);
    const std::string in_group = groups().any() ? fmt::format("-{}", group) : std::string();
    pod.meta.name = fmt::format("{}{}-{}-{}", own_.meta.name, in_group, pods.name, index);
    pod.meta.uid = fmt::format("{}{}/{}/{}", own_.meta.uid, in_group, pods.name, index);
    if (pods.from == nullptr) return pod;
    for (const auto& [key, value] : pods.from->labels)
      pod.meta.labels.insert_or_assign(key, label_value(pods, value));
    if (!pods.from->index.empty() && pods.from->index != kNameWord)
      pod.meta.labels.insert_or_assign(pods.from->index, fmt::format("{}", index));
    if (groups().any()) {
      pod.meta.labels.insert_or_assign(groups().owner, own_.meta.name);
      const std::string number = fmt::format("{}", group);
      pod.meta.labels.insert_or_assign(groups().group, number);
      if (const std::string& key = groups().exclusive.key; !key.empty())
        pod.meta.labels.insert_or_assign(key, group_key(own_.meta, number));
    }
    return pod;
  }

  const Ask& ask_;
  const Declared& own_;
  std::map<std::pair<std::int64_t, std::size_t>, Known> known_;
};

MadePods make_declared(const Ask& ask, const std::vector<const Pod*>& has, std::int64_t most) {
  const Declared& own = declared_of(ask);
  MadePods out;
  if (!ask.makes_pods) return out;
  if (ask.of_below != nullptr) {  // as that one would, if it were its own
    Ask below = *ask.of_below;
    below.is_led = false;
    return below.kind->make_pods(below, has, most);
  }
  if (own.declared->sets_below) {
    out.none = "makes its pods by another object, which is not there: none are planned";
    return out;
  }
  if (is_of_another(own)) {
    out.none = own.meta.controller->kind.empty()
                   ? fmt::format("is managed by {}, which makes its pods: none are planned", own.managed_by)
                   : fmt::format("belongs to {} {}, which may change it: none of its pods are planned",
                                 own.meta.controller->kind, own.meta.controller->name);
    return out;
  }
  const PodMaker maker(ask, has);
  out.missing = maker.missing();
  if (out.missing <= most) out.pods = maker.make();
  return out;
}

}  // namespace

OwnerKind declared_row(const Declaration& declaration, Kind kind) {
  OwnerKind out{.kind = kind,
                .version = declaration.version,
                .work = declaration.work,
                .ask = ask_declared,
                .count = nullptr,
                .adopt = declaration.sets_below ? adopt_sets : nullptr,
                .place_of = place_declared,
                .as_asked = as_asked_declared,
                .of_group = declaration.groups.exclusive.key.empty() ? nullptr : ask_of_group,
                .release = nullptr,
                .suspend = nullptr,
                .make_changeable = nullptr,
                .make_pods = make_declared,
                .released = nullptr,
                .suspended = nullptr,
                .pods_within = declaration.pods_within,
                .further_are_gangs = declaration.further_are_gangs,
                .suspends_below = declaration.suspends_below};
  if (declaration.suspend.empty()) return out;
  out.release = release_declared;
  out.suspend = suspend_declared;
  out.set_switch = set_switch_declared;
  out.released = [](const Ask& ask, std::int64_t) { return switched(ask, false); };
  out.suspended = [](const Ask& ask) { return switched(ask, true); };
  return out;
}

}  // namespace berth::dialect
