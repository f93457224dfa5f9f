// The owners of pods that are known, and the chains that they make. Private to the intake.
//
// An owner is found by its uid, within the namespace of what it owns. The API server does not check the uid of an owner: a pod could claim
// an owner of another namespace, and its places. Cost: O(1) per look-up, O(length) for a chain, which is bounded.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "dialect/books/words.h"
#include "dialect/gangs/gangs.h"
#include "dialect/objects/object.h"
#include "dialect/owners/declared/declaration.h"

namespace berth::dialect {

// A template of an owner.
struct OwnedTemplate {
  std::shared_ptr<const PodTemplate> shape;  // of the pods that it will make, with its amendment
  std::shared_ptr<const PodTemplate> taken;  // as the API server will take its pods in; without its amendment
  std::string refused;                       // why it would refuse them; "" = it would not
  std::shared_ptr<const Reason> claim_wait;  // a claim that it mounts cannot be used yet; nullptr: all can
  bool operator==(const OwnedTemplate&) const = default;
};

struct OwnerRecord {
  Ask ask;
  std::vector<OwnedTemplate> templates;  // of its sets

  // Whether its pods will be those that the other one makes, or are refused as those.
  bool makes_the_same(const OwnerRecord& other) const;
  // Why the API server would refuse some of its pods; "": it would not.
  std::string_view refused() const;
  // The first claim that its pods would wait for.
  const Reason* claim_wait() const;
};

// A pod is of one of the groups of an owner, by its labels.
struct OwnedGroup {
  NamedGroup named;
  Kind kind{};
  const OwnerRecord* record = nullptr;  // of the owner; nullptr: it is not known
};

class OwnerBook {
 public:
  void put(OwnerRecord record);
  // Gives the uid of the one that had this name.
  std::optional<std::string> erase(Kind kind, std::string_view ns, std::string_view name);

  // Counts anew what the owners below this one say of its numbers (OwnerKind::count). False: it is not known, or they are the same.
  bool recount(const std::string& uid);

  const OwnerRecord* find(std::string_view uid) const;
  OwnerRecord* find(std::string_view uid);
  // "" = none.
  std::string_view uid_of(Kind kind, std::string_view ns, std::string_view name) const;
  const auto& all() const { return by_uid_; }
  // Whether some owner may start with fewer pods than it asks for.
  bool any_may_shrink() const { return partial_ > 0; }

  // The owners that it is the controller of.
  std::vector<const Ask*> below(const OwnerRecord& owner) const;
  // Whether some of these are gangs of their own (OwnerKind::further_are_gangs).
  bool has_further(const OwnerRecord& owner) const;
  // Owners whose newest below is suspended and they are not, or the other way round, where it should not be so (OwnerKind::suspends_below).
  const std::set<std::string>& unlike_below() const { return unlike_below_; }
  const Ask* newest_below(const OwnerRecord& owner) const;
  // The group of its owner that the marks of a pod name, where its kind makes each group a gang.
  std::optional<OwnedGroup> group_of(const Meta& pod) const;
  // The request of a group, by the uid of its gang, where that is another than its owner's (OwnerKind::of_group); nullptr: it is not.
  const OwnerRecord* group(const std::string& gang) const;
  // Whether it is that of a group, with a request of its own or not.
  bool is_group(const std::string& gang) const { return groups_.contains(gang); }
  // `owner`: its uid. The group goes with it. No record: it has the request of its owner.
  void put_group(const std::string& gang, const std::string& owner, std::string number,
                 std::optional<OwnerRecord> record);
  void erase_group(const std::string& gang);
  // Those of an owner: their gangs, and their numbers.
  std::vector<std::pair<std::string, std::string>> groups_of(const std::string& owner) const;
  // The owner that is the controller of such an object; nullptr: not known, or of no kind that Berth reads.
  const OwnerRecord* of(const Meta& object) const;
  // The topmost owner that is known and whose part it is (OwnerKind::further_are_gangs); nullptr: none is.
  const OwnerRecord* top_of(const Meta& pod) const;
  // Those in its chain that are known, from the top.
  std::vector<const Meta*> chain_of(const Meta& pod) const;
  // The controller in its chain that is of a kind which Berth reads, and not known; nullptr: the whole chain is.
  const Owner* missing_of(const Meta& pod) const;
  // The controller at the top of its chain, if it is neither read nor of Kubernetes' own kinds; nullptr: the chain ends otherwise.
  const Owner* stranger_of(const Meta& pod) const;
  // Notes that one, whose pod waits on its own. take_strangers() gives those that are new since the last call.
  void note_stranger(const Meta& pod);
  std::vector<OwnerName> take_strangers() { return std::exchange(new_strangers_, {}); }
  // Where a pod belongs, as its topmost owner is now. While an owner in its chain is missing it is alone, unless it does not wait for that.
  Membership membership_of(const Pod& pod, bool waits) const;
  // The slot of a pod within its gang, where something names it.
  OwnedPlace place_of(const Membership& membership, const Pod& pod) const;
  // The same pod as its owner's template has it (OwnerKind::as_asked).
  std::optional<AskedPod> as_asked(const Membership& membership, std::size_t set, const Pod& pod,
                                   const PodTemplate& shape) const;
  // The keys by which work depends on the owners in the chain of a pod.
  std::vector<std::string> keys_of(const Meta& pod) const;

 private:
  void forget_below(const OwnerRecord& known);
  void compare_with_below(const std::string& uid);
  // Whether this one is a gang of its own, beside an older one below the same owner. One that is suspended is no such older one.
  bool is_further(const OwnerRecord& above, const OwnerRecord& one) const;

  struct GroupRecord {
    std::string owner;  // its uid
    std::string number;
    std::optional<OwnerRecord> record;
  };

  std::unordered_map<std::string, OwnerRecord> by_uid_;
  std::unordered_map<std::string, GroupRecord> groups_;               // by the uid of the gang
  std::unordered_map<std::string, std::set<std::string>> groups_of_;  // uids of gangs, by that of their owner
  std::unordered_map<std::string, std::set<std::string>>
      below_;  // uids of owners, by that of their controller
  std::unordered_map<std::string, std::string> by_name_;
  std::set<std::string> unlike_below_;  // uids
  std::size_t partial_ = 0;
  std::set<std::string> strangers_;  // uids, of those that were noted; forgotten when they are many
  std::vector<OwnerName> new_strangers_;
};

// The keys by which work depends on an owner: on the object, and on one of its name that may come or become readable.
std::string owner_key(std::string_view uid);
std::string owner_key(Kind kind, std::string_view ns, std::string_view name);

}  // namespace berth::dialect
