#include "dialect/dialect_support.h"

#include "text/json.h"

namespace berth::dialect::testing {

std::vector<Object> objects_of(const std::string& yaml) {
  std::vector<Object> out;
  const auto documents = text::parse_documents(yaml, "test.yaml");
  if (!documents) {
    ADD_FAILURE() << documents.error().str();
    return out;
  }
  for (const auto& document : *documents) {
    const auto* version = document.root().find("apiVersion");
    const auto* name = document.root().find("kind");
    const auto kind = kind_of(version != nullptr ? version->text() : "", name != nullptr ? name->text() : "");
    if (!kind) {
      ADD_FAILURE() << "unknown kind";
      continue;
    }
    auto object = decode(document, document.root(), *kind, {});
    if (!object) {
      ADD_FAILURE() << object.error().str();
      continue;
    }
    out.push_back(std::move(*object));
  }
  return out;
}

std::vector<Object> objects_of_json(const std::string& yaml) {
  std::vector<Object> out;
  const auto documents = text::parse_documents(yaml, "test.yaml");
  if (!documents) {
    ADD_FAILURE() << documents.error().str();
    return out;
  }
  JsonDecoder decoder;
  for (const auto& document : *documents) {
    const auto kind =
        kind_of(document.root().find("apiVersion")->text(), document.root().find("kind")->text());
    auto object = decoder.decode(text::to_json(document.root()), *kind);
    if (!object) {
      ADD_FAILURE() << object.error().str();
      continue;
    }
    out.push_back(std::move(*object));
  }
  return out;
}

std::string node_yaml(const std::string& name, int gpus, const std::string& extra_labels) {
  return "apiVersion: v1\nkind: Node\nmetadata:\n  name: " + name +
         "\n  labels:\n    kubernetes.io/hostname: " + name + "\n" + extra_labels +
         "status:\n  allocatable: {cpu: '64', memory: 256Gi, pods: '110', nvidia.com/gpu: '" +
         std::to_string(gpus) + "'}\n---\n";
}

std::string pod_yaml(const std::string& name, int gpus, const std::string& head, const std::string& spec) {
  return "apiVersion: v1\nkind: Pod\nmetadata:\n  name: " + name + "\n" + head + "spec:\n" + spec +
         "  containers:\n  - name: main\n    resources: {limits: {nvidia.com/gpu: '" + std::to_string(gpus) +
         "'}, requests: {cpu: '1'}}\n---\n";
}

void World::apply(const std::string& yaml) {
  for (auto& object : objects_of(yaml)) intake.upsert(std::move(object));
  drain();
}

void World::drain() {
  std::vector<Event> events;
  for (int round = 0; round < 3; ++round) {
    events.clear();
    intake.drain(events);
    for (const auto& event : events) {
      if (const auto* upsert = std::get_if<WorkloadUpsert>(&event)) {
        told.insert_or_assign(upsert->workload.uid, upsert->workload);
      }
      if (const auto status = engine.apply(event); !status) {
        refused.push_back(status.error().message);
        intake.refused(event, status.error().message);
      }
    }
  }
}

std::vector<std::string> World::started(const std::vector<Decision>& decisions) const {
  std::vector<std::string> out;
  for (const auto& decision : decisions) {
    if (decision.kind != DecisionKind::kStart) continue;
    const auto info = intake.workload(decision.workload);
    std::string text = std::string(info ? info->name : "?") + ":";
    for (const auto& slot : decision.slots) {
      const auto pod = intake.pod_at(decision.workload, slot.pod_set, slot.index);
      text += " " + std::string(pod ? pod->name : "?") + "->" + slot.node;
    }
    out.push_back(std::move(text));
  }
  return out;
}

}  // namespace berth::dialect::testing
