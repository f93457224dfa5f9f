// The objects that the pods of gangs name (objects/gang_systems.h), by kind and namespace/name. Cost: O(log objects) per call; a change of
// an object O(gangs that start with others), too.
//
//   two groups   a PodGroup of coscheduling's older group stands for one of the present group, where that has none of its name
//   together     gangs that start together are one gang, named "a+b", with a part for each
//   replicas     the name of a gang of Kubernetes' Workload may end with a replica key, which its object does not have
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "dialect/base/kind.h"
#include "dialect/gangs/gangs.h"
#include "dialect/objects/gang_systems.h"

namespace berth::dialect {

// The key by which work depends on the object that its pods name.
std::string gang_key(Kind kind, std::string_view key);
// The namespace/name of the object that says the gang of this key.
std::string_view object_of_gang(Kind kind, std::string_view key);

class GangBook {
 public:
  using Keys = std::vector<std::string>;  // of work that depends on what has changed

  Keys put(Kind kind, GangObject&& object);
  // Empty: it was not there.
  Keys remove(Kind kind, std::string_view key);
  // All of this kind whose key begins so.
  Keys remove_all(Kind kind, const std::string& beginning);
  // nullptr: there is none.
  const GangObject* find(Kind kind, std::string_view key) const;
  template <class F>
  void each(F&& f) const {
    for (const auto& [kind, objects] : all_) {
      for (const auto& [key, object] : objects) f(kind, object);
    }
  }
  // The membership of a pod in its gang, or in the one that this starts with. It has the part of the pod, and whether it may be a
  // victim.
  Membership with_part(Membership membership, const Meta& pod) const;

 private:
  using Objects = std::map<std::string, GangObject, std::less<>>;

  const GangObject* find_own(Kind kind, std::string_view key) const;
  using Names = std::vector<std::string>;

  // An object has changed: `joined`, and all others that it is part of, are others. Adds their keys.
  void join(Kind kind, const Meta& changed, std::set<Names> joined, Keys& keys);
  // Without `together`: none of them says so any more.
  GangObject whole_of(Kind kind, const std::string& ns, const Names& names) const;

  std::map<Kind, Objects> all_;
  std::map<Kind, Objects> joined_;  // by namespace/a+b
};

}  // namespace berth::dialect
