// Decoder of objects of declared kinds. Included by decode.cc only.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "dialect/owners/declared/declared.h"
#include "dialect/owners/declared/decode_spark_pod.h"
#include "dialect/owners/decode_template.h"
#include "dialect/owners/exclusive.h"

namespace berth::dialect {

// A field: the mapping that it stands in, and its key there.
template <class V>
struct Spot {
  V parent;
  std::string_view key;
  V value() const { return parent.find(key); }
};

template <class V>
class DeclaredReader {
 public:
  // Reads the request of an object within it. nullopt: it is of a kind that owns no pods that Berth reads.
  using Within = std::optional<Ask> (*)(FieldReader<V>& f, const V& object);

  DeclaredReader(FieldReader<V>& f, const V& object, const Declaration& declared, Within within)
      : f_(f), object_(object), declared_(declared), within_(within) {}

  Declared read() {
    Declared out;
    out.declared = &declared_;
    out.meta = read_meta(f_, object_, declared_.row.kind, false);
    const V meta = f_.map(object_, "metadata");
    out.generation = f_.integer(meta, "generation", 0, 0, kInt64Max);
    out.annotated = f_.map(meta, "annotations").present();
    if (!f_.map(object_, "spec").present()) f_.error(object_, "spec", "is required");
    if (!declared_.suspend.empty()) {
      const auto at = spot(declared_.suspend, object_);
      out.suspend = f_.boolean(at.parent, at.key, false);
      const auto& rules = declared_.suspend_when;
      out.switchable = std::all_of(rules.begin(), rules.end(),
                                   [&](const StateRule& rule) { return holds(rule, nullptr); });
    }
    out.managed_by = word(declared_.managed_by);
    out.priority_class = word(declared_.priority_class);
    out.minimum = number(declared_.minimum, object_);
    out.groups = number(declared_.groups.count, object_);
    if (const std::string queue = word(declared_.queue); !queue.empty() && !names_a_queue(out.meta, out.meta))
      out.meta.annotations.insert_or_assign(std::string(kBerthQueue), queue);
    out.ready = holds(declared_.ready, nullptr);
    out.failed = holds(declared_.failed, &out.ending);
    out.finished = out.failed || holds(declared_.completed, &out.ending);
    for (const DeclaredSet& set : declared_.sets) read_place(set, out);
    if (declared_.objects.any()) read_objects(out);
    read_exclusive(f_.map(meta, "annotations"), out);
    check_sizes(out);
    return out;
  }

 private:
  // An error where something else than a mapping stands on the way.
  Spot<V> spot(const FieldPath& path, const V& set) {
    V at = path.of_set ? set : object_;
    for (std::size_t i = 0; i + 1 < path.keys.size(); ++i) at = f_.map(at, path.keys[i]);
    return {at, path.keys.back()};
  }
  // A field that is missing: the first of its path is named.
  void require(const FieldPath& path, const V& set) {
    V at = path.of_set ? set : object_;
    for (const std::string& key : path.keys) {
      if (!at.find(key).present()) return f_.error(at, key, "is required");
      at = at.find(key);
    }
  }
  std::string word(const FieldPath& path) {
    if (path.empty()) return {};
    const auto at = spot(path, object_);
    return std::string(f_.string(at.parent, at.key));
  }
  std::int64_t number(const DeclaredNumber& declared, const V& set) {
    if (!declared.is_there()) return declared.otherwise;
    const auto at = spot(declared.at, set);
    const std::int64_t most = kMostDeclaredPods;
    std::int64_t out = f_.integer(at.parent, at.key, declared.otherwise, 0, most);
    if (!declared.most.empty()) out = std::min(out, bound(declared.most, set).value_or(most));
    if (!declared.least.empty()) out = std::max(out, bound(declared.least, set).value_or(0));
    return out;
  }
  std::optional<std::int64_t> number(const FieldPath& path, const V& set) {
    if (path.empty()) return std::nullopt;
    const auto at = spot(path, set);
    if (!at.value().present()) return std::nullopt;
    return f_.integer(at.parent, at.key, 0, 0, kMostDeclaredPods);
  }

  // May be as large as an int32 says, and counts for no more than all pods of an object.
  std::optional<std::int64_t> bound(const FieldPath& path, const V& set) {
    const auto at = spot(path, set);
    if (!at.value().present()) return std::nullopt;
    return std::min(f_.integer(at.parent, at.key, 0, 0, kInt64Max), kMostDeclaredPods);
  }

  static std::string text_of(const V& value) {
    if (const auto truth = value.boolean()) return *truth ? "true" : "false";
    std::string buffer;
    const auto text = value.scalar(buffer);
    return std::string(text.value_or(std::string_view()));
  }
  static bool is_among(const std::vector<std::string>& words, std::string_view word) {
    return std::find(words.begin(), words.end(), word) != words.end();
  }
  // `says`: gets the condition's message, or the word.
  bool holds(const StateRule& rule, std::string* says) { return holds(rule, object_, says); }
  bool holds(const StateRule& rule, const V& set, std::string* says) {
    bool out = false;
    if (!rule.conditions.empty()) {
      f_.list(f_.map(object_, "status"), "conditions", [&](const V& c) {
        if (f_.string(c, "status") != "True" || !is_among(rule.conditions, f_.string(c, "type"))) return;
        out = true;
        if (says != nullptr) *says = f_.string(c, "message");
      });
    }
    if (out || rule.at.empty()) return out;
    const V value = spot(rule.at, set).value();
    if (!value.present()) return rule.absent;
    if (rule.present) return true;
    const std::string text = text_of(value);
    if (!is_among(rule.words, text)) return false;
    if (says != nullptr) *says = text;
    return true;
  }

  // The rules at the set's place, or all others.
  bool hold(const DeclaredSet& set, const V& place, bool of_set) {
    return std::all_of(set.when.begin(), set.when.end(), [&](const StateRule& rule) {
      return rule.at.of_set != of_set || holds(rule, place, nullptr);
    });
  }

  void read_place(const DeclaredSet& set, Declared& out) {
    if (!hold(set, object_, false)) {
      ++ruled_out_;
      return;
    }
    if (set.at.empty()) return read_pods(set, object_, "", out);
    const auto at = spot(set.at, object_);
    if (!at.value().present()) {
      if (!set.optional) require(set.at, object_);
      return;
    }
    if (!set.each) return read_pods(set, f_.map(at.parent, at.key), set.at.pointer_text(), out);
    std::size_t number = 0;
    f_.list(at.parent, at.key, [&](const V& entry) {
      read_pods(set, entry, fmt::format("{}/{}", set.at.pointer_text(), number++), out);
    });
  }

  // Bounded at each step, so that no product overflows.
  std::int64_t times_of(const DeclaredSet& set, const V& place, std::int64_t count) {
    for (const DeclaredNumber& factor : set.times)
      count = std::min(count * number(factor, place), kMostDeclaredPods + 1);
    return count;
  }

  void read_pods(const DeclaredSet& set, const V& place, const std::string& pointer_of_place, Declared& out) {
    DeclaredPods pods;
    pods.from = &set;
    pods.name = set.name;
    if (!set.name_at.empty()) {
      const auto at = spot(set.name_at, place);
      pods.name = f_.string(at.parent, at.key);
      if (pods.name.empty()) require(set.name_at, place);
    }
    if (hold(set, place, true))
      pods.size = std::max<std::int64_t>(0, times_of(set, place, number(set.count, place)) - set.less);
    if (set.minimum_when.empty() || holds(set.minimum_when, nullptr)) {
      if (const auto minimum = number(set.minimum, place)) pods.minimum = times_of(set, place, *minimum);
    }
    pods.later = set.later || std::any_of(set.later_when.begin(), set.later_when.end(),
                                          [&](const StateRule& rule) { return holds(rule, nullptr); });
    if (set.form == PodForm::kSpark) {
      pods.spec = SparkPodReader<V>(f_, object_).read(place, set.name, out.meta.ns, pods.marks, pods.needs);
    } else {
      read_template_of(set, place, pointer_of_place, out.meta.ns, pods);
    }
    out.sets.push_back(std::move(pods));
  }

  void read_template_of(const DeclaredSet& set, const V& place, const std::string& pointer_of_place,
                        const std::string& ns, DeclaredPods& pods) {
    for (const FieldPath* path : {&set.pod_template, &set.template_or}) {
      if (path->empty()) continue;
      const auto at = spot(*path, place);
      if (!at.value().present()) continue;
      pods.path = (path->of_set ? pointer_of_place : "") + path->pointer_text();
      pods.annotated = read_template(f_, at.parent, ns, pods.marks, pods.spec, pods.needs, at.key,
                                     [&](auto& containers) { add_containers(set, containers); });
      return;
    }
    pods.marks.ns = ns;
    if (set.default_template) {
      Problems none;  // it was read when it was declared
      FieldReader<TreeValue> reader(none, f_.devices());
      (void)read_template(reader, TreeValue(set.default_template->set), ns, pods.marks, pods.spec, pods.needs,
                          "defaultTemplate");
      return;
    }
    if (pods.size > 0) require(set.template_or.empty() ? set.pod_template : set.template_or, place);
  }

  void add_containers(const DeclaredSet& set, std::vector<ContainerNeeds>& containers) {
    for (const DeclaredContainer& added : set.adds) {
      if (!added.when.empty() && !holds(added.when, nullptr)) continue;
      const auto there = added.resources_at.empty() ? Spot<V>{V(), {}} : spot(added.resources_at, object_);
      ContainerNeeds needs;
      if (there.value().present()) {
        needs = read_resources(f_, there.parent, there.key, added.init);
      } else {
        Problems none;  // it was read when it was declared
        FieldReader<TreeValue> reader(none, f_.devices());
        needs = read_resources(reader, TreeValue(added.own), "resources", added.init);
      }
      needs.name = added.name;
      const auto first =
          std::find_if(containers.begin(), containers.end(), [](const auto& c) { return !c.init; });
      containers.insert(added.init ? first : containers.end(), std::move(needs));
    }
  }

  // Its controller makes no pods beside the first where the mark is there and names no node label.
  void read_exclusive(const V& annotations, Declared& out) {
    const DeclaredExclusive& by = declared_.groups.exclusive;
    if (!by.mark.empty() && annotations.find(by.mark).present())
      out.exclusive = f_.string(annotations, by.mark);
    for (const std::string& mark : by.unsupported) {
      if (annotations.find(mark).present()) out.unsupported = mark;
    }
    if (!out.exclusive || !out.unsupported.empty()) return;
    const auto near = [](const DeclaredPods& pods) { return is_near_to_pods(*pods.spec.pod); };
    if (out.exclusive->empty()) {
      out.unsupported = fmt::format("{} that names no node label", by.mark);
    } else if (std::any_of(out.sets.begin(), out.sets.end(), near)) {
      out.unsupported = fmt::format("{} with required podAffinity", by.mark);
    }
  }

  void read_objects(Declared& out) {
    const auto list = spot(declared_.objects.each, object_);
    const std::string outer(f_.home());
    f_.set_home(out.meta.ns);
    f_.list(list.parent, list.key, [&](const V& entry) {
      const auto at = spot(declared_.objects.at, entry);
      const V object = f_.map(at.parent, at.key);
      if (!object.present()) return require(declared_.objects.at, entry);
      if (f_.string(object, "kind") == "Pod" && f_.string(object, "apiVersion") == "v1") {
        read_pod_within(at, out);
      } else if (auto ask = within_(f_, object)) {
        add_object(object, std::move(*ask), out);
      }
    });
    f_.set_home(outer);
  }
  void read_pod_within(const Spot<V>& at, Declared& out) {
    DeclaredPods pods;
    pods.name = f_.string(f_.map(at.value(), "metadata"), "name");
    pods.size = 1;
    pods.annotated = read_template(f_, at.parent, out.meta.ns, pods.marks, pods.spec, pods.needs, at.key);
    out.sets.push_back(std::move(pods));
  }
  void add_object(const V& object, Ask ask, Declared& out) {
    const Declaration* kind = declaration_of(ask.kind->kind);
    if (kind != nullptr && (kind->groups.any() || kind->sets_below)) {
      f_.error(object, "kind",
               fmt::format("{}: a {} is not read within another object",
                           kind->groups.any() ? "its groups start one by one" : "its pods do not stand in it",
                           kind->word));
    }
    std::size_t part = 0;
    for (std::size_t s = 0; s < ask.sets.size(); ++s) {
      DeclaredPods pods;
      pods.name = ask.meta->name;
      if (ask.sets.size() > 1) pods.name += "-" + set_name(ask, s);
      part = ask.sets[s].continues ? part + 1 : 0;
      if (part > 0) pods.name += fmt::format("-{}", part);
      pods.within = {out.objects.size(), s};
      pods.size = ask.sets[s].most;
      out.sets.push_back(std::move(pods));
    }
    out.objects.push_back(std::move(ask));
  }

  // All sets together.
  void check_sizes(const Declared& out) {
    std::int64_t pods = 0;
    for (const DeclaredPods& set : out.sets) pods += set.size;
    pods *= std::max<std::int64_t>(1, out.groups);
    if (pods > kMostDeclaredPods)
      f_.error(object_, "spec", fmt::format("asks for {} pods, more than {}", pods, kMostDeclaredPods));
    const bool has_none = !declared_.sets.empty() && ruled_out_ == declared_.sets.size();
    if (out.sets.empty() && !declared_.sets_below && !has_none) f_.error(object_, "spec", "names no pods");
  }

  FieldReader<V>& f_;
  const V& object_;
  const Declaration& declared_;
  Within within_;
  std::size_t ruled_out_ = 0;  // pod sets that it does not have, by their rules
};

template <class V>
Declared read_declared(FieldReader<V>& f, const V& object, const Declaration& declared,
                       typename DeclaredReader<V>::Within within) {
  return DeclaredReader<V>(f, object, declared, within).read();
}

}  // namespace berth::dialect
