// Members of gangs of pods that succeeded, or will not be replaced (kKueueRetriable), and that the API still shows. They are not
// made again, so a scheduler must not wait for them if it starts in the middle of such a gang. A former gang of the same name
// leaves ended pods behind as well: told apart by when they ended. Cost: O(log n) per pod, O(ended members of the gang) per
// question.
#pragma once

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
  // The pod `name` (ns/name) of the gang `gang` (a workload's uid) ended at `ended`; 0: it does not say when.
  void note(std::string name, std::string gang, TimeMs ended) {
    forget(name);
    gangs_[gang][name] = ended;
    gang_of_.emplace(std::move(name), std::move(gang));
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

  // How many belong to the gang whose first pod that has not ended was made at `created`. Those that do not say when they ended
  // count where `running`: some pod of the gang has a node.
  std::int64_t count(const std::string& gang, TimeMs created, bool running) const {
    const auto it = gangs_.find(gang);
    if (it == gangs_.end()) return 0;
    std::int64_t number = 0;
    for (const auto& [name, ended] : it->second) number += (ended == 0 ? running : ended >= created) ? 1 : 0;
    return number;
  }

 private:
  std::unordered_map<std::string, std::map<std::string, TimeMs>> gangs_;
  std::unordered_map<std::string, std::string> gang_of_;  // by the pod's name
};

}  // namespace berth::dialect
