#include "dialect/gangs/koordinator_groups.h"

#include <fmt/format.h>

#include "base/integers.h"
#include "dialect/base/names.h"
#include "text/json.h"

namespace berth::dialect {

std::set<std::string> koordinator_groups(const Meta& meta, std::string& wrong) {
  std::set<std::string> out;
  const std::string_view groups = meta.annotation(kKoordinatorGroups);
  if (groups.empty()) return out;
  const auto read = text::parse_json(std::string(groups), "");
  if (!read || !read->root().is_sequence()) {
    wrong = fmt::format("{}: is to be a JSON list of \"namespace/gang\"", kKoordinatorGroups);
    return {};
  }
  for (const text::Node& item : read->root().items()) {
    const std::string_view name = item.text();
    const auto slash = name.find('/');
    if (slash == std::string_view::npos || slash == 0 || slash + 1 == name.size()) {
      wrong = fmt::format("{}: \"{}\" is not \"namespace/gang\"", kKoordinatorGroups, name);
    } else if (name.substr(0, slash) != meta.ns) {
      wrong = fmt::format("{}: {} is of another namespace: a gang has one alone", kKoordinatorGroups, name);
    } else {
      out.emplace(name.substr(slash + 1));
    }
    if (!wrong.empty()) return {};
  }
  return out;
}

std::string wrong_total(const Meta& meta, std::string_view least_key, std::optional<std::int64_t> least) {
  const std::string_view total = meta.annotation(kKoordinatorTotal);
  if (total.empty()) return {};
  const auto all = to_integer(total, 1, kMostOfKoordinator);
  if (!all) return not_a_number(kKoordinatorTotal, total);
  if (!least || *all >= *least) return {};
  return fmt::format("{} {} is less than {} {}", kKoordinatorTotal, *all, least_key, *least);
}

std::string not_a_number(std::string_view key, std::string_view text) {
  return fmt::format("{}: \"{}\" is not an integer from 1 to {}", key, text, kMostOfKoordinator);
}

}  // namespace berth::dialect
