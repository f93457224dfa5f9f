// The objects that the pods of gangs name (objects/gang_systems.h), by kind and namespace/name. Cost: O(log objects) per call.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "dialect/base/kind.h"
#include "dialect/gangs/gangs.h"
#include "dialect/objects/gang_systems.h"

namespace berth::dialect {

// The key by which work depends on the object that its pods name.
std::string gang_key(Kind kind, std::string_view key);

class GangBook {
 public:
  void put(Kind kind, GangObject&& object);
  // False: it was not there.
  bool remove(Kind kind, std::string_view key);
  // nullptr: there is none.
  const GangObject* find(Kind kind, std::string_view key) const;
  template <class F>
  void each(F&& f) const {
    for (const auto& [kind, objects] : all_) {
      for (const auto& [key, object] : objects) f(kind, object);
    }
  }
  // The membership, with the part that the pod is of, and whether it may be a victim.
  Membership with_part(Membership membership, const Meta& pod) const;

 private:
  std::map<Kind, std::map<std::string, GangObject, std::less<>>> all_;
};

}  // namespace berth::dialect
