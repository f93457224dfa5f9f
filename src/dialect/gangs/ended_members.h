// Members of gangs of pods that have ended, and that the API still shows. Those that succeeded are not made again, nor are those that
// will not be replaced (kKueueRetriable). A scheduler that starts in the middle of such a gang must not wait for them. A former gang of the
// same name leaves ended pods behind as well: told apart by when they ended. The others only count for the status of an object.
// A gang has kMostOfGang of them at most, those that ended last. Cost: O(log n) per pod, O(ended members of the gang) per question.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/time.h"

namespace berth::dialect {

class EndedMembers {
 public:
  static constexpr std::size_t kMostOfGang = 10'000;

  struct Member {
    TimeMs ended = 0;  // 0: it does not say when
    bool succeeded = true;
    bool last = true;  // it is not made again
  };
  struct Tally {
    std::int64_t succeeded = 0;
    std::int64_t failed = 0;
  };

  // The pod `name` (ns/name) of the gang `gang` (a workload's uid) has ended.
  void note(std::string name, std::string gang, Member member) {
    forget(name);
    auto& members = gangs_[gang];
    members[name] = member;
    gang_of_.emplace(std::move(name), std::move(gang));
    if (members.size() <= kMostOfGang) return;
    const auto first = std::min_element(members.begin(), members.end(), [](const auto& a, const auto& b) {
      return a.second.ended < b.second.ended;
    });
    gang_of_.erase(first->first);
    members.erase(first);
  }

  // There is no such pod any more, or another one of its name. Its gang, where it was noted.
  std::optional<std::string> forget(std::string_view name) {
    const auto it = gang_of_.find(std::string(name));
    if (it == gang_of_.end()) return std::nullopt;
    std::string gang = std::move(it->second);
    const auto members = gangs_.find(gang);
    members->second.erase(it->first);
    if (members->second.empty()) gangs_.erase(members);
    gang_of_.erase(it);
    return gang;
  }

  void forget_gang(const std::string& gang) {
    const auto it = gangs_.find(gang);
    if (it == gangs_.end()) return;
    for (const auto& [name, member] : it->second) gang_of_.erase(name);
    gangs_.erase(it);
  }

  // How many of the gang whose first pod that has not ended was made at `created` are not made again. Those that do not say when they
  // ended count where `running`: some pod of the gang has a node.
  std::int64_t count(const std::string& gang, TimeMs created, bool running) const {
    const auto it = gangs_.find(gang);
    if (it == gangs_.end()) return 0;
    std::int64_t number = 0;
    for (const auto& [name, member] : it->second) {
      const bool counts = member.ended == 0 ? running : member.ended >= created;
      number += member.last && counts ? 1 : 0;
    }
    return number;
  }

  // All of the gang's that the API shows.
  Tally tally(const std::string& gang) const {
    Tally out;
    const auto it = gangs_.find(gang);
    if (it == gangs_.end()) return out;
    for (const auto& [name, member] : it->second) ++(member.succeeded ? out.succeeded : out.failed);
    return out;
  }

 private:
  std::unordered_map<std::string, std::map<std::string, Member>> gangs_;
  std::unordered_map<std::string, std::string> gang_of_;  // by the pod's name
};

}  // namespace berth::dialect
