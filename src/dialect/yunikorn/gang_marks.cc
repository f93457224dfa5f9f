#include "dialect/yunikorn/gang_marks.h"

#include <fmt/format.h>

#include "dialect/base/names.h"
#include "text/json.h"

namespace berth::dialect {
namespace {

constexpr std::int64_t kMost = 1'000'000;
constexpr std::size_t kMostGroups = 256;

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
  }
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
  return out;
}

}  // namespace berth::dialect
