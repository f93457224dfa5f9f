// A kind of owners that is declared: which objects make pods, and where in them stand the pod templates, the numbers, the switch, the state.
// The kinds that ship with Berth (built_in.h) and those of a user's file (--kinds, docs/kinds.md) are the same text, read by the same code.
//
// A path is written "spec.runPolicy.suspend". In a pod set a path that begins with a dot starts at the set's own place: ".replicas". A
// field that the object lacks is no error where the declaration says what its absence means.
//
// Errors of a declaration name the place, the field and what would be right. Cost: linear in the text.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "dialect/owners/owner.h"
#include "dialect/upstream/objects.h"
#include "model/labels.h"
#include "text/document.h"

namespace berth::dialect {

struct FieldPath {
  std::vector<std::string> keys;  // none: there is no such field
  bool of_set = false;            // it starts at the place of the pod set

  bool empty() const { return keys.empty(); }
  std::string text() const;  // as it was written
  // As a JSON pointer, "/spec/suspend"; of one that starts at the object.
  std::string pointer_text() const;
};

// A state of an object: it holds where one of these conditions is True, or the field has one of these words. Without words it goes by
// whether the field is there.
struct StateRule {
  std::vector<std::string> conditions;  // types in status.conditions
  FieldPath at;
  std::vector<std::string> words;
  bool absent = false;   // it also holds where the object lacks the field
  bool present = false;  // it holds with any word

  bool empty() const { return conditions.empty() && at.empty(); }
};

// A number of the object, or a fixed one.
struct DeclaredNumber {
  FieldPath at;
  std::int64_t otherwise = 1;  // where the object lacks the field, or there is none
  FieldPath least,
      most;  // the controller takes no less and no more than these say, where the object has them

  bool is_there() const { return !at.empty(); }
};

// The pod template that the controller uses where the object has none: at `defaultTemplate` in this mapping of the declaration.
struct DefaultTemplate {
  std::shared_ptr<const text::Document> document;
  const text::Node* set = nullptr;
};

// A container that the controller adds to each pod of a set. Its requests stand at `resources` in this mapping of the declaration.
struct DeclaredContainer {
  std::string name;
  bool init = false;
  StateRule when;          // it is added only then; empty: always
  FieldPath resources_at;  // where the object has other resources for it
  std::shared_ptr<const text::Document> document;
  const text::Node* own = nullptr;
};

// The form of what a set's pods are made of.
enum class PodForm : std::uint8_t {
  kTemplate,  // a pod template
  kSpark,     // spec.driver or spec.executor of a SparkApplication (decode_spark_pod.h)
};

struct DeclaredSet {
  std::string name;       // of the pod set
  FieldPath name_at;      // of a list: where each entry says its own
  FieldPath at;           // its place; none: the object
  bool each = false;      // that is a list, and each entry is a pod set
  bool optional = false;  // an object that lacks its place has no such pods
  PodForm form = PodForm::kTemplate;
  FieldPath pod_template;  // of the form kTemplate
  FieldPath template_or;   // the one that counts where that is not there
  std::optional<DefaultTemplate> default_template;
  std::vector<DeclaredContainer> adds;
  DeclaredNumber count;
  std::vector<DeclaredNumber> times;  // the count is for each of so many
  std::int64_t less = 0;              // so many pods of the product are another set's
  FieldPath minimum;                  // with so many, `times` each, the gang starts, and the others join it
  StateRule minimum_when;             // `minimum` counts only then; empty: always
  std::vector<StateRule>
      when;            // it has such pods only where all hold. Those at the set's place leave it without pods
  bool later = false;  // they are made when those of other sets run
  std::vector<StateRule> later_when;  // the same, where one of these holds
  std::vector<std::pair<std::string, std::string>>
      labels;         // by which a pod is of the set; "$name" is its name
  std::string index;  // the label with a pod's number in it; "$name": the number that ends its name; "": none
};

// Nodes that the controller keeps pods away from: those whose label has one of the values.
struct DeclaredAvoidance {
  std::string resource;     // of pods that ask for it alone
  std::int64_t weight = 0;  // 1 to 100: such nodes are taken last; 0: never
  Requirement nodes;        // that remain
};

// Whole objects that stand in it, and that its controller makes: its pod sets are theirs, by their own kinds.
struct DeclaredObjects {
  FieldPath each;  // of the list
  FieldPath at;    // of the object, in an entry
  std::vector<DeclaredAvoidance> avoids;
  bool any() const { return !each.empty(); }
};

// Groups that lie apart from each other (exclusive.h).
struct DeclaredExclusive {
  std::string
      mark;         // annotation of the object: the node label, of whose values each group has one for itself
  std::string key;  // label of the pods: their group, as group_key() has it
  std::vector<std::string> unsupported;  // annotations of the object: its groups wait, and name them
};

// One gang for each group of pods, and not one for all.
struct DeclaredGroups {
  std::string owner;  // label of the pods: the name of their object
  std::string group;  // label of the pods: the number of their group
  DeclaredNumber count;
  DeclaredExclusive exclusive;
  bool any() const { return !owner.empty(); }
};

struct Declaration {
  std::string group, version, word, resource;
  WorkloadKind work = WorkloadKind::kBatch;
  bool gang = true;  // its pods start together where it names a queue; false: only where it names a gang
  FieldPath suspend;
  std::vector<StateRule> suspend_when;  // its controller takes that switch only where all hold
  DurationMs pods_within = 0;           // of its release; 0: as any other (OwnerKind)
  bool further_are_gangs = false;       // (OwnerKind)
  bool suspends_below = false;          // (OwnerKind)
  FieldPath managed_by;
  std::vector<std::string> own_controllers;  // what stands there, where it is left to its own
  FieldPath minimum;                         // of all pods together, as in a set
  FieldPath queue;                           // where it names a queue, beside its labels
  FieldPath priority_class;                  // the class that speaks for all of its pods
  StateRule completed, failed, ready;
  std::vector<DeclaredSet> sets;
  bool sets_below = false;  // they are those of the owner that it makes
  DeclaredObjects objects;  // they are those of these
  DeclaredGroups groups;
  std::string
      named_by;  // label of pods that a pod of it has made: the name of their object; "": its pods make none
  std::string description;  // for people
  std::string source;       // its text, as JSON

  OwnerKind row{};  // its functions; it refers to this declaration
};

// The declarations of a document, which keeps their default templates.
Result<std::vector<Declaration>> read_declarations(const std::shared_ptr<const text::Document>& document);

// Adds them to the kinds that Berth reads: before the first object is read. An error, and none is added, where one of their kinds is read
// already. The same declaration again adds nothing.
Status declare(std::vector<Declaration> declarations);

// nullptr: the kind is not declared.
const Declaration* declaration_of(Kind kind);
// All, the built-in ones first.
std::span<const Declaration* const> declarations();

// The group of an owner that the labels of a pod name, of a kind that has groups.
struct NamedGroup {
  const Declaration* declared = nullptr;
  std::string_view owner;   // its name
  std::string_view number;  // of the group
};
std::optional<NamedGroup> group_named_by(const Meta& pod);

// The owner that the labels of a pod name whose controller is a pod, of a kind with `named_by`.
struct NamedOwner {
  Kind kind{};
  std::string_view name;
};
std::optional<NamedOwner> owner_named_by(const Meta& pod);

}  // namespace berth::dialect
