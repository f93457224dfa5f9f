#include "sim/trace/runtime_fields.h"

#include <utility>

#include "base/checked.h"
#include "base/samplers.h"
#include "sim/trace/queue_fields.h"
#include "text/quantity.h"

namespace berth::sim {

std::int64_t decimal_or(text::Fields& f, std::string_view key, std::int64_t otherwise) {
  const text::Node* node = f.find(key);
  if (node == nullptr) return otherwise;
  const auto value = text::parse_quantity_exact(node->text(), 1000);
  if (!value || !value->exact || value->value < 0) {
    f.error(key, "must be a number that is not negative, with at most three digits after the point");
    return otherwise;
  }
  return value->value;
}

std::int64_t share_or(text::Fields& f, std::string_view key, std::int64_t otherwise) {
  const text::Node* node = f.find(key);
  if (node == nullptr) return otherwise;
  std::string_view text = node->text();
  const bool percent = text.ends_with('%');
  if (percent) text.remove_suffix(1);
  const auto value = text::parse_quantity_exact(text, percent ? 10 : 1000);
  if (!value || !value->exact || value->value < 0 || value->value > 1000) {
    f.error(key, "must be a share from 0 to 1, such as 0.25, or 25% with at most one digit after the point");
    return otherwise;
  }
  return value->value;
}

void read_estimates(text::Fields& f, std::uint64_t seed, EstimateRules& out) {
  out.knowledge = enum_or(f, "durations", Knowledge::kUnknown);
  out.model = enum_or(f, "estimate", EstimateModel::kFactor);
  out.factor_milli = decimal_or(f, "estimate_factor", out.factor_milli);
  out.seed = seed;
  if (out.factor_milli < 1000 || out.factor_milli > 1'000'000) {
    f.error("estimate_factor", "must be a number from 1 to 1000");
  }
  for (const std::string_view key : {"estimate", "estimate_factor"}) {
    if (f.has(key) && out.knowledge != Knowledge::kEstimated) {
      f.error(key, "needs durations: estimated; otherwise the engine is told nothing, or the truth");
    }
  }
  if (f.has("estimate_factor") && out.model == EstimateModel::kGiven) {
    f.error("estimate_factor", "has no meaning with estimate: given; the trace says what is told");
  }
}

void read_start_costs(text::Fields& f, StartCosts& out, std::string& image) {
  out.pod_start = f.duration_or("pod_start", out.pod_start, 0, kMostCost);
  out.pod_start_spread_milli = share_or(f, "pod_start_spread", out.pod_start_spread_milli);
  out.warm_up = f.duration_or("warm_up", out.warm_up, 0, kMostCost);
  image = f.string_or("image", image);
  out.image_pull = f.duration_or("image_pull", out.image_pull, 0, kMostCost);
  if (!f.has("image_size")) {
    if (f.has("image_bandwidth"))
      f.error("image_bandwidth", "needs image_size, the bytes that are pulled with it");
    return;
  }
  if (f.has("image_pull"))
    f.error("image_size", "a pull is given by image_pull, or by image_size and image_bandwidth");
  const Int128 size = f.quantity("image_size", 1);
  const Int128 bandwidth = f.quantity("image_bandwidth", 1);
  if (!f.ok()) return;
  if (bandwidth == 0)
    return f.error("image_bandwidth", "must be above 0: bytes per second that a node pulls");
  const Int128 time = (size * 1000 + bandwidth - 1) / bandwidth;
  if (time > kMostCost) return f.error("image_size", "a pull would take more than a year");
  out.image_pull = static_cast<DurationMs>(time);
}

Scaling read_efficiency(text::Fields& f, std::string_view key) {
  std::vector<EfficiencyPoint> points;
  for (const text::Node& item : f.list(key)) {
    const auto pair = item.items();
    const auto number = [&](std::size_t at, std::int64_t scale) {
      return text::parse_quantity_exact(pair.size() == 2 ? pair[at].text() : std::string_view(), scale);
    };
    const auto slots = number(0, 1);
    const auto share = number(1, 1000);
    if (!slots || !share || !slots->exact || !share->exact) {
      f.error(key, "must be a list of [slots, efficiency], such as [[1, 1], [8, 0.9], [64, 0.75]]");
      return {};
    }
    points.push_back({slots->value, share->value});
  }
  auto scaling = Scaling::table(std::move(points));
  if (!scaling) {
    f.error(key, "{}", scaling.error().message);
    return {};
  }
  return *std::move(scaling);
}

void read_elastic(text::Fields& f, std::uint64_t seed, JobRules& out) {
  out.elastic.share_milli = share_or(f, "elastic_share", 0);
  out.elastic.least_milli = share_or(f, "elastic_least", out.elastic.least_milli);
  out.elastic.seed = derived_seed(seed, "elastic");
  out.scaling = read_efficiency(f, "efficiency");
  if (f.has("elastic_least") && out.elastic.share_milli == 0) {
    f.error("elastic_least", "needs elastic_share, which says how many of the jobs are made elastic");
  }
}

PodTemplate read_pod(text::Fields& f) {
  PodTemplate pod;
  const std::int64_t gpus = f.integer_or("gpus", 0, 0, 64);
  const std::int64_t milli = f.integer_or("gpu_milli", 1000, 1, 1000);
  if (milli < 1000 && gpus != 1) {
    f.error("gpu_milli", "below 1000 needs gpus: 1; only one GPU can be shared");
  }
  const std::int64_t cpu = f.quantity_or("cpu", 1000, 0);
  const std::int64_t memory = f.quantity_or("memory", 1, 0);
  if (gpus > 0) pod.claim.requests.push_back({std::string(kGpu), gpus, milli});
  if (cpu > 0) pod.requests.set("cpu", cpu);
  if (memory > 0) pod.requests.set("memory", memory);
  for (auto& [name, value] : f.string_map("node_selector")) pod.node_selector.edit()[name] = value;
  require_models(pod, f.strings("gpu_models"));
  return pod;
}

FaultRule read_fault_rule(text::Fields& f) {
  FaultRule rule;
  rule.place = f.document().place(f.node());
  rule.unit = enum_or(f, "unit", FaultUnit::kNode);
  const bool random = f.has("every");
  if (random == f.has("at")) f.error("every", "a failure has every (random), or at (at that time), not both");
  if (random) rule.every = f.duration("every", kSecond, 100 * kMostCost);
  if (f.has("at")) rule.at = f.duration("at", -kMostTime, kMostTime);
  rule.repair = f.duration("repair", 1, 100 * kMostCost);
  rule.spread = enum_or(f, "repair_spread", random ? RepairSpread::kExponential : RepairSpread::kFixed);
  rule.node = f.string_or("node");
  rule.device = f.integer_or("device", -1, 0, 63);
  rule.label = f.string_or("label");
  rule.value = f.string_or("value");
  const bool domain = rule.unit == FaultUnit::kDomain;
  if (domain && rule.label.empty())
    f.error("label", "is missing: the label whose value the nodes of a domain share");
  if (domain && !rule.node.empty()) f.error("node", "is for unit: node and unit: device");
  if (!domain && (!rule.label.empty() || !rule.value.empty())) f.error("label", "is for unit: domain");
  if (f.has("device") && rule.unit != FaultUnit::kDevice) f.error("device", "is for unit: device");
  if (random) return rule;
  const bool named = domain ? !rule.value.empty() : !rule.node.empty();
  if (!named) f.error(domain ? "value" : "node", "is missing: a failure at a given time says of what");
  if (rule.unit == FaultUnit::kDevice && rule.device < 0)
    f.error("device", "is missing: which device of the node");
  return rule;
}

}  // namespace berth::sim
