// Labels, selectors, taints and tolerations, with the meaning that Kubernetes gives them
// (shared vocabulary of nodes, flavors and pods).
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/enums.h"

namespace berth {

using Labels = std::map<std::string, std::string, std::less<>>;

enum class SelectorOp : std::uint8_t { kIn, kNotIn, kExists, kDoesNotExist, kGt, kLt };
template <>
struct EnumNames<SelectorOp> {
  static constexpr std::array names{"In"sv, "NotIn"sv, "Exists"sv, "DoesNotExist"sv, "Gt"sv, "Lt"sv};
};

// One condition on a label. Gt and Lt compare integers and are false where either side is none.
struct Requirement {
  std::string key;
  SelectorOp op = SelectorOp::kIn;
  std::vector<std::string> values;

  bool matches(const Labels& labels) const;
  template <class Self, class Visitor>
  static void fields(Self& s, Visitor&& v) {
    v("key", s.key);
    v("op", s.op);
    v("values", s.values);
  }
  bool operator==(const Requirement&) const = default;
};

// All conditions of a term must hold. A term without any condition matches nothing (Kubernetes' rule).
struct SelectorTerm {
  std::vector<Requirement> labels;
  std::vector<Requirement> node_name;  // matchFields on metadata.name; `key` is ignored

  bool matches(const Labels& node_labels, const std::string& name) const;
  template <class Self, class Visitor>
  static void fields(Self& s, Visitor&& v) {
    v("labels", s.labels);
    v("node_name", s.node_name);
  }
  bool operator==(const SelectorTerm&) const = default;
};

// Whether one of the terms holds for the node. None matches nothing.
bool any_matches(const std::vector<SelectorTerm>& terms, const Labels& node_labels, const std::string& name);

// The nodes on which one volume of a pod can be used, or those that have a feature which it needs.
struct VolumeNodes {
  std::string words;                // for messages: which volume, and on which nodes it is; or the feature
  std::vector<SelectorTerm> nodes;  // one of them must match; none: no node has the volume

  template <class Self, class Visitor>
  static void fields(Self& s, Visitor&& v) {
    v("words", s.words);
    v("nodes", s.nodes);
  }
  bool operator==(const VolumeNodes&) const = default;
};

// A volume of CSI that several pods may mount. On its node it counts once against the limit of its driver (Node::attachable).
struct SharedVolume {
  std::string driver;
  std::string name;  // unique for the driver

  template <class Self, class Visitor>
  static void fields(Self& s, Visitor&& v) {
    v("driver", s.driver);
    v("name", s.name);
  }
  bool operator==(const SharedVolume&) const = default;
};

struct PreferredTerm {
  std::int64_t weight = 1;  // 1 to 100
  SelectorTerm term;

  template <class Self, class Visitor>
  static void fields(Self& s, Visitor&& v) {
    v("weight", s.weight);
    v("term", s.term);
  }
  bool operator==(const PreferredTerm&) const = default;
};

enum class TaintEffect : std::uint8_t { kNoSchedule, kPreferNoSchedule, kNoExecute };
template <>
struct EnumNames<TaintEffect> {
  static constexpr std::array names{"NoSchedule"sv, "PreferNoSchedule"sv, "NoExecute"sv};
};

struct Taint {
  std::string key;
  std::string value;
  TaintEffect effect = TaintEffect::kNoSchedule;

  template <class Self, class Visitor>
  static void fields(Self& s, Visitor&& v) {
    v("key", s.key);
    v("value", s.value);
    v("effect", s.effect);
  }
  bool operator==(const Taint&) const = default;
};

// A required relation of a pod to the pods that a selector counts. Its domains are the nodes with one value of the label `level`. A
// node without that label is in no domain.
//   apart  no such pod in its domain. It holds for both: neither comes where the other is.
//   near   one such pod in its domain at least. Where there is none anywhere, and it is one itself, it may be the first.
//   spread with it, its domain has at most `max_skew` such pods more than the domain with the fewest. Domains are those of the nodes
//          that it may run on, and that have the labels of all its terms of this kind. Pods that are ending do not count.
enum class TermKind : std::uint8_t { kApart, kNear, kSpread };
template <>
struct EnumNames<TermKind> {
  static constexpr std::array names{"apart"sv, "near"sv, "spread"sv};
};

struct CountedTerm {
  TermKind kind = TermKind::kApart;
  std::string selector;  // the name of a set of pods; each pod says in which of them it is
  std::string level;     // "": the whole cluster is one domain
  // For kSpread:
  std::int64_t max_skew = 0;
  std::int64_t min_domains = 0;  // with fewer domains the fewest are taken to be none
  bool all_nodes = false;        // also nodes that its node selector and required affinity exclude
  bool tolerated = false;        // no nodes with taints that it does not tolerate

  template <class Self, class Visitor>
  static void fields(Self& s, Visitor&& v) {
    v("kind", s.kind);
    v("selector", s.selector);
    v("level", s.level);
    v("max_skew", s.max_skew);
    v("min_domains", s.min_domains);
    v("all_nodes", s.all_nodes);
    v("tolerated", s.tolerated);
  }
  bool operator==(const CountedTerm&) const = default;
};

// A relation to other pods that counts where a pod has a choice of nodes, and keeps nothing away.
//   apart  each such pod in the domain counts against it
//   near   each such pod in the domain counts for it
//   spread as apart. Nodes that are in no domain come last.
struct PreferredCountedTerm {
  std::int64_t weight = 1;  // 1 to 100
  CountedTerm term;         // max_skew and min_domains do not matter

  template <class Self, class Visitor>
  static void fields(Self& s, Visitor&& v) {
    v("weight", s.weight);
    v("term", s.term);
  }
  bool operator==(const PreferredCountedTerm&) const = default;
};

// Which effects a toleration covers: one, or all.
enum class TolerationEffect : std::uint8_t { kAll, kNoSchedule, kPreferNoSchedule, kNoExecute };
template <>
struct EnumNames<TolerationEffect> {
  static constexpr std::array names{""sv, "NoSchedule"sv, "PreferNoSchedule"sv, "NoExecute"sv};
};

// Operators Gt and Lt: the whole number that the taint has as its value lies above that of the toleration, or below it.
enum class TolerationBound : std::uint8_t { kNone, kAbove, kBelow };
template <>
struct EnumNames<TolerationBound> {
  static constexpr std::array names{""sv, "Gt"sv, "Lt"sv};
};

struct Toleration {
  std::string key;  // empty with exists: every taint
  bool exists = false;
  std::string value;
  TolerationEffect effect = TolerationEffect::kAll;
  TolerationBound bound = TolerationBound::kNone;

  // The operator, as Kubernetes calls it.
  std::string_view op() const;
  bool tolerates(const Taint& taint) const;
  template <class Self, class Visitor>
  static void fields(Self& s, Visitor&& v) {
    v("key", s.key);
    v("exists", s.exists);
    v("value", s.value);
    v("effect", s.effect);
    v("bound", s.bound);
  }
  bool operator==(const Toleration&) const = default;
};

}  // namespace berth
