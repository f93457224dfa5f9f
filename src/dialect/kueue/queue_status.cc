#include "dialect/kueue/queue_status.h"

#include <fmt/format.h>
#include <simdjson.h>

#include <algorithm>
#include <iterator>
#include <tuple>

#include "dialect/base/names.h"
#include "kube/paths.h"
#include "kube/writes.h"
#include "model/resources.h"
#include "text/json.h"
#include "text/quantity.h"
#include "text/time.h"

namespace berth::dialect {
namespace {

using simdjson::dom::element;

// v1beta1 of the LocalQueue has a name of its own for it.
std::string_view usage_key(Kind kind, std::string_view version) {
  if (kind == Kind::kQueue) return "used";
  return kind == Kind::kLocalQueue && version == "v1beta1" ? "flavorUsage" : "flavorsUsage";
}

using Use = QueueStatus::Use;

void write_uses(text::JsonWriter& json, const std::vector<Use>& uses, Use::Sum Use::*sum, bool borrowed) {
  json.begin_array();
  for (std::size_t i = 0; i < uses.size();) {
    const std::string& flavor = uses[i].flavor;
    json.begin_object().field("name", flavor).key("resources").begin_array();
    for (; i < uses.size() && uses[i].flavor == flavor; ++i) {
      json.begin_object().field("name", uses[i].resource);
      json.field("total", format_amount(uses[i].resource, (uses[i].*sum).total));
      if (borrowed) json.field("borrowed", format_amount(uses[i].resource, (uses[i].*sum).borrowed));
      json.end_object();
    }
    json.end_array().end_object();
  }
  json.end_array();
}

void write_numbers(text::JsonWriter& json, Kind kind, std::string_view version, const QueueStatus& status) {
  if (kind == Kind::kQueue) {
    json.field("pending", status.pending).field("running", status.reserving);
  } else {
    json.field("pendingWorkloads", status.pending).field("reservingWorkloads", status.reserving);
    json.field("admittedWorkloads", status.admitted);
    json.key("flavorsReservation");
    write_uses(json, status.uses, &Use::reserved, kind == Kind::kClusterQueue);
  }
  json.key(usage_key(kind, version));
  write_uses(json, status.uses, kind == Kind::kQueue ? &Use::reserved : &Use::admitted,
             kind != Kind::kLocalQueue);
}

void write_shares(text::JsonWriter& json, Kind kind, const QueueStatus& status, bool with_times) {
  if (kind == Kind::kClusterQueue) {
    json.key("fairSharing");
    if (status.share) {
      json.begin_object().field("weightedShare", *status.share).end_object();
    } else {
      json.null();
    }
  }
  if (!status.past) return;
  // The share of a LocalQueue means nothing, and is required.
  json.key("fairSharing").begin_object().field("weightedShare", 0);
  json.key("admissionFairSharingStatus").begin_object().key("consumedResources").begin_object();
  for (const auto& [resource, amount] : status.past->used)
    json.field(resource, format_amount(resource, amount));
  json.end_object();
  if (with_times) json.field("lastUpdate", text::format_time_seconds(status.past->as_of));
  json.end_object().end_object();
}

std::string_view text_of(const element& from, std::string_view key) {
  std::string_view out;
  return from[key].get(out) == simdjson::SUCCESS ? out : std::string_view();
}

std::int64_t number_of(const element& from, std::string_view key) {
  std::int64_t out = 0;
  return from[key].get(out) == simdjson::SUCCESS ? out : 0;
}

template <class F>
void each(const element& from, std::string_view key, F&& f) {
  simdjson::dom::array list;
  if (from[key].get(list) != simdjson::SUCCESS) return;
  for (const element item : list) f(item);
}

std::int64_t amount_of(const element& from, std::string_view key, std::string_view resource) {
  const auto amount = text::parse_quantity(text_of(from, key), units_per_one(resource));
  return amount ? *amount : -1;  // what is no amount is not what Berth wrote
}

}  // namespace

std::string to_json(Kind kind, std::string_view version, const QueueStatus& status, bool with_times) {
  text::JsonWriter json;
  json.begin_object();
  if (kind != Kind::kAdmissionCheck) write_numbers(json, kind, version, status);
  write_shares(json, kind, status, with_times);
  json.key("conditions").begin_array().begin_object().field("type", "Active");
  json.field("status", status.active ? "True" : "False").field("reason", status.reason);
  json.field("message", status.message);
  if (with_times) json.field("lastTransitionTime", text::format_time_seconds(status.since));
  json.end_object().end_array().end_object();
  return json.take();
}

kube::Write write_queue_status(Kind kind, std::string_view version, std::string_view ns,
                               std::string_view name, const QueueStatus& status) {
  text::JsonWriter json;
  json.begin_object().key("status").raw(to_json(kind, version, status, true)).end_object();
  kube::ResourcePath path{kKueueGroup, version, "clusterqueues"};
  if (kind == Kind::kLocalQueue) path.resource = "localqueues";
  if (kind == Kind::kAdmissionCheck) path.resource = "admissionchecks";
  if (kind == Kind::kQueue) path = {kBerthGroup, "v1alpha1", "queues"};
  return kube::status_write(
      kube::patch_object(path.object(ns, name, "status"), json.take(), kube::BodyType::kMergePatch));
}

Result<QueueStatus> read_queue_status(Kind kind, std::string_view object) {
  simdjson::dom::parser parser;
  element root;
  if (parser.parse(object.data(), object.size()).get(root) != simdjson::SUCCESS || !root.is_object())
    return fail(ErrorCode::kInvalid, "a {} is not JSON", enum_name(kind));
  QueueStatus out;
  out.active = false;  // nothing says so
  element status;
  if (root["status"].get(status) != simdjson::SUCCESS || !status.is_object()) return out;
  const bool own = kind == Kind::kQueue;
  out.pending = number_of(status, own ? "pending" : "pendingWorkloads");
  out.reserving = number_of(status, own ? "running" : "reservingWorkloads");
  out.admitted = own ? 0 : number_of(status, "admittedWorkloads");
  const auto read = [&](std::string_view key, Use::Sum Use::*sum) {
    each(status, key, [&](const element& flavor) {
      const std::string_view name = text_of(flavor, "name");
      each(flavor, "resources", [&](const element& item) {
        const std::string resource(text_of(item, "name"));
        auto use = std::find_if(out.uses.begin(), out.uses.end(), [&](const Use& known) {
          return known.flavor == name && known.resource == resource;
        });
        if (use == out.uses.end()) {
          out.uses.push_back({std::string(name), resource, {}, {}});
          use = std::prev(out.uses.end());
        }
        ((*use).*sum).total = amount_of(item, "total", resource);
        if (kind != Kind::kLocalQueue) ((*use).*sum).borrowed = amount_of(item, "borrowed", resource);
      });
    });
  };
  element uses;
  if (own) {
    read("used", &Use::reserved);
  } else {
    read("flavorsReservation", &Use::reserved);
    const bool newer = status["flavorsUsage"].get(uses) == simdjson::SUCCESS;
    read(newer ? "flavorsUsage" : "flavorUsage", &Use::admitted);
  }
  element fair;
  if (status["fairSharing"].get(fair) == simdjson::SUCCESS && fair.is_object()) {
    element past, used;
    simdjson::dom::object amounts;
    if (kind == Kind::kClusterQueue) out.share = number_of(fair, "weightedShare");
    if (kind == Kind::kLocalQueue && fair["admissionFairSharingStatus"].get(past) == simdjson::SUCCESS &&
        past["consumedResources"].get(used) == simdjson::SUCCESS && used.get(amounts) == simdjson::SUCCESS) {
      out.past.emplace();
      for (const auto& [resource, amount] : amounts)
        out.past->used[std::string(resource)] = amount_of(used, resource, resource);
      if (const auto at = text::parse_time_ms(text_of(past, "lastUpdate"))) out.past->as_of = *at;
    }
  }
  each(status, "conditions", [&](const element& c) {
    if (text_of(c, "type") != "Active") return;
    out.active = text_of(c, "status") == "True";
    out.reason = text_of(c, "reason");
    out.message = text_of(c, "message");
    if (const auto at = text::parse_time_ms(text_of(c, "lastTransitionTime"))) out.since = *at;
  });
  return out;
}

}  // namespace berth::dialect
