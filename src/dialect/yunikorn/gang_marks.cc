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
constexpr std::size_t kLongestEmpty = 64;  // a longer text has task groups, or is wrong

// A field of a task group. YuniKorn takes its name in any case; the exact one comes first.
const text::Node* field_of(const text::Node& group, std::string_view name) {
  if (const text::Node* exact = group.find(name); exact != nullptr) return exact;
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; };
  for (const text::Entry& entry : group.entries()) {
    if (std::equal(name.begin(), name.end(), entry.name().begin(), entry.name().end(),
                   [&](char a, char b) { return lower(a) == lower(b); }))
      return &entry.value;
  }
  return nullptr;
}

// A pod of a task group, as far as it chooses nodes; "": the group does not say what it asks for.
std::string pod_of(const text::Node& group, std::string& wrong) {
  const text::Node* asks = field_of(group, "minResource");
  if (asks == nullptr || asks->entries().empty()) return {};
  text::JsonWriter json;
  json.begin_object().key("metadata").begin_object().field("name", "later").end_object();
  json.key("spec").begin_object();
  for (const char* field : {"nodeSelector", "tolerations"}) {
    if (const text::Node* value = field_of(group, field); value != nullptr) json.field(field, *value);
  }
  const text::Node* affinity = field_of(group, "affinity");
  if (const text::Node* nodes = affinity == nullptr ? nullptr : field_of(*affinity, "nodeAffinity");
      nodes != nullptr)
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

// The least numbers by task group. As for YuniKorn they have names, and numbers above zero. Here the names differ, too.
void read_groups(std::string_view said, SaidGang& out) {
  const auto wrong = [&](std::string why) { out.wrong = fmt::format("{}: {}", kYuniKornGroups, why); };
  const auto read = text::parse_json(std::string(said), "");
  if (!read || !read->root().is_sequence()) return wrong("is to be a JSON list of {\"name\", \"minMember\"}");
  if (read->root().items().size() > kMostGroups)
    return wrong(fmt::format("Berth reads no more than {} task groups", kMostGroups));
  for (const text::Node& item : read->root().items()) {
    const text::Node* name = field_of(item, "name");
    const text::Node* least = field_of(item, "minMember");
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
  DurationMs time = 0;                                    // the default
  bool soft = false;
  while (!said.empty()) {
    const auto end = std::min(said.find(' '), said.size());
    const std::string_view one = said.substr(0, end);
    said.remove_prefix(std::min(end + 1, said.size()));
    const auto equals = std::min(one.find('='), one.size());
    const std::string_view name = one.substr(0, equals);
    const std::string_view value = one.substr(std::min(equals + 1, one.size()));
    if (name == "placeholderTimeoutInSeconds") {
      const auto seconds = to_integer(value, 0, kMostSeconds);
      if (!seconds) {
        out.wrong = fmt::format("{}: placeholderTimeoutInSeconds \"{}\" is not an integer from 0 to {}",
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
  if (time > 0 || soft) out.patience = Patience{time > 0 ? time : kYuniKornTimeout, soft};
}

// The application of a pod, as YuniKorn looks for it; "": the pod names none.
std::string app_of(const Meta& pod) {
  constexpr std::string_view kOnePerPod = "-uniqueautogen";
  std::string_view said = pod.mark(kYuniKornApp);
  if (said.empty()) said = pod.label(kOlderYuniKornApp);
  if (said.empty()) said = pod.label(kSparkApp);
  if (!said.ends_with(kOnePerPod)) return std::string(said);
  said.remove_suffix(kOnePerPod.size());
  return fmt::format("{}-{}", said, pod.uid);
}

// It keeps the room of a member that is to come. Its own task groups are those of that member.
bool is_placeholder(const Meta& pod) {
  return pod.annotation(kYuniKornPlaceholder) == "true" ||
         pod.annotation(kOlderYuniKornPlaceholder) == "true";
}

// A list without groups is none, as where the mark is absent.
std::string_view groups_of(const Meta& pod) {
  const std::string_view said = pod.annotation(kYuniKornGroups);
  if (said.empty() || said.size() > kLongestEmpty) return said;
  const auto read = text::parse_json(std::string(said), "");
  const bool none =
      read && (read->root().is_null() || (read->root().is_sequence() && read->root().items().empty()));
  return none ? std::string_view() : said;
}

}  // namespace

std::optional<SaidGang> yunikorn_gang(const Meta& pod) {
  const std::string_view groups = groups_of(pod);
  const std::string_view group = pod.mark(kYuniKornGroup);
  if ((groups.empty() && group.empty()) || is_placeholder(pod)) return std::nullopt;
  const std::string app = app_of(pod);
  SaidGang out{"YuniKorn", kYuniKornGroups, app.empty() ? pod.name : app, std::string(group)};
  if (app.empty()) out.wrong = fmt::format("{} is required beside a task group", kYuniKornApp);
  if (!groups.empty()) read_groups(groups, out);
  read_parameters(pod.annotation(kYuniKornParameters), out);
  return out;
}

}  // namespace berth::dialect
