// Objects from their feeds: manifests (trees that know their places), and lists and watches, as JSON or, of pods, in the API server's binary form.
//
// All run the same decoders. Fields that Berth does not read are ignored, so unknown fields are never an error. A field that Berth
// reads and that has the wrong type or an impossible value is (kInvalid, naming the path of the field, and for manifests the
// place). Cost: linear in the object; a pod of 2 KB takes a few microseconds from JSON (bench in tests/dialect).
#pragma once

#include <memory>
#include <optional>
#include <string_view>

#include "base/result.h"
#include "dialect/base/fields.h"
#include "dialect/objects/object.h"
#include "text/document.h"

namespace berth::dialect {

// An object of a manifest whose kind is known (objects.h kind_of).
Result<Object> decode(const text::Document& document, const text::Node& node, Kind kind,
                      const DeviceNames& devices);

// A pod from the bytes of its binary form, without their envelope (kube/protobuf_json.h). None where it is odd or a field is wrong: its JSON says which.
// Cost: two thirds of that from JSON for a small pod, less for those with much that Berth does not read.
std::optional<Pod> decode_pod(std::string_view binary, const DeviceNames& devices);

// Adds the kinds of a file (docs/kinds.md) to those that Berth reads: before the first object is read. An error names place and field.
Status declare_kinds(const std::string& path);

// Decodes JSON objects one after the other, and keeps its buffers, but those of large ones. Not thread-safe.
class JsonDecoder {
 public:
  explicit JsonDecoder(DeviceNames devices = {});
  ~JsonDecoder();
  JsonDecoder(JsonDecoder&&) noexcept;
  JsonDecoder& operator=(JsonDecoder&&) noexcept;

  // A kind that has a `problem` (Pod, ClusterQueue, Cohort) comes with the first wrong field named there, so the object itself can
  // show the error and running pods still take their room; of other kinds a wrong field is an error.
  //
  // `padded`: at least kube::kJsonPadding readable bytes follow the text (as in kube::Change), so that it is
  // not copied.
  Result<Object> decode(std::string_view json, Kind kind, bool padded = false);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace berth::dialect
