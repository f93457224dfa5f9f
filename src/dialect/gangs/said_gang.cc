#include "dialect/gangs/said_gang.h"

#include <fmt/format.h>

namespace berth::dialect {
namespace {

template <class Map>
void add(Map& map, const typename Map::key_type& key, std::int64_t delta) {
  const auto it = map.try_emplace(key, 0).first;
  it->second += delta;
  if (it->second == 0) map.erase(it);
}

}  // namespace

void SaidByPods::count(const SaidGang& said, std::int64_t delta) {
  Numbers& numbers = numbers_.edit();
  numbers.pods += delta;
  for (const auto& [part, least] : said.least) add(numbers.least, {part, least}, delta);
  for (const auto& [part, pod] : said.pods) add(numbers.looks, {part, pod}, delta);
  if (said.patience) add(numbers.patience, *said.patience, delta);
  if (!said.wrong.empty()) add(numbers.wrong, said.wrong, delta);
}

const std::string* SaidByPods::pod_of(const std::string& part) const {
  const auto& looks = numbers_->looks;
  const auto it = looks.lower_bound({part, {}});
  return it == looks.end() || it->first.first != part ? nullptr : &it->first.second;
}

GangObject SaidByPods::object(std::string_view key) const {
  GangObject out;
  out.least = 0;
  if (!numbers_->wrong.empty()) out.wrong = numbers_->wrong.begin()->first;
  for (const auto& [said, pods] : numbers_->least) {
    const auto& [part, least] = said;
    if (!out.parts.empty() && out.parts.back().name == part) {
      GangPart& last = out.parts.back();
      if (last.least > 0 && out.wrong.empty())
        out.wrong = fmt::format("members disagree about {}{}{}: {} and {}", key, part.empty() ? "" : " of ",
                                part, last.least, least);
      last.least = least;
    } else {
      out.parts.push_back({part, least});
    }
  }
  for (GangPart& part : out.parts) {
    if (part.least == 0) part.least = 1;  // one of its own pods says how many
    out.least += part.least;
  }
  if (out.parts.empty() && out.wrong.empty())
    out.wrong = fmt::format("none of its pods has {}, which says how many start together", key);
  if (out.parts.size() == 1 && out.parts.front().name.empty()) out.parts.clear();
  return out;
}

}  // namespace berth::dialect
