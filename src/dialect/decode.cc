#include "dialect/decode.h"

#include <simdjson.h>

#include "dialect/decode_core.h"
#include "dialect/decode_queues.h"
#include "dialect/decode_workload.h"

namespace berth::dialect {
namespace {

// The path of `wanted` below `node`, "spec.queues[2].weight". Nodes are told apart by their place. Only after
// an error.
bool find_path(const text::Node& node, const text::Node& wanted, std::string& path) {
  if (&node == &wanted) return true;
  const std::size_t length = path.size();
  for (const auto& entry : node.entries()) {
    path += fmt::format("{}{}", path.empty() ? "" : ".", entry.name());
    if (find_path(entry.value, wanted, path)) return true;
    path.resize(length);
  }
  std::size_t i = 0;
  for (const auto& item : node.items()) {
    path += fmt::format("[{}]", i++);
    if (find_path(item, wanted, path)) return true;
    path.resize(length);
  }
  return false;
}

template <class V>
Result<Object> decode_value(const V& value, Kind kind, Problems& problems, const DeviceNames& devices) {
  if (!value.is_map()) return fail(ErrorCode::kInvalid, "a {} must be a mapping", enum_name(kind));
  FieldReader<V> f(problems, devices);
  Object out;
  switch (kind) {
    case Kind::kPod:
      out = read_pod(f, value);
      break;
    case Kind::kNode:
      out = read_node(f, value);
      break;
    case Kind::kNamespace:
      out = read_namespace(f, value);
      break;
    case Kind::kPriorityClass:
      out = read_priority_class(f, value);
      break;
    case Kind::kJob:
      out = read_job(f, value);
      break;
    case Kind::kPodGroup:
      out = read_pod_group(f, value);
      break;
    case Kind::kClusterQueue:
      out = read_cluster_queue(f, value);
      break;
    case Kind::kCohort:
      out = read_cohort(f, value);
      break;
    case Kind::kLocalQueue:
      out = read_local_queue(f, value);
      break;
    case Kind::kResourceFlavor:
      out = read_flavor(f, value);
      break;
    case Kind::kTopology:
      out = read_topology(f, value);
      break;
    case Kind::kWorkloadPriorityClass:
      out = read_workload_priority_class(f, value);
      break;
    case Kind::kWorkload:
      out = read_workload(f, value);
      break;
  }
  if (problems.ok()) return out;
  Error error = problems.take();
  const Meta& meta = meta_of(out);
  error.message = fmt::format(
      "{}: {}", describe(kind, meta.ns, meta.name.empty() ? "without a name" : meta.name), error.message);
  return tl::unexpected<Error>(std::move(error));
}

}  // namespace

void Problems::at(const TreeValue& value, std::string_view key, std::string message) {
  if (error_) return;
  Error error{ErrorCode::kInvalid, {}, {}};
  std::string path;
  if (document_ != nullptr && value.node() != nullptr) {
    error.place = document_->place(*value.node());
    find_path(document_->root(), *value.node(), path);
  }
  // Either the value is the field itself, or the mapping that lacks it.
  const bool is_field =
      path == key ||
      (path.size() > key.size() && path.ends_with(key) && path[path.size() - key.size() - 1] == '.') ||
      path.ends_with(']');
  if (!is_field || path.empty()) path += fmt::format("{}{}", path.empty() ? "" : ".", key);
  error.message = fmt::format("{}: {}", path, message);
  error_ = std::move(error);
}

void Problems::at(const JsonValue&, std::string_view key, std::string message) {
  if (error_) return;
  error_ = Error{ErrorCode::kInvalid, fmt::format("{}: {}", key, message), {}};
}

Result<Object> decode(const text::Document& document, const text::Node& node, Kind kind,
                      const DeviceNames& devices) {
  Problems problems(document);
  auto out = decode_value(TreeValue(&node), kind, problems, devices);
  if (!out && out.error().place.file.empty()) {
    Error error = out.error();
    error.place = document.place(node);
    return tl::unexpected<Error>(std::move(error));
  }
  return out;
}

struct JsonDecoder::Impl {
  DeviceNames devices;
  simdjson::dom::parser parser;
};

JsonDecoder::JsonDecoder(DeviceNames devices) : impl_(std::make_unique<Impl>()) {
  impl_->devices = std::move(devices);
}
JsonDecoder::~JsonDecoder() = default;
JsonDecoder::JsonDecoder(JsonDecoder&&) noexcept = default;
JsonDecoder& JsonDecoder::operator=(JsonDecoder&&) noexcept = default;

Result<Object> JsonDecoder::decode(std::string_view json, Kind kind, bool padded) {
  simdjson::dom::element element;
  if (const auto error = impl_->parser.parse(json.data(), json.size(), !padded).get(element)) {
    return fail(ErrorCode::kInvalid, "a {} is not JSON: {}", enum_name(kind), simdjson::error_message(error));
  }
  Problems problems;
  return decode_value(JsonValue(element), kind, problems, impl_->devices);
}

}  // namespace berth::dialect
