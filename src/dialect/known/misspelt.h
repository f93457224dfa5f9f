// Names in a manifest that are probably misspelt: fields, labels and annotations, kinds and versions, as kubectl's validation would
// find them, each with what was probably meant. By the tables of known.h; pure.
//
// A field is named where the type of its object has no such field. A label or annotation is named where its prefix is a known one (or
// almost) and its name is near to a known name. An object that an API server has given out (it has a resourceVersion) has no unknown
// fields: there a field is reported only if it is near to a known one. So newer versions of Kubernetes give no noise.
//
// Cost: linear in the object, times the fields of each of its types; what is wrong costs the distance to each of these.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "text/document.h"

namespace berth::dialect {

struct Misspelt {
  SourcePlace place;
  std::string message;  // "Job default/train: spec.paralelism: unknown field; did you mean parallelism?"
};

class Misspellings {
 public:
  Misspellings();
  Misspellings(Misspellings&&) noexcept;
  Misspellings& operator=(Misspellings&&) noexcept;
  ~Misspellings();

  // The findings in one object of a document (not of a List), in the order of the text.
  std::vector<Misspelt> find(const text::Document& document, const text::Node& object) const;

  // Whether a type has a field: "Kubernetes", "PodSpec", "nodeName". For tests; a type that is not there has none.
  bool has_field(std::string_view system, std::string_view type, std::string_view field) const;

 private:
  struct Tables;
  std::unique_ptr<const Tables> tables_;
};

}  // namespace berth::dialect
