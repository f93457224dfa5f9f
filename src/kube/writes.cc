#include "kube/writes.h"

#include <algorithm>

#include "kube/paths.h"
#include "kube/protobuf.h"
#include "text/json.h"
#include "text/time.h"

namespace berth::kube {

namespace {

constexpr std::size_t kMaxNote = 1024;
constexpr std::size_t kMaxInstance = 128;
constexpr std::size_t kMaxName = 253;

// The first bytes of `text`, at most `most`, without half a character at the end.
std::string_view cut(std::string_view text, std::size_t most) {
  if (text.size() <= most) return text;
  std::size_t end = most;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;
  return text.substr(0, end);
}

void write_ref(text::JsonWriter& json, const ObjectRef& ref) {
  json.begin_object().field("apiVersion", ref.api_version).field("kind", ref.kind).field("name", ref.name);
  if (!ref.ns.empty()) json.field("namespace", ref.ns);
  if (!ref.uid.empty()) json.field("uid", ref.uid);
  json.end_object();
}

std::string_view event_namespace(const EventNote& event) {
  return event.regarding.ns.empty() ? std::string_view("default") : std::string_view(event.regarding.ns);
}

}  // namespace

Write bind_pod(std::string_view ns, std::string_view name, std::string_view uid, std::string_view node,
               const std::vector<std::pair<std::string, std::string>>& annotations) {
  Write write;
  write.write_class = WriteClass::kBind;
  write.method = Method::kPost;
  write.path = kPods.object(ns, name, "binding");
  write.body_type = BodyType::kProtobuf;
  std::string meta;
  append_field(meta, 1, name);
  append_field(meta, 3, ns);
  append_field(meta, 5, uid);
  for (const auto& [key, value] : annotations) {
    std::string entry;
    append_field(entry, 1, key);
    append_field(entry, 2, value);
    append_field(meta, 12, entry);
  }
  std::string target;
  append_field(target, 1, "Node");
  append_field(target, 3, node);
  std::string binding;
  append_field(binding, 1, meta);
  append_field(binding, 2, target);
  write.body = protobuf_object("v1", "Binding", binding);
  return write;
}

WriteResult bind_outcome(WriteResult result, std::string_view node) {
  if (result.outcome != Outcome::kConflict) return result;
  // 'Operation cannot be fulfilled on pods/binding "p": pod p is already assigned to node "n"'
  const std::string said = fmt::format("is already assigned to node \"{}\"", node);
  if (result.message.find(said) != std::string::npos) result.outcome = Outcome::kOk;
  return result;
}

Write delete_pod(std::string_view ns, std::string_view name, std::string_view uid,
                 std::int64_t grace_seconds) {
  Write write;
  write.write_class = WriteClass::kBind;
  write.method = Method::kDelete;
  write.path = kPods.object(ns, name);
  write.idempotent = true;
  text::JsonWriter json;
  json.begin_object().field("apiVersion", "v1").field("kind", "DeleteOptions");
  if (grace_seconds >= 0) json.field("gracePeriodSeconds", grace_seconds);
  if (!uid.empty()) json.key("preconditions").begin_object().field("uid", uid).end_object();
  json.end_object();
  write.body = json.take();
  return write;
}

Write patch_pod_status(std::string_view ns, std::string_view name, std::string_view uid,
                       const std::vector<PodCondition>& conditions,
                       const std::optional<std::string>& nominated_node) {
  Write write;
  write.write_class = WriteClass::kStatus;
  write.method = Method::kPatch;
  write.path = kPods.object(ns, name, "status");
  write.body_type = BodyType::kStrategicMergePatch;
  write.idempotent = true;
  text::JsonWriter json;
  json.begin_object();
  if (!uid.empty()) json.key("metadata").begin_object().field("uid", uid).end_object();
  json.key("status").begin_object();
  if (!conditions.empty()) {
    json.key("conditions").begin_array();
    for (const PodCondition& condition : conditions) {
      json.begin_object().field("type", condition.type).field("status", condition.status);
      json.field("reason", condition.reason).field("message", condition.message);
      if (condition.last_transition_ms != 0) {
        json.field("lastTransitionTime", text::format_time_seconds(condition.last_transition_ms));
      }
      json.end_object();
    }
    json.end_array();
  }
  if (nominated_node.has_value()) {
    json.key("nominatedNodeName");
    if (nominated_node->empty()) {
      json.null();
    } else {
      json.value(*nominated_node);
    }
  }
  json.end_object().end_object();
  write.body = json.take();
  return write;
}

std::string event_name(const EventNote& event, std::uint32_t number) {
  const std::string suffix =
      fmt::format(".{:x}", static_cast<std::uint64_t>(event.time_us) * 1000 + number % 1000);
  return std::string(cut(event.regarding.name, kMaxName - suffix.size())) + suffix;
}

Write create_event(const EventNote& event, std::string_view name) {
  Write write;
  write.write_class = WriteClass::kEvent;
  write.method = Method::kPost;
  write.path = kEvents.collection(event_namespace(event));
  write.idempotent = true;  // its name is its own
  text::JsonWriter json;
  json.begin_object().field("apiVersion", "events.k8s.io/v1").field("kind", "Event");
  json.key("metadata")
      .begin_object()
      .field("name", name)
      .field("namespace", event_namespace(event))
      .end_object();
  json.field("eventTime", text::format_time_us(event.time_us));
  json.field("reportingController", event.controller);
  json.field("reportingInstance", cut(event.instance, kMaxInstance));
  json.field("action", event.action).field("reason", event.reason).field("type", event.type);
  json.field("note", cut(event.note, kMaxNote));
  json.key("regarding");
  write_ref(json, event.regarding);
  if (event.related.has_value()) {
    json.key("related");
    write_ref(json, *event.related);
  }
  json.end_object();
  write.body = json.take();
  return write;
}

Write create_object(std::string path, std::string body) {
  Write write;
  write.method = Method::kPost;
  write.path = std::move(path);
  write.body = std::move(body);
  return write;
}

Write update_object(std::string path, std::string body) {
  Write write;
  write.method = Method::kPut;
  write.path = std::move(path);
  write.body = std::move(body);
  return write;
}

Write patch_object(std::string path, std::string body, BodyType type) {
  Write write;
  write.method = Method::kPatch;
  write.path = std::move(path);
  write.body = std::move(body);
  write.body_type = type;
  return write;
}

Write status_write(Write write) {
  write.write_class = WriteClass::kStatus;
  write.idempotent = true;
  return write;
}

Write delete_object(std::string path, std::string_view uid) {
  Write write;
  write.method = Method::kDelete;
  write.path = std::move(path);
  write.idempotent = true;
  text::JsonWriter json;
  json.begin_object().field("apiVersion", "v1").field("kind", "DeleteOptions");
  json.key("preconditions").begin_object().field("uid", uid).end_object().end_object();
  write.body = json.take();
  return write;
}

}  // namespace berth::kube
