// The pods and owners that mount volume claims, by claim (namespace/name). Templates with claims that are made for each pod stand at
// kMadeClaims. Private to the intake. Pods without claims are not here.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "dialect/books/owner_book.h"
#include "dialect/upstream/objects.h"

namespace berth::dialect {

class ClaimBook {
 public:
  struct Users {
    std::set<std::uint32_t> pods;  // by their index in the book of pods
    std::set<std::string> owners;  // by uid
  };

  void use(const Pod& pod, std::uint32_t ix, bool uses);
  // The claims of its templates.
  void use(const OwnerRecord& owner, bool uses);
  // As they are now: the caller may change them meanwhile.
  Users users(std::string_view claim) const;
  // Several pods mount the claim, or pods of a template do.
  bool is_shared(std::string_view claim) const;
  // Claims whose users are others than at the last call.
  std::set<std::string> take_changed() { return std::exchange(changed_, {}); }

 private:
  template <class T>
  void set(const std::string& claim, std::set<T> Users::*part, const T& user, bool uses);

  std::map<std::string, Users, std::less<>> by_claim_;
  std::set<std::string> changed_;
};

}  // namespace berth::dialect
