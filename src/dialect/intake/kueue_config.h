// Kueue's own configuration (config.kueue.x-k8s.io, kind Configuration, v1beta1 and v1beta2): the parts that decide about
// admission.
//
// Read:
//   fairSharing           v1beta1 `enable`; v1beta2 by being there. preemptionStrategies: each alone, or both in the order
//                         LessThanOrEqualToFinalShare, LessThanInitialShare (the default)
//   admissionFairSharing  usageHalfLifeTime, resourceWeights (decimal numbers). usageSamplingInterval is not needed: use is reckoned
//                         exactly
//   resources.quotaCheckStrategy, or v1beta1's and v1beta2's top-level quotaCheckStrategy
//   waitForPodsReady      v1beta1 `enable`; v1beta2 also by its absence, as since Kueue 0.19 (timeout 30m). timeout, recoveryTimeout (0s:
//                         none), requeuingStrategy, blockAdmission
//   resources.excludeResourcePrefixes and resources.transformations (quota_counts.h)
// All else is Kueue's own affair, and is not looked at.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "dialect/intake/intake.h"
#include "dialect/kueue/pods_ready.h"
#include "dialect/kueue/quota_counts.h"
#include "engine/engine.h"
#include "model/queue.h"
#include "text/document.h"
#include "text/fields.h"

namespace berth::dialect {

struct KueueConfig {
  bool fair_sharing = false;
  engine::FairStrategy fair_strategy = engine::FairStrategy::kFinalThenInitialShare;
  std::optional<LaneOrder> lanes;  // of ClusterQueues that ask for it
  bool ignore_uncovered = false;
  std::optional<PodsReady> pods_ready;
  QuotaCounts counts;
};

// Its settings for the intake and the engine. Other flags may still ignore resources that this one counts.
void apply(const KueueConfig& from, IntakeConfig& intake, engine::EngineConfig& engine);

Result<KueueConfig> read_kueue_config(const text::Document& document, const text::Node& node);
// Its section `resources` alone: excludeResourcePrefixes and transformations.
QuotaCounts read_quota_counts(text::Fields& resources);
// For a file with one document.
Result<KueueConfig> read_kueue_config_file(const std::string& path);

inline bool is_kueue_config(std::string_view api_version, std::string_view kind) {
  return kind == "Configuration" && api_version.starts_with("config.kueue.x-k8s.io/");
}

}  // namespace berth::dialect
