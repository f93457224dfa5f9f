#include "dialect/koordinator/gang_marks.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <set>
#include <utility>

#include "base/integers.h"
#include "dialect/base/names.h"
#include "text/json.h"

namespace berth::dialect {
namespace {

constexpr std::int64_t kMost = 1'000'000;

std::string not_a_number(std::string_view key, std::string_view text) {
  return fmt::format("{}: \"{}\" is not an integer from 1 to {}", key, text, kMost);
}

// The names of the gangs that start together, of one namespace; nothing: they cannot be read.
std::optional<std::set<std::string>> names_in(std::string_view groups, const std::string& ns,
                                              std::string& wrong) {
  std::set<std::string> out;
  const auto read = text::parse_json(std::string(groups), "");
  if (!read || !read->root().is_sequence()) {
    wrong = fmt::format("{}: is to be a JSON list of \"namespace/gang\"", kKoordinatorGroups);
    return std::nullopt;
  }
  for (const text::Node& item : read->root().items()) {
    const std::string_view name = item.text();
    const auto slash = name.find('/');
    if (slash == std::string_view::npos || slash == 0 || slash + 1 == name.size()) {
      wrong = fmt::format("{}: \"{}\" is not \"namespace/gang\"", kKoordinatorGroups, name);
    } else if (name.substr(0, slash) != ns) {
      wrong = fmt::format("{}: {} is of another namespace: a gang has one alone", kKoordinatorGroups, name);
    } else {
      out.emplace(name.substr(slash + 1));
    }
    if (!wrong.empty()) return std::nullopt;
  }
  return out;
}

}  // namespace

std::optional<SaidGang> koordinator_gang(const Meta& pod) {
  const std::string name(pod.annotation(kKoordinatorGang));
  if (name.empty()) return std::nullopt;
  SaidGang out{"Koordinator", kKoordinatorLeast, name};
  const std::string_view least = pod.annotation(kKoordinatorLeast);
  const auto needs = to_integer(least, 1, kMost);
  if (least.empty()) {
    out.wrong = fmt::format("{} is required: an integer from 1 to {}", kKoordinatorLeast, kMost);
  } else if (!needs) {
    out.wrong = not_a_number(kKoordinatorLeast, least);
  }
  if (const std::string_view total = pod.annotation(kKoordinatorTotal); !total.empty()) {
    const auto all = to_integer(total, 1, kMost);
    if (!all) {
      out.wrong = not_a_number(kKoordinatorTotal, total);
    } else if (needs && *all < *needs) {
      out.wrong = fmt::format("{} {} is less than {} {}", kKoordinatorTotal, *all, kKoordinatorLeast, *needs);
    }
  }
  std::set<std::string> together;
  if (const std::string_view groups = pod.annotation(kKoordinatorGroups); !groups.empty()) {
    if (auto names = names_in(groups, pod.ns, out.wrong)) together = std::move(*names);
  }
  together.insert(name);
  if (together.size() > 1) {
    out.part = name;
    out.name = fmt::format("{}", fmt::join(together, "+"));
    for (const std::string& other : together) out.least.emplace(other, 0);
  }
  if (needs) out.least[out.part] = *needs;
  return out;
}

}  // namespace berth::dialect
