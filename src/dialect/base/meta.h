// The metadata of an object, and the selectors that look at it. Labels and annotations of pods, PodGroups and Jobs are kept only
// where Berth reads the key (Meta::marks); those of nodes and namespaces are kept whole.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/shared.h"
#include "base/time.h"
#include "model/labels.h"

namespace berth::dialect {

struct Owner {
  std::string kind;  // "Job.batch.volcano.sh" for a Job that is not Kubernetes' own
  std::string name;
  std::string uid;
  std::string group = {};  // of a kind that is not Kubernetes' own; otherwise ""
  bool operator==(const Owner&) const = default;
};

struct Meta {
  std::string ns;  // "default" where a namespaced manifest leaves it out; "" for cluster-scoped kinds
  std::string name;
  std::string uid;                    // manifest_uid() where a manifest has none
  Shared<std::string> generate_name;  // where it has no name yet; then it has no uid either
  TimeMs created = 0;                 // 0 = unknown
  bool deleting = false;
  Shared<Owner> controller;  // the owner with controller: true; empty kind where there is none
  Labels labels;
  Labels annotations;  // those that Berth reads

  // The label of this key, else the annotation, else empty.
  std::string_view mark(std::string_view key) const;
  // The label, or the annotation, of this key alone; else empty.
  std::string_view label(std::string_view key) const;
  std::string_view annotation(std::string_view key) const;
  bool operator==(const Meta&) const = default;
};

// A selector as in metav1.LabelSelector. `nothing` for a selector that is absent: it matches nothing.
struct LabelSelector {
  bool nothing = true;
  std::vector<Requirement> requirements;

  bool matches(const Labels& labels) const;
  bool operator==(const LabelSelector&) const = default;
};

}  // namespace berth::dialect
