#include "dialect/kueue/pods_ready.h"

#include <algorithm>
#include <string>

#include "text/document.h"
#include "text/fields.h"

namespace berth::dialect {
namespace {

constexpr text::Limits kLimits{.max_depth = 8, .max_nodes = 1000, .max_document_bytes = 4096};
constexpr std::int64_t kMostSeconds = 2'147'483'647;

}  // namespace

std::optional<PodsReady> with_own_times(const std::optional<PodsReady>& configured, std::string_view own) {
  if (own.empty()) return configured;
  const auto document = text::parse_json(std::string(own), "wait-for-pods-ready", kLimits);
  if (!document) return configured;
  text::Fields f(*document, document->root(), text::Unknown::kIgnore);
  const auto timeout = f.integer("timeoutSeconds", 1, kMostSeconds);
  const auto recovery = f.integer_or("recoveryTimeoutSeconds", timeout, 0, kMostSeconds);
  if (!f.done()) return configured;
  PodsReady out = configured.value_or(PodsReady{});
  out.timeout = std::min(timeout * kSecond, out.most_own);
  out.recovery = recovery > 0 ? std::optional(std::min(recovery * kSecond, out.most_own)) : std::nullopt;
  return out;
}

}  // namespace berth::dialect
