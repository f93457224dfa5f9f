#include "conformance/kai_fair_share.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <utility>

#include "text/json.h"

namespace berth::conformance {
namespace {

using dialect::Kind;
using text::JsonWriter;
using text::Node;

constexpr double kTolerance = 1e-6;
constexpr TimeMs kNowOfShares = 1'800'000'000'000;

double number_at(const Node& node, std::string_view key) {
  const Node* found = node.find(key);
  return found == nullptr ? 0 : found->as_double().value_or(0);
}

bool is_whole(double amount) {
  return std::abs(amount - std::round(amount)) < kTolerance;
}

std::string node_with(std::int64_t devices) {
  return fmt::format(
      R"({{"metadata":{{"name":"node"}},"status":{{"allocatable":{{"cpu":"100k","memory":"100Ti","pods":"100k",)"
      R"("nvidia.com/gpu":"{}"}}}}}})",
      devices);
}

std::string pod_of(const std::string& queue, std::int64_t number) {
  JsonWriter json;
  json.begin_object().key("metadata").begin_object().field("name", fmt::format("{}-{}", queue, number));
  json.field("namespace", "default").field("uid", fmt::format("{}-{}", queue, number));
  json.key("labels").begin_object().field("kai.scheduler/queue", queue).end_object().end_object();
  json.key("spec").begin_object().key("containers").begin_array().begin_object().field("name", "main");
  json.key("resources").begin_object();
  for (const std::string_view key : {"requests", "limits"})
    json.key(key).begin_object().field("nvidia.com/gpu", "1").end_object();
  json.end_object().end_object().end_array().end_object().end_object();
  return json.take();
}

}  // namespace

KaiFairShare::KaiFairShare(const text::Document& document) : root_(document.root()) {
  const Node& given = *root_.find("given");
  total_ = number_at(given, "total");
  for (const Node& queue : given.find("queues")->items()) {
    Share share;
    share.name = text_at(queue, {"name"});
    share.quota = number_at(queue, "quota");
    share.limit = number_at(queue, "limit");
    share.weight = number_at(queue, "weight");
    share.request = number_at(queue, "request");
    share.priority = queue.find("priority")->as_int().value_or(0);
    share.most = share.limit < 0 ? share.request : std::min(share.limit, share.request);
    share.guaranteed = std::min(share.quota < 0 ? total_ : share.quota, share.most);
    shares_.push_back(share);
  }
  divide();
}

// The exact parts, in rounds. In each one the queues of the highest priority that want more grow by weight. It ends when one of them has all
// that it wants, or nothing is left.
void KaiFairShare::divide() {
  double left = total_;
  std::vector<std::int64_t> priorities;
  for (Share& share : shares_) {
    share.exact = share.guaranteed;
    left -= share.guaranteed;
    priorities.push_back(share.priority);
  }
  std::sort(priorities.rbegin(), priorities.rend());
  priorities.erase(std::unique(priorities.begin(), priorities.end()), priorities.end());
  for (const std::int64_t priority : priorities) {
    while (left > kTolerance) {
      std::vector<Share*> open;
      double weights = 0;
      for (Share& share : shares_) {
        if (share.priority != priority || share.weight <= 0 || share.most - share.exact < kTolerance)
          continue;
        open.push_back(&share);
        weights += share.weight;
      }
      if (open.empty()) break;
      double step = left / weights;
      for (const Share* share : open) step = std::min(step, (share->most - share->exact) / share->weight);
      for (Share* share : open) share->exact += step * share->weight;
      left -= step * weights;
    }
  }
}

std::string_view KaiFairShare::left_out() const {
  const Node& given = *root_.find("given");
  if (text_at(given, {"phase"}) != "whole") return "the division of the surplus alone";
  if (number_at(given, "kValue") != 0 &&
      std::any_of(given.find("queues")->items().begin(), given.find("queues")->items().end(),
                  [](const Node& queue) { return number_at(queue, "usage") != 0; }))
    return "past use in the division of the surplus";
  double guaranteed = 0;
  for (const Share& share : shares_) {
    if (!is_whole(share.quota) || !is_whole(share.limit) || !is_whole(share.request))
      return "parts of a unit in the division";
    guaranteed += share.guaranteed;
  }
  if (guaranteed > total_) return "shares of more than there is";
  for (const Share& share : shares_) {
    if (share.weight == 0 && share.guaranteed < share.most) return "weight 0 without any surplus";
    if (!is_whole(share.exact)) return "KAI's way to round parts that are no whole units";
  }
  return {};
}

double KaiFairShare::unit() const {
  std::int64_t out = std::llround(total_);
  for (const Share& share : shares_) {
    for (const double amount : {share.quota, share.limit, share.request, share.exact}) {
      if (amount > 0) out = std::gcd(out, std::llround(amount));
    }
  }
  return static_cast<double>(std::max<std::int64_t>(1, out));
}

Status KaiFairShare::add(Kind kind, const std::string& json) {
  BERTH_ASSIGN(dialect::Object object, decoder_.decode(json, kind));
  run_.intake.upsert(std::move(object));
  return {};
}

Status KaiFairShare::load(double size) {
  const auto in_units = [&](double amount) { return amount < 0 ? -1 : std::llround(amount / size); };
  BERTH_TRY(add(Kind::kNode, node_with(in_units(total_))));
  for (const Share& share : shares_) {
    JsonWriter json;
    json.begin_object().key("metadata").begin_object().field("name", share.name).end_object();
    json.key("spec").begin_object().field("priority", share.priority).key("resources").begin_object();
    for (const std::string_view other : {"cpu", "memory"})
      json.key(other).begin_object().field("quota", -1).field("limit", -1).end_object();
    json.key("gpu").begin_object().field("quota", in_units(share.quota));
    json.field("limit", in_units(share.limit)).field("overQuotaWeight", share.weight).end_object();
    json.end_object().end_object().end_object();
    BERTH_TRY(add(Kind::kKaiQueue, json.take()));
  }
  for (const Share& share : shares_) {
    for (std::int64_t at = 0; at < in_units(share.request); ++at)
      BERTH_TRY(add(Kind::kPod, pod_of(share.name, at)));
  }
  run_.intake.set_all_runtimes_known();
  run_.drain();
  return {};
}

Result<Comparison> KaiFairShare::compare() {
  const double amount = unit();
  BERTH_TRY(load(amount));
  std::map<std::string, double> started;
  for (const Decision& decision : run_.engine.decide(kNowOfShares)) {
    if (decision.kind != DecisionKind::kStart) continue;
    const auto info = run_.intake.workload(decision.workload);
    if (info) started[std::string(info->queue)] += amount;
  }
  Comparison out;
  for (const auto& entry : root_.at({"expect", "fairShare"})->entries()) {
    const double want = entry.value.as_double().value_or(-1);
    const double got = started[fmt::format("kai:{}", entry.name())];
    if (std::abs(got - want) > kTolerance)
      out.differences.push_back(fmt::format("{} gets {} instead of {}", entry.name(), got, want));
  }
  if (!out.differences.empty()) out.verdict = Verdict::kDiffers;
  return out;
}

}  // namespace berth::conformance
