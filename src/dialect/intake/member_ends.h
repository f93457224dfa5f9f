// Which members of gangs have ended, or may have. A watch without ended pods shows the end of a pod as its deletion. So the caller is told
// of members that are gone, as long as their gang is there. Private to the intake. Cost: O(log n) per pod; with_ended() O(gangs).
#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "dialect/books/intake_books.h"
#include "dialect/intake/draft_rules.h"
#include "dialect/intake/intake_view.h"

namespace berth::dialect {

class MemberEnds {
 public:
  MemberEnds(IntakeBooks& books, const DraftRules& rules) : books_(books), rules_(rules) {}

  // This pod has ended. `record`: its former state, if known. The gang that no longer waits for it, by uid; "": none.
  std::string note(const Pod& pod, const PodRecord* record);
  // There is no such pod any more. The gang that it counted for; "": none.
  std::string forget(const std::string& pod);
  // A pod of a gang, for the time after it; nothing: it is of none.
  struct Member {
    PodName pod;
    Membership gang;
    bool may_have_ended = false;
  };
  static std::optional<Member> member_of(const PodRecord& record);
  // It was removed, and is no longer in the books.
  void left(const Member& member);
  std::vector<PodName> take_left();
  // An object is gone, of a gang or not.
  void gone(Kind kind, std::string_view object);
  // Whether it matters that this pod has ended, of which no watch tells.
  bool counts(const Pod& pod) const;
  // Another number of this gang's pods runs. take_changed(): such gangs, and those of which pods have ended, by uid.
  void changed(const std::string& gang) { changed_.insert(gang); }
  std::set<std::string> take_changed() { return std::exchange(changed_, {}); }
  // The namespaces of IntakeView::namespaces_with_ended().
  std::set<std::string> with_ended() const;

 private:
  Membership membership_of(const Pod& pod) const;
  bool is_there(const Membership& gang, std::string_view ns) const;

  IntakeBooks& books_;
  const DraftRules& rules_;
  std::vector<Member> left_;
  std::set<std::string> changed_;
};

}  // namespace berth::dialect
