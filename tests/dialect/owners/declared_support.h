// Objects of declared kinds, and what is asked of them.
#pragma once

#include <string>

#include "dialect/dialect_support.h"
#include "dialect/intake/intake.h"
#include "dialect/owners/declared/declared.h"
#include "dialect/owners/queue_support.h"

namespace berth::dialect::testing {

inline constexpr const char* kTeam = "labels: {kueue.x-k8s.io/queue-name: team}";
inline constexpr const char* kOneCpu =
    "template: {spec: {containers: [{name: c, resources: {requests: {cpu: '1'}}}]}}";

// An object with uid = name. `head` goes into its metadata.
inline std::string object_of(const std::string& version, const std::string& kind, const std::string& name,
                             const std::string& head, const std::string& spec, const std::string& rest = "") {
  return "apiVersion: " + version + "\nkind: " + kind + "\nmetadata: {name: " + name + ", uid: " + name +
         ", generation: 1, " + head + "}\nspec: {" + spec + "}\n" + rest + "---\n";
}

inline std::string made_by(const std::string& version, const std::string& kind, const std::string& name) {
  return "ownerReferences: [{apiVersion: " + version + ", kind: " + kind + ", name: " + name +
         ", uid: " + name + ", controller: true}]";
}

inline std::string cpu_pod(const std::string& name, const std::string& owner, const std::string& labels,
                           const std::string& spec = "", int cpus = 1) {
  return object_of(
      "v1", "Pod", name, "labels: {" + labels + "}, " + owner,
      spec + "containers: [{name: c, resources: {requests: {cpu: '" + std::to_string(cpus) + "'}}}]");
}

inline Ask asked(const std::string& yaml) {
  return ask_of(objects_of(yaml).at(0));
}

// The problem of an object that a watch gives.
inline std::string problem_in(const std::string& yaml) {
  return ask_of(objects_of_json(yaml).at(0)).problem;
}

// "head 1, gpu 3" and so on.
inline std::string sets_of(const Ask& ask) {
  std::string out;
  for (const AskedSet& set : ask.sets)
    out += std::string(out.empty() ? "" : ", ") + std::string(set.name) + " " + std::to_string(set.size) +
           (set.later ? " later" : "");
  return out;
}

}  // namespace berth::dialect::testing
