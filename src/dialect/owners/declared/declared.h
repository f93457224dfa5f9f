// An object of a declared kind, as its declaration reads it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "dialect/owners/declared/declaration.h"
#include "dialect/upstream/objects.h"

namespace berth::dialect {

inline constexpr std::int64_t kMostDeclaredPods = 1'000'000;  // of one object

// One pod set of it.
struct DeclaredPods {
  const DeclaredSet* from = nullptr;  // nullptr: it is that of an object within
  // The number of an object within, and that of the pod set there. None: the object is a pod.
  std::optional<std::pair<std::size_t, std::size_t>> within;
  std::string name;
  std::int64_t size = 0;
  std::optional<std::int64_t> minimum;
  bool later = false;
  std::string path;  // of the template, as a JSON pointer; "": it is the controller's own
  Meta marks;
  bool annotated = false;
  PodSpec spec;
  std::shared_ptr<const PodNeeds> needs;
};

struct Declared {
  const Declaration* declared = nullptr;
  Meta meta;
  std::vector<DeclaredPods> sets;
  std::vector<Ask> objects;  // those within that own pods
  bool suspend = false;
  bool switchable = false;  // its controller takes the switch
  std::string managed_by;
  std::optional<std::int64_t> minimum;
  std::string priority_class;
  std::int64_t groups = 1;
  std::optional<std::string> exclusive;  // the node label by which its groups lie apart
  std::string unsupported;               // a mark about that which Berth does not honour; "": none
  std::string group;                     // the number of the one that it stands for; "": it stands for all
  bool finished = false;
  bool failed = false;  // `finished`, and not well
  bool ready = false;
  std::string ending;  // what its state says about the end
  std::int64_t generation = 0;
  bool annotated = false;  // it has annotations, whichever
  std::string problem;  // a field that cannot be read, and has its default here: none of its pods is to start

  Kind kind() const { return declared->row.kind; }
  void keep_status(const Declared& there);
};

// The value of DeclaredExclusive::key on the pods of a group.
std::string group_key(const Meta& owner, std::string_view number);

// The functions of a declared kind; they work by its declaration, which must stay.
OwnerKind declared_row(const Declaration& declaration, Kind kind);

}  // namespace berth::dialect
