#include "dialect/objects/decode.h"

#include <simdjson.h>

#include <algorithm>
#include <array>
#include <variant>

#include "dialect/gangs/decode_pod_group.h"
#include "dialect/kai/decode_pod_group.h"
#include "dialect/kueue/decode_provisioning.h"
#include "dialect/kueue/decode_queues.h"
#include "dialect/kueue/decode_workload.h"
#include "dialect/owners/declared/decode_declared.h"
#include "dialect/owners/deployment/decode_deployment.h"
#include "dialect/owners/job/decode_job.h"
#include "dialect/owners/job_set/decode_job_set.h"
#include "dialect/owners/stateful_set/decode_stateful_set.h"
#include "dialect/scheduling_api/decode_pod_group.h"
#include "dialect/scheduling_api/decode_workload.h"
#include "dialect/tree/decode_tree.h"
#include "dialect/upstream/decode_core.h"
#include "dialect/upstream/decode_effects.h"
#include "dialect/volcano/decode_hyper_node.h"
#include "dialect/volcano/decode_pod_group.h"
#include "dialect/volumes/decode_volumes.h"
#include "text/fields.h"

namespace berth::dialect {
namespace {

// The path of `wanted` below `node`, spec.queues[2].weight, and the key that it stands at ("" in a list). Nodes are told apart by
// their place. Only after an error.
bool find_path(const text::Node& node, const text::Node& wanted, std::string& path, std::string_view& key) {
  if (&node == &wanted) return true;
  const std::size_t length = path.size();
  for (const auto& entry : node.entries()) {
    path = text::path_with(std::move(path), entry.name());
    key = entry.name();
    if (find_path(entry.value, wanted, path, key)) return true;
    path.resize(length);
  }
  std::size_t i = 0;
  for (const auto& item : node.items()) {
    path += fmt::format("[{}]", i++);
    key = {};
    if (find_path(item, wanted, path, key)) return true;
    path.resize(length);
  }
  return false;
}

template <class V>
struct Decoder {
  Kind kind;
  Object (*read)(FieldReader<V>& f, const V& value);
};

template <class V>
constexpr std::array kDecoders{
    Decoder<V>{Kind::kPod, [](FieldReader<V>& f, const V& v) -> Object { return read_pod(f, v); }},
    Decoder<V>{Kind::kNode, [](FieldReader<V>& f, const V& v) -> Object { return read_node(f, v); }},
    Decoder<V>{Kind::kNamespace,
               [](FieldReader<V>& f, const V& v) -> Object { return read_namespace(f, v); }},
    Decoder<V>{Kind::kPriorityClass,
               [](FieldReader<V>& f, const V& v) -> Object { return read_priority_class(f, v); }},
    Decoder<V>{Kind::kJob, [](FieldReader<V>& f, const V& v) -> Object { return read_job(f, v); }},
    Decoder<V>{Kind::kUpstreamPodGroup,
               [](FieldReader<V>& f, const V& v) -> Object { return read_upstream_pod_group(f, v); }},
    Decoder<V>{Kind::kVolcanoPodGroup,
               [](FieldReader<V>& f, const V& v) -> Object { return read_volcano_pod_group(f, v); }},
    Decoder<V>{Kind::kKaiPodGroup,
               [](FieldReader<V>& f, const V& v) -> Object { return read_kai_pod_group(f, v); }},
    Decoder<V>{Kind::kKaiTopology,
               [](FieldReader<V>& f, const V& v) -> Object { return read_kai_topology_object(f, v); }},
    Decoder<V>{Kind::kHyperNode,
               [](FieldReader<V>& f, const V& v) -> Object { return read_hyper_node(f, v); }},
    Decoder<V>{Kind::kPodGroup,
               [](FieldReader<V>& f, const V& v) -> Object { return read_pod_group<V, PodGroup>(f, v); }},
    Decoder<V>{
        Kind::kOlderPodGroup,
        [](FieldReader<V>& f, const V& v) -> Object { return read_pod_group<V, OlderPodGroup>(f, v); }},
    Decoder<V>{Kind::kUpstreamWorkload,
               [](FieldReader<V>& f, const V& v) -> Object { return read_upstream_workload(f, v); }},
    Decoder<V>{Kind::kClusterQueue,
               [](FieldReader<V>& f, const V& v) -> Object { return read_cluster_queue(f, v); }},
    Decoder<V>{Kind::kCohort, [](FieldReader<V>& f, const V& v) -> Object { return read_cohort(f, v); }},
    Decoder<V>{Kind::kLocalQueue,
               [](FieldReader<V>& f, const V& v) -> Object { return read_local_queue(f, v); }},
    Decoder<V>{Kind::kResourceFlavor,
               [](FieldReader<V>& f, const V& v) -> Object { return read_flavor(f, v); }},
    Decoder<V>{Kind::kTopology, [](FieldReader<V>& f, const V& v) -> Object { return read_topology(f, v); }},
    Decoder<V>{Kind::kWorkloadPriorityClass,
               [](FieldReader<V>& f, const V& v) -> Object { return read_workload_priority_class(f, v); }},
    Decoder<V>{Kind::kWorkload, [](FieldReader<V>& f, const V& v) -> Object { return read_workload(f, v); }},
    Decoder<V>{Kind::kQueue, [](FieldReader<V>& f, const V& v) -> Object { return read_berth_queue(f, v); }},
    Decoder<V>{Kind::kVolcanoQueue,
               [](FieldReader<V>& f, const V& v) -> Object { return read_volcano_queue(f, v); }},
    Decoder<V>{Kind::kKaiQueue, [](FieldReader<V>& f, const V& v) -> Object { return read_kai_queue(f, v); }},
    Decoder<V>{Kind::kAdmissionCheck,
               [](FieldReader<V>& f, const V& v) -> Object { return read_admission_check(f, v); }},
    Decoder<V>{Kind::kLimitRange,
               [](FieldReader<V>& f, const V& v) -> Object { return read_limit_range(f, v); }},
    Decoder<V>{Kind::kRuntimeClass,
               [](FieldReader<V>& f, const V& v) -> Object { return read_runtime_class(f, v); }},
    Decoder<V>{Kind::kDisruptionBudget,
               [](FieldReader<V>& f, const V& v) -> Object { return read_disruption_budget(f, v); }},
    Decoder<V>{Kind::kProvisioningRequestConfig,
               [](FieldReader<V>& f, const V& v) -> Object { return read_provisioning_config(f, v); }},
    Decoder<V>{Kind::kProvisioningRequest,
               [](FieldReader<V>& f, const V& v) -> Object { return read_provisioning_request(f, v); }},
    Decoder<V>{Kind::kStatefulSet,
               [](FieldReader<V>& f, const V& v) -> Object { return read_stateful_set(f, v); }},
    Decoder<V>{Kind::kJobSet, [](FieldReader<V>& f, const V& v) -> Object { return read_job_set(f, v); }},
    Decoder<V>{Kind::kReplicaSet,
               [](FieldReader<V>& f, const V& v) -> Object { return read_replicas<ReplicaSet>(f, v); }},
    Decoder<V>{Kind::kDeployment,
               [](FieldReader<V>& f, const V& v) -> Object { return read_replicas<Deployment>(f, v); }},
    Decoder<V>{Kind::kPersistentVolumeClaim,
               [](FieldReader<V>& f, const V& v) -> Object { return read_claim(f, v); }},
    Decoder<V>{Kind::kPersistentVolume,
               [](FieldReader<V>& f, const V& v) -> Object { return read_volume(f, v); }},
    Decoder<V>{Kind::kStorageClass,
               [](FieldReader<V>& f, const V& v) -> Object { return read_storage_class(f, v); }},
    Decoder<V>{Kind::kCsiNode, [](FieldReader<V>& f, const V& v) -> Object { return read_csi_node(f, v); }},
    Decoder<V>{Kind::kCsiDriver,
               [](FieldReader<V>& f, const V& v) -> Object { return read_csi_driver(f, v); }},
    Decoder<V>{Kind::kCsiStorageCapacity,
               [](FieldReader<V>& f, const V& v) -> Object { return read_storage_capacity(f, v); }},
    Decoder<V>{Kind::kVolumeAttachment,
               [](FieldReader<V>& f, const V& v) -> Object { return read_attachment(f, v); }},
};

template <class V>
std::optional<Ask> ask_within(FieldReader<V>& f, const V& object);

template <class V>
Object read_as(FieldReader<V>& f, const V& value, Kind kind) {
  if (is_declared(kind)) return read_declared(f, value, *declaration_of(kind), ask_within<V>);
  const auto* const decoder = std::find_if(kDecoders<V>.begin(), kDecoders<V>.end(),
                                           [&](const Decoder<V>& row) { return row.kind == kind; });
  return decoder->read(f, value);
}

// The request of an object that stands in another.
template <class V>
std::optional<Ask> ask_within(FieldReader<V>& f, const V& object) {
  const auto kind = kind_of(f.string(object, "apiVersion"), f.string(object, "kind"));
  if (!kind || owner_kind(*kind) == nullptr) return std::nullopt;
  return ask_of(read_as(f, object, *kind));
}

// The object as far as it can be read; `problems` says what is wrong.
template <class V>
Object read_value(const V& value, Kind kind, Problems& problems, const DeviceNames& devices) {
  static_assert(kDecoders<V>.size() == EnumNames<Kind>::names.size(), "each kind has a decoder");
  FieldReader<V> f(problems, devices);
  if (!value.is_map()) {
    problems.at(value, "", fmt::format("a {} must be a mapping", enum_name(kind)));
    return {};
  }
  return read_as(f, value, kind);
}

Error named(Error error, Kind kind, const Object& object) {
  const Meta& meta = meta_of(object);
  error.message = fmt::format(
      "{}: {}", describe(kind, meta.ns, meta.name.empty() ? "without a name" : meta.name), error.message);
  return error;
}

// For larger objects an error names the field without its path: the second reading costs some twenty times the first.
constexpr std::size_t kMostForPath = std::size_t{128} << 10;

// The error that a second reading with places gives: it has the whole path of the field. Only after an error.
Error with_path(std::string_view json, Kind kind, const DeviceNames& devices, Error error) {
  if (json.size() > kMostForPath) return error;
  const auto document = text::parse_json(std::string(json), "");
  if (!document) return error;
  Problems problems(*document);
  (void)read_value(TreeValue(&document->root()), kind, problems, devices);
  if (problems.ok()) return error;
  error.message = problems.take().message;
  return error;
}

}  // namespace

void Problems::at(const TreeValue& value, std::string_view key, std::string message) {
  if (error_) return;
  Error error{ErrorCode::kInvalid, {}, {}};
  std::string path;
  std::string_view at;
  if (document_ != nullptr && value.node() != nullptr) {
    error.place = document_->place(*value.node());
    (void)find_path(object_ != nullptr ? *object_ : document_->root(), *value.node(), path, at);
  }
  // Either the value is the field itself, or the mapping that lacks it.
  const bool is_field = at == key || (at.empty() && !path.empty() && !value.is_map());
  if (!is_field && !key.empty()) path = text::path_with(std::move(path), key);
  error.message = path.empty() ? std::move(message) : fmt::format("{}: {}", path, message);
  error_ = std::move(error);
}

void Problems::at(const JsonValue&, std::string_view key, std::string message) {
  if (error_) return;
  error_ =
      Error{ErrorCode::kInvalid, key.empty() ? std::move(message) : fmt::format("{}: {}", key, message), {}};
}

void Problems::at(const BinaryValue&, std::string_view key, std::string message) {
  at(JsonValue(), key, std::move(message));
}

std::optional<Pod> decode_pod(std::string_view binary, const DeviceNames& devices) {
  static const kube::Message& message = *kube::message_of("v1", "Pod");
  BinaryReading reading;
  Problems problems;
  FieldReader<BinaryValue> f(problems, devices);
  Pod out = read_pod(f, BinaryValue(reading, message, binary));
  if (reading.odd || !problems.ok()) return std::nullopt;
  out.bytes = static_cast<std::uint32_t>(binary.size());
  return out;
}

Result<Object> decode(const text::Document& document, const text::Node& node, Kind kind,
                      const DeviceNames& devices) {
  Problems problems(document, node);
  Object out = read_value(TreeValue(&node), kind, problems, devices);
  if (problems.ok()) return out;
  Error error = named(problems.take(), kind, out);
  if (error.place.file.empty()) error.place = document.place(node);
  return tl::unexpected<Error>(std::move(error));
}

Status declare_kinds(const std::string& path) {
  BERTH_ASSIGN(auto read, text::read_documents(path));
  if (read.empty()) return fail(ErrorCode::kInvalid, "{}: names no kinds: docs/kinds.md says how", path);
  const DeviceNames devices;
  for (auto& one : read) {
    const auto document = std::make_shared<const text::Document>(std::move(one));
    BERTH_ASSIGN(auto declarations, read_declarations(document));
    for (const Declaration& declared : declarations) {
      for (const DeclaredSet& set : declared.sets) {
        Problems problems(*document);
        FieldReader<TreeValue> f(problems, devices);
        for (const DeclaredContainer& added : set.adds)
          (void)read_resources(f, TreeValue(added.own), "resources", added.init);
        if (!problems.ok()) return tl::unexpected<Error>(problems.take());
        if (!set.default_template) continue;
        DeclaredPods pods;
        (void)read_template(f, TreeValue(set.default_template->set), "", pods.marks, pods.spec, pods.needs,
                            "defaultTemplate");
        if (!problems.ok()) return tl::unexpected<Error>(problems.take());
      }
    }
    BERTH_TRY(declare(std::move(declarations)));
  }
  return {};
}

struct JsonDecoder::Impl {
  DeviceNames devices;
  simdjson::dom::parser parser;
};

namespace {

// A parser keeps buffers of sixteen times its largest document. Those of a large one go when it has been read.
struct LargeBuffers {
  static constexpr std::size_t kKept = std::size_t{128} << 10;  // bytes of a document
  simdjson::dom::parser& parser;
  std::size_t size;
  ~LargeBuffers() {
    if (size > kKept) parser = simdjson::dom::parser();
  }
};

}  // namespace

JsonDecoder::JsonDecoder(DeviceNames devices) : impl_(std::make_unique<Impl>()) {
  impl_->devices = std::move(devices);
}
JsonDecoder::~JsonDecoder() = default;
JsonDecoder::JsonDecoder(JsonDecoder&&) noexcept = default;
JsonDecoder& JsonDecoder::operator=(JsonDecoder&&) noexcept = default;

Result<Object> JsonDecoder::decode(std::string_view json, Kind kind, bool padded) {
  const LargeBuffers buffers{impl_->parser, json.size()};
  simdjson::dom::element element;
  if (const auto error = impl_->parser.parse(json.data(), json.size(), !padded).get(element)) {
    return fail(ErrorCode::kInvalid, "a {} is not JSON: {}", enum_name(kind), simdjson::error_message(error));
  }
  Problems problems;
  Object out = read_value(JsonValue(element), kind, problems, impl_->devices);
  if (auto* pod = std::get_if<Pod>(&out)) pod->bytes = static_cast<std::uint32_t>(json.size());
  if (problems.ok()) return out;
  Error error = with_path(json, kind, impl_->devices, problems.take());
  const bool carried = std::visit(
      [&](auto& object) {
        if constexpr (requires { object.problem; }) {
          if (object.meta.name.empty()) return false;
          object.problem = error.message;
          return true;
        }
        return false;
      },
      out);
  if (carried) return out;
  return tl::unexpected<Error>(named(std::move(error), kind, out));
}

}  // namespace berth::dialect
