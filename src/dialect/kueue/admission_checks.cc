#include "dialect/kueue/admission_checks.h"

#include <fmt/format.h>

#include <algorithm>

#include "text/time.h"

namespace berth::dialect {
namespace {

// False: another value stands under this key.
bool merge(Labels& into, const Labels& from) {
  return std::all_of(from.begin(), from.end(), [&](const auto& entry) {
    return into.emplace(entry.first, entry.second).first->second == entry.second;
  });
}

}  // namespace

std::vector<std::string> checks_for(const std::vector<CheckRule>& rules,
                                    const std::vector<ChosenFlavor>* flavors) {
  std::vector<std::string> out;
  const bool by_flavor =
      std::any_of(rules.begin(), rules.end(), [](const CheckRule& rule) { return !rule.flavors.empty(); });
  if (flavors == nullptr && by_flavor) return out;
  for (const CheckRule& rule : rules) {
    const auto has = [&](const ChosenFlavor& chosen) {
      return std::find(rule.flavors.begin(), rule.flavors.end(), chosen.flavor) != rule.flavors.end();
    };
    if (!rule.flavors.empty() && std::none_of(flavors->begin(), flavors->end(), has)) continue;
    if (out.empty() || out.back() != rule.name) out.push_back(rule.name);
  }
  return out;
}

bool sync_checks(AdmissionChecks& checks, const std::vector<std::string>& wanted, TimeMs now) {
  const auto is_wanted = [&](const std::string& name) {
    return std::find(wanted.begin(), wanted.end(), name) != wanted.end();
  };
  bool changed = std::erase_if(checks, [&](const auto& check) { return !is_wanted(check.name); }) > 0;
  for (const auto& name : wanted) {
    const auto at = std::lower_bound(checks.begin(), checks.end(), name,
                                     [](const auto& check, const auto& n) { return check.name < n; });
    if (at != checks.end() && at->name == name) continue;
    AdmissionCheckState fresh;
    fresh.name = name;
    fresh.since = now;
    checks.insert(at, std::move(fresh));
    changed = true;
  }
  return changed;
}

bool reset_checks(AdmissionChecks& checks, TimeMs now) {
  bool changed = false;
  for (auto& check : checks) {
    if (check.state == CheckState::kPending && check.updates.empty()) continue;
    changed = true;
    check.retries += check.state == CheckState::kRetry ? 1 : 0;
    check.message = fmt::format("Reset to Pending after eviction. Previously: {}", enum_name(check.state));
    check.state = CheckState::kPending;
    check.since = now;
    check.retry_after.reset();
    check.updates.clear();
  }
  return changed;
}

bool all_ready(const AdmissionChecks& checks) {
  return std::all_of(checks.begin(), checks.end(),
                     [](const auto& check) { return check.state == CheckState::kReady; });
}

std::string names_in(const AdmissionChecks& checks, CheckState state) {
  std::string out;
  for (const auto& check : checks) {
    if (check.state == state) out += fmt::format("{}{}", out.empty() ? "" : ",", check.name);
  }
  return out;
}

Result<std::vector<PodSetUpdate>> merged_updates(const AdmissionChecks& checks) {
  std::vector<PodSetUpdate> out;
  for (const auto& check : checks) {
    for (const auto& update : check.updates) {
      auto at =
          std::find_if(out.begin(), out.end(), [&](const auto& known) { return known.name == update.name; });
      if (at == out.end()) {
        out.push_back(update);
        continue;
      }
      const bool agrees = merge(at->labels, update.labels) && merge(at->annotations, update.annotations) &&
                          merge(at->node_selector, update.node_selector);
      if (!agrees)
        return fail(ErrorCode::kInvalid,
                    "the podSetUpdates of admission check {} contradict those of another", check.name);
      for (const auto& toleration : update.tolerations) {
        auto& all = at->tolerations;
        if (std::find(all.begin(), all.end(), toleration) == all.end()) all.push_back(toleration);
      }
    }
  }
  return out;
}

void write_map(text::JsonWriter& json, std::string_view key, const Labels& values) {
  if (values.empty()) return;
  json.key(key).begin_object();
  for (const auto& [name, value] : values) json.field(name, value);
  json.end_object();
}

void write_checks(text::JsonWriter& json, const AdmissionChecks& checks, bool with_times) {
  json.begin_array();
  for (const auto& check : checks) {
    json.begin_object().field("name", check.name).field("state", enum_name(check.state));
    json.field("message", check.message);
    if (with_times) json.field("lastTransitionTime", text::format_time_seconds(check.since));
    if (check.retry_after) json.field("requeueAfterSeconds", *check.retry_after);
    if (check.retries > 0) json.field("retryCount", check.retries);
    if (!check.updates.empty()) {
      json.key("podSetUpdates").begin_array();
      for (const auto& update : check.updates) {
        json.begin_object().field("name", update.name);
        write_map(json, "labels", update.labels);
        write_map(json, "annotations", update.annotations);
        write_map(json, "nodeSelector", update.node_selector);
        if (!update.tolerations.empty()) {
          json.key("tolerations").begin_array();
          for (const auto& toleration : update.tolerations) write_toleration(json, toleration);
          json.end_array();
        }
        json.end_object();
      }
      json.end_array();
    }
    json.end_object();
  }
  json.end_array();
}

}  // namespace berth::dialect
