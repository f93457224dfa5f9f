// The patch of `berth queue set-quota`: lists are written whole, since a merge patch replaces them, with what it leaves alone.
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <span>
#include <utility>

#include "cli/commands/queue.h"
#include "model/resources.h"
#include "text/fields.h"
#include "text/json.h"
#include "text/quantity.h"

namespace berth::cli {
namespace {

using dialect::Kind;
using text::JsonWriter;
using text::Node;

constexpr std::string_view kGuaranteed = "guaranteed", kLimit = "limit", kLendable = "lendable";

std::string text_or_dash(const Node* node) {
  return node == nullptr || node->is_null() ? std::string("-") : std::string(node->text());
}

Result<std::int64_t> amount_of(const std::string& resource, std::string_view text) {
  return text::parse_quantity(text, units_per_one(resource));
}

std::vector<std::string_view> keys_of(const Node* node) {
  std::vector<std::string_view> out;
  if (node == nullptr) return out;
  for (const text::Entry& entry : node->entries()) out.push_back(entry.name());
  return out;
}

void add_change(QueuePatch& out, const std::string& resource, std::string_view field, const Node* before,
                const std::string& after) {
  const std::string was = text_or_dash(before);
  const std::string is = after.empty() ? std::string("-") : after;
  if (was != is) out.changes.push_back(fmt::format("{}: {} {} -> {}", resource, field, was, is));
}

tl::unexpected<Error> unknown_resource(const std::string& resource,
                                       const std::vector<std::string_view>& known, std::string_view fix) {
  const auto near = text::nearest(resource, known);
  return fail(ErrorCode::kInvalid, "{}: the queue does not name it{}; it names {}. {}", resource,
              near.empty() ? std::string() : fmt::format(" (did you mean {}?)", near), fmt::join(known, ", "),
              fix);
}

// The maps of one queue of Berth's, or of one of its flavors.
class BerthAmounts {
 public:
  BerthAmounts(const Node& object, const QuotaChange& change) : object_(object), change_(change) {}

  Status check() const {
    std::vector<std::string_view> known;
    for (const auto key : {kGuaranteed, kLimit, kLendable}) {
      for (const auto name : keys_of(object_.find(key))) known.push_back(name);
    }
    std::sort(known.begin(), known.end());
    known.erase(std::unique(known.begin(), known.end()), known.end());
    if (change_.add || known.empty()) return {};
    for (const auto* list : {&change_.guaranteed, &change_.limit, &change_.lendable}) {
      for (const auto& one : *list) {
        if (std::find(known.begin(), known.end(), one.resource) == known.end())
          return unknown_resource(one.resource, known, "--add lets it count another resource");
      }
    }
    return {};
  }

  // The changed maps as fields; `whole`: with what is left alone, else as a merge patch.
  void write(JsonWriter& json, bool whole, QueuePatch& out) const {
    write_map(json, kGuaranteed, change_.guaranteed, whole, out);
    write_map(json, kLimit, change_.limit, whole, out);
    write_map(json, kLendable, change_.lendable, whole, out);
  }

 private:
  void write_map(JsonWriter& json, std::string_view key, const std::vector<AmountChange>& changes, bool whole,
                 QueuePatch& out) const {
    const Node* before = object_.find(key);
    if (changes.empty() && (!whole || before == nullptr)) return;
    json.key(key).begin_object();
    if (whole && before != nullptr) {
      for (const text::Entry& entry : before->entries()) {
        const auto is = [&](const AmountChange& one) { return one.resource == entry.name(); };
        if (std::none_of(changes.begin(), changes.end(), is)) json.key(entry.name()).value(entry.value);
      }
    }
    for (const auto& one : changes) {
      add_change(out, one.resource, key, before == nullptr ? nullptr : before->find(one.resource),
                 one.amount);
      if (!one.amount.empty()) {
        json.field(one.resource, one.amount);
      } else if (!whole) {
        json.key(one.resource).null();
      }
    }
    json.end_object();
  }

  const Node& object_;
  const QuotaChange& change_;
};

// The index of the flavor that is meant, among items that have a name.
Result<std::size_t> flavor_in(std::span<const Node> flavors, const std::string& wanted) {
  std::vector<std::string_view> names;
  for (const Node& flavor : flavors) {
    const Node* name = flavor.find("name");
    names.push_back(name == nullptr ? std::string_view() : name->text());
  }
  if (wanted.empty() && names.size() == 1) return std::size_t{0};
  if (wanted.empty()) {
    return fail(ErrorCode::kInvalid, "the queue has {} flavors: say which one with --flavor ({})",
                names.size(), fmt::join(names, ", "));
  }
  const auto at = std::find(names.begin(), names.end(), wanted);
  if (at != names.end()) return static_cast<std::size_t>(at - names.begin());
  const auto near = text::nearest(wanted, names);
  return fail(ErrorCode::kInvalid, "--flavor {}: the queue has none of that name{}; it has {}", wanted,
              near.empty() ? std::string() : fmt::format(" (did you mean {}?)", near),
              fmt::join(names, ", "));
}

Status write_berth(JsonWriter& json, const Node& spec, const QuotaChange& change, QueuePatch& out) {
  const Node* flavors = spec.find("flavors");
  if (flavors == nullptr || flavors->items().empty()) {
    if (!change.flavor.empty())
      return fail(ErrorCode::kInvalid, "--flavor {}: the queue has no flavors, leave it out", change.flavor);
    const BerthAmounts amounts(spec, change);
    BERTH_TRY(amounts.check());
    amounts.write(json, false, out);
    return {};
  }
  BERTH_ASSIGN(const std::size_t chosen, flavor_in(flavors->items(), change.flavor));
  json.key("flavors").begin_array();
  for (std::size_t i = 0; i < flavors->items().size(); ++i) {
    const Node& flavor = flavors->items()[i];
    if (i != chosen) {
      json.value(flavor);
      continue;
    }
    const BerthAmounts amounts(flavor, change);
    BERTH_TRY(amounts.check());
    json.begin_object();
    for (const text::Entry& entry : flavor.entries()) {
      const auto key = entry.name();
      if (key != kGuaranteed && key != kLimit && key != kLendable) json.key(key).value(entry.value);
    }
    amounts.write(json, true, out);
    json.end_object();
  }
  json.end_array();
  return {};
}

const AmountChange* change_for(const std::vector<AmountChange>& changes, std::string_view resource) {
  const auto it = std::find_if(changes.begin(), changes.end(),
                               [&](const auto& change) { return change.resource == resource; });
  return it == changes.end() ? nullptr : &*it;
}

// One resource of a flavor of a ClusterQueue.
Status write_resource(JsonWriter& json, const Node& item, const QuotaChange& change, QueuePatch& out) {
  const std::string resource(item.find("name") == nullptr ? std::string_view() : item.find("name")->text());
  const Node* nominal_now = item.find("nominalQuota");
  const AmountChange* nominal = change_for(change.guaranteed, resource);
  const std::string guaranteed = nominal != nullptr ? nominal->amount : text_or_dash(nominal_now);
  json.begin_object();
  for (const text::Entry& entry : item.entries()) {
    const auto key = entry.name();
    const bool set = (key == "nominalQuota" && nominal != nullptr) ||
                     (key == "borrowingLimit" && change_for(change.limit, resource) != nullptr) ||
                     (key == "lendingLimit" && change_for(change.lendable, resource) != nullptr);
    if (!set) json.key(key).value(entry.value);
  }
  if (nominal != nullptr) {
    add_change(out, resource, "nominalQuota", nominal_now, guaranteed);
    json.field("nominalQuota", guaranteed);
  }
  if (const AmountChange* limit = change_for(change.limit, resource)) {
    std::string borrowing;
    if (!limit->amount.empty()) {
      BERTH_ASSIGN(const std::int64_t most, amount_of(resource, limit->amount));
      BERTH_ASSIGN(const std::int64_t own, amount_of(resource, guaranteed));
      if (most < own)
        return fail(ErrorCode::kInvalid, "--limit {}={}: it is below the guarantee of {}", resource,
                    limit->amount, guaranteed);
      borrowing = format_amount(resource, most - own);
      json.field("borrowingLimit", borrowing);
    }
    add_change(out, resource, "borrowingLimit", item.find("borrowingLimit"), borrowing);
  }
  if (const AmountChange* lendable = change_for(change.lendable, resource)) {
    if (!lendable->amount.empty()) json.field("lendingLimit", lendable->amount);
    add_change(out, resource, "lendingLimit", item.find("lendingLimit"), lendable->amount);
  }
  json.end_object();
  return {};
}

// Which flavor of a group is changed, if any: the one that is named, or the only one, where it has one of the resources.
Result<std::optional<std::size_t>> flavor_of_group(const Node& group, const QuotaChange& change) {
  const Node* resources = group.find("coveredResources");
  const Node* flavors = group.find("flavors");
  if (resources == nullptr || flavors == nullptr) return std::nullopt;
  const auto has = [&](const std::vector<AmountChange>& changes) {
    return std::any_of(resources->items().begin(), resources->items().end(),
                       [&](const Node& name) { return change_for(changes, name.text()) != nullptr; });
  };
  if (!has(change.guaranteed) && !has(change.limit) && !has(change.lendable)) return std::nullopt;
  BERTH_ASSIGN(const std::size_t at, flavor_in(flavors->items(), change.flavor));
  return at;
}

// The object with the value of one key written by `write`.
template <class Write>
Status write_with(JsonWriter& json, const Node& object, std::string_view key, Write&& write) {
  json.begin_object();
  for (const text::Entry& entry : object.entries()) {
    json.key(entry.name());
    if (entry.name() == key) {
      BERTH_TRY(write(entry.value));
    } else {
      json.value(entry.value);
    }
  }
  json.end_object();
  return {};
}

Status write_group(JsonWriter& json, const Node& group, std::size_t chosen, const QuotaChange& change,
                   QueuePatch& out) {
  const auto write_resources = [&](const Node& resources) -> Status {
    json.begin_array();
    for (const Node& item : resources.items()) BERTH_TRY(write_resource(json, item, change, out));
    json.end_array();
    return {};
  };
  return write_with(json, group, "flavors", [&](const Node& flavors) -> Status {
    json.begin_array();
    for (std::size_t i = 0; i < flavors.items().size(); ++i) {
      if (i == chosen) {
        BERTH_TRY(write_with(json, flavors.items()[i], "resources", write_resources));
      } else {
        json.value(flavors.items()[i]);
      }
    }
    json.end_array();
    return {};
  });
}

std::vector<std::string_view> covered_by(const Node* groups) {
  std::vector<std::string_view> out;
  if (groups == nullptr) return out;
  for (const Node& group : groups->items()) {
    const Node* resources = group.find("coveredResources");
    if (resources == nullptr) continue;
    for (const Node& name : resources->items()) out.push_back(name.text());
  }
  return out;
}

Status write_cluster_queue(JsonWriter& json, const Node& spec, const QuotaChange& change, QueuePatch& out) {
  const Node* groups = spec.find("resourceGroups");
  const auto known = covered_by(groups);
  for (const auto* list : {&change.guaranteed, &change.limit, &change.lendable}) {
    for (const auto& one : *list) {
      if (std::find(known.begin(), known.end(), one.resource) == known.end())
        return unknown_resource(one.resource, known,
                                "Add it to spec.resourceGroups: kubectl edit clusterqueue");
    }
  }
  if (groups == nullptr) return {};
  json.key("resourceGroups").begin_array();
  for (const Node& group : groups->items()) {
    BERTH_ASSIGN(const auto chosen, flavor_of_group(group, change));
    if (chosen) {
      BERTH_TRY(write_group(json, group, *chosen, change, out));
    } else {
      json.value(group);
    }
  }
  json.end_array();
  return {};
}

}  // namespace

Result<AmountChange> parse_amount(std::string_view flag, const std::string& text, bool removable) {
  const auto equals = text.find('=');
  if (equals == std::string::npos || equals == 0 || equals + 1 == text.size()) {
    return fail(ErrorCode::kInvalid, "{} \"{}\": write RESOURCE=AMOUNT, such as nvidia.com/gpu=64", flag,
                text);
  }
  AmountChange out{text.substr(0, equals), text.substr(equals + 1)};
  if (out.amount == "none" && removable) {
    out.amount.clear();
    return out;
  }
  const auto amount = amount_of(out.resource, out.amount);
  if (!amount) return fail(ErrorCode::kInvalid, "{} {}: {}", flag, text, amount.error().message);
  if (*amount < 0) return fail(ErrorCode::kInvalid, "{} {}: an amount is not negative", flag, text);
  return out;
}

Result<QueuePatch> quota_patch(Kind kind, const text::Document& object, const QuotaChange& change) {
  if (kind != Kind::kQueue && kind != Kind::kClusterQueue) {
    return fail(ErrorCode::kUnsupported,
                "the quota of a {} is not set by this command: kubectl edit changes it", enum_name(kind));
  }
  static const Node kNone;
  const Node* spec = object.root().find("spec");
  const Node* version = object.root().at({"metadata", "resourceVersion"});
  QueuePatch out;
  JsonWriter json;
  json.begin_object().key("metadata").begin_object();
  json.field("resourceVersion", version == nullptr ? std::string_view() : version->text()).end_object();
  json.key("spec").begin_object();
  if (kind == Kind::kQueue) {
    BERTH_TRY(write_berth(json, spec == nullptr ? kNone : *spec, change, out));
  } else {
    BERTH_TRY(write_cluster_queue(json, spec == nullptr ? kNone : *spec, change, out));
  }
  json.end_object().end_object();
  out.body = json.take();
  return out;
}

}  // namespace berth::cli
