#include "dialect/yunikorn/gang_marks.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/integers.h"
#include "dialect/base/names.h"
#include "text/json.h"
#include "text/quantity.h"

namespace berth::dialect {
namespace {

constexpr std::int64_t kMost = 1'000'000;
constexpr std::int64_t kMostSeconds = 1'000'000'000;
constexpr std::size_t kMostGroups = 256;

// A pod of a task group, as far as it chooses nodes; "": the group does not say what it asks for.
std::string pod_of(const text::Node& group, std::string& wrong) {
  const text::Node* asks = group.find("minResource");
  if (asks == nullptr || asks->entries().empty()) return {};
  text::JsonWriter json;
  json.begin_object().key("metadata").begin_object().field("name", "later").end_object();
  json.key("spec").begin_object();
  for (const char* field : {"nodeSelector", "tolerations"}) {
    if (const text::Node* value = group.find(field); value != nullptr) json.field(field, *value);
  }
  if (const text::Node* nodes = group.at({"affinity", "nodeAffinity"}); nodes != nullptr)
    json.key("affinity").begin_object().field("nodeAffinity", *nodes).end_object();
  json.key("containers").begin_array().begin_object().field("name", "main");
  json.key("resources").begin_object().key("requests").begin_object();
  for (const text::Entry& amount : asks->entries()) {
    const std::string_view said = amount.value.text();
    if (const auto number = text::parse_quantity(said, 1); !number || *number < 0)
      wrong = fmt::format("{} \"{}\"", amount.name(), said);
    json.field(amount.name(), said);
  }
  json.end_object().end_object().end_object().end_array().end_object().end_object();
  return json.take();
}

// The least numbers by task group. YuniKorn's own checks: names that differ, numbers above zero.
void read_groups(std::string_view said, SaidGang& out) {
  const auto wrong = [&](std::string why) { out.wrong = fmt::format("{}: {}", kYuniKornGroups, why); };
  const auto read = text::parse_json(std::string(said), "");
  if (!read || !read->root().is_sequence() || read->root().items().empty())
    return wrong("is to be a JSON list of {\"name\", \"minMember\"}");
  if (read->root().items().size() > kMostGroups)
    return wrong(fmt::format("Berth reads no more than {} task groups", kMostGroups));
  for (const text::Node& item : read->root().items()) {
    const text::Node* name = item.find("name");
    const text::Node* least = item.find("minMember");
    if (name == nullptr || name->text().empty()) return wrong("a task group has no name");
    const auto number = least == nullptr ? std::nullopt : least->as_int();
    if (!number || *number < 1 || *number > kMost)
      return wrong(fmt::format("minMember of {} is to be an integer from 1 to {}", name->text(), kMost));
    if (!out.least.emplace(name->text(), *number).second)
      return wrong(fmt::format("the task group {} appears twice", name->text()));
    std::string not_read;
    std::string pod = pod_of(item, not_read);
    if (!not_read.empty())
      return wrong(fmt::format("minResource of {} cannot be read: {}", name->text(), not_read));
    if (!pod.empty()) out.pods.emplace(name->text(), std::move(pod));
  }
}

// "placeholderTimeoutInSeconds=60 gangSchedulingStyle=Soft". Other parameters say nothing about a gang.
void read_parameters(std::string_view said, SaidGang& out) {
  constexpr DurationMs kYuniKornTimeout = 900 * kSecond;  // its default
  std::optional<DurationMs> time;
  bool soft = false;
  while (!said.empty()) {
    const auto end = std::min(said.find(' '), said.size());
    const std::string_view one = said.substr(0, end);
    said.remove_prefix(std::min(end + 1, said.size()));
    const auto equals = std::min(one.find('='), one.size());
    const std::string_view name = one.substr(0, equals);
    const std::string_view value = one.substr(std::min(equals + 1, one.size()));
    if (name == "placeholderTimeoutInSeconds") {
      const auto seconds = to_integer(value, 1, kMostSeconds);
      if (!seconds) {
        out.wrong = fmt::format("{}: placeholderTimeoutInSeconds \"{}\" is not an integer from 1 to {}",
                                kYuniKornParameters, value, kMostSeconds);
        return;
      }
      time = *seconds * kSecond;
    } else if (name == "gangSchedulingStyle") {
      if (value != "Soft" && value != "Hard") {
        out.wrong =
            fmt::format("{}: gangSchedulingStyle \"{}\" is not Soft or Hard", kYuniKornParameters, value);
        return;
      }
      soft = value == "Soft";
    }
  }
  if (time || soft) out.patience = Patience{time.value_or(kYuniKornTimeout), soft};
}

}  // namespace

std::optional<SaidGang> yunikorn_gang(const Meta& pod) {
  const std::string_view groups = pod.annotation(kYuniKornGroups);
  const std::string_view group = pod.mark(kYuniKornGroup);
  if (groups.empty() && group.empty()) return std::nullopt;
  std::string_view app = pod.mark(kYuniKornApp);
  if (app.empty()) app = pod.mark(kOlderYuniKornApp);
  SaidGang out{"YuniKorn", kYuniKornGroups, std::string(app.empty() ? pod.name : app), std::string(group)};
  if (app.empty()) out.wrong = fmt::format("{} is required beside a task group", kYuniKornApp);
  if (!groups.empty()) read_groups(groups, out);
  read_parameters(pod.annotation(kYuniKornParameters), out);
  return out;
}

}  // namespace berth::dialect
