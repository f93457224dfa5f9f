#include "cli/wait_objectives.h"

#include <algorithm>
#include <charconv>
#include <set>

#include "text/time.h"

namespace berth::cli {

Result<std::vector<observe::WaitObjective>> parse_wait_objectives(const std::vector<std::string>& texts) {
  std::vector<observe::WaitObjective> out;
  std::set<std::int64_t> seen;
  for (const std::string& text : texts) {
    const auto equals = text.find('=');
    observe::WaitObjective one;
    const char* const end = text.data() + std::min(equals, text.size());
    const auto [read, error] = std::from_chars(text.data(), end, one.priority);
    const auto within = equals == std::string::npos ? Result<std::int64_t>(0)
                                                    : text::parse_duration_ms(text.substr(equals + 1));
    if (error != std::errc() || read != end || !within || *within <= 0) {
      return fail(ErrorCode::kInvalid,
                  "--wait-objective \"{}\": write a priority and a time, such as 1000=10m or 0=4h", text);
    }
    if (!seen.insert(one.priority).second)
      return fail(ErrorCode::kInvalid, "--wait-objective: priority {} has two", one.priority);
    one.within = *within;
    out.push_back(one);
  }
  return out;
}

}  // namespace berth::cli
