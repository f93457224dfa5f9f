// Decoder of the pod template of an owner. Included by decoders only.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/checked.h"
#include "dialect/upstream/decode_core.h"

namespace berth::dialect {

// Reads `template` in `spec`, for pods of the namespace `ns`; some kinds have it under another key. `change`: what the controller makes of
// its containers. Gives whether the template has annotations.
template <class V>
bool read_template(FieldReader<V>& f, const V& spec, const std::string& ns, Meta& marks, PodSpec& pod,
                   std::shared_ptr<const PodNeeds>& needs, std::string_view key = "template",
                   const ChangeContainers& change = {}) {
  const V pod_template = f.map(spec, key);
  const V meta = f.map(pod_template, "metadata");
  marks.ns = ns;
  marks.labels = f.labels(meta, "labels", Entry::kLabel);
  Labels read = read_marks(f, meta, "labels");
  marks.labels.merge(read);
  marks.annotations = read_marks(f, meta, "annotations");
  const V pod_spec = f.map(pod_template, "spec");
  if (!pod_spec.present())
    f.error(pod_template.present() ? pod_template : spec, pod_template.present() ? "spec" : key,
            "is required");
  read_scheduling_group(f, pod_spec, marks);
  pod = read_pod_spec(f, pod_spec, V(), marks, &needs, change);
  name_in_full(marks, pod.scheduler_name);
  return f.map(meta, "annotations").present();
}

}  // namespace berth::dialect
