#include "dialect/intake/kueue_config.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include "text/fields.h"
#include "text/quantity.h"

namespace berth::dialect {
namespace {

constexpr std::string_view kFinal = "LessThanOrEqualToFinalShare";
constexpr std::string_view kInitial = "LessThanInitialShare";

void read_fair_sharing(text::Fields& f, bool always, KueueConfig& out) {
  text::Fields fair = f.optional_child("fairSharing");
  if (!fair) return;
  out.fair_sharing = fair.boolean_or("enable", always);
  const std::vector<std::string> strategies = fair.strings("preemptionStrategies");
  if (strategies.empty() ||
      strategies == std::vector<std::string>{std::string(kFinal), std::string(kInitial)})
    return;
  if (strategies.size() == 1 && strategies.front() == kFinal) {
    out.fair_strategy = engine::FairStrategy::kFinalShare;
  } else if (strategies.size() == 1 && strategies.front() == kInitial) {
    out.fair_strategy = engine::FairStrategy::kInitialShare;
  } else {
    fair.error("preemptionStrategies", "must be {} or {} alone, or both in this order", kFinal, kInitial);
  }
}

void read_lanes(text::Fields& f, KueueConfig& out) {
  text::Fields lanes = f.optional_child("admissionFairSharing");
  if (!lanes) return;
  LaneOrder order;
  // Kueue's 0 means that nothing is remembered beyond the moment.
  order.half_life = std::max<DurationMs>(kSecond, lanes.duration_or("usageHalfLifeTime", kSecond));
  for (const text::Entry& entry : lanes.mapping("resourceWeights")) {
    const auto weight = text::parse_quantity_capped(entry.value.text(), 1'000'000);
    if (!weight || *weight < 0) {
      lanes.error("resourceWeights", "the weight of {} must be a number that is not negative", entry.name());
      continue;
    }
    order.resource_weights.push_back({std::string(entry.name()), {*weight, 1'000'000}});
  }
  out.lanes = std::move(order);
}

void read_pods_ready(text::Fields& f, bool newer, KueueConfig& out) {
  text::Fields wait = f.optional_child("waitForPodsReady");
  PodsReady ready;
  if (!newer) ready.timeout = 5 * kMinute;
  ready.recovery = ready.timeout;
  if (!wait) {
    if (newer) out.pods_ready = ready;
    return;
  }
  if (!newer && !wait.boolean_or("enable", false)) return;
  ready.timeout = wait.duration_or("timeout", ready.timeout, kSecond);
  const DurationMs recovery = wait.duration_or("recoveryTimeout", ready.timeout);
  ready.recovery = recovery > 0 ? std::optional<DurationMs>(recovery) : std::nullopt;
  ready.most_own = wait.duration_or("maxTimeoutOnWorkload", ready.most_own, kSecond);
  ready.block_admission = wait.boolean_or("blockAdmission", !newer);
  text::Fields requeue = wait.optional_child("requeuingStrategy");
  if (requeue) {
    static constexpr text::Choice<bool> kTimes[] = {{"Eviction", true}, {"Creation", false}};
    ready.from_eviction = requeue.choice_or("timestamp", kTimes, true);
    if (requeue.has("backoffLimitCount"))
      ready.most_requeues = requeue.integer_or("backoffLimitCount", 0, 0, 1'000'000);
    ready.first_rest = requeue.integer_or("backoffBaseSeconds", 60, 0, 1'000'000) * kSecond;
    ready.most_rest = requeue.integer_or("backoffMaxSeconds", 3600, 0, 1'000'000) * kSecond;
  }
  out.pods_ready = ready;
}

Transformation read_transformation(text::Fields& f) {
  static constexpr text::Choice<bool> kRetain[] = {{"Retain", true}, {"Replace", false}};
  Transformation out;
  out.input = f.string("input");
  out.retain = f.choice_or("strategy", kRetain, true);
  out.multiply_by = f.string_or("multiplyBy", "");
  for (const text::Entry& entry : f.mapping("outputs")) {
    const auto factor = text::parse_quantity(entry.value.text(), 1'000'000'000);
    if (!factor || *factor < 0) {
      f.error("outputs", "the factor of {} must be a quantity from 0 to 9 * 10^9, such as 2 or 500m",
              entry.name());
      continue;
    }
    out.outputs.push_back({std::string(entry.name()), *factor});
  }
  std::sort(out.outputs.begin(), out.outputs.end(),
            [](const auto& a, const auto& b) { return a.resource < b.resource; });
  return out;
}

}  // namespace

QuotaCounts read_quota_counts(text::Fields& resources) {
  QuotaCounts out;
  out.excluded = resources.strings("excludeResourcePrefixes");
  resources.each("transformations", [&](text::Fields& item) {
    Transformation t = read_transformation(item);
    const auto same = [&](const Transformation& other) { return other.input == t.input; };
    if (std::any_of(out.transformations.begin(), out.transformations.end(), same))
      item.error("input", "{} is transformed twice: put all outputs into one", t.input);
    out.transformations.push_back(std::move(t));
  });
  return out;
}

void apply(const KueueConfig& from, IntakeConfig& intake, engine::EngineConfig& engine) {
  intake.fair_sharing = from.fair_sharing;
  intake.lanes = from.lanes;
  intake.counts = from.counts;
  engine.fair_strategy = from.fair_strategy;
  engine.ignore_uncovered = engine.ignore_uncovered || from.ignore_uncovered;
}

Result<KueueConfig> read_kueue_config(const text::Document& document, const text::Node& node) {
  text::Fields f(document, node, text::Unknown::kIgnore);
  const std::string version = f.string("apiVersion");
  const std::string kind = f.string("kind");
  BERTH_TRY(f.done());
  if (!is_kueue_config(version, kind)) {
    return fail_at(document.place(node), "a Configuration of config.kueue.x-k8s.io is expected, not {} of {}",
                   kind, version);
  }
  static constexpr text::Choice<bool> kStrategies[] = {{"BlockUndeclared", false},
                                                       {"IgnoreUndeclared", true}};
  KueueConfig out;
  read_fair_sharing(f, version != "config.kueue.x-k8s.io/v1beta1", out);
  read_lanes(f, out);
  read_pods_ready(f, version != "config.kueue.x-k8s.io/v1beta1", out);
  text::Fields resources = f.optional_child("resources");
  if (resources) {
    out.ignore_uncovered = resources.choice_or("quotaCheckStrategy", kStrategies, false);
    out.counts = read_quota_counts(resources);
  }
  out.ignore_uncovered = f.choice_or("quotaCheckStrategy", kStrategies, out.ignore_uncovered);
  BERTH_TRY(f.done());
  return out;
}

Result<KueueConfig> read_kueue_config_file(const std::string& path) {
  BERTH_ASSIGN(const auto document, text::read_document(path));
  return read_kueue_config(document, document.root());
}

}  // namespace berth::dialect
