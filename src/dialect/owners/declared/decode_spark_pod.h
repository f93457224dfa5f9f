// The pods of a SparkApplication (Spark operator): its driver, or an executor. They are not written as pod templates. The operator gives
// Spark their cores and memory, Spark makes the pod, and the operator's webhook adds what Spark has no words for. Included by decode.cc only.
//
// With a `template` Spark starts from that, and the webhook leaves the pod alone. Where the object has no field of its own, sparkConf
// counts.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "dialect/owners/declared/spark_memory.h"
#include "dialect/owners/decode_template.h"
#include "text/quantity.h"

namespace berth::dialect {

template <class V>
class SparkPodReader {
 public:
  SparkPodReader(FieldReader<V>& f, const V& object) : f_(f), application_(f.map(object, "spec")) {}

  // `role`: "driver" or "executor", as Spark writes it into its settings.
  PodSpec read(const V& pod, std::string_view role, const std::string& ns, Meta& marks,
               std::shared_ptr<const PodNeeds>& needs) {
    PodSpec out;
    ContainerNeeds main = main_container(pod, role);
    if (f_.map(pod, "template").present()) {
      (void)read_template(f_, pod, ns, marks, out, needs, "template",
                          [&](auto& containers) { put_main(std::move(main), containers); });
      add_marks(pod, marks);
    } else {
      marks.ns = ns;
      add_marks(pod, marks);
      out = read_pod_spec(f_, pod, V(), marks, &needs, [&](auto& containers) {
        add_gpus(pod, main);
        containers.push_back(std::move(main));
        f_.list(pod, "sidecars", [&](const V& c) {
          if (f_.takes(Entry::kContainer, pod, "sidecars"))
            containers.push_back(read_container_needs(f_, c, false));
        });
      });
      if (pod.find("volumeMounts").present()) read_volumes(f_, application_, out);
    }
    for (const auto& [key, value] : f_.labels(application_, "nodeSelector", Entry::kSelector))
      out.pod.edit().node_selector.edit().insert_or_assign(key, value);
    return out;
  }

 private:
  static constexpr std::int64_t kMebibyte = std::int64_t{1} << 20;

  // A field of the pod, or else the setting "spark.<role>.<name>", or else the last.
  std::string setting(const V& pod, std::string_view key, std::string_view name, std::string_view otherwise) {
    std::string buffer;
    for (const V& value : {pod.find(key), f_.map(application_, "sparkConf").find(name)}) {
      if (!value.present()) continue;
      if (const auto text = value.scalar(buffer)) return std::string(*text);
      f_.error(pod, key, "must be a number or a string");
    }
    return std::string(otherwise);
  }
  std::int64_t milli_cores(const V& pod, std::string_view key, const std::string& text) {
    const auto amount = text::parse_quantity_capped(text, units_per_one("cpu"));
    if (amount && *amount >= 0) return *amount;
    f_.error(pod, key, fmt::format("\"{}\" is no number of cores", text));
    return 0;
  }
  std::int64_t mebibytes(const V& pod, std::string_view key, const std::string& text) {
    const auto out = spark_mebibytes(text);
    if (!out)
      f_.error(pod, key, fmt::format("\"{}\" is no memory as Spark writes it, such as 512m or 2g", text));
    return out.value_or(0);
  }

  ContainerNeeds main_container(const V& pod, std::string_view role) {
    ContainerNeeds out;
    out.name = fmt::format("spark-kubernetes-{}", role);
    const std::string cores = setting(pod, "cores", fmt::format("spark.{}.cores", role), "1");
    const std::string request =
        setting(pod, "coreRequest", fmt::format("spark.kubernetes.{}.request.cores", role), cores);
    out.requests.set("cpu", milli_cores(pod, "coreRequest", request));
    const std::string limit =
        setting(pod, "coreLimit", fmt::format("spark.kubernetes.{}.limit.cores", role), "");
    if (!limit.empty()) out.limits.set("cpu", milli_cores(pod, "coreLimit", limit));
    const std::int64_t memory =
        mebibytes(pod, "memory", setting(pod, "memory", fmt::format("spark.{}.memory", role), "1g"));
    const std::int64_t bytes = (memory + overhead(pod, role, memory)) * kMebibyte;
    out.requests.set("memory", bytes);
    out.limits.set("memory", bytes);
    return out;
  }
  std::int64_t overhead(const V& pod, std::string_view role, std::int64_t memory) {
    const std::string own = setting(pod, "memoryOverhead", fmt::format("spark.{}.memoryOverhead", role), "");
    if (!own.empty()) return mebibytes(pod, "memoryOverhead", own);
    const std::string_view type = f_.string(application_, "type");
    const std::string factor =
        setting(application_, "memoryOverheadFactor", "spark.kubernetes.memoryOverheadFactor",
                type == "Python" || type == "R" ? "0.4" : "0.1");
    const auto out = spark_overhead(memory, factor);
    if (!out) f_.error(application_, "memoryOverheadFactor", fmt::format("\"{}\" is no such number", factor));
    return out.value_or(0);
  }

  void add_gpus(const V& pod, ContainerNeeds& main) {
    const V gpu = f_.map(pod, "gpu");
    const std::string_view name = f_.string(gpu, "name");
    const std::int64_t count = f_.integer(gpu, "quantity", 0, 0, 1'000'000);
    if (name.empty() || count == 0) return;
    for (ResourceList* list : {&main.requests, &main.limits}) list->set(name, count * units_per_one(name));
  }
  // Into the first container of its template, whose other resources stay.
  static void put_main(ContainerNeeds main, std::vector<ContainerNeeds>& containers) {
    const auto first =
        std::find_if(containers.begin(), containers.end(), [](const auto& c) { return !c.init; });
    if (first == containers.end()) return containers.push_back(std::move(main));
    for (const auto& [resource, amount] : main.requests) first->requests.set(resource, amount);
    for (const auto& [resource, amount] : main.limits) first->limits.set(resource, amount);
  }
  void add_marks(const V& pod, Meta& marks) {
    for (auto& [key, value] : f_.labels(pod, "labels", Entry::kLabel))
      marks.labels.insert_or_assign(key, value);
    for (auto& [key, value] : read_marks(f_, pod, "labels")) marks.labels.insert_or_assign(key, value);
    for (auto& [key, value] : read_marks(f_, pod, "annotations"))
      marks.annotations.insert_or_assign(key, value);
  }

  FieldReader<V>& f_;
  V application_;
};

}  // namespace berth::dialect
