#include "base/cycles.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <vector>

namespace berth {
namespace {

constexpr std::size_t kShown = 8;  // every member of the cycle carries its text

std::string text_of(const std::vector<std::string_view>& chain, std::size_t from) {
  const std::size_t size = chain.size() - from;
  std::string out;
  for (std::size_t i = 0; i < size && i < kShown; ++i) out += fmt::format("{} -> ", chain[from + i]);
  if (size > kShown) out += fmt::format("({} more) -> ", size - kShown);
  out += chain[from];
  return out;
}

}  // namespace

std::map<std::string_view, Cycle> find_cycles(const std::map<std::string_view, std::string_view>& parents) {
  std::map<std::string_view, Cycle> out;
  std::map<std::string_view, std::size_t> seen;  // the walk that came by
  std::size_t walk = 0;
  for (const auto& [name, above] : parents) {
    ++walk;
    std::vector<std::string_view> chain;
    std::string_view at = name;
    auto it = parents.find(at);
    while (it != parents.end() && seen.try_emplace(at, walk).second) {
      chain.push_back(it->first);
      at = it->second;
      it = parents.find(at);
    }
    if (it == parents.end()) continue;  // a top
    std::string text;
    std::size_t first = chain.size();  // of the chain's members that are on the cycle
    if (seen[at] == walk) {
      first = static_cast<std::size_t>(std::find(chain.begin(), chain.end(), at) - chain.begin());
      text = text_of(chain, first);
    } else {
      // An earlier walk came by, and found a top or a cycle.
      const auto known = out.find(at);
      if (known == out.end()) continue;
      text = known->second.text;
    }
    for (std::size_t i = 0; i < chain.size(); ++i) out.emplace(chain[i], Cycle{text, i >= first});
  }
  return out;
}

}  // namespace berth
